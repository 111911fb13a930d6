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

/// The work before the next step of an erasure.
#[derive(Debug)]
pub enum Prepared {
    Nothing,
    /// The blocks of tasks up to a place have been searched: the step begins there.
    Searched(Box<Searched>),
    /// Only the last step is left: the store may clear the remains of deleted rows.
    Ending,
}

/// A search over blocks of tasks, which takes no time of writers. It counts only if nothing has
/// moved the erasure in between: a block that was searched never gets the person again.
#[derive(Debug)]
pub struct Searched {
    from: progress::Progress,
    to: progress::Progress,
}

impl Searched {
    /// The place of the erasure after the search, if it was here before.
    fn after(&self, progress: progress::Progress) -> progress::Progress {
        if self.from == progress { self.to.clone() } else { progress }
    }
}

/// Prepares the next step of an erasure from a snapshot.
pub fn prepare(store: &impl TaskStore, task_id: &str) -> Result<Prepared, StoreError> {
    let Some((from, person)) = progress::load(store, task_id)? else {
        return Ok(Prepared::Nothing);
    };
    match from.phase {
        progress::Phase::Tasks => {
            let mut to = from.clone();
            blocks::search(store, task_id, &mut to, &Traces::of(&person))?;
            Ok(Prepared::Searched(Searched { from, to }.into()))
        }
        progress::Phase::Receipt => Ok(Prepared::Ending),
        _ => Ok(Prepared::Nothing),
    }
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
