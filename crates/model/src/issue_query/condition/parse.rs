//! Reads condition objects: `{"and":[…],"or":[…],"nor":[…],"exists":"true"}`. The rules of a
//! parameter say which of the four keys it takes and whether its values are compared without case.
//! An empty object matches every issue. An empty `and` or `nor` always holds; an empty `or` never
//! does. A bare list of values means `or`, also for a parameter whose map has no such key.

use super::Condition;
use super::rules::{Compared, ConditionKey, ConditionRules};
use crate::fold::fold_text;
use crate::json::Json;
use crate::parameters::Parameters;
use crate::parameters::json_value::{self, FilterFaults};
use crate::spelling::folded_address;

impl ConditionRules {
    /// Reads the parameter of this name; a condition that is not given holds for every record.
    pub(crate) fn read(self, parameters: &mut Parameters<'_>, name: &str) -> Condition {
        let map = |value: &str| self.parse(value);
        parameters.condition(name, map, |values| self.any_of(values)).unwrap_or_default()
    }

    /// The folding of its values, if they are compared by one.
    fn folding(self) -> Option<fn(&str) -> String> {
        match self.compared {
            Compared::Exactly => None,
            Compared::Address => Some(folded_address),
            Compared::AsTexts => Some(fold_text),
        }
    }

    /// An example for error messages.
    fn example(self) -> &'static str {
        if self.keys.contains(&ConditionKey::Or) {
            "a map such as {\"or\":[\"a\",\"b\"]}"
        } else {
            "a map such as {\"and\":[\"a\"],\"exists\":true}"
        }
    }

    /// A list of values, folded if they are compared without case.
    fn values(self, json: &Json<'_>, at: &str, faults: &mut FilterFaults) -> Vec<String> {
        match self.folding() {
            Some(fold) => json_value::folded_texts(json, at, fold, faults),
            None => json_value::texts(json, at, faults),
        }
    }

    /// The condition that a bare list means: at least one of the values.
    fn any_of(self, mut values: Vec<String>) -> Condition {
        if let Some(fold) = self.folding() {
            values = values.iter().map(|value| fold(value)).collect();
            values.sort_unstable();
            values.dedup();
        }
        Condition { or: Some(values), ..Condition::default() }
    }

    /// Reads an object; each fault is a sentence.
    fn parse(self, value: &str) -> Result<Condition, Vec<String>> {
        let keys: Vec<&str> = self.keys.iter().map(|key| key.as_str()).collect();
        let tree = json_value::parse(value, self.example())?;
        let mut faults = FilterFaults::default();
        let mut condition = Condition::default();
        for (word, at, value) in json_value::members(&tree, "", self.example(), &mut faults) {
            let Some(key) = self.keys.iter().find(|key| key.as_str() == word) else {
                faults.unknown(&at, word, "a key here", &keys);
                continue;
            };
            match key {
                ConditionKey::And => condition.and = self.values(value, &at, &mut faults),
                ConditionKey::Or => condition.or = Some(self.values(value, &at, &mut faults)),
                ConditionKey::Nor => condition.nor = self.values(value, &at, &mut faults),
                ConditionKey::Exists => {
                    condition.exists = json_value::boolean(value, &at, &mut faults);
                }
            }
        }
        faults.result(condition)
    }
}
