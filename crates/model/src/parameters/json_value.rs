//! Reads values and filters that are JSON. A fault says where in the JSON it is, as an RFC 6901
//! pointer, and the right value. All faults of a filter are reported together, up to a limit that
//! no honest filter reaches.

use crate::decimal::Decimal;
use crate::json::{self, Json, pointer_push};
use crate::spelling::boolean_word;

/// Most faults of one filter; the last of them says that there are more.
const FILTER_FAULTS_MAX: usize = 100;
/// Characters of a word or a pointer that a fault quotes.
const SHOWN_CHARS_MAX: usize = 200;

/// The faults of one filter, as sentences.
#[derive(Debug, Default)]
pub(crate) struct FilterFaults(Vec<String>);

impl FilterFaults {
    /// Adds a fault at `pointer`; an empty one means the whole value.
    pub(crate) fn at(&mut self, pointer: &str, detail: impl std::fmt::Display) {
        let prefix = if pointer.is_empty() { String::new() } else { format!("at {pointer}: ") };
        match self.0.len() {
            n if n + 1 < FILTER_FAULTS_MAX => self.0.push(format!("{}{detail}", cut(&prefix))),
            n if n < FILTER_FAULTS_MAX => {
                self.0.push("there are more faults than are listed here".to_owned());
            }
            _ => {}
        }
    }

    /// Adds the fault that `given` is not what was expected.
    pub(crate) fn expected(&mut self, pointer: &str, expected: &str, given: &Json<'_>) {
        self.at(pointer, format_args!("{expected} is expected, not {}", shown(given)));
    }

    /// Adds the fault that `word` is unknown. `what` says what it should have been, such as "a key
    /// here".
    pub(crate) fn unknown(&mut self, pointer: &str, word: &str, what: &str, accepted: &[&str]) {
        let word = cut(word);
        self.at(pointer, format_args!("{word:?} is not {what}; accepted: {}", accepted.join(", ")));
    }

    /// The value that was read, unless there are faults.
    pub(crate) fn result<T>(self, read: T) -> Result<T, Vec<String>> {
        if self.0.is_empty() { Ok(read) } else { Err(self.0) }
    }
}

fn cut(text: &str) -> String {
    text.chars().take(SHOWN_CHARS_MAX).collect()
}

/// Parses the JSON of a filter; `expected` describes the filter in error messages.
pub(crate) fn parse<'v>(value: &'v str, expected: &str) -> Result<Json<'v>, Vec<String>> {
    json::parse(value.as_bytes()).map_err(|found| {
        let mut faults = FilterFaults::default();
        for fault in found {
            match fault.pointer {
                Some(pointer) => faults.at(&pointer, fault.detail),
                None => faults.at(
                    "",
                    format_args!(
                        "the value is not JSON ({}); {expected} is expected",
                        fault.detail
                    ),
                ),
            }
        }
        faults.0
    })
}

/// An array of strings, ascending and without repeats.
pub(crate) fn texts(json: &Json<'_>, at: &str, faults: &mut FilterFaults) -> Vec<String> {
    let Json::Array(items) = json else {
        faults.expected(at, "an array of strings such as [\"a\",\"b\"]", json);
        return Vec::new();
    };
    let mut texts = Vec::with_capacity(items.len());
    for (n, item) in items.iter().enumerate() {
        match item.as_str() {
            Some(text) => texts.push(text.to_owned()),
            None => faults.expected(&format!("{at}/{n}"), "a string", item),
        }
    }
    texts.sort_unstable();
    texts.dedup();
    texts
}

/// A boolean, given as a boolean, as a string or as a digit.
pub(crate) fn boolean(json: &Json<'_>, at: &str, faults: &mut FilterFaults) -> Option<bool> {
    let value = match json {
        Json::Bool(value) => Some(*value),
        other => digits(other).and_then(boolean_word),
    };
    if value.is_none() {
        faults.expected(at, "true or false", json);
    }
    value
}

/// The members of a map, each with its pointer.
pub(crate) fn members<'j, 'v>(
    json: &'j Json<'v>,
    at: &str,
    expected: &str,
    faults: &mut FilterFaults,
) -> Vec<(&'j str, String, &'j Json<'v>)> {
    let Json::Object(members) = json else {
        faults.expected(at, expected, json);
        return Vec::new();
    };
    let placed = members.iter().map(|(key, value)| (&**key, pointer_push(at, key), value));
    placed.collect()
}

/// The digits of a number, given as a number or as a string.
pub(crate) fn digits<'j>(json: &'j Json<'_>) -> Option<&'j str> {
    match json {
        Json::Number(digits) => Some(digits),
        other => other.as_str(),
    }
}

/// A number, given as a number or as a string.
pub(crate) fn number(json: &Json<'_>, at: &str, faults: &mut FilterFaults) -> Option<Decimal> {
    let number = digits(json).and_then(Decimal::parse);
    if number.is_none() {
        faults.expected(at, "a number such as 3 or \"3\"", json);
    }
    number
}

/// An array of strings to compare by a folding: folded, ascending and without repeats.
pub(crate) fn folded_texts(
    json: &Json<'_>,
    at: &str,
    fold: fn(&str) -> String,
    faults: &mut FilterFaults,
) -> Vec<String> {
    let mut folded: Vec<String> = texts(json, at, faults).iter().map(|text| fold(text)).collect();
    folded.sort_unstable();
    folded.dedup();
    folded
}

/// A value as error messages show it: itself if it is short, else its type.
pub(crate) fn shown(json: &Json<'_>) -> String {
    let mut text = Vec::new();
    json.write_to(&mut text);
    match String::from_utf8(text) {
        Ok(text) if text.len() <= 64 => text,
        _ => json.type_name().to_owned(),
    }
}
