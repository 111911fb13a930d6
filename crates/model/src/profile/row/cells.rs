//! The text of a cell as a JSON value. Numbers keep their digits and texts every character.

use super::super::field::Rule;
use crate::json::{Json, parse, write_string};
use crate::spelling::boolean_word;

/// Between two members of a list in one cell.
const LIST_SEPARATOR: char = '|';

/// How the text of a cell becomes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    Number,
    Boolean,
    /// Texts with `|` between them, or a JSON array.
    List,
    /// A JSON array or map.
    Json,
}

impl Form {
    pub(super) const fn of(rule: Rule) -> Self {
        match rule {
            Rule::Text | Rule::Country | Rule::Language => Self::Text,
            Rule::Number | Rule::Age | Rule::UnixMillis => Self::Number,
            Rule::Boolean => Self::Boolean,
            Rule::Tags => Self::List,
            Rule::Identities | Rule::Names | Rule::CustomFields => Self::Json,
        }
    }

    /// Writes the value of a cell. A text that has not this form is written as a text.
    pub(super) fn write(self, cell: &str, out: &mut Vec<u8>) {
        let trimmed = cell.trim();
        match self {
            Self::Text => {}
            Self::Number => {
                if let Ok(Json::Number(digits)) = parse(trimmed.as_bytes()) {
                    return out.extend_from_slice(digits.as_bytes());
                }
            }
            Self::Boolean => {
                if let Some(value) = boolean_word(trimmed) {
                    return out.extend_from_slice(if value { b"true" } else { b"false" });
                }
            }
            Self::List if !trimmed.starts_with('[') => return write_list(trimmed, out),
            Self::List | Self::Json => {
                if let Ok(Json::Array(_) | Json::Object(_)) = parse(trimmed.as_bytes()) {
                    return write_json(trimmed, out);
                }
            }
        }
        write_string(cell, out);
    }
}

fn write_list(cell: &str, out: &mut Vec<u8>) {
    out.push(b'[');
    let members = cell.split(LIST_SEPARATOR).map(str::trim).filter(|member| !member.is_empty());
    for (at, member) in members.enumerate() {
        if at > 0 {
            out.push(b',');
        }
        write_string(member, out);
    }
    out.push(b']');
}

/// Writes JSON on one line: a line break in it can only be between tokens, and there a blank means
/// the same.
fn write_json(text: &str, out: &mut Vec<u8>) {
    out.extend(text.bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }));
}
