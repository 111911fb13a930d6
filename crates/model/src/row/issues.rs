//! The columns of a table of issues. A column is named like the field, with dots for members. A few
//! have short names, because a table has no arrays: `message` is the body of the first message, and
//! `state` is `state_data.state`. Rows have words of other desks, too (`words`).

use super::cells::Form;
use super::header::{CUSTOM_FIELDS, Place, RowField, Unplaced, key_of_custom_field};
use super::state::{own_state, state_of};
use super::words::{field_of_issue, plain};
use crate::dialects::hint;
use crate::error_code::EntryWarningCode;
use crate::issue::FieldType;
use crate::profile::quoted;
use crate::spelling::trimmed;
use crate::task::Action;

pub(super) const ID: &str = "id";
pub(super) const MESSAGE: &str = "message";
pub(super) const MESSAGES: &str = "messages";
const STATE: &str = "state";
const CREATED_AT: &str = "created_at";
pub(super) const AUTHOR_EMAIL: &str = "author_email";

const fn field(name: &'static str, form: Form) -> RowField {
    RowField { name, form, of_profile: None }
}

const CUSTOM: RowField = field(CUSTOM_FIELDS, Form::Json);
const STATE_DATA: RowField = field("state_data", Form::Json);
const ISSUE_MODE_DATA: RowField = field("issue_mode_data", Form::Json);
const QUEUE: RowField = field("queue", Form::Json);

/// The fields of an issue, apart from its id.
static FIELDS: [RowField; 31] = [
    field("title", Form::Text),
    field("tags", Form::List),
    field("app_id", Form::Text),
    field("app_publish_id", Form::Text),
    field("hs_user_id", Form::Text),
    field("author_name", Form::Text),
    field(AUTHOR_EMAIL, Form::Address),
    field("assignee_id", Form::Text),
    field("assignee_name", Form::Text),
    field("assignee_email", Form::Address),
    field("redacted", Form::Boolean),
    STATE_DATA,
    field(CREATED_AT, Form::Moment),
    field("original_created_at", Form::Moment),
    field("updated_at", Form::Moment),
    field("language", Form::Text),
    field("platform_type", Form::Text),
    ISSUE_MODE_DATA,
    field("cc", Form::List),
    field(MESSAGES, Form::Json),
    field("meta", Form::Json),
    CUSTOM,
    field("feedback_rating", Form::Number),
    field("feedback_comment", Form::Text),
    QUEUE,
    field("private_notes", Form::Json),
    field("current_predict_label", Form::Text),
    field("original_predict_label", Form::Text),
    field("sentiment_analysis", Form::Json),
    field("smart_intents", Form::Json),
    // Each import is to one domain, so a column of it is not read.
    field("domain", Form::Text),
];

/// Members of maps that have columns of their own.
const INSIDE: [(RowField, &str, Form); 5] = [
    (STATE_DATA, STATE, Form::State),
    (STATE_DATA, "changed_at", Form::Moment),
    (ISSUE_MODE_DATA, "issue_mode", Form::Text),
    (QUEUE, "id", Form::Text),
    (QUEUE, "name", Form::Text),
];

/// Maps with any keys.
const FREE_MAPS: [&str; 3] = ["meta", "sentiment_analysis", "smart_intents"];

/// The names that a column may have.
pub(super) fn field_names() -> impl Iterator<Item = &'static str> {
    FIELDS.iter().map(|field| field.name).chain([ID, MESSAGE, STATE])
}

/// Finds the place of a column by its name.
pub(super) fn place(action: Action, name: &str) -> Result<Place, Unplaced> {
    let bare = trimmed(name);
    let word = plain(bare);
    if let Some(key) = key_of_custom_field(name).filter(|_| action != Action::DeleteIssues) {
        return custom_field(key).map_err(Unplaced::Wrong);
    }
    let by_word = || match named(&plain(field_of_issue(&word)?), field_of_issue(&word)?)? {
        Place::Whole(field) if field.form == Form::Address && !word.contains("mail") => {
            Some(Place::Whole(RowField { form: Form::Person, ..field }))
        }
        place => Some(place),
    };
    let found = named(&word, bare).or_else(by_word);
    match found {
        Some(Place::Id) => Ok(Place::Id),
        _ if action == Action::DeleteIssues => {
            let detail = format!("{bare:?} is not read: a deletion of issues has the column id");
            Err(Unplaced::Unknown(detail))
        }
        Some(place) => Ok(place),
        None => {
            let hint = hint(bare, &field_names().collect::<Vec<_>>());
            let hint = hint.unwrap_or_else(|| {
                format!("as a custom field it is {:?}", format!("{CUSTOM_FIELDS}.{bare}"))
            });
            Err(Unplaced::Unknown(format!("{bare:?} is not a field of issues; {hint}")))
        }
    }
}

