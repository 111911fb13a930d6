//! Profiles in SQLite: the statements of the shared rules ([`caseload_store::profiles`]).

pub(crate) mod by_id;
mod get;
mod rows;
mod statements;
