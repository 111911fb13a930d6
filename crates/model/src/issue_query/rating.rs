//! The filter `feedback-rating`: `{"and":[{op:value}],"or":[{op:value}],"exists":"true"}`. Ratings
//! are 1 to 5, so every condition comes down to a set of them, worked out here once and exactly.
//! A missing rating matches no operator.

use super::Decimal;
use super::parameters::{boolean_word, json_fault};
use crate::issue::nearest_word;
use crate::json::{self, Json};

const OPERATORS: [&str; 4] = ["is_greater_than", "is_smaller_than", "is", "is_not"];
const KEYS: [&str; 3] = ["and", "or", "exists"];

/// A set of ratings, with a place for the missing one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RatingSet(u8);

impl RatingSet {
    /// Every rating and the missing one.
    pub const ALL: Self = Self(0b11_1111);
    const RATED: Self = Self(0b11_1110);
    const MISSING: Self = Self(0b00_0001);

    /// Whether an issue of this rating is in the set.
    pub fn contains(self, rating: Option<u8>) -> bool {
        self.0 & (1 << rating.unwrap_or_default().min(7)) != 0
    }

    /// The ratings in the set, ascending.
    pub fn ratings(self) -> impl Iterator<Item = u8> {
        (1..=5).filter(move |rating| self.contains(Some(*rating)))
    }

    /// Whether issues without a rating are in the set.
    pub fn has_missing(self) -> bool {
        self.contains(None)
    }

    const fn and(self, other: Self) -> Self {
        Self(self.0 & other.0)
    }

    const fn or(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    fn of(test: impl Fn(&Decimal) -> bool) -> Self {
        let passes = |rating: &u8| test(&Decimal::from(*rating));
        Self((1..=5).filter(passes).fold(0, |bits, rating| bits | 1 << rating))
    }
}

/// Reads the parameter's value; the faults are sentences.
pub(super) fn parse(value: &str) -> Result<RatingSet, Vec<String>> {
    let tree = json::parse(value.as_bytes()).map_err(|faults| {
        vec![json_fault(&faults, "a map such as {\"and\":[{\"is_greater_than\":\"3\"}]}")]
    })?;
    let Json::Object(members) = &tree else {
        return Err(vec![format!(
            "a map such as {{\"and\":[{{\"is_greater_than\":\"3\"}}]}} is expected, not {}",
            tree.type_name()
        )]);
    };
    let mut faults = Vec::new();
    let mut set = RatingSet::ALL;
    for (key, value) in members {
        let narrowed = match key.as_ref() {
            "and" => tests(key, value, &mut faults)
                .map(|sets| sets.into_iter().fold(RatingSet::ALL, RatingSet::and)),
            "or" => tests(key, value, &mut faults)
                .map(|sets| sets.into_iter().fold(RatingSet(0), RatingSet::or)),
            "exists" => exists(value, &mut faults),
            _ => {
                faults.push(format!(
                    "{key:?} is none of {}; the nearest is {:?}",
                    KEYS.join(", "),
                    nearest_word(key, &KEYS)
                ));
                None
            }
        };
        set = set.and(narrowed.unwrap_or(RatingSet::ALL));
    }
    if faults.is_empty() { Ok(set) } else { Err(faults) }
}

fn exists(value: &Json<'_>, faults: &mut Vec<String>) -> Option<RatingSet> {
    let exists = match value {
        Json::Bool(exists) => Some(*exists),
        Json::String(word) => boolean_word(word),
        _ => None,
    };
    if exists.is_none() {
        faults.push("\"exists\" is true or false".to_owned());
    }
    exists.map(|exists| if exists { RatingSet::RATED } else { RatingSet::MISSING })
}

/// The set of each element of a list of conditions.
fn tests(key: &str, value: &Json<'_>, faults: &mut Vec<String>) -> Option<Vec<RatingSet>> {
    let Json::Array(items) = value else {
        let given = value.type_name();
        faults.push(format!("{key:?} is an array of maps such as {{\"is\":\"3\"}}, not {given}"));
        return None;
    };
    if items.is_empty() {
        faults.push(format!("{key:?} is an empty array: give a condition or leave it out"));
    }
    Some(items.iter().map(|item| test(key, item, faults)).collect())
}

fn test(key: &str, item: &Json<'_>, faults: &mut Vec<String>) -> RatingSet {
    let operators = match item {
        Json::Object(operators) if !operators.is_empty() => operators,
        _ => {
            faults.push(format!(
                "an element of {key:?} is a map of an operator and a number, such as {{\"is\":3}}"
            ));
            return RatingSet::ALL;
        }
    };
    let mut set = RatingSet::RATED;
    for (operator, value) in operators {
        let text = match value {
            Json::Number(digits) => Some(*digits),
            other => other.as_str(),
        };
        let number = text.and_then(Decimal::parse);
        if number.is_none() {
            faults.push(format!("the value of {operator:?} is a number such as 3 or \"3\""));
        }
        let known = OPERATORS.contains(&operator.as_ref());
        if !known {
            faults.push(format!(
                "{operator:?} is none of {}; the nearest is {:?}",
                OPERATORS.join(", "),
                nearest_word(operator, &OPERATORS)
            ));
        }
        let Some(number) = number.filter(|_| known) else { continue };
        set = set.and(match operator.as_ref() {
            "is_greater_than" => RatingSet::of(|rating| *rating > number),
            "is_smaller_than" => RatingSet::of(|rating| *rating < number),
            "is" => RatingSet::of(|rating| *rating == number),
            _ => RatingSet::of(|rating| *rating != number),
        });
    }
    set
}
