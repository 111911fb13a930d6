//! Tasks whose servers died. A server that stops in good order gives its leases back. A lease that
//! ran out is that of a dead server: the claim that finds it does not lease the task, but counts
//! the death and makes the task wait, in one commit. The wait doubles with each death, so that a
//! task with which servers die is tried ever more rarely. A committed chunk sets the count to zero.
//! No entry is blamed: a server may die for any reason.

use caseload_model::time::UnixMillis;

use super::fair_queue::QueuePlace;
use crate::sql::Query;

/// Milliseconds that a task waits after the first death of a server.
const DEATH_WAIT_MS_MIN: i64 = 1_000;
/// The longest time that a task waits after the death of a server, in milliseconds.
const DEATH_WAIT_MS_MAX: i64 = 600_000;
/// Milliseconds between the ends of the waits of tasks that one server had: the next server begins
/// them one after another, so that a deadly one does not hold up the others.
const APART_MS: i64 = 1_000;

/// When a task is tried again after so many deaths, if `earlier` tasks of the same claim wait, too.
pub(super) fn next_try_at(now: UnixMillis, deaths: u32, earlier: usize) -> UnixMillis {
    let wait = wait_ms(deaths).saturating_add(APART_MS.saturating_mul(earlier as i64));
    UnixMillis(now.0.saturating_add(wait))
}

/// How long a task waits after so many deaths.
const fn wait_ms(deaths: u32) -> i64 {
    let doublings = deaths.saturating_sub(1);
    if doublings > (DEATH_WAIT_MS_MAX / DEATH_WAIT_MS_MIN).ilog2() {
        return DEATH_WAIT_MS_MAX;
    }
    DEATH_WAIT_MS_MIN << doublings
}

/// Counts the death of the server that had a task; the number of deaths. No row if a caller has
/// cancelled the task, so that the next server only ends it, or if only its place in the queue is
/// visible.
pub(super) fn count(place: &QueuePlace) -> Query<u32> {
    let count = "UPDATE tasks SET deaths = deaths + 1
                 WHERE domain_id = ?1 AND id = ?2 AND status < 4 AND cancel_at IS NULL
                 RETURNING deaths";
    Query::new(count, [place.domain.into(), place.id.as_str().into()], |row| row.get(0))
}

/// Writes when a task is tried again.
pub(super) fn set_next_try(place: &QueuePlace, at: UnixMillis) -> Query<()> {
    let wait = "UPDATE tasks SET next_try_at = ?3 WHERE domain_id = ?1 AND id = ?2 RETURNING 1";
    Query::new(wait, [place.domain.into(), place.id.as_str().into(), at.into()], |_| Ok(()))
}

#[cfg(test)]
mod tests {
    use super::wait_ms;

    #[test]
    fn the_wait_doubles_with_each_death_up_to_ten_minutes() {
        let waits: Vec<i64> = (1..=11).map(|deaths| wait_ms(deaths) / 1000).collect();
        assert_eq!(waits, [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 600]);
        assert_eq!(wait_ms(u32::MAX), 600_000);
    }
}
