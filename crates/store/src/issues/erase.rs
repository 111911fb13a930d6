//! The issues of an erased person: redacts or deletes some of them, with the files of their
//! messages. A redaction that a caller asks for takes only a part of them. Invariant: counters,
//! terms and the text index follow in the same transaction.

use std::collections::{BTreeMap, HashSet};

use caseload_model::change::{ChangeAction, Effect, Resource};
use caseload_model::erasure::{ErasureCounts, IssuesOfErased, Person};
use caseload_model::issue::attachment_url::attachment_ids;
use caseload_model::issue::write::{IssueRecord, RedactedPart, redact};
use caseload_model::json::elements_at;
use caseload_model::time::UnixMillis;

use super::delete::remove;
use super::portions::portions;
use super::write::{bytes, note};
use super::{IndexChanges, IssueStore, Replacement};
use crate::{StoreError, attachments, values};

/// The issues that were changed, and the parts that went with them.
#[derive(Debug, Default)]
pub(crate) struct ErasedIssues {
    pub(crate) counts: ErasureCounts,
    pub(crate) effects: Vec<Effect>,
}

impl ErasedIssues {
    fn add(&mut self, id: u64, (messages, files): (u64, usize), action: ChangeAction) {
        self.counts.issues += 1;
        self.counts.messages += messages;
        self.counts.attachments += files as u64;
        self.effects.push(Effect::new(Resource::Issue, id, action));
    }
}

/// Redacts or deletes these issues, as far as they exist.
pub(crate) fn erase_issues(
    store: &impl IssueStore,
    ids: &[u64],
    (person, mode): (&Person, IssuesOfErased),
    now: UnixMillis,
) -> Result<ErasedIssues, StoreError> {
    let issues = stored(store, ids)?;
    if issues.is_empty() {
        return Ok(ErasedIssues::default());
    }
    let rows: Vec<u32> = issues.keys().copied().collect();
    store.lock(&rows)?;
    let at = store.change_time(now)?;
    let mut erased = ErasedIssues::default();
    if mode == IssuesOfErased::Deleted {
        each(store, &rows, |_, issue| {
            erased.add(issue.columns.id, content(&issue), ChangeAction::Erased);
            Ok(())
        })?;
        remove(store, &issues)?;
        return Ok(erased);
    }
    redact_issues(store, &rows, RedactedPart::Person(person), at, &mut erased)?;
    Ok(erased)
}

/// Redacts a part of these locked issues.
pub(crate) fn redact_issues(
    store: &impl IssueStore,
    rows: &[u32],
    part: RedactedPart<'_>,
    at: UnixMillis,
    erased: &mut ErasedIssues,
) -> Result<(), StoreError> {
    let (mut changes, mut more_bytes) = (IndexChanges::default(), 0);
    each(store, rows, |row, before| {
        let Some(after) = redact(&before, part, at).map_err(damaged)? else { return Ok(()) };
        let files: HashSet<&str> = after.attachments.iter().map(String::as_str).collect();
        let id = before.columns.id;
        erased.add(id, (after.messages, files.len()), ChangeAction::Redacted);
        if !files.is_empty() {
            let id = id.cast_signed();
            attachments::remove_with_issues(store, &[id], |file| !files.contains(file))?;
        }
        note(&mut changes, row.into(), Some(&before), &after.issue)?;
        more_bytes += bytes(&after.issue) - bytes(&before);
        replace(store, Replacement { row, issue: after.issue })
    })?;
    store.update_index(changes)?;
    store.store_bytes(more_bytes)
}

/// The ids of those of these locked issues that are of the app with this publish id.
pub(crate) fn ids_of_app(
    store: &impl IssueStore,
    rows: &[u32],
    app: &str,
) -> Result<Vec<u64>, StoreError> {
    let mut ids = Vec::new();
    each(store, rows, |_, issue| {
        let columns = issue.columns;
        ids.extend(Some(columns.id).filter(|_| columns.app_publish_id == app));
        Ok(())
    })?;
    Ok(ids)
}

/// Writes a redacted issue: also the values that no edit changes.
fn replace<S: IssueStore>(store: &S, redacted: Replacement) -> Result<(), StoreError> {
    let (domain, row) = (store.domain(), redacted.row);
    let (facts, body) = (&redacted.issue.columns.facts, &redacted.issue.body);
    let columns = "UPDATE issues SET redacted = ?3, hs_user_id = ?4, author_email = ?5
                   WHERE domain_id = ?1 AND row = ?2";
    let of_author = values![domain, row, facts.redacted, facts.hs_user_id, facts.author_email];
    store.change(columns, of_author)?;
    let fragments = format!(
        "UPDATE issue_bodies SET feedback = ?3, sentiment_analysis = ?4, smart_intents = ?5
         WHERE {}",
        S::BODY
    );
    let parts = values![domain, row, body.feedback, body.sentiment_analysis, body.smart_intents];
    store.change(&fragments, parts)?;
    store.replace(&[redacted])
}

/// How much [`erase_issues`] would change.
pub(crate) fn count_issues(
    store: &impl IssueStore,
    ids: &[u64],
    (person, mode): (&Person, IssuesOfErased),
) -> Result<ErasureCounts, StoreError> {
    let rows: Vec<u32> = stored(store, ids)?.keys().copied().collect();
    let mut found = ErasedIssues::default();
    each(store, &rows, |_, issue| {
        let id = issue.columns.id;
        if mode == IssuesOfErased::Deleted {
            found.add(id, content(&issue), ChangeAction::Erased);
        } else if let Some(after) =
            redact(&issue, RedactedPart::Person(person), UnixMillis::default()).map_err(damaged)?
        {
            found.add(id, (after.messages, after.attachments.len()), ChangeAction::Redacted);
        }
        Ok(())
    })?;
    Ok(found.counts)
}

/// The ids of those issues that exist, by their rows.
fn stored(store: &impl IssueStore, ids: &[u64]) -> Result<BTreeMap<u32, u64>, StoreError> {
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let rows = store.rows_of(ids)?;
    Ok(rows.into_iter().zip(ids).filter_map(|(row, id)| Some((row?, *id))).collect())
}

/// Visits issues, of which only some are in memory at a time.
fn each(
    store: &impl IssueStore,
    rows: &[u32],
    mut visit: impl FnMut(u32, IssueRecord) -> Result<(), StoreError>,
) -> Result<(), StoreError> {
    let stored = if rows.is_empty() { Vec::new() } else { store.stored_bytes(rows)? };
    for portion in portions(&stored) {
        let rows = &rows[portion];
        for (row, issue) in rows.iter().zip(store.records(rows)?) {
            visit(*row, issue)?;
        }
    }
    Ok(())
}

/// How many messages an issue has, and how many files.
fn content(issue: &IssueRecord) -> (u64, usize) {
    let messages = &issue.body.messages;
    let files: HashSet<_> = attachment_ids(messages).into_iter().collect();
    (elements_at(messages, 0).count() as u64, files.len())
}

fn damaged(why: caseload_model::issue::write::IssueWriteError) -> StoreError {
    StoreError::Corrupt(why.to_string())
}
