//! Redactions of parts of issues: the requests of one form are one transaction, which also makes
//! the tasks that erase persons. Invariants: all issues are locked before the clock, and nothing
//! changes before it is known which requests are refused; the log of changes, in which a redaction
//! is found again, has ids and no text.

use std::collections::{BTreeMap, BTreeSet};

use caseload_model::change::{BATCH_CHANGES_MAX, ChangeAction, Effect, Resource};
use caseload_model::erasure::{REDACTIONS_MAX, RedactionId, RedactionOutcome, redactions_answer};
use caseload_model::error_code::ErrorCode;
use caseload_model::issue::write::{BULK_EDIT_STORED_BYTES_MAX, RedactedPart};
use caseload_model::issue_query::ParameterFault;

use crate::changes::{Log, effects_at, erase_titles};
use crate::idempotency::CommandStore;
use crate::issues::{ErasedIssues, IssueStore, ids_of_app, redact_issues};
use crate::once::once;
use crate::tasks::{TaskStore, add_one};
use crate::{
    CreateTask, Idempotent, LoggedRedaction, Redact, RedactionCommand, RedactionTarget, StoreError,
    StoredAnswer, WriteOrigin, attachments, values,
};

/// The most issues that the requests of one form redact.
const REDACTED_ISSUES_MAX: usize = 1000;
/// One transaction is one batch of the log.
const _: () = assert!(REDACTED_ISSUES_MAX + REDACTIONS_MAX < BATCH_CHANGES_MAX);
/// Issues whose changes of the index are in memory at a time.
const ISSUES_AT_ONCE: usize = 50;

/// A request whose issues are known.
enum Wanted<'c> {
    Part(Vec<u64>, RedactedPart<'c>),
    User(&'c CreateTask),
    Refused(String),
}

/// Carries out the requests of a form.
pub(crate) fn redact(
    store: &(impl TaskStore + IssueStore),
    command: &Redact,
) -> Result<Idempotent<StoredAnswer>, StoreError> {
    let Redact { origin, requests } = command;
    once(store, origin, |done| {
        let mut room = REDACTED_ISSUES_MAX;
        let wanted = requests.iter().map(|request| wanted(store, request, &mut room));
        let mut wanted = wanted.collect::<Result<Vec<_>, _>>()?;
        let rows = lock(store, &wanted)?;
        limit_to_existing(store, requests, &mut wanted, &rows)?;
        forget(store, origin, &wanted)?;
        let changes_issues = !all_ids(&wanted).is_empty();
        if changes_issues {
            done.at = store.change_time(origin.now)?;
        }
        let mut outcomes = Vec::with_capacity(requests.len());
        for (request, wanted) in requests.iter().zip(&wanted) {
            let redaction_id = match wanted {
                Wanted::Refused(why) => Err(why.clone()),
                Wanted::User(task) => {
                    let task = add_one(store, task)?;
                    if !changes_issues {
                        done.at = task.created_at;
                    }
                    let id = task.id;
                    done.effects.push(Effect::new(Resource::Task, &*id, ChangeAction::Created));
                    Ok(Some(id))
                }
                Wanted::Part(ids, part) => Ok(redact_part(store, done, (ids, &rows), *part)?),
            };
            let external_redaction_id = request.external_id.clone();
            outcomes.push(RedactionOutcome { external_redaction_id, redaction_id });
        }
        let body = redactions_answer(&outcomes);
        Ok(StoredAnswer { location: String::new(), body })
    })
}

fn wanted<'c>(
    store: &impl CommandStore,
    request: &'c RedactionCommand,
    room: &mut usize,
) -> Result<Wanted<'c>, StoreError> {
    let (ids, part) = match &request.target {
        Err(why) => return Ok(Wanted::Refused(why.clone())),
        Ok(RedactionTarget::User(task)) => return Ok(Wanted::User(task)),
        Ok(RedactionTarget::Title(id)) => (vec![*id], RedactedPart::Title),
        Ok(RedactionTarget::Issue(id)) => (vec![*id], RedactedPart::Issue),
        Ok(RedactionTarget::Message { issue, id }) => (vec![*issue], RedactedPart::Message(id)),
        Ok(RedactionTarget::Attachment(id)) => {
            let Some(issue) = attachments::issue_of(store, id)? else {
                let why = "no message has an attachment with this id";
                return Ok(Wanted::Refused(why.to_owned()));
            };
            (vec![issue], RedactedPart::Attachment(id))
        }
        Ok(RedactionTarget::IssuesOf(person)) => {
            (person.issue_ids.iter().copied().collect(), RedactedPart::Person(person))
        }
    };
    let Some(left) = room.checked_sub(ids.len()) else {
        return Ok(Wanted::Refused(format!(
            "one form redacts {REDACTED_ISSUES_MAX} issues at most; send this in another form, or \
             erase the person"
        )));
    };
    *room = left;
    Ok(Wanted::Part(ids, part))
}

