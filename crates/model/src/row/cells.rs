//! The text of a cell as a JSON value. Numbers keep their digits and texts every character. The
//! type is that of the column: a cell that has it not is a fault.

use std::borrow::Cow;

use super::addresses::addresses;
use super::state::state_of;
use crate::error_code::EntryErrorCode as Code;
use crate::issue::FieldType;
use crate::json::{Json, parse, write_string};
use crate::profile::{IdentityType, Rule, quoted};
use crate::spelling::{boolean_word, trimmed};
use crate::time::read::{InvalidMoment, parse_moment};

/// The errors that a spreadsheet shows instead of a value that it cannot compute.
const SPREADSHEET_ERRORS: [&str; 19] = [
    "#N/A",
    "#REF!",
    "#VALUE!",
    "#NAME?",
    "#DIV/0!",
    "#NULL!",
    "#NUM!",
    "#SPILL!",
    "#CALC!",
    "#GETTING_DATA",
    "#ERROR!",
    "#FIELD!",
    "#BLOCKED!",
    "#BUSY!",
    "#CONNECT!",
    "#EXTERNAL!",
    "#PYTHON!",
    "#TIMEOUT!",
    "#UNKNOWN!",
];

/// Separators of lists, apart from the one of the table.
const USUAL_SEPARATORS: [char; 3] = [',', ';', '|'];

/// A cell of a row.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Cell<'c> {
    pub text: &'c str,
    /// Whether it was in quotes. Blanks around a text in quotes are part of it.
    pub quoted: bool,
}

impl<'c> Cell<'c> {
    /// Whether the cell has nothing but blanks.
    pub fn is_blank(self) -> bool {
        trimmed(self.text).is_empty()
    }

    /// The text without the blanks that no one means.
    pub(super) fn own(self) -> &'c str {
        if self.quoted { self.text } else { trimmed(self.text) }
    }

    /// The text that a formula gives to a spreadsheet, `="0049"`.
    pub(super) fn forced_text(self) -> Option<Cow<'c, str>> {
        let inside = self.own().strip_prefix("=\"")?.strip_suffix('"')?;
        if !inside.contains('"') {
            return Some(Cow::Borrowed(inside));
        }
        let single = inside.replace("\"\"", "");
        (!single.contains('"')).then(|| Cow::Owned(inside.replace("\"\"", "\"")))
    }

    /// The text that the cell means. `Err` is a fault of any cell.
    pub(super) fn read(self) -> Result<Cow<'c, str>, CellFault> {
        if let Some(text) = self.forced_text() {
            return Ok(text);
        }
        let text = self.own();
        if !self.quoted && SPREADSHEET_ERRORS.iter().any(|error| error.eq_ignore_ascii_case(text)) {
            let detail = format!(
                "{text} is an error of the spreadsheet, not a value; correct the formula there, or \
                 leave the cell empty"
            );
            return Err((Code::SpreadsheetError, detail));
        }
        Ok(Cow::Borrowed(text))
    }
}

/// The cell that is read as `text`, and whether it needs quotes for that.
pub fn written_cell(text: &str) -> (Cow<'_, str>, bool) {
    let plain = Cell { text, quoted: false };
    if plain.forced_text().is_some() {
        return (Cow::Owned(as_formula(text)), true);
    }
    (Cow::Borrowed(text), trimmed(text).len() < text.len() || plain.read().is_err())
}

/// The fault of a cell: its code, and a sentence without the name of the column.
pub(super) type CellFault = (Code, String);

/// How the text of a cell becomes a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Form {
    Text,
    /// A text without the blanks around it.
    Word,
    Number,
    /// Unix milliseconds as a number, or a text for the reader of times.
    Moment,
    Boolean,
    /// Texts with a separator between them, or a JSON array.
    List,
    /// A JSON array or map.
    Json,
    /// An address, perhaps in `Name <address>`.
    Address,
    /// The same, or a name alone.
    Person,
    /// The state of an issue, also in the words of other desks.
    State,
    /// A custom field. That of an issue is a map of its type and value, that of a profile the value
    /// alone.
    Custom {
        kind: FieldType,
        bare: bool,
    },
}

