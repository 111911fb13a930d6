//! The log of changes over HTTP: the history of one record, and its form for clients of the API
//! family.

mod audit_logs;
mod history;
pub(crate) mod history_openapi;
mod record;

pub(crate) use audit_logs::audit_logs;
pub(crate) use history::{history_of_core_profile, history_of_issue};
