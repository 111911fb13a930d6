//! The log of changes: one writer, which every transaction with effects passes once, and one
//! reader. A transaction is one row, a batch, keyed by the position of its last change. Invariant:
//! the positions of a domain have no gap, and are in the order of commits: a transaction takes them
//! from the domain's clock, whose row it then holds until it ends.

mod read;
mod row;
mod write;

pub(crate) use read::{BATCH_COLUMNS, stored_batch};
pub use read::{last_position, read_changes};
pub use row::{ADD_BATCH, LoggedBatch, TAKE_POSITIONS};
pub(crate) use write::Log;
pub use write::log;
