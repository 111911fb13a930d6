//! Tasks whose servers die. A server that stops in good order gives its leases back. If one dies
//! twice before the same entry of a task commits, the entries of that task are applied one by one,
//! and each is noted in the store before it is tried. An entry whose server dies twice while it is
//! tried alone is parked: it becomes an error, and the others go on. Invariant: an entry is parked
//! only after notes of its own, never for the deaths that another entry may have caused.

use caseload_model::ids::DomainId;

use super::statements::TaskStore;
use crate::sql::{Query, Sql};
use crate::{StoreError, Trial, TryEntry, values};

/// Deaths of servers at the same entry after which a task is applied entry by entry.
const DEATHS_MAX: u32 = 2;
/// Trials of an entry alone, without a commit, after which it is parked.
const TRIALS_MAX: u32 = 2;
/// The `tried_index` of a task with which no server died.
const NONE_TRIED: i64 = -1;

/// The notes of a task about servers that died.
struct Trials {
    one_by_one: bool,
    /// Deaths of servers at `tried_index`, or trials of that entry alone.
    tries: u32,
    tried_index: i64,
}

/// Notes of a task about servers that died, as they are stored.
#[derive(Debug, Clone, Copy)]
pub struct StoredTrials {
    pub one_by_one: i64,
    pub tries: i64,
    pub tried_index: i64,
}

impl StoredTrials {
    /// Whether these notes can be together, in a task whose last entry has the index `last_index`.
    pub fn is_lawful(self, last_index: Option<u32>) -> bool {
        let Self { one_by_one, tries, tried_index } = self;
        let is_entry =
            tried_index >= 0 && last_index.is_none_or(|last| tried_index <= i64::from(last));
        match one_by_one {
            0 if tries == 0 => tried_index == NONE_TRIED,
            0 => (1..i64::from(DEATHS_MAX)).contains(&tries) && is_entry,
            1 => (0..=i64::from(TRIALS_MAX)).contains(&tries) && is_entry,
            _ => false,
        }
    }
}

fn read(store: &impl Sql, domain: DomainId, id: &str) -> Result<Option<Trials>, StoreError> {
    store.find(
        "SELECT one_by_one, tries, tried_index FROM tasks
         WHERE domain_id = ?1 AND id = ?2",
        values![domain, id],
        |row| Ok(Trials { one_by_one: row.get(0)?, tries: row.get(1)?, tried_index: row.get(2)? }),
    )
}

/// Notes that the server of a task died with it. Entries that are tried alone have notes of their
/// own.
pub fn death(domain: DomainId, id: &str) -> Query<()> {
    let is_last = format!("tried_index = next_index AND tries + 1 >= {DEATHS_MAX}");
    let update = format!(
        "UPDATE tasks SET
         one_by_one = CASE WHEN {is_last} THEN 1 ELSE 0 END,
         tries = CASE WHEN {is_last} THEN 0 WHEN tried_index = next_index THEN tries + 1 ELSE 1 END,
         tried_index = next_index
         WHERE domain_id = ?1 AND id = ?2 AND one_by_one = 0 RETURNING 1"
    );
    Query::new(update, [domain.into(), id.into()], |_| Ok(()))
}

/// Notes that an entry is tried alone, or says that it was tried often enough.
pub fn try_entry(store: &impl TaskStore, command: &TryEntry) -> Result<Trial, StoreError> {
    let (domain, id) = (store.domain(), command.task_id.as_str());
    store
        .lock(id)?
        .filter(|locked| locked.is_leased(command.lease_epoch))
        .filter(|locked| locked.next_index <= command.index)
        .ok_or(StoreError::LeaseLost)?;
    let known = read(store, domain, id)?.ok_or(StoreError::LeaseLost)?;
    let is_same = known.one_by_one && known.tried_index == i64::from(command.index);
    let tries = if is_same { known.tries } else { 0 };
    if tries >= TRIALS_MAX {
        return Ok(Trial::Park);
    }
    let update = "UPDATE tasks SET one_by_one = 1, tries = ?3, tried_index = ?4
                  WHERE domain_id = ?1 AND id = ?2";
    store.change(update, values![domain, id, tries + 1, command.index])?;
    Ok(Trial::Try)
}

#[cfg(test)]
mod tests {
    use super::StoredTrials;

    #[test]
    fn notes_about_deaths_are_lawful_only_as_they_are_written() {
        for (one_by_one, tries, tried_index, lawful) in [
            (0, 0, -1, true),
            (0, 1, 0, true),
            (0, 1, 9, true),
            (1, 0, 4, true),
            (1, 2, 9, true),
            (0, 0, 4, false),
            (0, 1, -1, false),
            (0, 2, 4, false),
            (0, 1, 10, false),
            (1, 0, -1, false),
            (1, 3, 4, false),
            (1, -1, 4, false),
            (1, 1, 10, false),
            (2, 0, 4, false),
            (-1, 0, -1, false),
        ] {
            let notes = StoredTrials { one_by_one, tries, tried_index };
            assert_eq!(notes.is_lawful(Some(9)), lawful, "{notes:?}");
        }
        let unbounded = StoredTrials { one_by_one: 1, tries: 1, tried_index: 10 };
        assert!(unbounded.is_lawful(None), "the last entry is not known");
    }
}
