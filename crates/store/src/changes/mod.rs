//! The log of changes: one writer, which every transaction with effects passes once, and one
//! reader. A transaction is one row, a batch, keyed by the position of its last change. Invariant:
//! the positions of a domain have no gap, and are in the order of commits: a transaction takes them
//! from the domain's clock, whose row it then holds until it ends. The oldest batches are
//! purged, and the clock has the last position that was dropped.

mod erase;
mod history;
mod purge;
mod read;
mod records;
mod row;
mod write;

pub(crate) use erase::erase_titles;
pub(crate) use history::effects_at;
pub use history::history;
pub use purge::{drop_through, purge_step};
pub(crate) use read::{BATCH_COLUMNS, positions, stored_batch};
pub use read::{last_position, position_before, read_changes};
pub(crate) use records::index_rows;
pub use records::{ADD_RECORD, IndexRow};
pub(crate) use row::add_batch;
pub use row::{ADD_BATCH, LoggedBatch, TAKE_POSITIONS};
pub use write::log;
pub(crate) use write::{Log, packed};
