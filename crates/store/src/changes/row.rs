//! The row of a batch, and the statements that add it. The batch gets its positions from the clock
//! of its domain in the same round trip, so nothing in the row depends on them.

use caseload_model::ids::DomainId;
use caseload_model::time::UnixMillis;

use super::records::{ADD_RECORD, IndexRow};
use crate::sql::Sql;
use crate::{StoreError, checksum, values};

/// A batch that is ready to be stored.
#[derive(Debug)]
pub struct LoggedBatch {
    /// How many changes it has.
    pub count: i64,
    pub at: UnixMillis,
    pub bytes: Vec<u8>,
    /// Its rows in the index of records.
    pub index: Vec<IndexRow>,
}

/// Takes `?2` positions from the clock of the domain `?1`, and locks it.
pub const TAKE_POSITIONS: &str =
    "UPDATE domain_clocks SET last_position = last_position + ?2 WHERE domain_id = ?1";

/// Stores a batch of `?2` changes of the domain `?1` under the positions that were just taken:
/// time, bytes, checksum.
pub const ADD_BATCH: &str = "INSERT INTO changes
     (domain_id, last_position, first_position, at, bytes, checksum)
     SELECT c.domain_id, c.last_position, c.last_position - ?2 + 1, ?3, ?4, ?5
     FROM domain_clocks c WHERE c.domain_id = ?1";

/// Stores a batch of a domain under the positions that follow.
pub(crate) fn add_batch(
    store: &(impl Sql + ?Sized),
    domain: DomainId,
    batch: &LoggedBatch,
) -> Result<(), StoreError> {
    let LoggedBatch { count, at, bytes, index } = batch;
    store.change(TAKE_POSITIONS, values![domain, count])?;
    let sum = checksum::of(values![domain, at, bytes]);
    store.change(ADD_BATCH, values![domain, count, at, bytes, sum])?;
    index.iter().try_for_each(|row| store.change(ADD_RECORD, &row.values(domain)).map(drop))
}
