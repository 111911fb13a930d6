//! The steps of the task, each one transaction. Profiles go first, and with them the leases of get
//! actions: what such a task has read before can no longer be stored, so that the passes over the
//! records of tasks, which come last, find everything.

use caseload_model::change::{Effect, Resource};
use caseload_model::erasure::{Erasure, ErasureReceipt, Person, Traces};
use caseload_model::record::ChunkRecords;
use caseload_model::time::UnixMillis;

use super::progress::{self, Phase, Progress};
use super::{Searched, blocks, find, sweep};
use crate::changes::erase_titles;
use crate::dry_run::StateStore;
use crate::issues::{IssueStore, erase_issues};
use crate::profiles::{ProfileStore, erase_profiles, stored_pids};
use crate::query::SetStore;
use crate::tasks::TaskStore;
use crate::{StoreError, values};

/// App profiles and issues of one step.
const STEP_PROFILES: usize = 500;
const STEP_ISSUES: usize = 50;

/// The effect of a step.
pub(crate) enum Step {
    /// It had these effects, and others follow.
    Went(Vec<Effect>),
    /// Nothing is left; the record of the erasure.
    Ended(ChunkRecords),
}

/// The next step of a task, after a search of blocks if there was one.
pub(crate) fn step(
    store: &(impl TaskStore + ProfileStore + IssueStore + StateStore + SetStore),
    (task_id, erasure): (&str, &Erasure),
    searched: Option<&Searched>,
    now: UnixMillis,
) -> Result<Step, StoreError> {
    let begun = progress::load(store, task_id)?;
    let is_new = begun.is_none();
    let (mut progress, person) = match (begun, searched) {
        (Some((progress, person)), Some(searched)) => (searched.after(progress), person),
        (Some(begun), None) => begun,
        (None, _) => (Progress::default(), whole(store, &erasure.person)?),
    };
    let mut effects = Vec::new();
    match progress.phase {
        Phase::Profiles => effects = profiles(store, &mut progress, &person, now)?,
        Phase::Issues => effects = issues(store, &mut progress, (&person, erasure), now)?,
        Phase::Log => match erase_titles(store, &person.issue_ids, progress.after)? {
            Some(position) => progress.after = position,
            None => progress.end_phase(),
        },
        Phase::Answers => sweep::answers(store, &mut progress, &person)?,
        Phase::Views => sweep::views(store, &mut progress, &Traces::of(&person))?,
        Phase::Uploads => sweep::uploads(store, &mut progress, &Traces::of(&person))?,
        Phase::States => sweep::states(store, &mut progress, task_id)?,
        Phase::Tasks => {
            let traces = Traces::of(&person);
            if searched.is_none() {
                blocks::search(store, task_id, &mut progress, &traces)?;
            }
            blocks::rewrite(store, task_id, &mut progress, &traces)?;
        }
        Phase::Receipt => {
            let counts = progress.counts;
            let receipt = ErasureReceipt { counts, person: &person, erased_at: Some(now) };
            let mut records = ChunkRecords::default();
            records.record::<StoreError>(|out| {
                receipt.write(out);
                Ok(true)
            })?;
            return Ok(Step::Ended(records));
        }
    }
    progress::save(store, task_id, &progress, is_new.then_some(&person))?;
    Ok(Step::Went(effects))
}

/// The person as they are known now. Since the task was accepted, other tasks may have written.
fn whole(store: &impl SetStore, known: &Person) -> Result<Person, StoreError> {
    let mut person = find::find_all(store, known.clone())?;
    person.extend(known.clone());
    Ok(person)
}

fn profiles(
    store: &(impl TaskStore + ProfileStore),
    progress: &mut Progress,
    person: &Person,
    now: UnixMillis,
) -> Result<Vec<Effect>, StoreError> {
    // Before the clock is locked: a chunk locks its task before the clock, too.
    let reading = "SELECT id FROM tasks WHERE domain_id = ?1 AND status = 3 AND NOT writes";
    for id in store.list(reading, values![store.domain()], |row| row.get::<String>(0))? {
        store.end_lease(&id, now)?;
    }
    let effects = erase_profiles(store, person, STEP_PROFILES, now)?;
    for effect in &effects {
        match effect.resource {
            Resource::CoreProfile => progress.counts.core_profiles += 1,
            _ => progress.counts.app_profiles += 1,
        }
    }
    if stored_pids(store, person, 1)?.is_empty() {
        progress.end_phase();
    }
    Ok(effects)
}

fn issues(
    store: &impl IssueStore,
    progress: &mut Progress,
    (person, erasure): (&Person, &Erasure),
    now: UnixMillis,
) -> Result<Vec<Effect>, StoreError> {
    let left = person.issue_ids.range(progress.after + 1..);
    let ids: Vec<u64> = left.take(STEP_ISSUES).copied().collect();
    let Some(last) = ids.last() else {
        progress.end_phase();
        return Ok(Vec::new());
    };
    let erased = erase_issues(store, &ids, (person, erasure.issues), now)?;
    progress.after = *last;
    progress.counts.issues += erased.counts.issues;
    progress.counts.messages += erased.counts.messages;
    progress.counts.attachments += erased.counts.attachments;
    Ok(erased.effects)
}
