//! The form of `POST …/erasures`: the person, and whether their issues are redacted or
//! deleted.

use crate::error_code::ErrorCode;
use crate::ids::{CoreProfileId, FOREIGN_ID_CHARS_MAX, IdentityKey};
use crate::issue::write::ParsedForm;
use crate::issue::write::fields::Fields;
use crate::profile::CORE_PROFILE_ID_MAX;
use crate::profile_query::identity_of_text;

const IDENTITY: &str = "identity";
const CORE_PROFILE_ID: &str = "core-profile-id";
const PID: &str = "pid";
const SELECTORS: [&str; 3] = [IDENTITY, CORE_PROFILE_ID, PID];
const ISSUES: &str = "issues";
const DRY_RUN: &str = "dry_run";
const TASKS: &str = "tasks";

/// No task has a later place.
const TASK_MAX: u64 = i64::MAX as u64;

/// The fields of `POST …/erasures`.
pub const ERASURE_FIELDS: &[&str] = &[IDENTITY, CORE_PROFILE_ID, PID, ISSUES, DRY_RUN, TASKS];

/// Names a person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Selector {
    Identity(IdentityKey),
    CoreProfile(CoreProfileId),
    AppProfile(String),
}

/// Whether the issues of an erased person stay.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum IssuesOfErased {
    #[default]
    Redacted,
    Deleted,
}

/// An erasure as a caller asks for it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErasureRequest {
    /// `None` only in a form that has a fault.
    pub selector: Option<Selector>,
    pub issues: IssuesOfErased,
    pub dry_run: bool,
    /// Of a dry run: the place after which the tasks begin that are shown with their entries and
    /// records of the person.
    pub tasks: Option<u64>,
}

/// Reads the form of an erasure.
pub fn read_erasure(pairs: &[(String, String)]) -> ParsedForm<ErasureRequest> {
    let mut fields = Fields::new(pairs, ERASURE_FIELDS);
    let words = [("redact", IssuesOfErased::Redacted), ("delete", IssuesOfErased::Deleted)];
    let selector = selector(&mut fields);
    let issues = fields.word(ISSUES, words.into_iter()).unwrap_or_default();
    let dry_run = fields.boolean(DRY_RUN).unwrap_or_default();
    let request = ErasureRequest { selector, issues, dry_run, tasks: tasks(&mut fields, dry_run) };
    (request, fields.faults)
}

/// The place after which tasks are shown.
fn tasks(fields: &mut Fields<'_>, dry_run: bool) -> Option<u64> {
    let (spelled, value) = fields.get(TASKS)?;
    if !dry_run {
        let detail = format!("{spelled} is for a dry run: send dry_run=true with it");
        fields.fault(spelled, ErrorCode::ConflictingParameter, detail);
    }
    let digits = if value == "*" { "0" } else { value };
    // A number that is too large for the database is after all tasks, too.
    let is_number = digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_number {
        return Some(digits.parse().map_or(TASK_MAX, |place: u64| place.min(TASK_MAX)));
    }
    let detail = format!("{spelled} is * for the first tasks, or next-tasks of an answer");
    fields.fault(spelled, ErrorCode::InvalidValue, detail);
    None
}

fn selector(fields: &mut Fields<'_>) -> Option<Selector> {
    let given: Vec<_> =
        SELECTORS.iter().filter_map(|name| Some((*name, fields.get(name)?))).collect();
    let mut selectors = Vec::new();
    for (name, (spelled, value)) in &given {
        match selector_of(name, value) {
            Ok(selector) => selectors.push(selector),
            Err(detail) => {
                let detail = format!("{spelled}: {detail}");
                fields.fault(spelled, ErrorCode::InvalidValue, detail);
            }
        }
    }
    let names = SELECTORS.join(", ");
    match &given[..] {
        [] => {
            let detail = format!("one of the fields {names} is required: it says whom to erase");
            fields.fault(IDENTITY, ErrorCode::MissingField, detail);
        }
        [_] => {}
        [_, others @ ..] => {
            let detail = format!("exactly one of the fields {names} says whom to erase; send one");
            for (_, (spelled, _)) in others {
                fields.fault(spelled, ErrorCode::ConflictingParameter, detail.clone());
            }
        }
    }
    selectors.pop().filter(|_| given.len() == 1)
}