/// The place of a field's own name; `word` is the plain `name`.
fn named(word: &str, name: &str) -> Option<Place> {
    match word {
        ID => return Some(Place::Id),
        MESSAGE => return Some(Place::Message),
        STATE => return Some(Place::Inside(STATE_DATA, STATE.to_owned(), Form::State)),
        "domain" => return Some(Place::LeftOut),
        _ => {}
    }
    if let Some(field) = FIELDS.iter().find(|field| plain(field.name) == word) {
        return Some(Place::Whole(*field));
    }
    let is =
        |(map, key, _): &&(RowField, &str, Form)| plain(&format!("{}.{key}", map.name)) == word;
    if let Some((map, key, form)) = INSIDE.iter().find(is) {
        return Some(Place::Inside(*map, (*key).to_owned(), *form));
    }
    let (map, key) = name.split_once('.')?;
    let is_free = |field: &&RowField| {
        FREE_MAPS.contains(&field.name) && plain(field.name) == plain(map) && !key.is_empty()
    };
    let field = FIELDS.iter().find(is_free)?;
    Some(Place::Inside(*field, key.to_owned(), Form::Text))
}

/// The type of a custom field that a lower-case word after its name means in a header.
pub fn typed_by(word: &str) -> Option<FieldType> {
    let is = |kind: &&FieldType| kind.as_str() == word || type_word(**kind) == word;
    FieldType::ALL.iter().find(is).copied()
}

/// The word of a type in the headers that the server writes.
pub const fn type_word(kind: FieldType) -> &'static str {
    match kind {
        FieldType::Singleline => "text",
        FieldType::Checkbox => "boolean",
        kind => kind.as_str(),
    }
}

/// `plan`, or with a type `seats:number`.
pub(super) fn custom_field(name: &str) -> Result<Place, String> {
    let typed = name.rsplit_once(':').and_then(|(key, of)| {
        let kind = typed_by(&trimmed(of).to_lowercase())?;
        Some((key, kind))
    });
    let (key, kind) = typed.unwrap_or((name, FieldType::Singleline));
    if trimmed(key).is_empty() {
        return Err("a custom field needs a name, as in custom_fields.plan".to_owned());
    }
    Ok(Place::Inside(CUSTOM, key.to_owned(), Form::Custom { kind, bare: false }))
}

/// The field of the name, if a cell of a person has a name and no address.
pub(super) fn name_field(field: &RowField, text: &str) -> Option<RowField> {
    let name = if field.name == AUTHOR_EMAIL { "author_name" } else { "assignee_name" };
    let is_name = field.form == Form::Person && !text.contains('@');
    is_name.then_some(RowField { name, form: Form::Text, ..*field })
}

/// The column that a header lacks and each entry needs, as a sentence.
pub(super) fn missing(action: Action, has: impl Fn(&'static str) -> bool) -> Option<String> {
    let needed = if action == Action::DeleteIssues { ID } else { CREATED_AT };
    (!has(needed)).then(|| match action {
        Action::DeleteIssues => "no column is the id of the issue".to_owned(),
        _ => "no column is created_at, the time at which the issue began".to_owned(),
    })
}

/// The oddity of a cell that was taken.
pub(super) fn oddity(form: Form, text: &str) -> Option<(EntryWarningCode, String)> {
    match form {
        Form::State => {
            let state = state_of(text).filter(|_| own_state(text).is_none())?;
            let detail = format!("{} was taken as the state {state}", quoted(text));
            Some((EntryWarningCode::Reduced, detail))
        }
        Form::Address | Form::Person if text.matches('@').count() != 1 => {
            let detail = format!(
                "{} is not one e-mail address; names have columns of their own, author_name and \
                 assignee_name",
                quoted(text)
            );
            Some((EntryWarningCode::SuspiciousIdentity, detail))
        }
        _ => None,
    }
}
