//! A lossless JSON tree. Numbers keep their digits, maps keep the order of their keys, and strings
//! keep every code point, including U+0000. General-purpose values round numbers, drop repeated
//! keys or replace lone surrogates; docs/api.md, "Numbers and texts survive", promises that none of
//! this happens.
//!
//! A map with a repeated key, an escaped lone surrogate and nesting beyond [`DEPTH_MAX`] are
//! faults, and all such faults of a text are reported together. Reading ends at the first break of
//! the grammar.

mod path;
mod read;
mod scan;
mod skip;
#[cfg(test)]
mod tests;
mod walk;
mod write;

use std::borrow::Cow;
use std::collections::HashMap;

use crate::decimal::are_equal;

pub(crate) use path::ValuePath;
pub use read::{Fault, FaultKind, parse, skip_value};
pub use scan::{ScanFault, Scanner};
pub use walk::{elements_at, members_at};
pub(crate) use write::write_decimal;
pub use write::{write_array, write_map, write_string};

/// Levels to which an entry may nest arrays and maps. Common readers give up at 128; this leaves
/// room for the records that wrap an entry.
pub const DEPTH_MAX: usize = 100;

/// Most faults that are collected from one text; reading ends after them, and the last one says so.
pub const FAULTS_MAX: usize = 100;

/// Maps with up to this many keys are searched linearly; larger ones are hashed first.
const SEARCHED_KEYS_MAX: usize = 16;

/// One JSON value. Strings are borrowed from the text unless they hold escapes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Json<'a> {
    Null,
    Bool(bool),
    /// The number exactly as it is written.
    Number(&'a str),
    String(Cow<'a, str>),
    Array(Vec<Json<'a>>),
    /// Keys in their order in the text; no key occurs twice.
    Object(Vec<Member<'a>>),
}

/// How numbers are compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Numbers {
    /// 10.50 is not 10.5.
    ByDigits,
    /// 10.50 is 10.5.
    ByValue,
}

/// A member of a map: its key and its value.
pub type Member<'a> = (Cow<'a, str>, Json<'a>);

static EMPTY_MAP: Json<'static> = Json::Object(Vec::new());

impl<'a> Json<'a> {
    /// The name of the value's type, as error messages use it.
    pub const fn type_name(&self) -> &'static str {
        match self {
            Self::Null => "null",
            Self::Bool(_) => "a boolean",
            Self::Number(_) => "a number",
            Self::String(_) => "a string",
            Self::Array(_) => "an array",
            Self::Object(_) => "a map",
        }
    }

    /// The value under `key`, if this is a map that has it.
    pub fn get(&self, key: &str) -> Option<&Json<'a>> {
        match self {
            Self::Object(members) => members.iter().find(|(k, _)| k == key).map(|(_, v)| v),
            _ => None,
        }
    }

    /// The value, if a map is expected: PHP writes a map without members as `[]`, so an empty
    /// array counts as the empty map.
    pub fn as_map_sent(&self) -> &Json<'a> {
        match self {
            Self::Array(items) if items.is_empty() => &EMPTY_MAP,
            other => other,
        }
    }

    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::String(text) => Some(text),
            _ => None,
        }
    }

    /// Whether both values have equal content: the order of keys does not count, and numbers are
    /// equal if their digits are.
    pub fn same(&self, other: &Json<'_>) -> bool {
        self.same_by(other, Numbers::ByDigits)
    }

    /// Whether both values have equal content; the order of keys does not count.
    pub(crate) fn same_by(&self, other: &Json<'_>, numbers: Numbers) -> bool {
        match (self, other) {
            (Self::Null, Json::Null) => true,
            (Self::Bool(a), Json::Bool(b)) => a == b,
            (Self::Number(a), Json::Number(b)) => {
                a == b || numbers == Numbers::ByValue && are_equal(a, b)
            }
            (Self::String(a), Json::String(b)) => a == b,
            (Self::Array(a), Json::Array(b)) => {
                a.len() == b.len() && a.iter().zip(b).all(|(x, y)| x.same_by(y, numbers))
            }
            (Self::Object(a), Json::Object(b)) if a.len() != b.len() => false,
            (Self::Object(a), Json::Object(_)) if a.len() <= SEARCHED_KEYS_MAX => {
                a.iter().all(|(key, x)| other.get(key).is_some_and(|y| x.same_by(y, numbers)))
            }
            (Self::Object(a), Json::Object(b)) => {
                let b: HashMap<&str, &Json<'_>> = b.iter().map(|(k, v)| (&**k, v)).collect();
                a.iter().all(|(key, x)| b.get(&**key).is_some_and(|y| x.same_by(y, numbers)))
            }
            _ => false,
        }
    }
}

/// `pointer` extended by one reference token, escaped as RFC 6901 requires.
pub fn pointer_push(pointer: &str, token: &str) -> String {
    format!("{pointer}/{}", token.replace('~', "~0").replace('/', "~1"))
}
