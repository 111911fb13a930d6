//! The form of `POST …/redactions`: a list of single redactions, each of which is accepted or
//! refused by itself, as clients of the API family expect.

use super::form::Selector;
use crate::error_code::ErrorCode;
use crate::ids::{FOREIGN_ID_CHARS_MAX, ISSUE_ID_MAX, IdentityKey};
use crate::issue::write::ParsedForm;
use crate::issue::write::fields::Fields;
use crate::json::Json;
use crate::profile::{IdentityType, quoted};

const REQUESTS: &str = "requests";
/// The fields of `POST …/redactions`.
pub const REDACTION_FIELDS: &[&str] = &[REQUESTS];
/// Most redactions of one call.
pub const REDACTIONS_MAX: usize = 100;

const MEMBERS: [&str; 6] =
    ["redaction_type", "property", "value", "app_publish_id", "external_redaction_id", "author"];
const EXPECTED: &str = "a JSON array of maps with redaction_type, property and value";
/// The properties that each type has.
const TYPES: [(&str, &[&str]); 5] = [
    ("message", &["message_id"]),
    ("attachment", &["attachment_id"]),
    ("title", &["issue_id"]),
    ("issue", &["issue_id", "email", "hs_user_id", "external_user_id"]),
    ("user", &["email", "hs_user_id", "external_user_id"]),
];

/// The part or the person that is to be redacted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Redaction {
    /// The body of the message with this id.
    Message(String),
    /// The attachment with this id.
    Attachment(String),
    /// The title of an issue.
    Title(u64),
    /// Everything of the end users of an issue.
    Issue(u64),
    /// The issues of a person, who stays.
    IssuesOf(Selector),
    /// A person, as an erasure does.
    User(Selector),
}

/// One redaction that a caller asks for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedRedaction {
    /// The caller's own name for it, which the answer repeats.
    pub external_redaction_id: Option<String>,
    /// The app to which it is limited.
    pub app_publish_id: Option<String>,
    /// `Err` is a sentence about all faults.
    pub redaction: Result<Redaction, String>,
}

/// Reads the form of redactions.
pub fn read_redactions(pairs: &[(String, String)]) -> ParsedForm<Vec<RequestedRedaction>> {
    let mut fields = Fields::new(pairs, REDACTION_FIELDS);
    let Some((spelled, value)) = fields.get(REQUESTS) else {
        let detail = format!("the field {REQUESTS} is required: {EXPECTED}");
        fields.fault(REQUESTS, ErrorCode::MissingField, detail);
        return (Vec::new(), fields.faults);
    };
    let requests = match fields.json(REQUESTS, EXPECTED) {
        Some((_, Json::Array(items))) if (1..=REDACTIONS_MAX).contains(&items.len()) => items,
        Some((_, Json::Array(items))) => {
            let count = items.len();
            let detail = format!("{spelled} has {count} maps; 1 to {REDACTIONS_MAX} are allowed");
            fields.fault(spelled, ErrorCode::OutOfRange, detail);
            Vec::new()
        }
        Some(_) => {
            let detail = format!("{spelled} holds {}; {EXPECTED} is expected", quoted(value));
            fields.fault(spelled, ErrorCode::InvalidValue, detail);
            Vec::new()
        }
        None => Vec::new(),
    };
    (requests.iter().map(requested).collect(), fields.faults)
}

fn requested(json: &Json<'_>) -> RequestedRedaction {
    let mut faults = Vec::new();
    if let Json::Object(members) = json {
        let is_unknown = |name: &&str| !MEMBERS.contains(name);
        let unknown = members.iter().map(|(name, _)| name.as_ref()).filter(is_unknown).take(3);
        let known = MEMBERS.join(", ");
        faults.extend(
            unknown.map(|name| {
                format!("there is no member {}; the members are {known}", quoted(name))
            }),
        );
    } else {
        faults.push(format!("this is {}; a map is expected", json.type_name()));
    }
    let mut text = |name: &str| text_of(json, name, &mut faults);
    let [kind, property, value] = ["redaction_type", "property", "value"].map(&mut text);
    let [app_publish_id, external_redaction_id] =
        ["app_publish_id", "external_redaction_id"].map(&mut text);
    let redaction = match (kind, property, value) {
        (Some(kind), Some(property), Some(value)) => redaction(&kind, &property, &value),
        (kind, property, value) => {
            let missing = [("redaction_type", kind), ("property", property), ("value", value)]
                .into_iter()
                .filter(|(_, given)| given.is_none())
                .map(|(name, _)| name);
            Err(format!("required: {}", missing.collect::<Vec<_>>().join(", ")))
        }
    };
    let redaction = match redaction {
        Ok(redaction) if faults.is_empty() => Ok(redaction),
        redaction => {
            faults.extend(redaction.err());
            Err(faults.join("; "))
        }
    };
    RequestedRedaction { external_redaction_id, app_publish_id, redaction }
}

/// A member that is a text or a number.
fn text_of(json: &Json<'_>, name: &str, faults: &mut Vec<String>) -> Option<String> {
    let text = match json.get(name)? {
        Json::Null => return None,
        Json::String(text) => text.as_ref(),
        Json::Number(digits) => digits,
        other => {
            faults.push(format!("{name} is {}; a text is expected", other.type_name()));
            return None;
        }
    };
    let longest = IdentityType::Uid.value_chars_max().max(FOREIGN_ID_CHARS_MAX);
    if text.chars().count() > longest {
        faults.push(format!("{name} has more than {longest} characters"));
        return None;
    }
    Some(text.to_owned()).filter(|text| !text.is_empty())
}