impl Form {
    pub(super) const fn of(rule: Rule) -> Self {
        match rule {
            Rule::Text => Self::Text,
            Rule::Country | Rule::Language => Self::Word,
            Rule::Number | Rule::Age => Self::Number,
            Rule::UnixMillis => Self::Moment,
            Rule::Boolean => Self::Boolean,
            Rule::Tags => Self::List,
            Rule::Identities | Rule::Names | Rule::CustomFields => Self::Json,
        }
    }

    /// Whether a text of blanks is a value.
    pub(super) const fn is_text(self) -> bool {
        match self {
            Self::Text | Self::Word => true,
            Self::Custom { kind, .. } => has_text(kind),
            _ => false,
        }
    }

    /// Writes the value of a text that is not blank.
    pub(super) fn write(
        self,
        text: &str,
        separator: &str,
        out: &mut Vec<u8>,
    ) -> Result<(), CellFault> {
        let word = trimmed(text);
        match self {
            Self::Text => write_string(text, out),
            Self::Word => write_string(word, out),
            Self::Number | Self::Moment => match parse(word.as_bytes()) {
                Ok(Json::Number(digits)) => out.extend_from_slice(digits.as_bytes()),
                _ if self == Self::Moment => write_string(word, out),
                _ => return Err(no_number(word)),
            },
            Self::Boolean => {
                let value = boolean(word).ok_or_else(|| no_boolean(word))?;
                out.extend_from_slice(if value { b"true" } else { b"false" });
            }
            Self::Address | Self::Person => match addresses(IdentityType::Email, text)[..] {
                [address] => write_string(address, out),
                _ => write_string(word, out),
            },
            Self::State => write_string(state_of(word).unwrap_or(word), out),
            Self::Custom { kind, bare } => write_custom(kind, bare, text, out)?,
            Self::List if !word.starts_with('[') => {
                let members = list(word, separator);
                crate::json::write_array(members, out, write_string);
            }
            Self::List | Self::Json => match parse(word.as_bytes()) {
                Ok(Json::Array(_) | Json::Object(_)) => write_json(word, out),
                Ok(_) => return Err(no_json(self, word, "it is neither an array nor a map")),
                Err(faults) => {
                    let why = faults.first().map_or("", |fault| fault.detail.as_str());
                    return Err(no_json(self, word, why));
                }
            },
        }
        Ok(())
    }
}

const fn has_text(kind: FieldType) -> bool {
    matches!(kind, FieldType::Singleline | FieldType::Multiline | FieldType::Dropdown)
}

/// Writes a custom field. The type of a typed value comes before that of the column.
fn write_custom(
    kind: FieldType,
    bare: bool,
    text: &str,
    out: &mut Vec<u8>,
) -> Result<(), CellFault> {
    if let Some(value) = typed_value(text) {
        if bare {
            value.write_to(out);
        } else {
            write_json(trimmed(text), out);
        }
        return Ok(());
    }
    let form = match kind {
        FieldType::Checkbox => Form::Boolean,
        FieldType::Number => Form::Number,
        FieldType::Date => {
            check_date(trimmed(text))?;
            Form::Moment
        }
        FieldType::Singleline | FieldType::Multiline | FieldType::Dropdown => Form::Text,
    };
    if bare {
        return form.write(text, "", out);
    }
    out.extend_from_slice(b"{\"type\":");
    write_string(kind.as_str(), out);
    out.extend_from_slice(b",\"value\":");
    form.write(text, "", out)?;
    out.push(b'}');
    Ok(())
}

/// The beginning of a cell with a typed value.
const TYPED: &str = "{\"type\":";

/// The value in a cell such as `{"type":"number","value":7}`.
fn typed_value(text: &str) -> Option<Json<'_>> {
    let word = trimmed(text);
    let json = word.starts_with(TYPED).then(|| parse(word.as_bytes()).ok())??;
    let Json::Object(members) = json else { return None };
    let value = members.into_iter().find(|(name, _)| name == "value");
    value.map(|(_, value)| value)
}

