//! Where Caseload keeps its data. One contract ([`Store`]) of plain-data commands and paged reads;
//! a backend implements it in a folder of its own, with its own migrations. This is the only crate
//! that knows SQL. It decides nothing about profiles or issues: the planners of the model do, and
//! the backend commits what they planned.

mod check;
mod contract;
mod copy;
mod dry_run;
mod issues;
mod left;
mod location;
mod pace;
mod pack;
mod parts;
pub mod postgres;
mod records;
pub mod sqlite;
mod turns;

pub use contract::*;
pub use copy::{CopyBatch, CopyReport, CopyStage, CopyStep, CopyStore, TableDigest, copy};
pub use location::{InvalidLocation, OpenMode, StoreLocation, open};
pub use pack::{PackedBlock, pack_block, unpack_block};
