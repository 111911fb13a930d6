//! Reads single parameters: which names are known, in either spelling, and the types of values.
//! Every fault is collected; nothing here stops at the first.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::ParameterFault;
use super::given::{Given, ListForm, ListValue};
use super::instant::{Bound, parse_bound};
use super::json_value::{self, FilterFaults, shown};
use crate::dialects;
use crate::error_code::ErrorCode;
use crate::issue_query::IssueFilter;
use crate::json::Json;
use crate::spelling::{boolean_word, same_name, unbracketed};
use crate::time::UnixMillis;
use crate::time::read::InvalidMoment;

/// The parameters that are lists, of every call. Any other parameter has one value. The filters of
/// issues have a table of their own, which also knows the lists of profiles with the same names.
const LISTS: [(&str, ListForm); 23] = [
    ("action", ListForm::Commas),
    ("actions", ListForm::Commas),
    ("by-key", ListForm::Commas),
    ("by-task", ListForm::Commas),
    ("code", ListForm::Commas),
    ("columns", ListForm::Commas),
    ("country", ListForm::Texts),
    ("excludes", ListForm::Commas),
    ("group-by", ListForm::Commas),
    ("identity", ListForm::Texts),
    ("ids", ListForm::Commas),
    ("includes", ListForm::Commas),
    ("language", ListForm::Commas),
    ("only", ListForm::Commas),
    ("outcome", ListForm::Commas),
    ("pids", ListForm::Commas),
    ("pointer", ListForm::Texts),
    ("resources", ListForm::Commas),
    ("status", ListForm::Commas),
    ("submitted-by", ListForm::Texts),
    ("user-persona", ListForm::Texts),
    ("user-support-status", ListForm::Texts),
    ("user-vip-segment", ListForm::Texts),
];

/// Most faults of one request that are listed: a list may have thousands of words.
const FAULTS_MAX: usize = 100;

fn list_form(name: &str) -> Option<ListForm> {
    let listed = LISTS.iter().find(|(list, _)| *list == name).map(|(_, form)| *form);
    listed.or_else(|| IssueFilter::named(name)?.list_form())
}

/// The parameters of one request, by their name with hyphens.
pub(crate) struct Parameters<'p> {
    given: BTreeMap<&'static str, Given<'p>>,
    pub(crate) faults: Vec<ParameterFault>,
}

