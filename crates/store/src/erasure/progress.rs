//! How far an erasure is. It is stored as a row of the state of runs, in the transaction of each
//! step, with the person as it is known by then.

use std::collections::BTreeSet;

use caseload_model::erasure::{ErasureCounts, Person};

use crate::dry_run::StateStore;
use crate::idempotency::CommandStore;
use crate::{StoreError, values};

/// The keys of the two rows. No row of a run begins with this byte.
const PROGRESS: [u8; 2] = [9, 1];
const PERSON: [u8; 2] = [9, 2];
/// Begins a value that is there.
const VALUE: u8 = 1;
/// Numbers before the text and the indexes.
const NUMBERS: usize = 11;

/// A part of the work, in order.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Phase {
    #[default]
    Profiles = 1,
    Issues = 2,
    Log = 3,
    Answers = 4,
    Views = 5,
    Uploads = 6,
    States = 7,
    Tasks = 8,
    Receipt = 9,
}

impl Phase {
    const ALL: [Self; 9] = [
        Self::Profiles,
        Self::Issues,
        Self::Log,
        Self::Answers,
        Self::Views,
        Self::Uploads,
        Self::States,
        Self::Tasks,
        Self::Receipt,
    ];
}

/// The part of a task's blocks that is looked at next.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Pass {
    #[default]
    FindInPayload = 0,
    FindInRecords = 1,
    EraseRecords = 2,
    ErasePayload = 3,
}

impl Pass {
    pub(crate) const ALL: [Self; 4] =
        [Self::FindInPayload, Self::FindInRecords, Self::EraseRecords, Self::ErasePayload];

    /// Whether it only looks for the person.
    pub(crate) const fn searches(self) -> bool {
        matches!(self, Self::FindInPayload | Self::FindInRecords)
    }
}

/// How far an erasure is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Progress {
    pub(crate) phase: Phase,
    /// The last issue, position or task that is done.
    pub(crate) after: u64,
    /// The last key, view or upload that is done.
    pub(crate) after_text: String,
    pub(crate) pass: Pass,
    /// The last block of the pass that is done, plus 1.
    pub(crate) block: u64,
    pub(crate) counts: ErasureCounts,
    /// The entries of the task that hold the person.
    pub(crate) indexes: BTreeSet<u32>,
}

impl Progress {
    /// Goes to the next phase.
    pub(crate) fn end_phase(&mut self) {
        let next = Phase::ALL.into_iter().find(|phase| *phase as u8 > self.phase as u8);
        *self = Self { phase: next.unwrap_or(self.phase), counts: self.counts, ..Self::default() };
    }

    fn write(&self) -> Vec<u8> {
        let Self { phase, after, after_text, pass, block, counts, indexes } = self;
        let head = [*phase as u64, *after, *pass as u64, *block];
        let mut out = vec![VALUE];
        for number in head.into_iter().chain(counts.numbers()) {
            out.extend_from_slice(&number.to_be_bytes());
        }
        out.extend_from_slice(&(after_text.len() as u32).to_be_bytes());
        out.extend_from_slice(after_text.as_bytes());
        out.extend(indexes.iter().flat_map(|index| index.to_be_bytes()));
        out
    }

    fn read(stored: &[u8]) -> Option<Self> {
        let (numbers, rest) = stored.strip_prefix(&[VALUE])?.split_at_checked(NUMBERS * 8)?;
        let (numbers, _) = numbers.as_chunks::<8>();
        let mut numbers = numbers.iter().map(|number| u64::from_be_bytes(*number));
        let mut next = || numbers.next();
        let [phase, after, pass, block] = [next()?, next()?, next()?, next()?];
        let mut counts = [0; 7];
        for count in &mut counts {
            *count = next()?;
        }
        let (length, rest) = rest.split_first_chunk()?;
        let (text, indexes) = rest.split_at_checked(u32::from_be_bytes(*length) as usize)?;
        let (indexes, []) = indexes.as_chunks::<4>() else { return None };
        Some(Self {
            phase: Phase::ALL.into_iter().find(|known| *known as u64 == phase)?,
            after,
            after_text: str::from_utf8(text).ok()?.to_owned(),
            pass: Pass::ALL.into_iter().find(|known| *known as u64 == pass)?,
            block,
            counts: ErasureCounts::of_numbers(counts),
            indexes: indexes.iter().map(|index| u32::from_be_bytes(*index)).collect(),
        })
    }
}

/// The progress of an erasure that has begun, and the person.
pub(crate) fn load(
    store: &impl CommandStore,
    task_id: &str,
) -> Result<Option<(Progress, Person)>, StoreError> {
    let (Some(progress), Some(person)) =
        (row(store, task_id, PROGRESS)?, row(store, task_id, PERSON)?)
    else {
        return Ok(None);
    };
    let person = person.strip_prefix(&[VALUE]).and_then(Person::read);
    let found = Progress::read(&progress).zip(person);
    let damaged = || StoreError::Corrupt(format!("the progress of the erasure {task_id}"));
    found.map(Some).ok_or_else(damaged)
}

fn row(
    store: &impl CommandStore,
    task_id: &str,
    key: [u8; 2],
) -> Result<Option<Vec<u8>>, StoreError> {
    let select =
        "SELECT value FROM dry_run_state WHERE domain_id = ?1 AND run_id = ?2 AND key = ?3";
    store.find(select, values![store.domain(), task_id, key.as_slice()], |row| row.get(0))
}

/// Stores the progress, and the person if it is the first time.
pub(crate) fn save(
    store: &impl StateStore,
    task_id: &str,
    progress: &Progress,
    person: Option<&Person>,
) -> Result<(), StoreError> {
    let progress = progress.write();
    let Some(person) = person else {
        return store.put_state(task_id, &[(&PROGRESS, &progress)]);
    };
    let mut stored = vec![VALUE];
    person.write(&mut stored);
    let begin = "INSERT INTO dry_runs (domain_id, id) VALUES (?1, ?2)
                 ON CONFLICT (domain_id, id) DO NOTHING";
    store.change(begin, values![store.domain(), task_id])?;
    store.put_state(task_id, &[(&PROGRESS, &progress), (&PERSON, &stored)])
}

/// Forgets the progress and the person.
pub(crate) fn forget(store: &impl CommandStore, task_id: &str) -> Result<(), StoreError> {
    for delete in [
        "DELETE FROM dry_run_state WHERE domain_id = ?1 AND run_id = ?2",
        "DELETE FROM dry_runs WHERE domain_id = ?1 AND id = ?2",
    ] {
        store.change(delete, values![store.domain(), task_id])?;
    }
    Ok(())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn a_progress_that_is_written_is_read_again() {
        let counts = ErasureCounts { issues: 3, records: u64::MAX, ..ErasureCounts::default() };
        let progress = Progress {
            phase: Phase::Tasks,
            after: 7,
            after_text: "kéy".to_owned(),
            pass: Pass::EraseRecords,
            block: 1 << 33,
            counts,
            indexes: [0, 9, u32::MAX].into(),
        };
        for progress in [progress, Progress::default()] {
            let stored = progress.write();
            assert_eq!(Progress::read(&stored).unwrap(), progress);
            assert_eq!(Progress::read(&stored[..stored.len() - 1]), None);
        }
    }

    #[test]
    fn every_phase_follows_another() {
        let mut progress = Progress::default();
        for phase in Phase::ALL {
            assert_eq!(progress.phase, phase);
            progress.end_phase();
        }
        assert_eq!(progress.phase, Phase::Receipt);
    }
}
