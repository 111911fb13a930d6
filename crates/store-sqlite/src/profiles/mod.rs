//! Profiles in SQLite: the statements of the shared rules ([`caseload_store::profiles`] and
//! [`caseload_store::profile_lists`]).

mod get;
mod lists;
mod rows;
mod statements;
