//! Requests that a caller may repeat under the header `Idempotency-Key`. The store writes the first
//! answer in the transaction of its effect. This module has the header, the hash of a request's
//! content, and the marks on keys whose first request is still being answered.

mod answer;
mod in_progress;
mod key;

pub(crate) use answer::{begin, changed, created, deleted, existing, first_answer};
pub(crate) use in_progress::{InProgressMark, KeysInProgress};
pub(crate) use key::{content_hash, key, stored_key};
