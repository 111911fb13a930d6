//! Erasing a person: finds them in the domain, and runs the task that erases them, step by step.
//! The rules about single entries, records and issues are in the model. Invariants: a step
//! commits its effect with the progress, so that a task which is interrupted anywhere continues
//! and counts everything once; after the last step, the domain has neither the person nor the
//! payload that named them.

mod blocks;
mod find;
mod messages;
pub(crate) mod progress;
mod redactions;
mod steps;
mod sweep;

use caseload_model::erasure::{Erasure, ErasureCounts, Traces};
use caseload_model::record::{ChunkRecords, PreparedEntry};
use caseload_model::task::Action;

use crate::idempotency::CommandStore;
use crate::issues::{IssueStore, count_issues};
use crate::profiles::stored_pids;
use crate::query::SetStore;
use crate::tasks::TaskStore;
use crate::{FindPerson, FoundPerson, StoreError};

pub(crate) use messages::find_messages;
pub(crate) use redactions::{redact, redaction};
pub(crate) use steps::{Step, step};

/// The person whom an erasure would erase, and how much would go.
pub(crate) fn find_person(
    store: &(impl TaskStore + IssueStore + SetStore),
    request: &FindPerson,
) -> Result<Option<FoundPerson>, StoreError> {
    let Some(person) = find::find(store, &request.selector)? else { return Ok(None) };
    if !request.count {
        return Ok(Some(FoundPerson { person, ..FoundPerson::default() }));
    }
    let ids: Vec<u64> = person.issue_ids.iter().copied().collect();
    let counts = ErasureCounts {
        core_profiles: person.core_profile_ids.len() as u64,
        app_profiles: stored_pids(store, &person, person.pids.len())?.len() as u64,
        ..count_issues(store, &ids, (&person, request.issues))?
    };
    let traces = Traces::of(&person);
    let Some(after) = request.tasks else {
        let counts = blocks::count(store, &traces, counts)?;
        return Ok(Some(FoundPerson { person, counts, tasks: None }));
    };
    let tasks = blocks::collect(store, &traces, after)?;
    let counts = ErasureCounts { entries: tasks.entries(), records: tasks.records(), ..counts };
    Ok(Some(FoundPerson { person, counts, tasks: Some(tasks) }))
}

/// Whether only the last step of an erasure is left. A store may then clear the remains of
/// deleted rows.
pub fn is_ending(store: &impl CommandStore, task_id: &str) -> Result<bool, StoreError> {
    let found = progress::load(store, task_id)?;
    Ok(found.is_some_and(|(progress, _)| progress.phase == progress::Phase::Receipt))
}

/// The records of entries that cannot be read as an erasure.
pub(crate) fn refused(
    payload: &[u8],
    entries: &[PreparedEntry<Erasure>],
) -> Result<ChunkRecords, StoreError> {
    let mut out = ChunkRecords::default();
    for PreparedEntry { entry, item, .. } in entries {
        let Err(why) = item else {
            return Err(StoreError::Corrupt("an erasure among other entries".to_owned()));
        };
        out.rejected(Action::ErasePerson, payload, entry, why);
    }
    Ok(out)
}