impl<'p> Parameters<'p> {
    /// Sorts the given pairs by name. Unknown names, and different values of a name that has one,
    /// are faults.
    pub(crate) fn new(pairs: &'p [(String, String)], known: &[&'static str]) -> Self {
        let mut parameters = Self { given: BTreeMap::new(), faults: Vec::new() };
        for (spelled, value) in pairs {
            let (base, is_member) = unbracketed(spelled);
            match known.iter().find(|known| same_name(known, base)) {
                Some(name) if !is_member || list_form(name).is_some() => {
                    parameters.add(name, spelled, value);
                }
                Some(name) => {
                    let detail = format!("{name} has one value; send it as {name}=VALUE");
                    parameters.fault(spelled, ErrorCode::UnknownParameter, detail);
                }
                None => parameters.unknown(spelled, known),
            }
        }
        parameters
    }

    fn add(&mut self, name: &'static str, spelled: &'p str, value: &'p str) {
        let Some(given) = self.given.get_mut(name) else {
            self.given.insert(name, Given::new(spelled, value));
            return;
        };
        let first = given.spelled;
        let is_good = match list_form(name) {
            Some(_) => given.add(spelled, value),
            None => given.text() == value,
        };
        if is_good {
            return;
        }
        let detail = if first == spelled {
            format!("{spelled} is given twice with different values; give it once")
        } else {
            format!(
                "{first} and {spelled} are one parameter in two spellings and have different \
                 values; give one of them"
            )
        };
        self.fault(spelled, ErrorCode::ConflictingParameter, detail);
    }

    fn unknown(&mut self, spelled: &str, known: &[&'static str]) {
        let shown: String = spelled.chars().take(100).collect();
        // Some clients send a map as one parameter for each of its keys.
        let map = || {
            let (map, _) = spelled.split_once('[')?;
            let map = known.iter().find(|known| same_name(known, map))?;
            Some(format!("a map is sent as JSON: {map}={{…}}"))
        };
        let hint = dialects::hint_of_dialect(spelled, known).or_else(map);
        let advice = hint.unwrap_or_else(|| dialects::advice(spelled, known));
        let detail = format!("{shown:?} is not a parameter here; {advice}");
        self.fault(spelled, ErrorCode::UnknownParameter, detail);
    }

    pub(crate) fn fault(&mut self, spelled: &str, code: ErrorCode, detail: impl Into<String>) {
        if self.faults.len() >= FAULTS_MAX {
            return;
        }
        let parameter = spelled.to_owned();
        self.faults.push(ParameterFault { parameter, code, detail: detail.into() });
    }

    /// The name as the caller spelled it, and the value.
    pub(crate) fn get(&self, name: &str) -> Option<(&'p str, &'p str)> {
        self.given.get(name).map(|given| (given.spelled, given.text()))
    }

    fn invalid<T>(&mut self, spelled: &str, detail: impl Into<String>) -> Option<T> {
        self.fault(spelled, ErrorCode::InvalidValue, detail);
        None
    }

    /// A whole number, written in digits alone. A number too large for its type becomes the
    /// largest.
    pub(crate) fn number(&mut self, name: &str) -> Option<u64> {
        let (spelled, value) = self.get(name)?;
        if value.is_empty() || !value.bytes().all(|b| b.is_ascii_digit()) {
            let detail = format!("{value:?} is not a whole number; digits only are expected");
            return self.invalid(spelled, detail);
        }
        Some(value.parse().unwrap_or(u64::MAX))
    }

    /// An end of a span of time.
    pub(crate) fn bound(&mut self, name: &str, bound: Bound) -> Option<UnixMillis> {
        let (spelled, value) = self.get(name)?;
        match parse_bound(value, bound) {
            Ok(at) => Some(at),
            Err(InvalidMoment::NotATime(detail)) => self.invalid(spelled, detail),
            Err(InvalidMoment::OutOfRange(detail)) => {
                self.fault(spelled, ErrorCode::OutOfRange, detail);
                None
            }
        }
    }

    pub(crate) fn boolean(&mut self, name: &str) -> Option<bool> {
        let (spelled, value) = self.get(name)?;
        match boolean_word(value) {
            None => self.invalid(spelled, format!("{value:?} is neither true nor false")),
            some => some,
        }
    }

    /// One of a list of words.
    pub(crate) fn word<T: Copy>(&mut self, name: &str, words: &[(&str, T)]) -> Option<T> {
        let (spelled, value) = self.get(name)?;
        self.find_word(spelled, value, words)
    }

    fn find_word<T: Copy>(&mut self, spelled: &str, value: &str, words: &[(&str, T)]) -> Option<T> {
        let found = words.iter().find(|(word, _)| *word == value);
        if found.is_none() {
            let accepted: Vec<&str> = words.iter().map(|(word, _)| *word).collect();
            let detail = format!("{value:?} is not one of {}", accepted.join(", "));
            return self.invalid(spelled, detail);
        }
        found.map(|(_, value)| *value)
    }

    /// The values of a list, as the caller sent them.
    fn list_values(&self, name: &str) -> Option<(&'p str, Vec<ListValue<'p>>)> {
        let given = self.given.get(name)?;
        let form = list_form(name).unwrap_or(ListForm::Texts);
        Some((given.spelled, given.list(form)))
    }

    /// A list of words.
    pub(crate) fn words<T: Copy>(&mut self, name: &str, words: &[(&str, T)]) -> Option<Vec<T>> {
        let (spelled, values) = self.list_values(name)?;
        let before = self.faults.len();
        let mut given = Vec::new();
        for value in values {
            match value {
                ListValue::Member(word) => given.push(word.to_owned()),
                ListValue::Json(text) => {
                    let read = |item: &Json<'_>| text_of(item).ok_or(None);
                    given.extend(self.array_in(spelled, text, TEXTS, read).unwrap_or_default());
                }
            }
        }
        let found = given.iter().filter_map(|word| self.find_word(spelled, word, words)).collect();
        (self.faults.len() == before).then_some(found)
    }

    /// A list of strings, ascending and without repeats.
    pub(crate) fn texts(&mut self, name: &str) -> Option<Vec<String>> {
        let mut texts = self.list(name, TEXTS, text_of)?;
        texts.sort_unstable();
        texts.dedup();
        Some(texts)
    }

    /// Ids, ascending and without repeats: strings or numbers. An id that `exists` refuses is well
    /// formed but matches nothing.
    pub(crate) fn ids(
        &mut self,
        name: &str,
        expected: &str,
        exists: impl Fn(&u64) -> bool,
    ) -> Option<Vec<u64>> {
        let ids = self.list(name, expected, |item| {
            let digits = match item {
                Json::Number(digits) => digits,
                other => other.as_str()?,
            };
            let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
            plain.then(|| digits.parse().ok().filter(&exists))
        })?;
        let mut ids: Vec<u64> = ids.into_iter().flatten().collect();
        ids.sort_unstable();
        ids.dedup();
        Some(ids)
    }

    /// A list whose members `read` accepts; `expected` describes it in error messages. A member
    /// without a text is a fault: it may come from a filter that was not filled in.
    pub(crate) fn list<T>(
        &mut self,
        name: &str,
        expected: &str,
        read: impl Fn(&Json<'_>) -> Option<T>,
    ) -> Option<Vec<T>> {
        self.list_or_why(name, expected, |item| read(item).ok_or(None))
    }

    /// The same, if `read` may have a sentence about a wrong member.
    pub(crate) fn list_or_why<T>(
        &mut self,
        name: &str,
        expected: &str,
        read: impl Fn(&Json<'_>) -> Result<T, Option<String>>,
    ) -> Option<Vec<T>> {
        let (spelled, values) = self.list_values(name)?;
        let before = self.faults.len();
        let (mut found, mut faults) = (Vec::new(), FilterFaults::default());
        for value in values {
            match value {
                ListValue::Json(text) => {
                    found.extend(self.array_in(spelled, text, expected, &read).unwrap_or_default());
                }
                ListValue::Member("") => faults.at(
                    "",
                    format_args!(
                        "a value of {spelled} is empty; leave {spelled} out to list everything, \
                         or send [] to match nothing"
                    ),
                ),
                ListValue::Member(text) => match read(&Json::String(Cow::Borrowed(text))) {
                    Ok(value) => found.push(value),
                    Err(Some(why)) => faults.at("", why),
                    Err(None) => faults
                        .at("", format_args!("{} is not an element of {expected}", quoted(text))),
                },
            }
        }
        if let Err(details) = faults.result(()) {
            self.invalid_all::<()>(spelled, details);
        }
        (self.faults.len() == before).then_some(found)
    }

    /// A condition: a map in JSON, read by `map`, or a list, read by `list`.
    pub(crate) fn condition<T>(
        &mut self,
        name: &str,
        map: impl Fn(&str) -> Result<T, Vec<String>>,
        list: impl FnOnce(Vec<String>) -> T,
    ) -> Option<T> {
        let given = self.given.get(name)?;
        let spelled = given.spelled;
        // Some clients send of a map only its keys. As a list, these would find other issues.
        let key = given.bare().find(|text| CONDITION_KEYS.contains(text));
        if let Some(key) = key {
            let detail = format!(
                "{key:?} is a key of a map; send the map as JSON, {spelled}={{\"{key}\":…}}, or a \
                 list of this one text as [\"{key}\"]"
            );
            return self.invalid(spelled, detail);
        }
        match given.map() {
            Ok(None) => self.texts(name).map(list),
            Ok(Some(value)) => match map(value) {
                Ok(condition) => Some(condition),
                Err(details) => self.invalid_all(spelled, details),
            },
            Err(()) => {
                let detail = format!(
                    "{spelled} is given as a map and again with another value; give it once, or \
                     as a list alone"
                );
                self.fault(spelled, ErrorCode::ConflictingParameter, detail);
                None
            }
        }
    }

    fn array_in<T>(
        &mut self,
        spelled: &str,
        value: &str,
        expected: &str,
        read: impl Fn(&Json<'_>) -> Result<T, Option<String>>,
    ) -> Option<Vec<T>> {
        let tree = match json_value::parse(value, expected) {
            Ok(tree) => tree,
            Err(details) => return self.invalid_all(spelled, details),
        };
        let mut faults = FilterFaults::default();
        let mut found = Vec::new();
        match &tree {
            Json::Array(items) => {
                for (n, item) in items.iter().enumerate() {
                    match read(item) {
                        Ok(value) => found.push(value),
                        Err(Some(why)) => faults.at(&format!("/{n}"), why),
                        Err(None) => faults.at(
                            &format!("/{n}"),
                            format_args!("{} is not an element of {expected}", shown(item)),
                        ),
                    }
                }
            }
            // One member of a list of maps.
            Json::Object(_) => match read(&tree) {
                Ok(value) => found.push(value),
                Err(Some(why)) => faults.at("", why),
                Err(None) => faults.expected("", expected, &tree),
            },
            _ => faults.expected("", expected, &tree),
        }
        match faults.result(found) {
            Ok(found) => Some(found),
            Err(details) => self.invalid_all(spelled, details),
        }
    }

    /// A filter in JSON, read by `read`.
    pub(crate) fn filter<T>(
        &mut self,
        name: &str,
        read: impl Fn(&str) -> Result<T, Vec<String>>,
    ) -> Option<T> {
        let (spelled, value) = self.get(name)?;
        match read(value) {
            Ok(filter) => Some(filter),
            Err(details) => self.invalid_all(spelled, details),
        }
    }

    fn invalid_all<T>(&mut self, spelled: &str, details: Vec<String>) -> Option<T> {
        for detail in details {
            self.fault(spelled, ErrorCode::InvalidValue, detail);
        }
        None
    }
}

/// The keys of the maps that conditions are.
const CONDITION_KEYS: [&str; 4] = ["and", "or", "nor", "exists"];

/// A list of strings, in error messages.
const TEXTS: &str = "a JSON array of strings such as [\"a\",\"b\"]";

fn text_of(item: &Json<'_>) -> Option<String> {
    item.as_str().map(str::to_owned)
}

/// The beginning of a text, in quotes.
fn quoted(text: &str) -> String {
    let start: String = text.chars().take(100).collect();
    format!("{start:?}")
}
