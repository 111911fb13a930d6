//! Profiles in PostgreSQL: reads what a plan of the model's needs, asks for the plan, writes what
//! it says. All rules are the model's. Invariant: the rows of `identities` are exactly the
//! identities in the stored core profiles, each with its profile. A domain has at most one writing
//! chunk at a time (its task's row in the queue is locked, and only the oldest writing task has a
//! lease), so what a chunk has read of core profiles stays as it is until the chunk commits.

mod create;
mod get;
mod update;

use std::collections::HashMap;

use caseload_model::ids::{CoreProfileId, DomainId};
use caseload_model::profile::IdentityKey;
use caseload_model::record::PreparedEntry;
use caseload_model::time::UnixMillis;
use tokio_postgres::Row;

use super::engine::Client;
use caseload_store::dry_run::DryRun;
use caseload_store::{ApplyChunk, StoreError};

pub(super) use create::create;
pub(super) use get::{get_app, get_core};
pub(super) use update::{update_app, update_core};

/// Microseconds in a millisecond: core profile ids are times in microseconds.
const MICROS: i64 = 1000;

/// The last id and time of change that were given to profiles of a domain.
pub(super) const CLOCK: &str = "SELECT last_core_profile_id, last_profile_change_at
                                FROM domain_clocks WHERE domain_id = $1";

/// What the parts of one chunk share: its time of change and its block of ids. Both are read
/// without a lock, because nobody else gives any away meanwhile, and written back at the end.
pub(super) struct Change {
    domain: DomainId,
    changed_at: UnixMillis,
    next_id: u64,
    /// Whether anything was written.
    written: bool,
    /// Whether an identity of the chunk was found to be taken: then all owners are looked up.
    conflicts: bool,
    /// What was planned so far, in a dry run.
    dry_run: Option<DryRun>,
}

impl Change {
    /// From a row of [`CLOCK`].
    pub(super) fn new(command: &ApplyChunk, clock: &Row) -> Self {
        let (last_id, last_change): (i64, i64) = (clock.get(0), clock.get(1));
        let now = command.now.0.max(0);
        Self {
            domain: command.domain,
            changed_at: UnixMillis(now.max(last_change + 1)),
            next_id: (now * MICROS).max(last_id + 1).unsigned_abs(),
            written: false,
            conflicts: false,
            dry_run: command.dry_run.then(DryRun::default),
        }
    }

    /// Writes back which ids and times are given away. Locks the domain's clock.
    pub(super) async fn finish(self, client: &Client) -> Result<(), StoreError> {
        if !self.written {
            return Ok(());
        }
        let last_id = self.next_id as i64 - 1;
        client.execute(
            "UPDATE domain_clocks SET last_core_profile_id = greatest(last_core_profile_id, $2),
             last_profile_change_at = greatest(last_profile_change_at, $3) WHERE domain_id = $1",
            &[&self.domain.0, &last_id, &self.changed_at.0],
        ).await?;
        Ok(())
    }
}

/// What the entries ask for that are not refused.
fn sound<T>(entries: &[PreparedEntry<T>]) -> impl Iterator<Item = &T> {
    entries.iter().filter_map(|entry| entry.item.as_ref().ok())
}

/// Identities by their keys.
type Named<'k> = HashMap<&'k [u8], &'k IdentityKey>;

fn named<'k>(identities: impl Iterator<Item = &'k IdentityKey>) -> Named<'k> {
    identities.map(|identity| (identity.as_bytes(), identity)).collect()
}

/// The stored owners of the given identities.
async fn owners(
    client: &Client,
    domain: DomainId,
    named: &Named<'_>,
) -> Result<HashMap<IdentityKey, CoreProfileId>, StoreError> {
    if named.is_empty() {
        return Ok(HashMap::new());
    }
    let wanted: Vec<&[u8]> = named.keys().copied().collect();
    let found = client
        .rows(
            "SELECT key, core_profile_id FROM identities WHERE domain_id = $1 AND key = ANY ($2)",
            &[&domain.0, &wanted],
        )
        .await?;
    let owner = |row: &Row| {
        let key = (*named.get(row.get::<_, &[u8]>(0))?).clone();
        Some((key, profile_id(row, 1)))
    };
    Ok(found.iter().filter_map(owner).collect())
}

fn profile_id(row: &Row, column: usize) -> CoreProfileId {
    CoreProfileId(row.get::<_, i64>(column).unsigned_abs())
}
