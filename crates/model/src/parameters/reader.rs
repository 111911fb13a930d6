//! Reads single parameters: which names are known, in either spelling, and the types of values.
//! Every fault is collected; nothing here stops at the first.

use std::collections::BTreeMap;

use super::ParameterFault;
use super::json_value::{self, FilterFaults, boolean_word, shown};
use crate::error_code::ErrorCode;
use crate::json::Json;
use crate::spelling::nearest_word;
use crate::time::UnixMillis;

/// Lists that may also be given as one parameter per value, as many HTTP clients send arrays. Other
/// lists are JSON; a repeated parameter would be a mistake there.
const REPEATED: [&str; 1] = ["state"];

/// The parameters of one request, by their name with hyphens.
pub(crate) struct Parameters<'p> {
    /// The name as the caller spelled it, and the value.
    given: BTreeMap<&'static str, (&'p str, &'p str)>,
    /// The further values of lists that were given as `name=a&name=b`.
    repeated: Vec<(&'static str, &'p str)>,
    pub(crate) faults: Vec<ParameterFault>,
}

impl<'p> Parameters<'p> {
    /// Sorts the given pairs by name. Unknown names, and different values of one name, are faults.
    pub(crate) fn new(pairs: &'p [(String, String)], known: &[&'static str]) -> Self {
        let mut parameters =
            Self { given: BTreeMap::new(), repeated: Vec::new(), faults: Vec::new() };
        for (spelled, value) in pairs {
            let name = spelled.replace('_', "-");
            let Some(name) = known.iter().find(|known| **known == name) else {
                let nearest = nearest_word(&name, known.iter().copied()).unwrap_or_default();
                let detail =
                    format!("{spelled:?} is not a parameter here; the nearest is {nearest}");
                parameters.fault(spelled, ErrorCode::UnknownParameter, detail);
                continue;
            };
            let (first, earlier) = *parameters.given.entry(name).or_insert((spelled, value));
            if earlier != value && REPEATED.contains(name) && first == spelled {
                parameters.repeated.push((name, value));
            } else if earlier != value {
                let detail = if first == spelled {
                    format!("{spelled} is given twice with different values; give it once")
                } else {
                    format!(
                        "{first} and {spelled} are one parameter in two spellings and have \
                         different values; give one of them"
                    )
                };
                parameters.fault(spelled, ErrorCode::ConflictingParameter, detail);
            }
        }
        parameters
    }

    pub(crate) fn fault(&mut self, spelled: &str, code: ErrorCode, detail: impl Into<String>) {
        let parameter = spelled.to_owned();
        self.faults.push(ParameterFault { parameter, code, detail: detail.into() });
    }

    /// The name as the caller spelled it, and the value.
    pub(crate) fn get(&self, name: &str) -> Option<(&'p str, &'p str)> {
        self.given.get(name).copied()
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

    pub(crate) fn instant(&mut self, name: &str) -> Option<UnixMillis> {
        let (spelled, value) = self.get(name)?;
        let Some(at) = Some(value)
            .filter(|value| !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()))
        else {
            let detail = format!("{value:?} is not a time; whole Unix milliseconds are expected");
            return self.invalid(spelled, detail);
        };
        // A later time is after every issue, too.
        Some(UnixMillis(at.parse().unwrap_or(i64::MAX)))
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

    /// Words of a list: a JSON array of strings or, if `plain`, also one word or several separated
    /// by commas.
    pub(crate) fn words<T: Copy>(
        &mut self,
        name: &str,
        words: &[(&str, T)],
        plain: bool,
    ) -> Option<Vec<T>> {
        let (spelled, value) = self.get(name)?;
        let before = self.faults.len();
        let mut given = Vec::new();
        let repeated = self.repeated.iter().filter(|(repeated, _)| *repeated == name);
        let values: Vec<&str> = repeated.map(|(_, value)| *value).collect();
        for value in std::iter::once(value).chain(values) {
            if plain && !value.trim_start().starts_with('[') {
                given.extend(value.split(',').map(str::to_owned));
            } else {
                given.extend(self.texts_in(spelled, value).unwrap_or_default());
            }
        }
        let found = given.iter().filter_map(|word| self.find_word(spelled, word, words)).collect();
        (self.faults.len() == before).then_some(found)
    }

    /// A JSON array of strings, ascending and without repeats.
    pub(crate) fn texts(&mut self, name: &str) -> Option<Vec<String>> {
        let (spelled, value) = self.get(name)?;
        self.texts_in(spelled, value)
    }

    fn texts_in(&mut self, spelled: &str, value: &str) -> Option<Vec<String>> {
        let expected = "a JSON array of strings such as [\"a\",\"b\"]";
        let read = |item: &Json<'_>| item.as_str().map(str::to_owned);
        let mut texts = self.array_in(spelled, value, expected, read)?;
        texts.sort_unstable();
        texts.dedup();
        Some(texts)
    }

    /// A JSON array whose elements `read` accepts; `expected` describes it in error messages.
    pub(crate) fn array<T>(
        &mut self,
        name: &str,
        expected: &str,
        read: impl Fn(&Json<'_>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let (spelled, value) = self.get(name)?;
        self.array_in(spelled, value, expected, read)
    }

    fn array_in<T>(
        &mut self,
        spelled: &str,
        value: &str,
        expected: &str,
        read: impl Fn(&Json<'_>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let tree = match json_value::parse(value, expected) {
            Ok(tree) => tree,
            Err(details) => return self.invalid_all(spelled, details),
        };
        let mut faults = FilterFaults::default();
        let mut found = Vec::new();
        if let Json::Array(items) = &tree {
            for (n, item) in items.iter().enumerate() {
                match read(item) {
                    Some(value) => found.push(value),
                    None => faults.at(
                        &format!("/{n}"),
                        format_args!("{} is not an element of {expected}", shown(item)),
                    ),
                }
            }
        } else {
            faults.expected("", expected, &tree);
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
