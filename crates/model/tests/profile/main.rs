//! Profiles through the public interface: the rules of entries (`rules`), the plans of runs of
//! entries (`plans`), and laws that hold for any of them, compared with naive oracles
//! (`round_trip`, `runs`, `merge`, `upserts`). What people leave around values is in `clean`.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod clean;
mod merge;
mod plans;
mod round_trip;
mod rules;
mod runs;
mod support;
mod upserts;
