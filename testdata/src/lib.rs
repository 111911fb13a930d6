//! Test data that follows from a seed: random issues, as entries of `import_issues`, and random
//! list queries, as query parameters. Tests compare a store's answers to them with a naive
//! evaluation. Issues and queries draw from the same few values, so a query usually matches some
//! issues and not others, and case, escapes, digits and missing values often decide. The same seed
//! gives the same text on every machine. Likewise random entries about people, with a naive store
//! of people, and random writes of every kind with a follower of the log of changes. And a reader
//! of the tables that the product writes.

mod follower;
mod issues;
mod people;
mod queries;
mod splitmix;
mod tables;
mod values;
mod writes;

pub use follower::{Follower, Got, Records};
pub use issues::{AGENTS, issue, issues};
pub use people::{Answer, People, Person};
pub use queries::{Parameters, query};
pub use splitmix::SplitMix;
pub use tables::csv_rows;
pub use values::FIRST_DAY_MS;
pub use writes::{Write, Writes};
