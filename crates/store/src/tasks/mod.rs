//! Bulk action tasks: the rules of their whole life, for every backend. A backend implements
//! [`TaskStore`], [`QueueStore`], [`ChunkStore`] and [`ExpiryStore`] with statements that decide
//! nothing; each function here runs inside one transaction that the backend opened. Invariants: the
//! counts of a task add up at both sides of every commit, a task completes in the transaction that
//! processes its last entry, and only the holder of the current lease changes a leased task.

mod accept;
mod apply;
mod chunk_blocks;
mod claim;
mod deaths;
mod doubles;
mod end;
mod fair_queue;
mod imports;
mod purge;
mod reads;
mod records;
mod retry_payload;
mod statements;
mod task_limits;

pub(crate) use accept::add_one;
pub use accept::{accept, already_exists, discard_step, extend, stage, unfinished};
pub use apply::{
    CHUNK_WORK_MAX, ChunkEnd, ChunkStart, ChunkStore, PlannedChunk, READ_BYTES_MAX, plan_dry_run,
    read_chunk, read_slice, store_planned, write_chunk,
};
pub use chunk_blocks::ChunkBlocks;
pub use claim::{
    Choice, ClaimResult, Claims, Leased, QueueStore, begin, choose, claim, latest_wait,
};
pub use end::{cancel, fail_attempt};
pub use fair_queue::QueuePlace;
pub use imports::{cancel_import, create_import, import, import_page};
pub use purge::{ExpiryStore, purge_step};
pub use reads::{
    Unfinished, delayed, of_family, page, payload_block, record_block, record_sizes,
    unfinished_by_lease,
};
pub use records::{PackedRecords, Records, kind_code};
pub(crate) use retry_payload::payload_block as stored_payload_block;
pub use retry_payload::{entry_states, retry_payload, whole_payload};
pub use statements::{
    COLUMNS, COLUMNS_COUNT, LAST_TIME, LEASE_COLUMNS, LOCKED_COUNT, Lease, LockedTask, NextPlace,
    SAVED_COLUMNS, TaskStore, TaskTables, lease, locked, select_task, task,
};
pub use task_limits::TaskLimits;
