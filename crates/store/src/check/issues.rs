//! Rules of issues: fragments parse and agree with the columns, every referenced record exists, and
//! the stored counters equal the counted issues.

use std::collections::HashMap;

use caseload_model::issue::{
    CounterKey, Facet, IssueColumns, IssueFragments, UNASSIGNED, counted_days, counter_keys,
};
use caseload_model::issue_query::IssueView;
use caseload_model::json::{self, Json};

use super::Findings;
use crate::checksum::require_fragments;

/// The references and limits of an issue, in the order in which backends report them.
pub const REFERENCES: [&str; 5] = [
    "its id is beyond the domain's clock",
    "its created_at is beyond the domain's clock",
    "its app is not there",
    "its queue is not there",
    "its assignee is not there",
];
/// The fault of an issue without fragments.
pub const NO_FRAGMENTS: &str = "its fragments are not there";

/// Reports fragments that do not have their checksums, do not parse or do not agree with the
/// columns.
pub fn disagreements(
    columns: &IssueColumns,
    issue: &IssueFragments<'_>,
    sums: &[u8],
    broken: &mut impl FnMut(&str),
) {
    if require_fragments(issue, &IssueView::FULL, sums).is_err() {
        broken("its fragments do not have their checksums");
    }
    for (name, fragment) in [
        ("messages", Some(issue.messages)),
        ("private_notes", issue.private_notes),
        ("meta", Some(issue.meta)),
        ("custom_fields", Some(issue.custom_fields)),
        ("queue", issue.queue),
        ("sentiment_analysis", issue.sentiment_analysis),
        ("smart_intents", issue.smart_intents),
    ] {
        let Some(fragment) = fragment else { continue };
        let parsed = json::parse(fragment);
        let right = match name {
            "messages" | "private_notes" => matches!(parsed, Ok(Json::Array(_))),
            "meta" | "custom_fields" => matches!(parsed, Ok(Json::Object(_))),
            _ => parsed.is_ok(),
        };
        if !right {
            broken(&format!("its {name} cannot be read"));
        }
    }
    let feedback = braced(issue.feedback.unwrap_or_default());
    let labels = braced(issue.predict_labels.unwrap_or_default());
    let head = braced(issue.head);
    let (Ok(head), Ok(feedback), Ok(_)) =
        (json::parse(&head), json::parse(&feedback), json::parse(&labels))
    else {
        broken("its head, feedback or labels cannot be read");
        return;
    };
    for (name, agrees) in agreements(columns, &head, &feedback, issue) {
        if !agrees {
            broken(&format!("its {name} is another one in the column that filters look at"));
        }
    }
}

/// Each field that is stored twice, and whether both values agree.
fn agreements(
    columns: &IssueColumns,
    head: &Json<'_>,
    feedback: &Json<'_>,
    issue: &IssueFragments<'_>,
) -> Vec<(&'static str, bool)> {
    let facts = &columns.facts;
    let number = |json: Option<&Json<'_>>, expected: Option<i64>| match (json, expected) {
        (Some(Json::Number(digits)), Some(expected)) => *digits == expected.to_string(),
        (json, expected) => json.is_none() && expected.is_none(),
    };
    let text =
        |json: Option<&Json<'_>>, expected: Option<&str>| json.and_then(Json::as_str) == expected;
    let state = head.get("state_data");
    let mode = head.get("issue_mode_data").and_then(|data| data.get("issue_mode"));
    let queue = issue.queue.and_then(|queue| json::parse(queue).ok());
    let queue_id = queue.as_ref().and_then(|queue| queue.get("id"));
    let assignee = facts.assignee_id.as_deref().unwrap_or(UNASSIGNED);
    let original = columns.original_created_at.map(|at| at.0);
    let email = head.get("author_email").and_then(Json::as_str).map(caseload_model::fold::fold);
    vec![
        ("id", number(head.get("id"), Some(columns.id as i64))),
        ("created_at", number(head.get("created_at"), Some(columns.created_at.0))),
        ("original_created_at", number(head.get("original_created_at"), original)),
        ("updated_at", number(head.get("updated_at"), Some(facts.updated_at.0))),
        ("state", text(state.and_then(|s| s.get("state")), Some(facts.state.as_str()))),
        ("changed_at", number(state.and_then(|s| s.get("changed_at")), Some(facts.changed_at.0))),
        ("app_id", text(head.get("app_id"), Some(&columns.app_id))),
        ("hs_user_id", text(head.get("hs_user_id"), Some(&facts.hs_user_id))),
        ("author_email", email.as_deref() == Some(&facts.author_email)),
        ("assignee_id", text(head.get("assignee_id"), Some(assignee))),
        ("redacted", head.get("redacted") == Some(&Json::Bool(facts.redacted))),
        ("language", text(head.get("language"), facts.language.as_deref())),
        ("platform_type", text(head.get("platform_type"), facts.platform_type.as_deref())),
        ("issue_mode", text(mode, facts.issue_mode.as_deref())),
        ("feedback_rating", number(feedback.get("feedback_rating"), facts.rating.map(i64::from))),
        ("queue", text(queue_id, facts.queue.as_ref().map(|queue| queue.id.as_str()))),
    ]
}

/// The expected counters of each domain.
#[derive(Debug, Default)]
pub struct ExpectedCounters(HashMap<(i64, CounterKey), i64>);

impl ExpectedCounters {
    /// Adds an issue of a domain.
    pub fn add(&mut self, domain: i64, columns: &IssueColumns) {
        for key in counter_keys(columns) {
            *self.0.entry((domain, key)).or_default() += 1;
        }
    }

    /// Compares a stored counter of the domain `name` with the expected one.
    pub fn compare(
        &mut self,
        findings: &mut Findings,
        (domain, name): (i64, &str),
        (code, value, day): (i64, Vec<u8>, i64),
        stored: i64,
    ) {
        let Some(facet) = Facet::from_code(code) else {
            findings.fault(format!("domain {name}: a count of an unknown kind {code}"));
            return;
        };
        let key = CounterKey { facet, value, day };
        let found = self.0.remove(&(domain, key.clone())).unwrap_or_default();
        if found != stored {
            findings
                .fault(format!("domain {name}: {} is {stored}, {found} are there", named(&key)));
        }
    }

    /// Reports expected counters that are not stored. A domain without a name is being removed.
    pub fn missing<E>(
        self,
        findings: &mut Findings,
        mut name_of: impl FnMut(i64) -> Result<Option<String>, E>,
    ) -> Result<(), E> {
        for ((domain, key), found) in self.0 {
            if let Some(name) = name_of(domain)? {
                findings
                    .fault(format!("domain {name}: {} is missing, {found} are there", named(&key)));
            }
        }
        Ok(())
    }
}

fn named(key: &CounterKey) -> String {
    let (facet, value) = (key.facet.as_str(), String::from_utf8_lossy(&key.value));
    match counted_days(key.day) {
        (first, last) if first == last => format!("the count of {facet} {value:?} on day {first}"),
        (first, last) => format!("the count of {facet} {value:?} on days {first} to {last}"),
    }
}

/// Members of a JSON object in braces.
fn braced(members: &[u8]) -> Vec<u8> {
    [b"{", members, b"}"].concat()
}
