//! `POST /v1/{domain}/redactions`: redacts parts of issues, in the form that clients of the API
//! family send, and `GET …/redactions/{redaction_id}`. A redaction of issues is done when it is
//! answered; that of a person is a task. Invariant: no answer and no log line has a text that is
//! redacted.

mod create;
mod get;
pub(crate) mod openapi;

pub(crate) use create::create;
pub(crate) use get::get;
