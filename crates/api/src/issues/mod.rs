//! Issues over HTTP: the list (by page, by cursor, as a stream), the single issue, and the calls
//! that create, edit, answer and delete issues. The store renders issues; this module sends their
//! bytes without parsing them. The model defines the meaning of parameters and fields.

mod counts;
mod create;
mod delete;
mod durations;
mod edit;
mod file_upload;
mod get;
mod id;
mod list;
mod message_list;
mod messages;
pub(crate) mod openapi;
mod person;
mod private_notes;
mod write_call;

pub(crate) use counts::counts;
pub(crate) use create::create;
pub(crate) use delete::delete;
pub(crate) use durations::durations;
pub(crate) use edit::{edit, edit_many};
#[cfg(test)]
pub(crate) use file_upload::FILE_FIELDS;
pub(crate) use get::get;
pub(crate) use id::{InvalidIssueId, IssueId, unknown_issue};
pub(crate) use list::list;
pub(crate) use message_list::{list_messages, list_notes};
pub(crate) use messages::add_message;
pub(crate) use private_notes::add_note;
