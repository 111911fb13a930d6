//! Profiles from the outside: what entries may hold (`rules`), what a run of entries does to the
//! records there are (`plans`), and the laws that hold for any of them, checked against naive
//! oracles (`round_trip`, `runs`, `merge`).
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod merge;
mod plans;
mod round_trip;
mod rules;
mod runs;
mod support;