/// The person that a field names. `Err` is a sentence about the fault.
fn selector_of(name: &str, value: &str) -> Result<Selector, String> {
    match name {
        IDENTITY => identity_of_text(value).map(Selector::Identity),
        CORE_PROFILE_ID => {
            let id = value.parse::<u64>().ok().filter(|id| *id <= CORE_PROFILE_ID_MAX);
            // An id has one spelling.
            let id = id.filter(|id| id.to_string() == value).map(CoreProfileId);
            id.map(Selector::CoreProfile).ok_or_else(|| {
                "a core profile's id is digits alone, without zeros in front".to_owned()
            })
        }
        _ if value.chars().count() > FOREIGN_ID_CHARS_MAX => {
            Err(format!("a pid has at most {FOREIGN_ID_CHARS_MAX} characters"))
        }
        _ => Ok(Selector::AppProfile(value.to_owned())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::IdentityType;

    fn read(fields: &[(&str, &str)]) -> ParsedForm<ErasureRequest> {
        let pairs: Vec<_> =
            fields.iter().map(|(name, value)| ((*name).into(), (*value).into())).collect();
        read_erasure(&pairs)
    }

    #[test]
    fn each_selector_is_read_and_normalised() {
        let email = Selector::Identity(IdentityKey::new(IdentityType::Email, "ada@example.org"));
        for (name, value, selector) in [
            ("identity", "email: Ada@Example.ORG ", email),
            ("core_profile_id", "16", Selector::CoreProfile(CoreProfileId(16))),
            ("pid", "p 1", Selector::AppProfile("p 1".to_owned())),
        ] {
            let request = ErasureRequest { selector: Some(selector), ..Default::default() };
            assert_eq!(read(&[(name, value)]), (request.clone(), Vec::new()), "{name}");
            let (options, faults) =
                read(&[(name, value), ("issues", "delete"), ("dry-run", "True")]);
            let issues = IssuesOfErased::Deleted;
            assert_eq!(
                (options, faults),
                (ErasureRequest { issues, dry_run: true, ..request }, vec![])
            );
        }
    }

    #[test]
    fn tasks_are_shown_from_the_first_or_from_a_place() {
        for (value, place) in
            [("*", Some(0)), ("17", Some(17)), ("99999999999999999999", Some(TASK_MAX)), ("", None)]
        {
            let (request, faults) = read(&[("pid", "p"), ("dry_run", "true"), ("tasks", value)]);
            assert_eq!((request.tasks, faults), (place, Vec::new()), "{value}");
        }
    }

    #[test]
    fn all_faults_of_a_form_come_at_once() {
        use ErrorCode::{ConflictingParameter, InvalidValue, MissingField, UnknownParameter};
        for (fields, expected) in [
            (&[][..], &[("identity", MissingField)][..]),
            (&[("pid", "")], &[("identity", MissingField)]),
            (&[("identity", "ada")], &[("identity", InvalidValue)]),
            (&[("identity", "mail:ada@x")], &[("identity", InvalidValue)]),
            (&[("identity", "email: ")], &[("identity", InvalidValue)]),
            (&[("core-profile-id", "016")], &[("core-profile-id", InvalidValue)]),
            (&[("core-profile-id", "+16")], &[("core-profile-id", InvalidValue)]),
            (
                &[
                    ("pid", "p"),
                    ("identity", "x:y"),
                    ("issues", "keep"),
                    ("dry_run", "?"),
                    ("tasks", "first"),
                    ("a", ""),
                ],
                &[
                    ("a", UnknownParameter),
                    ("identity", InvalidValue),
                    ("pid", ConflictingParameter),
                    ("issues", InvalidValue),
                    ("dry_run", InvalidValue),
                    ("tasks", ConflictingParameter),
                    ("tasks", InvalidValue),
                ],
            ),
        ] {
            let (request, faults) = read(fields);
            let found: Vec<_> = faults.iter().map(|f| (f.parameter.as_str(), f.code)).collect();
            assert_eq!(found, expected, "{fields:?}");
            assert_eq!(request.selector, None, "{fields:?}");
        }
    }
}
