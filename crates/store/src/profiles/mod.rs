//! Writing and reading profiles, for every backend: reads the stored fields and owners that a
//! plan of the model's needs, makes the plan and writes it. A backend implements [`ProfileStore`]
//! with statements that decide nothing. A domain has at most one writing chunk at a time, and a
//! call that deletes a profile takes turns with it, so no other transaction changes the core
//! profiles that a transaction has read. Invariant: the rows of `identities` are exactly the
//! identities in the stored core profiles, each with its profile.

mod app_identities;
mod changes;
mod create;
mod delete;
mod dry_run;
mod statements;
mod terms;
mod times;
mod update;
mod write;

pub(crate) use app_identities::IDENTIFIERS;
pub use app_identities::{INSERT as INSERT_APP_IDENTITY, add_app_profile};
pub use changes::ProfileChanges;
pub use create::create;
pub use delete::{delete_app, delete_core};
pub(crate) use delete::{delete_one, erase_profiles, stored_pids};
pub use statements::{CoreProfiles, ProfileStore, sound};
pub(crate) use statements::{app_profile_columns, get_app, owners, stored_app_profile};
pub use terms::IndexedProfile;
pub use times::{CLOCK_AHEAD_MS_MAX, ChangeTimes, ProfileClock};
pub use update::{patch_core, update_app};
