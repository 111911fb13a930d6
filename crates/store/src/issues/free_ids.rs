//! Free issue ids beyond the greatest one that counts for the next. Only imports that name their
//! ids bring issues there, so a generated id may be taken, and the next free one is looked for.

use caseload_model::ids::{ISSUE_ID_COUNTED_MAX, ISSUE_ID_MAX};

use crate::idempotency::CommandStore;
use crate::{StoreError, values};

/// Taken ids that are read at a time.
const READ_AT_ONCE: i64 = 1000;

/// The first `count` ids from `from` on that no issue of the domain has, fewer if the ids end.
pub fn free_ids(
    store: &impl CommandStore,
    from: u64,
    count: usize,
) -> Result<Vec<u64>, StoreError> {
    let mut free = Vec::with_capacity(count);
    let mut next = from;
    while free.len() < count && next <= ISSUE_ID_MAX {
        let taken: Vec<u64> = store.list(
            "SELECT id FROM issues WHERE domain_id = ?1 AND id >= ?2 ORDER BY id LIMIT ?3",
            values![store.domain(), next, READ_AT_ONCE],
            |row| row.get(0),
        )?;
        // Without a further taken id, all ids are free.
        let known_up_to = match taken.last() {
            Some(last) if taken.len() as i64 == READ_AT_ONCE => *last,
            _ => ISSUE_ID_MAX,
        };
        let mut taken = taken.into_iter().peekable();
        while next <= known_up_to && free.len() < count {
            if taken.next_if_eq(&next).is_none() {
                free.push(next);
            }
            next += 1;
        }
    }
    Ok(free)
}

/// The id of a new live issue; `next` follows the last one that was given out. If an import took
/// it, the next free one is given out, and the clock learns it.
pub fn live_id(store: &impl CommandStore, next: u64) -> Result<u64, StoreError> {
    if next <= ISSUE_ID_COUNTED_MAX {
        return Ok(next);
    }
    let free = free_ids(store, next, 1)?.pop();
    let free =
        free.ok_or_else(|| StoreError::Unavailable("the domain has no issue id left".to_owned()))?;
    if free != next {
        let update = "UPDATE domain_clocks SET last_issue_id = greatest(last_issue_id, ?2)
                      WHERE domain_id = ?1";
        store.change(update, values![store.domain(), free])?;
    }
    Ok(free)
}