/// The cell of a custom field in a column of the type `column`, if the plain value would be read
/// as another one: the map of its type and value.
pub fn typed_cell(
    column: FieldType,
    (kind, word): (FieldType, &str),
    value: &Json<'_>,
) -> Option<String> {
    let is_plain = column == kind
        && match value {
            Json::String(text) => has_text(kind) && !trimmed(text).starts_with(TYPED),
            Json::Number(_) => matches!(kind, FieldType::Number | FieldType::Date),
            Json::Bool(_) => kind == FieldType::Checkbox,
            _ => false,
        };
    if is_plain {
        return None;
    }
    let mut cell = format!("{TYPED}\"{word}\",\"value\":").into_bytes();
    value.write_to(&mut cell);
    cell.push(b'}');
    String::from_utf8(cell).ok()
}

/// Whether two texts have the same addresses: a reader takes a name off.
pub(crate) fn have_same_addresses(a: &str, b: &str) -> bool {
    addresses(IdentityType::Email, a) == addresses(IdentityType::Email, b)
}

/// A text as a formula gives it to a spreadsheet, which takes a plain one for a number.
pub fn as_formula(text: &str) -> String {
    format!("=\"{}\"", text.replace('"', "\"\""))
}

/// The members of a list that is not JSON.
pub(super) fn list<'t>(text: &'t str, separator: &str) -> impl Iterator<Item = &'t str> {
    // Without a separator the text is one member.
    let parts: Vec<&str> =
        if separator.is_empty() { vec![text] } else { text.split(separator).collect() };
    parts.into_iter().map(trimmed).filter(|member| !member.is_empty())
}

/// Why a member of a list looks like a list itself.
pub(super) fn looks_like_list(member: &str, separator: &str) -> Option<String> {
    let other =
        USUAL_SEPARATORS.into_iter().find(|c| !separator.contains(*c) && member.contains(*c))?;
    Some(format!(
        "{} was taken as one tag, because tags are separated by {separator:?} here; if it is \
         several, name {other:?} as the separator",
        quoted(member)
    ))
}

fn check_date(word: &str) -> Result<(), CellFault> {
    parse_moment(word).map(drop).map_err(|fault| match fault {
        InvalidMoment::NotATime(detail) => (Code::WrongType, detail),
        InvalidMoment::OutOfRange(detail) => (Code::OutOfRange, detail),
    })
}

fn boolean(word: &str) -> Option<bool> {
    let is = |words: [&str; 3]| words.iter().any(|known| word.eq_ignore_ascii_case(known));
    match () {
        () if is(["yes", "y", "on"]) => Some(true),
        () if is(["no", "n", "off"]) => Some(false),
        () => boolean_word(word),
    }
}

fn no_boolean(word: &str) -> CellFault {
    let detail = format!(
        "{} is neither true nor false; write true, yes, y, on or 1, or false, no, n, off or 0",
        quoted(word)
    );
    (Code::WrongType, detail)
}

fn no_number(word: &str) -> CellFault {
    let parts: Vec<&str> = word.strip_prefix('-').unwrap_or(word).split(',').collect();
    let digits = |part: &&str| !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
    let right = match parts.as_slice() {
        [whole, fraction] if digits(whole) && digits(fraction) => format!(
            "a decimal point is expected, as in {}, and nothing between thousands",
            word.replace(',', ".")
        ),
        _ => "digits are expected, with a decimal point if needed, as in 7 or 1.50".to_owned(),
    };
    (Code::WrongType, format!("{} is not a number; {right}", quoted(word)))
}

fn no_json(form: Form, word: &str, why: &str) -> CellFault {
    let right = match form {
        Form::List => "a cell that begins with [ is a JSON array, as in [\"vip\",\"beta\"]",
        _ => {
            "this column has JSON; name a part of it to have a plain column, as in first_name, \
              custom_fields.plan or email"
        }
    };
    (Code::WrongType, format!("{} cannot be read as JSON ({why}); {right}", quoted(word)))
}

/// Writes JSON on one line: a line break in it can only be between tokens, and there a blank means
/// the same.
fn write_json(text: &str, out: &mut Vec<u8>) {
    out.extend(text.bytes().map(|byte| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte }));
}
