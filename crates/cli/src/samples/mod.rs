//! Sample data for the demo: made here, by a small deterministic generator, and belonging to nobody
//! (all addresses end in example.org). The same seed and tag give the same bytes. A tag sets one
//! run's identities apart from another's, because an identity belongs to one profile only.

mod issues;
mod people;
mod profiles;
mod random;

pub(crate) use issues::issue_lines;
pub(crate) use profiles::profile_lines;
