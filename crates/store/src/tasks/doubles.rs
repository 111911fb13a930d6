//! Entries without an id that an earlier import of the domain has created already. The sketches of
//! both show how many they are. Looking for them costs one read of at most [`IMPORTS_COMPARED`]
//! sketches of 2 KiB, in the transaction that creates the import. It only warns: of two files at
//! once, neither may see the other.

use caseload_model::import::Doubles;
use caseload_model::sketch::Sketch;

use super::statements::TaskStore;
use crate::sql::Row;
use crate::{CreateImport, StoreError, values};

/// Earlier imports that a file is compared with, the newest ones.
const IMPORTS_COMPARED: i64 = 1000;

/// The earlier import that had most of the entries; `None` if none had any.
pub(super) fn find(
    store: &impl TaskStore,
    command: &CreateImport,
    sketch: &Sketch,
) -> Result<Option<Doubles>, StoreError> {
    if sketch.entries == 0 {
        return Ok(None);
    }
    let select = "SELECT t.id, t.created_at, t.without_id, t.sketch,
         (SELECT CAST(coalesce(sum(CASE s.status WHEN 4 THEN s.succeeded ELSE s.total END), 0)
         AS BIGINT) FROM tasks s WHERE s.domain_id = t.domain_id AND s.domain_id = ?1
         AND s.import_id = t.id)
         FROM imports t WHERE t.domain_id = ?1 AND t.family = ?2 AND t.action = ?3
         AND NOT t.dry_run AND t.expires_at > ?4 AND t.sketch IS NOT NULL
         ORDER BY t.created_at DESC, t.id DESC LIMIT ?5";
    let domain = store.domain();
    let (family, action) = (command.action.family().code(), command.action.code());
    let mut found: Option<Doubles> = None;
    let values = values![domain, family, action, command.now, IMPORTS_COMPARED];
    store.each(select, values, &mut |row| {
        // Entries that failed or were not reached made nothing.
        let made = row.get::<u32>(4)?;
        let entries = sketch.known(&self::sketch(row, 2)?).min(made);
        if entries > found.as_ref().map_or(0, |found| found.entries) {
            let (import_id, created_at) = (row.get(0)?, row.get(1)?);
            let without_id = sketch.entries;
            found = Some(Doubles { import_id, created_at, entries, without_id });
        }
        Ok(())
    })?;
    Ok(found)
}

/// The doubles of an import, from the columns `doubles_of`, `doubles_at`, `doubles`, `without_id`.
pub(super) fn read(row: &dyn Row, first: usize) -> Result<Option<Doubles>, StoreError> {
    let Some(import_id) = row.get(first)? else { return Ok(None) };
    let (created_at, entries) = (row.get(first + 1)?, row.get(first + 2)?);
    Ok(Some(Doubles { import_id, created_at, entries, without_id: row.get(first + 3)? }))
}

/// A sketch, from the columns `without_id` and `sketch`.
pub(super) fn sketch(row: &dyn Row, first: usize) -> Result<Sketch, StoreError> {
    let hashes: Option<&[u8]> = row.get(first + 1)?;
    Ok(Sketch::read(row.get(first)?, hashes.unwrap_or_default()))
}
