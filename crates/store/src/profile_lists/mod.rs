//! Lists of profiles, for every backend. A list of core profiles is read through the sets of their
//! terms, one of app profiles through the index of creation or of update times, and either from the
//! few profiles that ids or identities name. Terms and columns decide some filters; for all others,
//! `ProfileQuery::matches` of the model judges profile by profile.
//! Invariant: totals, pages and steps are those of that judge.

mod core_list;
mod core_rows;
mod filter_scan;
mod filters;
mod list;
mod page;
mod people;
mod rows;
mod walk;

pub use filters::filters;
pub use list::{get, is_expensive, list, step};
pub(crate) use people::app_profiles as app_profiles_with;
pub use people::app_profiles_of;
pub use rows::ProfileSource;
