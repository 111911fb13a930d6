//! The row of a batch, and the statements that add it. The batch gets its positions from the clock
//! of its domain in the same round trip, so nothing in the row depends on them.

use caseload_model::time::UnixMillis;

use super::records::IndexRow;

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
