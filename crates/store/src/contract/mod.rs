//! The contract that every backend implements, as ten capabilities: [`Admin`], [`Submit`],
//! [`Imports`], [`Work`], [`Profiles`], [`Issues`], [`Changes`], [`Webhooks`], [`Views`] and
//! [`Upkeep`].
//! Each crate above asks only for those that it uses; a [`Store`] is all of them. [`Submit`] and
//! [`Work`] both include [`Payloads`].
//!
//! Each write is one command and one atomic, durable step. The contract has no begin and no commit,
//! so a backend may run a command on a writer thread (SQLite) or as an asynchronous transaction
//! (PostgreSQL). Commands are plain data, with two exceptions. [`ApplyChunk`] has an
//! [`EntrySource`] and a clock, because the store takes further entries while its transaction is
//! open. [`ClaimTasks`] has the [`QueueTurn`] that all claims of its server share, because a claim
//! in the commit of another command has no answer that could return the next turn. Each read is
//! bounded: long reads go block by block or page by page, so no snapshot outlives a call. No method
//! takes the id of a record without its domain. Callers pass in clock and randomness.

mod admin;
mod changes;
mod chunk_work;
mod error;
mod idempotency;
mod imports;
mod issue_commands;
mod issues;
mod lists;
mod metrics;
mod profiles;
mod read_budget;
mod redactions;
mod submit;
mod upkeep;
mod views;
mod webhooks;
mod work;

pub use admin::*;
pub use changes::*;
pub use chunk_work::{ChunkWork, EntryContext};
pub use error::{StoreError, StoreFuture};
pub use idempotency::*;
pub use imports::*;
pub use issue_commands::*;
pub use issues::*;
pub use lists::*;
pub use metrics::*;
pub use profiles::*;
pub use read_budget::{ReadBudget, ResultMemory};
pub use redactions::*;
pub use submit::*;
pub use upkeep::*;
pub use views::*;
pub use webhooks::*;
pub use work::*;

/// The capabilities of a server that answers callers: all but running tasks.
pub trait Serve:
    Admin + Submit + Imports + Profiles + Issues + Changes + Webhooks + Views + Upkeep
{
}

impl<S> Serve for S where
    S: Admin + Submit + Imports + Profiles + Issues + Changes + Webhooks + Views + Upkeep
{
}

/// All capabilities. Shared as `Arc<dyn Store>`, which coerces to an `Arc` of each capability.
pub trait Store: Serve + Work {}

impl<S: Serve + Work> Store for S {}
