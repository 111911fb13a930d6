//! `POST /v1/{domain}/erasures`: erases a person. The call finds the person and makes a task, which
//! the crate `bulk` runs like any other. A dry run shows what would go, and its key need only read.
//! Invariant: no log line, task or receipt has the identity.

mod create;
pub(crate) mod openapi;

pub(crate) use create::{content, create, task_of};
