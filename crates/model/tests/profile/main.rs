//! Profiles from the outside: what entries may hold (`rules`), what a run of entries does to the
//! records there are (`plans`), and the laws that hold for any of them (`laws`, `merge`), checked
//! against naive oracles.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod laws;
mod merge;
mod plans;
mod rules;
mod support;
