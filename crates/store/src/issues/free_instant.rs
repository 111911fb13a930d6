//! The creation time of an issue that is written live: now, or the next millisecond that no issue
//! of the domain has. Imports may have taken milliseconds of the past and of the future; a live
//! issue moves past them only to the next free one.

use caseload_model::issue::{INSTANT_MS_MAX, MissingWindows, TakenTimestamps, TimeWindow};
use caseload_model::time::UnixMillis;

use crate::idempotency::CommandStore;
use crate::{StoreError, values};

/// The first instant from `from` on that no issue has; at the end of time the last one before it.
/// `latest` is not before any issue, and `taken` returns the instants of issues in a window.
pub fn free_instant(
    from: UnixMillis,
    latest: UnixMillis,
    mut taken: impl FnMut(TimeWindow) -> Result<Vec<UnixMillis>, StoreError>,
) -> Result<UnixMillis, StoreError> {
    let from = from.min(UnixMillis(INSTANT_MS_MAX));
    let mut timestamps = TakenTimestamps::new(Some(latest));
    loop {
        let mut need = MissingWindows::default();
        let free = timestamps.clone().take(from, &mut need);
        if need.is_empty() {
            return Ok(free);
        }
        for window in need.windows() {
            timestamps.add_window(window, taken(window)?);
        }
    }
}

/// The instants of creation in a window.
pub fn taken_instants(
    store: &impl CommandStore,
    window: TimeWindow,
) -> Result<Vec<UnixMillis>, StoreError> {
    store.list(
        "SELECT created_at FROM issues WHERE domain_id = ?1 AND created_at BETWEEN ?2 AND ?3",
        values![store.domain(), window.from, window.until],
        |row| row.get(0),
    )
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn a_live_creation_takes_now_or_the_next_free_millisecond() {
        let max = INSTANT_MS_MAX;
        for (stored, from, expected) in [
            (vec![], 7, 7),
            (vec![max], 7, 7),
            (vec![7, 8, 10, max], 7, 9),
            ((7..9000).chain([max]).collect(), 7, 9000),
            (vec![max - 2, max - 1, max], max - 1, max - 3),
            (vec![max], max + 1, max - 1),
        ] {
            let latest = UnixMillis(stored.last().copied().unwrap_or_default());
            let taken = |window: TimeWindow| {
                let within = |at: &&i64| (window.from.0..=window.until.0).contains(*at);
                Ok(stored.iter().filter(within).map(|at| UnixMillis(*at)).collect())
            };
            let free = free_instant(UnixMillis(from), latest, taken).unwrap();
            assert_eq!(free, UnixMillis(expected), "{stored:?} from {from}");
        }
    }
}
