//! Checks of issues: fragments parse and say what the columns say, ids and instants are within the
//! domain's clock, whoever is named is there, and kept counts equal the issues counted anew.
//! Whether ids and instants are unique, and whether fragments belong to an issue, is told by the
//! checks of the file and of references.

use std::collections::HashMap;

use caseload_model::ids::ISSUE_ID_COUNTED_MAX;
use caseload_model::issue::{
    CounterKey, Facet, IssueColumns, IssueFragments, UNASSIGNED, counter_keys,
};
use caseload_model::json::{self, Json};
use rusqlite::{Connection, Row};

use super::super::issues::{BEHIND, COLUMNS, FRAGMENTS, FRAGMENTS_COUNT, columns, fragments};
use super::Findings;
use crate::StoreError;

/// What one issue says and what it refers to.
pub(super) fn rows(conn: &Connection, findings: &mut Findings) -> Result<(), StoreError> {
    let mut statement = conn.prepare(&format!(
        "SELECT {FRAGMENTS}, {COLUMNS}, d.name, b.row IS NOT NULL,
         i.id <= c.last_issue_id OR i.id > {ISSUE_ID_COUNTED_MAX},
         i.created_at <= c.last_created_at,
         EXISTS (SELECT 1 FROM apps x WHERE x.domain_id = d.id AND x.id = i.app_id),
         EXISTS (SELECT 1 FROM app_profiles x WHERE x.domain_id = d.id AND x.pid = i.hs_user_id),
         i.queue_id IS NULL OR
         EXISTS (SELECT 1 FROM queues x WHERE x.domain_id = d.id AND x.id = i.queue_id),
         i.assignee_id IS NULL OR
         EXISTS (SELECT 1 FROM agents x WHERE x.domain_id = d.id AND x.id = i.assignee_id)
         FROM issues i JOIN domains d ON d.id = i.domain_id
         JOIN domain_clocks c ON c.domain_id = d.id LEFT JOIN issue_bodies b ON b.row = i.row"
    ))?;
    let mut rows = statement.query([])?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        count += 1;
        let id: i64 = row.get(FRAGMENTS_COUNT)?;
        let domain: String = row.get(BEHIND)?;
        let mut broken = |law: &str| {
            findings.fault(format!("domain {domain}, issue {id}: {law}"));
        };
        for (place, law) in [
            (2, "its id is beyond the domain's clock"),
            (3, "its created_at is beyond the domain's clock"),
            (4, "its app is not there"),
            (5, "its author's app profile is not there"),
            (6, "its queue is not there"),
            (7, "its assignee is not there"),
        ] {
            if !row.get::<_, bool>(BEHIND + place)? {
                broken(law);
            }
        }
        if !row.get::<_, bool>(BEHIND + 1)? {
            broken("its fragments are not there");
            continue;
        }
        disagreements(row, &mut broken)?;
    }
    findings.verified("issues", count);
    Ok(())
}

/// Names what of the fragments does not parse or is not what the columns say.
fn disagreements(row: &Row<'_>, broken: &mut impl FnMut(&str)) -> Result<(), StoreError> {
    let issue = fragments(row)?;
    let columns = columns(row)?;
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
        return Ok(());
    };
    for (name, agrees) in agreements(&columns, &head, &feedback, &issue) {
        if !agrees {
            broken(&format!("its {name} is another one in the column that filters look at"));
        }
    }
    Ok(())
}

/// Each field that is kept twice, and whether both say the same.
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

/// Kept counts equal the issues counted anew.
pub(super) fn counts(conn: &Connection, findings: &mut Findings) -> Result<(), StoreError> {
    let mut counted: HashMap<(i64, CounterKey), i64> = HashMap::new();
    let mut statement = conn.prepare(&format!(
        "SELECT {FRAGMENTS}, {COLUMNS}, i.domain_id
         FROM issues i JOIN issue_bodies b ON b.row = i.row"
    ))?;
    let mut rows = statement.query([])?;
    while let Some(row) = rows.next()? {
        let domain: i64 = row.get(BEHIND)?;
        for key in counter_keys(&columns(row)?) {
            *counted.entry((domain, key)).or_default() += 1;
        }
    }
    let mut statement = conn.prepare(
        "SELECT c.domain_id, c.facet, c.value, c.day, c.n, d.name
         FROM issue_counts c JOIN domains d ON d.id = c.domain_id",
    )?;
    let mut rows = statement.query([])?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        count += 1;
        let (name, code): (String, i64) = (row.get(5)?, row.get(1)?);
        let Some(facet) = Facet::from_code(code) else {
            findings.fault(format!("domain {name}: a count of an unknown kind {code}"));
            continue;
        };
        let key = CounterKey { facet, value: row.get(2)?, day: row.get(3)? };
        let kept: i64 = row.get(4)?;
        let found = counted.remove(&(row.get(0)?, key.clone())).unwrap_or_default();
        if kept != found {
            findings.fault(format!("domain {name}: {} is {kept}, {found} are there", named(&key)));
        }
    }
    // Issues of a domain that is being removed are no longer anyone's.
    let mut known = conn.prepare("SELECT name FROM domains WHERE id = ?1")?;
    for ((domain, key), found) in counted {
        let name = known.query_map([domain], |row| row.get::<_, String>(0))?.next().transpose()?;
        if let Some(name) = name {
            findings.fault(format!("domain {name}: {} is missing, {found} are there", named(&key)));
        }
    }
    findings.verified("counts of issues", count);
    Ok(())
}

fn named(key: &CounterKey) -> String {
    let (facet, value) = (key.facet.as_str(), String::from_utf8_lossy(&key.value));
    format!("the count of {facet} {value:?} on day {}", key.day)
}

/// Members as a map.
fn braced(members: &[u8]) -> Vec<u8> {
    [b"{", members, b"}"].concat()
}
