//! The store of Caseload: the contract ([`Store`]) of plain-data commands and bounded reads, and
//! the rules that every backend shares, with the statements that both databases read the same
//! ([`sql`]). A backend is a crate of its own, with its own engine, migrations and further
//! statements. It implements [`Backend`], which gives it half of the contract, and the other half
//! with the modules below. The planners of the model decide about profiles and issues; a backend
//! commits their plans.

mod contract;

// For backends.
pub mod admin;
pub mod attachments;
mod backend;
pub mod changes;
pub mod check;
pub mod checksum;
pub mod copy;
pub mod dry_run;
pub mod erasure;
pub mod failpoint;
pub mod fair_slots;
pub mod idempotency;
pub mod issues;
pub mod migrations;
mod once;
mod opening;
mod outage;
mod pack;
pub mod part_file;
pub mod profile_lists;
pub mod profiles;
pub mod query;
pub mod rowset;
pub mod sql;
mod task_log;
pub mod tasks;
pub mod term_changes;
pub mod text_index;
pub mod throttle;
pub mod views;
pub mod webhooks;

pub use backend::Backend;
pub use contract::*;
pub use opening::{InvalidLocation, OpenMode};
pub use outage::{OutageLine, OutageLog};
pub use pack::{HEADER_BYTES_MAX, PackedBlock, pack_block, unpack_block, unpacked_size};
pub use task_log::log_end;
