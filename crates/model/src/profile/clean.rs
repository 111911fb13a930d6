//! Cleans an entry before it is checked: blanks that copying leaves around an identity, a country
//! or a language, the quote that a spreadsheet sets before a phone number, the region of a
//! language, and a time in another form than milliseconds. Validation and planning both read an
//! entry from its bytes, and both clean it here, so they see the same values. The record of a
//! faulty entry shows the entry as it was sent.

use std::borrow::Cow;
use std::cell::OnceCell;

use super::checker::quoted;
use super::field::{Field, Rule, Table};
use super::identity::IdentityType;
use crate::error_code::EntryWarningCode;
use crate::json::{self, Json, ValuePath};
use crate::language;
use crate::payload::Entry;
use crate::record::EntryWarning;
use crate::spelling::trimmed;
use crate::task::Action;
use crate::time::read::parse_moment;

/// The digits of the one time that an entry may have, which the cleaned entry refers to.
pub(super) type Digits = OnceCell<String>;

/// A readable entry, cleaned.
pub(super) fn cleaned_json<'p>(
    action: Action,
    payload: &'p [u8],
    entry: &Entry,
    digits: &'p Digits,
) -> Json<'p> {
    let mut json = json::parse(&payload[entry.range.clone()]).expect("a prepared entry is JSON");
    clean(action, &mut json, digits);
    json
}

/// Cleans the fields that an entry of an action may have, and returns their oddities. A value
/// that cannot be cleaned stays as it was sent, and the checks refuse it.
pub(super) fn clean<'b>(
    action: Action,
    entry: &mut Json<'b>,
    digits: &'b Digits,
) -> Vec<EntryWarning> {
    let mut warnings = Vec::new();
    let Json::Object(members) = entry else { return warnings };
    let table = Table::of(action);
    let has_fields = action == Action::CreateCoreProfiles || action.patches();
    let mut guess = 0;
    for (name, value) in members {
        let Some(at) = table.position(guess, name) else { continue };
        guess = at + 1;
        let field = &table.fields[at];
        match (field.rule, value) {
            (Rule::Identities, Json::Array(items)) => items.iter_mut().for_each(clean_identity),
            _ if !has_fields => {}
            (Rule::Country, Json::String(text)) => shorten(text, trimmed),
            (Rule::Language, value) => warnings.extend(clean_language(field, value)),
            (Rule::UnixMillis, value) => warnings.extend(clean_time(field, value, digits)),
            _ => {}
        }
    }
    warnings
}

fn clean_identity(identity: &mut Json<'_>) {
    let Json::Object(members) = identity else { return };
    for (name, value) in members {
        if let (Some(kind), Json::String(text)) = (IdentityType::parse(name), value) {
            shorten(text, |text| kind.cleaned(text));
        }
    }
}

fn clean_language(field: &Field, value: &mut Json<'_>) -> Option<EntryWarning> {
    let Json::String(text) = value else { return None };
    shorten(text, trimmed);
    let code = language::read(text).filter(|language| language.reduced)?.code;
    let detail = format!("{} was stored as the language {code}", quoted(text));
    let path = ValuePath::field(field.name);
    let warning = EntryWarning::new(EntryWarningCode::Reduced, &path, detail, value);
    *value = Json::String(Cow::Borrowed(code));
    Some(warning)
}

/// Writes a time as milliseconds.
fn clean_time<'b>(field: &Field, value: &mut Json<'b>, digits: &'b Digits) -> Option<EntryWarning> {
    let text = match &*value {
        Json::Number(text) => *text,
        Json::String(text) => trimmed(text),
        _ => return None,
    };
    let moment = parse_moment(text).ok()?;
    let warning = moment.oddity().map(|(code, detail)| {
        EntryWarning::new(code, &ValuePath::field(field.name), detail, value)
    });
    *value = Json::Number(digits.get_or_init(|| moment.at.0.to_string()));
    warning
}

/// Replaces a text by a part of it, unless that is empty.
fn shorten(text: &mut Cow<'_, str>, part: impl Fn(&str) -> &str) {
    let len = part(text).len();
    if len == text.len() || len == 0 {
        return;
    }
    *text = match text {
        Cow::Borrowed(text) => Cow::Borrowed(part(text)),
        Cow::Owned(text) => Cow::Owned(part(text).to_owned()),
    };
}
