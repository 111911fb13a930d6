//! Lists of profiles, for every backend. A list is read in its order through the index of creation
//! or of update times, or from the few profiles that ids or identities name. The columns decide
//! some filters; for all others, `ProfileQuery::matches` of the model judges profile by profile.
//! Invariant: totals, pages and steps are those of that judge.

mod list;
mod page;
mod people;
mod rows;
mod walk;

pub use list::{get, is_expensive, list, step};
pub use people::app_profiles_of;
pub use rows::ProfileSource;
