//! Lists of profiles, for every backend. A list of core profiles is read through their sets, one of
//! app profiles through the index of creation or of update times, and either from the few profiles
//! that ids or identities name. Sets and columns decide some filters; for all others,
//! `ProfileQuery::matches` of the model judges profile by profile.
//! Invariant: totals, pages and steps are those of that judge.

mod id_words;
mod judge;
mod list;
mod order;
mod page;
mod people;
mod rows;
mod set_index;
mod set_list;
mod set_reader;
mod walk;

pub use list::{get, is_expensive, list, step};
pub use people::app_profiles_of;
pub use rows::ProfileSource;
