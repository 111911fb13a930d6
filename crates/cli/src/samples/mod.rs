//! Sample data for the demo, from a small deterministic generator. No real person is in it: all
//! addresses end in example.org. The same tag gives the same bytes; a new tag gives new identities,
//! which each run needs because an identity belongs to one profile only.

mod conversations;
mod faults;
mod issues;
mod people;
mod profiles;
mod splitmix;

pub(crate) use faults::with_faults;
pub(crate) use issues::{apps, issue_lines};
pub(crate) use profiles::profile_lines;
