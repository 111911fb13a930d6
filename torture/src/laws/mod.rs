//! The laws of tasks, of idempotency and of the stored data. They hold after any fault; the first
//! broken law is an error.

mod job;
mod ledger;
mod verdict;

pub(crate) use job::{Job, SubmitResult};
pub(crate) use ledger::{DOMAINS, Ledger, total};
pub(crate) use verdict::verify;
