//! `POST /v1/{domain}/erasures`: erases a person. The call finds the person and makes a task, which
//! the crate `bulk` runs like any other. Invariant: no log line and no answer has the identity.

mod create;
pub(crate) mod openapi;

pub(crate) use create::create;