fn all_ids(wanted: &[Wanted<'_>]) -> BTreeSet<u64> {
    let ids = wanted.iter().flat_map(|wanted| match wanted {
        Wanted::Part(ids, _) => &ids[..],
        Wanted::User(_) | Wanted::Refused(_) => &[],
    });
    ids.copied().collect()
}

/// Locks all issues, and returns the rows of those that exist.
fn lock(store: &impl IssueStore, wanted: &[Wanted<'_>]) -> Result<BTreeMap<u64, u32>, StoreError> {
    let ids: Vec<u64> = all_ids(wanted).into_iter().collect();
    if ids.is_empty() {
        return Ok(BTreeMap::new());
    }
    let rows = store.rows_of(&ids)?;
    let found: BTreeMap<u64, u32> =
        ids.iter().zip(rows).filter_map(|(id, row)| Some((*id, row?))).collect();
    if found.is_empty() {
        return Ok(found);
    }
    let mut rows: Vec<u32> = found.values().copied().collect();
    rows.sort_unstable();
    store.lock(&rows)?;
    let bytes = store.stored_bytes(&rows)?.iter().sum::<u64>();
    if bytes > BULK_EDIT_STORED_BYTES_MAX as u64 {
        let detail = format!(
            "the issues have {bytes} bytes, and each is written again as a whole; at most \
             {BULK_EDIT_STORED_BYTES_MAX} are allowed; send fewer redactions at once"
        );
        let (parameter, code) = ("requests".to_owned(), ErrorCode::TooLarge);
        return Err(StoreError::Refused(vec![ParameterFault { parameter, code, detail }]));
    }
    Ok(found)
}

/// Leaves the locked issues to each request, and of an app only its own. A request that is left
/// without an issue is refused.
fn limit_to_existing(
    store: &impl IssueStore,
    requests: &[RedactionCommand],
    wanted: &mut [Wanted<'_>],
    rows: &BTreeMap<u64, u32>,
) -> Result<(), StoreError> {
    for (request, wanted) in requests.iter().zip(wanted) {
        let Wanted::Part(ids, _) = wanted else { continue };
        ids.retain(|id| rows.contains_key(id));
        let mut why = "the domain has no such issue";
        if let Some(app) = request.app_publish_id.as_deref().filter(|_| !ids.is_empty()) {
            let rows: Vec<u32> = ids.iter().filter_map(|id| rows.get(id).copied()).collect();
            *ids = ids_of_app(store, &rows, app)?;
            why = "the app with this publish id has no such issue";
        }
        if ids.is_empty() {
            *wanted = Wanted::Refused(why.to_owned());
        }
    }
    Ok(())
}

/// Removes the texts of the issues from other places: earlier titles from the log, and answers to
/// repeats of requests.
fn forget(
    store: &impl CommandStore,
    origin: &WriteOrigin,
    wanted: &[Wanted<'_>],
) -> Result<(), StoreError> {
    let titled = wanted.iter().flat_map(|wanted| match wanted {
        Wanted::Part(ids, RedactedPart::Title | RedactedPart::Issue | RedactedPart::Person(_)) => {
            &ids[..]
        }
        Wanted::Part(..) | Wanted::User(_) | Wanted::Refused(_) => &[],
    });
    let titled = titled.copied().collect();
    let mut after = 0;
    while let Some(position) = erase_titles(store, &titled, after)? {
        after = position;
    }
    let path = |id: &u64| format!("/v1/{}/issues/{id}", origin.domain_name);
    let paths: Vec<String> = all_ids(wanted).iter().map(path).collect();
    let paths: Vec<&str> = paths.iter().map(String::as_str).collect();
    if !paths.is_empty() {
        let delete = "DELETE FROM idempotency_keys WHERE domain_id = ?1 AND location = ANY (?2)";
        store.change(delete, values![store.domain(), paths])?;
    }
    Ok(())
}

/// Redacts a part of these issues; the id of the redaction if something was left to redact.
fn redact_part(
    store: &impl IssueStore,
    done: &mut Log,
    (ids, rows): (&[u64], &BTreeMap<u64, u32>),
    part: RedactedPart<'_>,
) -> Result<Option<String>, StoreError> {
    let mut erased = ErasedIssues::default();
    let rows: Vec<u32> = ids.iter().filter_map(|id| rows.get(id).copied()).collect();
    for rows in rows.chunks(ISSUES_AT_ONCE) {
        redact_issues(store, rows, part, done.at, &mut erased)?;
    }
    let Some(issue) = erased.effects.first().and_then(|effect| effect.id.number()) else {
        return Ok(None);
    };
    let (first, count) = (done.effects.len() as u32, erased.effects.len() as u32);
    done.effects.append(&mut erased.effects);
    Ok(Some(RedactionId { issue, at: done.at, first, count }.to_string()))
}

/// A redaction of issues, from the log.
pub(crate) fn redaction(
    store: &impl CommandStore,
    id: RedactionId,
) -> Result<Option<LoggedRedaction>, StoreError> {
    let RedactionId { issue, at, first, count } = id;
    let effects = effects_at(store, (Resource::Issue, issue), at)?;
    let range = first as usize..(first as usize).saturating_add(count as usize);
    let effects = effects.as_deref().and_then(|effects| effects.get(range)).unwrap_or_default();
    let is_redacted = |effect: &Effect| {
        effect.resource == Resource::Issue && effect.action == ChangeAction::Redacted
    };
    let issue_ids = effects.iter().filter(|effect| is_redacted(effect));
    let issue_ids: Vec<u64> = issue_ids.filter_map(|effect| effect.id.number()).collect();
    let is_whole = issue_ids.first() == Some(&issue) && issue_ids.len() == effects.len();
    Ok(is_whole.then_some(LoggedRedaction { issue_ids, at }))
}
