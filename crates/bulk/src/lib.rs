//! Runs bulk action tasks: claims them, validates their entries and passes these to the store chunk
//! by chunk. The crate has no state of record. The store holds the state of a task, its records and
//! its position in the payload, so a runner may die at any moment and another one resumes after the
//! last committed chunk.

mod chunks;
mod context;
mod entry_queue;
mod entry_reader;
mod expiry_clock;
mod outage;
mod progress;
mod purge;
mod runner;
mod text_indexing;
mod wake_up_backoff;
mod work_in_progress;
mod worker;
mod worker_slots;

pub use entry_queue::{EntryQueue, QueueLimits};
pub use runner::{Runner, RunnerConfig};
pub use worker_slots::Slots;
