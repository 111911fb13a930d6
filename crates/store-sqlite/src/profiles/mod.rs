//! Profiles in SQLite: reads what a plan of the model's needs, asks for the plan, writes what it
//! says. All rules are the model's. Invariant: the rows of `identities` are exactly the identities
//! in the stored core profiles, each with its profile.

pub(crate) mod by_id;
mod create;
mod get;
mod rows;
mod update;

use std::collections::HashMap;

use caseload_model::ids::{CoreProfileId, DomainId};
use caseload_model::profile::IdentityKey;
use caseload_model::time::UnixMillis;
use rusqlite::{Connection, OptionalExtension, params};

use super::clock;
use crate::Fault;
use caseload_store::ApplyChunk;
use caseload_store::dry_run::DryRun;

pub(super) use create::create;
pub(super) use get::{get_app, get_core};
pub(super) use update::{update_app, update_core};

/// What the slices of one chunk share: its time of change and its block of ids, both taken when
/// they are first needed.
pub(super) struct Change {
    domain: DomainId,
    now: UnixMillis,
    changed_at: Option<UnixMillis>,
    next_id: Option<u64>,
    /// Whether an identity of the chunk was found to be taken: then all owners are looked up.
    conflicts: bool,
    /// What was planned so far, in a dry run.
    dry_run: Option<DryRun>,
}

impl Change {
    pub(super) fn new(command: &ApplyChunk) -> Self {
        Self {
            domain: command.domain,
            now: command.now,
            changed_at: None,
            next_id: None,
            conflicts: false,
            dry_run: command.dry_run.then(DryRun::default),
        }
    }

    fn changed_at(&mut self, conn: &Connection) -> Result<UnixMillis, Fault> {
        if let Some(at) = self.changed_at {
            return Ok(at);
        }
        let at = clock::change_time(conn, self.domain, self.now)?;
        self.changed_at = Some(at);
        Ok(at)
    }

    fn next_id(&mut self, conn: &Connection) -> Result<u64, Fault> {
        if let Some(id) = self.next_id {
            return Ok(id);
        }
        let id = clock::first_core_profile_id(conn, self.domain, self.now)?;
        self.next_id = Some(id);
        Ok(id)
    }

    /// Writes back which ids are given away.
    pub(super) fn finish(self, conn: &Connection) -> Result<(), Fault> {
        match self.next_id {
            Some(next) => clock::advance_core_profile_id(conn, self.domain, CoreProfileId(next)),
            None => Ok(()),
        }
    }
}

/// The stored owners of the given identities.
fn owners<'k>(
    conn: &Connection,
    domain: DomainId,
    keys: impl Iterator<Item = &'k IdentityKey>,
) -> Result<HashMap<IdentityKey, CoreProfileId>, Fault> {
    let mut select = conn.prepare_cached(
        "SELECT core_profile_id FROM identities WHERE domain_id = ?1 AND key = ?2",
    )?;
    let mut owners = HashMap::new();
    for key in keys {
        let owner: Option<i64> =
            select.query_row(params![domain.0, key.as_bytes()], |row| row.get(0)).optional()?;
        if let Some(owner) = owner {
            owners.insert(key.clone(), CoreProfileId(owner.unsigned_abs()));
        }
    }
    Ok(owners)
}
