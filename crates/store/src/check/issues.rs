//! Rules of issues: fragments parse and agree with the columns, every referenced record exists, and
//! the stored counters equal the counted issues.

use std::collections::HashMap;

use caseload_model::ids::ISSUE_ID_COUNTED_MAX;
use caseload_model::issue::{
    CounterKey, Facet, IssueColumns, IssueFragments, UNASSIGNED, counted_days, counter_keys,
};
use caseload_model::issue_query::IssueView;
use caseload_model::json::{self, Json};

use super::domains::{Domains, Scope};
use super::{CheckedStore, Findings};
use crate::StoreError;
use crate::checksum::require_fragments;
use crate::issues::{COLUMNS, COLUMNS_END, FRAGMENTS, FRAGMENTS_COUNT, columns, fragments, sums};

/// The references and limits of an issue, in the order in which they are read.
const REFERENCES: [&str; 6] = [
    "its id is beyond the domain's clock",
    "its created_at is beyond the domain's clock",
    "its app is not there",
    "its queue is not there",
    "its assignee is not there",
    "its row is beyond the domain's clock",
];

/// Each issue, its fragments and its references.
pub fn rows<S: CheckedStore>(store: &S, findings: &mut Findings) -> Result<(), StoreError> {
    let domains = Domains::read(store)?;
    let mut count = 0;
    for scope in domains.scopes(store) {
        scope.each(&select_with_references(&scope), |row| {
            let Some(name) = domains.name_in(row, COLUMNS_END)? else { return Ok(()) };
            count += 1;
            let id: i64 = row.get(FRAGMENTS_COUNT)?;
            let mut broken = |rule: &str| {
                findings.fault(format!("domain {name}, issue {id}: {rule}"));
            };
            for (place, rule) in REFERENCES.iter().enumerate() {
                if !row.get::<bool>(COLUMNS_END + 2 + place)? {
                    broken(rule);
                }
            }
            if !row.get::<bool>(COLUMNS_END + 1)? {
                broken("its fragments are not there");
                return Ok(());
            }
            disagreements(&columns(row)?, &fragments(row)?, sums(row)?, &mut broken);
            Ok(())
        })?;
        if let Some(strays) = S::STRAY_BODIES {
            scope.counts(&domains, strays, |name, strays| {
                findings.fault(format!("domain {name}: {strays} fragments belong to no issue"));
            })?;
        }
    }
    findings.verified("issues", count);
    Ok(())
}

/// Selects issues with fragments, domain, whether there are fragments, and [`REFERENCES`].
fn select_with_references<S: CheckedStore>(scope: &Scope<'_, S>) -> String {
    let (d, is_body, row_is_given) = (scope.domain_of("i"), S::IS_BODY, S::ROW_IS_GIVEN);
    format!(
        "SELECT {FRAGMENTS}, {COLUMNS}, i.domain_id, b.row IS NOT NULL,
         i.id <= c.last_issue_id OR i.id > {ISSUE_ID_COUNTED_MAX},
         i.created_at <= c.last_created_at,
         EXISTS (SELECT 1 FROM apps x WHERE x.domain_id = {d} AND x.id = i.app_id),
         i.queue_id IS NULL OR
         EXISTS (SELECT 1 FROM queues x WHERE x.domain_id = {d} AND x.id = i.queue_id),
         i.assignee_id IS NULL OR
         EXISTS (SELECT 1 FROM agents x WHERE x.domain_id = {d} AND x.id = i.assignee_id),
         {row_is_given}
         FROM issues i JOIN domain_clocks c ON c.domain_id = {d}
         LEFT JOIN issue_bodies b ON {is_body} WHERE i.domain_id = {d}"
    )
}

/// All issues with their fragments, domain and row.
pub(super) fn select<S: CheckedStore>(scope: &Scope<'_, S>) -> String {
    let (d, is_body) = (scope.domain_of("i"), S::IS_BODY);
    format!(
        "SELECT {FRAGMENTS}, {COLUMNS}, i.domain_id, i.row FROM issues i
         JOIN issue_bodies b ON {is_body} WHERE i.domain_id = {d}"
    )
}

/// The stored counters equal the counted issues.
pub fn counts<S: CheckedStore>(store: &S, findings: &mut Findings) -> Result<(), StoreError> {
    let domains = Domains::read(store)?;
    let mut count = 0;
    for scope in domains.scopes(store) {
        let mut counted = ExpectedCounters::default();
        scope.each(&select(&scope), |row| {
            counted.add(row.get(COLUMNS_END)?, &columns(row)?);
            Ok(())
        })?;
        scope.each(S::COUNTERS, |row| {
            let domain = row.get(0)?;
            let Some(name) = domains.name(domain) else { return Ok(()) };
            count += 1;
            let key = (row.get(1)?, row.get(2)?, row.get(3)?);
            counted.compare(findings, (domain, name), key, row.get(4)?);
            Ok(())
        })?;
        counted.missing(findings, &domains);
    }
    findings.verified("counts of issues", count);
    Ok(())
}

/// Reports fragments that do not have their checksums, do not parse or do not agree with the
/// columns.
fn disagreements(
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
struct ExpectedCounters(HashMap<(i64, CounterKey), i64>);

impl ExpectedCounters {
    /// Adds an issue of a domain.
    fn add(&mut self, domain: i64, columns: &IssueColumns) {
        for key in counter_keys(columns) {
            *self.0.entry((domain, key)).or_default() += 1;
        }
    }

    /// Compares a stored counter of the domain `name` with the expected one.
    fn compare(
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

    /// Reports expected counters that are not stored.
    fn missing(self, findings: &mut Findings, domains: &Domains) {
        for ((domain, key), found) in self.0 {
            if let Some(name) = domains.name(domain) {
                findings
                    .fault(format!("domain {name}: {} is missing, {found} are there", named(&key)));
            }
        }
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
