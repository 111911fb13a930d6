//! Ids of records of every kind. An id of digits is a number, which packs well: neighbours in a
//! batch mostly differ by one. Invariant: an id has one form, so that equal texts are equal ids.

use std::fmt;

use crate::json::{write_decimal, write_string};

/// The id of a record.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct RecordId(Form);

#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
enum Form {
    Number(u64),
    /// Anything else than the decimal digits of a `u64`.
    Text(String),
}

impl RecordId {
    /// The number, if the id is one.
    pub const fn number(&self) -> Option<u64> {
        match self.0 {
            Form::Number(number) => Some(number),
            Form::Text(_) => None,
        }
    }

    /// Appends the id as a JSON string.
    pub(super) fn write_json(&self, out: &mut Vec<u8>) {
        match &self.0 {
            Form::Number(number) => {
                out.push(b'"');
                write_decimal(*number, out);
                out.push(b'"');
            }
            Form::Text(text) => write_string(text, out),
        }
    }
}

impl From<u64> for RecordId {
    fn from(number: u64) -> Self {
        Self(Form::Number(number))
    }
}

impl From<&str> for RecordId {
    fn from(text: &str) -> Self {
        match text.parse::<u64>() {
            // Without a sign and without zeros in front.
            Ok(number) if number.to_string() == text => number.into(),
            _ => Self(Form::Text(text.to_owned())),
        }
    }
}

impl fmt::Display for RecordId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.0 {
            Form::Number(number) => number.fmt(f),
            Form::Text(text) => text.fmt(f),
        }
    }
}
