//! The log of changes over HTTP: a page after a cursor, at once or after a wait; all changes as
//! lines; a tail of events, all of them read by [`reader`], which continues at a position; and the
//! history of one record, also in the form of the API family.

mod audit_logs;
mod get;
mod history;
pub(crate) mod history_openapi;
mod history_record;
mod log_end;
pub(crate) mod openapi;
mod reader;
mod record;
mod stream;

pub(crate) use audit_logs::audit_logs;
pub(crate) use get::get;
pub(crate) use history::{history_of_core_profile, history_of_issue};
pub(crate) use log_end::LogEnd;
pub(crate) use reader::position_of;
