//! The filters that are one JSON value of their own: condition objects and lists of texts. The
//! bytes are `PARAMETER=VALUE`. A filter is accepted exactly if a plain list of rules calls it
//! good, and becomes the condition of those rules. Any other value is a bounded number of faults of
//! that parameter.

use std::collections::BTreeSet;

use caseload_model::fold::fold;
use caseload_model::issue_query::{Condition, IssueQuery, ParameterFault, parse_list};
use caseload_model::json::{self, Json};

/// The most faults of one filter, and the most bytes of one fault.
const FAULTS_MAX: usize = 100;
const DETAIL_BYTES_MAX: usize = 2000;

/// The accepted values of a parameter.
enum Kind {
    /// These keys, and whether the texts are compared without case. A bare list means `or`.
    Object(&'static [&'static str], bool, fn(&IssueQuery) -> &Condition),
    List(fn(&IssueQuery) -> &Option<Vec<String>>),
}

/// The parameters in whose bare lists commas separate the members.
const WITH_COMMAS: [&str; 6] =
    ["languages", "assignee-ids", "app-ids", "platform-types", "queue-ids", "issue-modes"];

const ALL: &[&str] = &["and", "or", "nor", "exists"];

const KINDS: [(&str, Kind); 14] = [
    ("tags", Kind::Object(ALL, false, |query| &query.tags)),
    ("languages", Kind::Object(ALL, false, |query| &query.languages)),
    ("assignee-ids", Kind::Object(ALL, false, |query| &query.assignee_ids)),
    ("assignee-emails", Kind::Object(&["or"], true, |query| &query.assignee_emails)),
    ("author-emails", Kind::Object(&["or", "exists"], true, |query| &query.author_emails)),
    ("title", Kind::Object(ALL, true, |query| &query.title)),
    ("messages", Kind::Object(ALL, true, |query| &query.messages)),
    ("notes", Kind::Object(ALL, true, |query| &query.notes)),
    (
        "feedback-comment",
        Kind::Object(&["and", "nor", "exists"], true, |query| &query.feedback_comment),
    ),
    ("app-ids", Kind::List(|query| &query.app_ids)),
    ("platform-types", Kind::List(|query| &query.platform_types)),
    ("queue-ids", Kind::List(|query| &query.queue_ids)),
    ("end-user-ids", Kind::List(|query| &query.end_user_ids)),
    ("issue-modes", Kind::List(|query| &query.issue_modes)),
];

pub(crate) fn holds(data: &[u8]) {
    let Some((name, value)) = std::str::from_utf8(data).ok().and_then(|t| t.split_once('=')) else {
        return;
    };
    let known = name.replace('_', "-");
    let Some((_, kind)) = KINDS.iter().find(|(parameter, _)| *parameter == known) else { return };
    let outcome = parse_list(&[(name.to_owned(), value.to_owned())]);
    if let Err(faults) = &outcome {
        refused(name, faults);
    }
    let query = outcome.ok().map(|request| request.query);
    let json = json::parse(value.as_bytes()).ok();
    match kind {
        Kind::Object(keys, is_folded, condition) => {
            let expected = if value.trim_start().starts_with('{') {
                json.and_then(|json| expected(&json, keys, *is_folded))
            } else {
                bare_list(&known, value, *is_folded, true)
                    .map(|or| Condition { or: Some(or), ..Condition::default() })
            };
            assert_eq!(query.as_ref().map(condition), expected.as_ref(), "{name}={value}");
        }
        Kind::List(list) => {
            let expected = bare_list(&known, value, false, false);
            let found = query.as_ref().map(|query| list(query).clone());
            assert_eq!(found, expected.map(Some), "{name}={value}");
        }
    }
}

/// A list that is not in a map: JSON, or the members themselves.
fn bare_list(name: &str, value: &str, is_folded: bool, is_condition: bool) -> Option<Vec<String>> {
    if value.trim_start().starts_with(['[', '{', '"']) {
        return texts(&json::parse(value.as_bytes()).ok()?, is_folded);
    }
    let members: Vec<&str> = if WITH_COMMAS.contains(&name) {
        value.split(',').map(str::trim).collect()
    } else {
        vec![value]
    };
    let text = |text: &&str| if is_folded { fold(text) } else { (*text).to_owned() };
    let set: BTreeSet<String> = members.iter().map(text).collect();
    let is_refused = members.contains(&"") || is_condition && ALL.contains(&value);
    (!is_refused).then(|| set.into_iter().collect())
}

/// Checks the faults of the only parameter, which is JSON.
pub(crate) fn refused(name: &str, faults: &[ParameterFault]) {
    assert!((1..=FAULTS_MAX).contains(&faults.len()), "{} faults", faults.len());
    for fault in faults {
        assert_eq!(fault.parameter, name, "{fault:?}");
        assert!((1..=DETAIL_BYTES_MAX).contains(&fault.detail.len()), "{fault:?}");
    }
}

fn expected(json: &Json<'_>, keys: &[&str], is_folded: bool) -> Option<Condition> {
    let Json::Object(members) = json else { return None };
    let mut condition = Condition::default();
    for (key, value) in members {
        match key.as_ref() {
            key if !keys.contains(&key) => return None,
            "and" => condition.and = texts(value, is_folded)?,
            "or" => condition.or = Some(texts(value, is_folded)?),
            "nor" => condition.nor = texts(value, is_folded)?,
            _ => condition.exists = Some(boolean(value)?),
        }
    }
    Some(condition)
}

/// An array of strings as a set.
pub(crate) fn texts(json: &Json<'_>, is_folded: bool) -> Option<Vec<String>> {
    let Json::Array(items) = json else { return None };
    let text = |text: &str| if is_folded { fold(text) } else { text.to_owned() };
    let set: Option<BTreeSet<String>> = items.iter().map(|item| item.as_str().map(text)).collect();
    Some(set?.into_iter().collect())
}

pub(crate) fn boolean(json: &Json<'_>) -> Option<bool> {
    match json {
        Json::Bool(value) => Some(*value),
        Json::Number(digit) if *digit == "1" || *digit == "0" => Some(*digit == "1"),
        Json::String(word) => match word.to_ascii_lowercase().as_str() {
            "true" | "1" => Some(true),
            "false" | "0" => Some(false),
            _ => None,
        },
        _ => None,
    }
}
