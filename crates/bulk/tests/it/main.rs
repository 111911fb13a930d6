//! Tests of the runner with whole stores: it shares its workers between domains, and goes on after
//! entries that do not commit. Tests of its parts are next to them, in the crate. Every test runs
//! on both stores.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod fairness;
mod poison;
mod purge;
mod refused;
mod support;
