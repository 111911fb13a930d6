//! The fields of a small JSON body, as a form would have them: lists and maps as texts with JSON,
//! numbers and booleans as their texts. So the same rules read both, and a repeat in another form
//! is the same request. A value of a type that its field cannot have is a fault here, because its
//! text would hide the type.

use caseload_model::error_code::ErrorCode;
use caseload_model::issue::write::{FieldKind, field_kind};

use super::fields::Fields;
use super::json_object::{BrokenJson, MemberSink, ValueKind};
use super::urlencoded::FieldSink as _;
use crate::http::problem::{Fault, Problem};

/// Characters of a name that a fault shows.
const NAME_CHARS_SHOWN: usize = 100;

/// Collects the members of a body.
#[derive(Debug)]
pub(super) struct JsonFields {
    pub(super) fields: Fields,
    /// The type of the open field's value, and the kind of the field.
    given: ValueKind,
    expected: Option<FieldKind>,
    /// Whether the value of the open field is dropped.
    dropped: bool,
}

impl Default for JsonFields {
    fn default() -> Self {
        let fields = Fields::default();
        Self { fields, given: ValueKind::Text, expected: None, dropped: false }
    }
}

impl JsonFields {
    /// Adds the fault of the field `name`, whose value is `given`.
    fn refuse(&mut self, name: &str, given: &str) {
        let expected = match self.expected {
            Some(FieldKind::Structured) => "a list or a map",
            Some(FieldKind::Id) => "a string or a whole number",
            Some(FieldKind::Text) | None => "a string",
        };
        let name: String = name.chars().take(NAME_CHARS_SHOWN).collect();
        let detail = format!("{name} holds {given} in the JSON body; {expected} is expected");
        self.fields.faults.push(Fault::parameter(name, ErrorCode::InvalidValue, detail));
    }
}

impl MemberSink for JsonFields {
    fn begin(&mut self, name: &str, kind: ValueKind) {
        self.given = kind;
        // The rules of the call name the known field that is nearest to an unknown one.
        self.expected = field_kind(name);
        self.dropped = false;
        let fits = match (self.expected, kind) {
            (None, _) | (_, ValueKind::Text) => true,
            (Some(FieldKind::Structured), kind) => {
                matches!(kind, ValueKind::Array | ValueKind::Object)
            }
            (Some(FieldKind::Id), kind) => kind == ValueKind::Number,
            (Some(FieldKind::Text), _) => false,
        };
        self.fields.begin(name);
        if !fits {
            self.refuse(name, word(kind));
            self.dropped = true;
        }
    }

    fn data(&mut self, bytes: &[u8]) {
        self.fields.data(bytes);
    }

    fn end(&mut self) {
        let Some((name, value)) = self.fields.close().filter(|_| !self.dropped) else { return };
        let is_whole = || value.iter().all(|byte| byte.is_ascii_digit() || *byte == b'-');
        match (self.expected, self.given) {
            (Some(FieldKind::Id), ValueKind::Number) if !is_whole() => {
                self.refuse(&name, "a fraction");
            }
            // A quoted list or map is as good as in a form; any other string is a slip.
            (Some(FieldKind::Structured), ValueKind::Text) if !begins_with_bracket(&value) => {
                self.refuse(&name, "a string");
            }
            _ => self.fields.add(name, value),
        }
    }
}

fn begins_with_bracket(text: &[u8]) -> bool {
    matches!(text.trim_ascii_start().first(), Some(b'[' | b'{'))
}

/// A type as error messages name it.
const fn word(kind: ValueKind) -> &'static str {
    match kind {
        ValueKind::Text => "a string",
        ValueKind::Number => "a number",
        ValueKind::Boolean => "a boolean",
        ValueKind::Array => "an array",
        ValueKind::Object => "a map",
    }
}

/// The answer to a body that is not a JSON object.
pub(crate) fn broken_json(BrokenJson { at, why }: BrokenJson) -> Problem {
    let detail = format!(
        "the body is not a JSON object with the fields of this call: {why}, at byte {at}; send an \
         object, or a form with its Content-Type"
    );
    Problem::new(ErrorCode::InvalidRequest, detail)
}
