//! Adds the profiles of a store from before the sets to them, once, after the migration that made
//! the table. A backend reads the profiles, some at a time.

use caseload_model::time::UnixMillis;

use super::changes::{ProfileTimes, SetChanges};
use super::store::SetStore;
use super::write::apply;
use crate::StoreError;
use crate::sql::Row;

/// A core profile as it is added.
#[derive(Debug)]
pub struct StoredProfile {
    pub id: i64,
    pub created_at: UnixMillis,
    pub updated_at: UnixMillis,
    pub fields: Vec<u8>,
}

impl StoredProfile {
    /// Reads `id`, `created_at`, `updated_at` and `fields` from the columns from `column` on.
    pub fn read_at(row: &dyn Row, column: usize) -> Result<Self, StoreError> {
        Ok(Self {
            id: row.get(column)?,
            created_at: row.get(column + 1)?,
            updated_at: row.get(column + 2)?,
            fields: row.get(column + 3)?,
        })
    }
}

/// Adds profiles of one domain that are in no set.
pub fn add_profiles(store: &impl SetStore, profiles: &[StoredProfile]) -> Result<(), StoreError> {
    let mut changes = SetChanges::default();
    for StoredProfile { id, created_at, updated_at, fields } in profiles {
        let times = ProfileTimes { created_at: created_at.0, updated_at: updated_at.0 };
        changes.created(*id, times, fields);
    }
    apply(store, &changes)
}
