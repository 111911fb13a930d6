//! Profiles in SQLite: the statements of the shared rules ([`caseload_store::profiles`] and
//! [`caseload_store::profile_lists`]).

pub(crate) mod by_id;
mod get;
mod lists;
mod rows;
pub(crate) mod sets;
mod statements;
