//! Query parameters before they mean anything: which names are known, in either spelling, and how
//! single values are read. Every fault found is kept; nothing here stops at the first.

use std::collections::BTreeMap;

use super::ParameterFault;
use crate::error_code::ErrorCode;
use crate::issue::nearest_word;
use crate::json::{self, Fault, Json};
use crate::time::UnixMillis;

/// The parameters of one request, by their name with hyphens.
pub(crate) struct Parameters<'p> {
    /// Name as spelled, and value.
    given: BTreeMap<&'static str, (&'p str, &'p str)>,
    pub(crate) faults: Vec<ParameterFault>,
}

impl<'p> Parameters<'p> {
    /// Sorts what was given; names beside `known` and different values of one name are faults.
    pub(crate) fn new(pairs: &'p [(String, String)], known: &[&'static str]) -> Self {
        let mut parameters = Self { given: BTreeMap::new(), faults: Vec::new() };
        for (spelled, value) in pairs {
            let name = spelled.replace('_', "-");
            let Some(name) = known.iter().find(|known| **known == name) else {
                let nearest = nearest_word(&name, known);
                let detail = format!("{spelled:?} is no parameter here; the nearest is {nearest}");
                parameters.fault(spelled, ErrorCode::UnknownParameter, detail);
                continue;
            };
            let (first, earlier) = *parameters.given.entry(name).or_insert((spelled, value));
            if earlier != value {
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

    /// The name as spelled and the value.
    pub(crate) fn get(&self, name: &str) -> Option<(&'p str, &'p str)> {
        self.given.get(name).copied()
    }

    fn invalid<T>(&mut self, spelled: &str, detail: impl Into<String>) -> Option<T> {
        self.fault(spelled, ErrorCode::InvalidValue, detail);
        None
    }

    /// Digits and nothing else. A number beyond all limits is taken for the greatest.
    pub(crate) fn number(&mut self, name: &str) -> Option<u64> {
        let (spelled, value) = self.get(name)?;
        if value.is_empty() || !value.bytes().all(|b| b.is_ascii_digit()) {
            let detail = format!("{value:?} is no whole number; digits only are expected");
            return self.invalid(spelled, detail);
        }
        Some(value.parse().unwrap_or(u64::MAX))
    }

    pub(crate) fn instant(&mut self, name: &str) -> Option<UnixMillis> {
        let (spelled, value) = self.get(name)?;
        let Some(at) = Some(value)
            .filter(|value| !value.is_empty() && value.bytes().all(|b| b.is_ascii_digit()))
        else {
            let detail = format!("{value:?} is no time; whole Unix milliseconds are expected");
            return self.invalid(spelled, detail);
        };
        // What lies beyond is after every issue just the same.
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
            let detail = format!("{value:?} is none of {}", accepted.join(", "));
            return self.invalid(spelled, detail);
        }
        found.map(|(_, value)| *value)
    }

    /// Words of a list: a JSON array of strings or, where `plain` says so, also one word or
    /// several with commas between them.
    pub(crate) fn words<T: Copy>(
        &mut self,
        name: &str,
        words: &[(&str, T)],
        plain: bool,
    ) -> Option<Vec<T>> {
        let (spelled, value) = self.get(name)?;
        let given = if plain && !value.trim_start().starts_with('[') {
            value.split(',').map(str::to_owned).collect()
        } else {
            self.texts(name)?
        };
        let before = self.faults.len();
        let found = given.iter().filter_map(|word| self.find_word(spelled, word, words)).collect();
        (self.faults.len() == before).then_some(found)
    }

    /// A JSON array of strings, ascending and without repeats.
    pub(crate) fn texts(&mut self, name: &str) -> Option<Vec<String>> {
        let expected = "a JSON array of strings such as [\"a\",\"b\"]";
        let mut texts = self.array(name, expected, |item| item.as_str().map(str::to_owned))?;
        texts.sort_unstable();
        texts.dedup();
        Some(texts)
    }

    /// A JSON array whose elements `read` understands; `expected` describes it.
    pub(crate) fn array<T>(
        &mut self,
        name: &str,
        expected: &str,
        read: impl Fn(&Json<'_>) -> Option<T>,
    ) -> Option<Vec<T>> {
        let (spelled, value) = self.get(name)?;
        let tree = match json::parse(value.as_bytes()) {
            Ok(tree) => tree,
            Err(faults) => {
                let detail = json_fault(&faults, expected);
                return self.invalid(spelled, detail);
            }
        };
        let Json::Array(items) = &tree else {
            return self.invalid(spelled, format!("{expected} is expected, not {}", kind(&tree)));
        };
        let before = self.faults.len();
        let mut found = Vec::with_capacity(items.len());
        for item in items {
            if let Some(value) = read(item) {
                found.push(value);
            } else {
                let detail = format!("{} is no element of {expected}", kind(item));
                self.fault(spelled, ErrorCode::InvalidValue, detail);
            }
        }
        (self.faults.len() == before).then_some(found)
    }
}

/// A value as a message shows it: itself where it is short, else its type.
fn kind(json: &Json<'_>) -> String {
    let mut text = Vec::new();
    json.write_to(&mut text);
    match String::from_utf8(text) {
        Ok(text) if text.len() <= 64 => text,
        _ => json.type_name().to_owned(),
    }
}

/// A sentence about a text that is no JSON.
pub(crate) fn json_fault(faults: &[Fault], expected: &str) -> String {
    let details: Vec<&str> = faults.iter().map(|fault| fault.detail.as_str()).collect();
    format!("the value is no JSON ({}); {expected} is expected", details.join("; "))
}

/// `true` or `false`, exactly.
pub(crate) fn boolean_word(word: &str) -> Option<bool> {
    match word {
        "true" => Some(true),
        "false" => Some(false),
        _ => None,
    }
}
