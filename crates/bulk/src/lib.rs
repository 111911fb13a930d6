//! What runs later: claims bulk action tasks, validates their entries and hands them to the store
//! chunk by chunk. It keeps no truth of its own. A task's state, its records and its place in the
//! payload are the store's, so a runner may die at any moment and another goes on from the last
//! chunk that was committed.

mod chunk;
mod janitor;
mod outage;
mod runner;
mod worker;

pub use runner::{Runner, RunnerConfig};