fn redaction(kind: &str, property: &str, value: &str) -> Result<Redaction, String> {
    let Some((kind, properties)) = TYPES.iter().find(|(known, _)| *known == kind) else {
        let known = TYPES.map(|(known, _)| known).join(", ");
        return Err(format!("redaction_type {} is not one of {known}", quoted(kind)));
    };
    if !properties.contains(&property) {
        let known = properties.join(", ");
        let property = quoted(property);
        return Err(format!("the property {property} of type {kind} is not one of {known}"));
    }
    let issue = || match value.parse() {
        Ok(id @ 1..=ISSUE_ID_MAX) => Ok(id),
        _ => Err(format!("{} is not an issue id", quoted(value))),
    };
    let person = || match property {
        "email" => IdentityKey::of_text(IdentityType::Email, value).map(Selector::Identity),
        "external_user_id" => {
            IdentityKey::of_text(IdentityType::Uid, value).map(Selector::Identity)
        }
        _ => Ok(Selector::AppProfile(value.to_owned())),
    };
    match (*kind, property) {
        ("message", _) => Ok(Redaction::Message(value.to_owned())),
        ("attachment", _) => Ok(Redaction::Attachment(value.to_owned())),
        ("title", _) => issue().map(Redaction::Title),
        ("issue", "issue_id") => issue().map(Redaction::Issue),
        ("issue", _) => person().map(Redaction::IssuesOf),
        _ => person().map(Redaction::User),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(requests: &str) -> ParsedForm<Vec<RequestedRedaction>> {
        read_redactions(&[("requests".to_owned(), requests.to_owned())])
    }

    fn one(members: &str) -> RequestedRedaction {
        let (mut requests, faults) = read(&format!("[{{{members}}}]"));
        assert_eq!((requests.len(), faults), (1, Vec::new()), "{members}");
        requests.remove(0)
    }

    #[test]
    fn each_type_and_property_names_one_thing() {
        let key = |kind, value| Selector::Identity(IdentityKey::new(kind, value));
        let (ada, uid) = (key(IdentityType::Email, "ada@x"), key(IdentityType::Uid, "u1"));
        let pid = Selector::AppProfile("p1".to_owned());
        for (kind, property, value, expected) in [
            ("message", "message_id", r#""m1""#, Redaction::Message("m1".to_owned())),
            ("attachment", "attachment_id", r#""a1""#, Redaction::Attachment("a1".to_owned())),
            ("title", "issue_id", "7", Redaction::Title(7)),
            ("issue", "issue_id", r#""7""#, Redaction::Issue(7)),
            ("issue", "email", r#"" Ada@X""#, Redaction::IssuesOf(ada.clone())),
            ("user", "email", r#""ada@x""#, Redaction::User(ada)),
            ("user", "external_user_id", r#""u1""#, Redaction::User(uid)),
            ("user", "hs_user_id", r#""p1""#, Redaction::User(pid)),
        ] {
            let read = one(&format!(
                r#""redaction_type":"{kind}","property":"{property}","value":{value},
                   "external_redaction_id":"e1","author":null"#
            ));
            assert_eq!(read.redaction, Ok(expected), "{kind} {property}");
            assert_eq!(read.external_redaction_id.as_deref(), Some("e1"));
            assert_eq!(read.app_publish_id, None);
        }
    }

    #[test]
    fn a_refused_redaction_has_all_of_its_faults_and_its_name() {
        for (members, parts) in [
            ("", &["required: redaction_type, property, value"][..]),
            (
                r#""redaction_type":"user","value":"","who":1"#,
                &["no member \"who\"", "required: property, value"],
            ),
            (
                r#""redaction_type":"note","property":"email","value":"a@x""#,
                &["\"note\" is not one of message, attachment, title, issue, user"],
            ),
            (
                r#""redaction_type":"message","property":"email","value":"a@x""#,
                &["\"email\" of type message is not one of message_id"],
            ),
            (r#""redaction_type":"title","property":"issue_id","value":"0""#, &["not an issue id"]),
            (
                r#""redaction_type":"user","property":"email","value":[]"#,
                &["value is an array", "required: value"],
            ),
        ] {
            let read = one(&format!(
                r#"{members}{}"external_redaction_id":"e1""#,
                if members.is_empty() { "" } else { "," }
            ));
            let reason = read.redaction.expect_err(members);
            assert!(parts.iter().all(|part| reason.contains(part)), "{reason}");
            assert_eq!(read.external_redaction_id.as_deref(), Some("e1"));
        }
        let (requests, faults) = read("[7]");
        assert_eq!(faults, []);
        assert!(requests[0].redaction.as_ref().is_err_and(|why| why.contains("a number")));
    }

    #[test]
    fn a_form_without_a_list_of_redactions_is_refused_as_a_whole() {
        let many = format!("[{}]", vec!["{}"; REDACTIONS_MAX + 1].join(","));
        for (requests, code) in [
            ("", ErrorCode::MissingField),
            ("{}", ErrorCode::InvalidValue),
            ("[", ErrorCode::InvalidValue),
            ("[]", ErrorCode::OutOfRange),
            (&many, ErrorCode::OutOfRange),
        ] {
            let (read, faults) = read(requests);
            assert_eq!((read.len(), faults.len(), faults[0].code), (0, 1, code), "{requests}");
        }
    }
}
