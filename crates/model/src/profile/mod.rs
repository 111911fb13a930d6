//! End-user profiles: the fields of core and app profiles, the rules of their entries, and plans of
//! the changes of a run of entries. Nothing here writes: the store reads the records that a plan
//! needs, asks for the plan within its transaction, and writes the result. The rules are those of
//! docs/api.md, "Profiles"; one field table per kind of profile drives validation, storage and
//! output.
//!
//! A stored profile is its *fields text*: the members of the record as JSON without the braces, in
//! the order of the table, without id and times.

mod changes;
mod check;
mod checker;
mod clean;
mod core_state;
mod doubts;
mod field;
mod identity;
mod merge;
mod new_ids;
mod placeholders;
mod plan_app;
mod plan_core;
mod plan_create;
mod plan_delete;
mod plan_get;
mod prepare;
mod record;
mod rejected;
mod stored;
mod tag_changes;

pub use crate::ids::IdentityKey;
pub use crate::row::{
    Cell, ColumnFault, OtherColumns, REJECTS_COLUMNS, RoundedIds, RowColumns, RowEntry, RowRules,
    as_formula, header_words, type_word, typed_by, typed_cell, written_cell,
};
pub use changes::CHANGES_BYTES_MAX;
pub(crate) use check::NAME_COMPONENTS;
pub use checker::FAULTS_MAX;
pub(crate) use checker::{Checker, quoted};
pub use core_state::CorePlan;
pub use field::{
    AGE_YEARS_MAX, COLLECTION_ELEMENTS_MAX, CORE_PROFILE_ID_MAX, KEY_CHARS_MAX,
    LAST_ACTIVE_MILLIS_MAX, PROFILE_BYTES_MAX, TAG_CHARS_MAX, TEXT_CHARS_MAX, app_field_names,
    core_field_names, uncounted_members,
};
pub(crate) use field::{APP, CORE, Field, Rule, Table};
pub use identity::{IDENTITY_VALUE_CHARS_MAX, IdentityType, UID_VALUE_CHARS_MAX};
pub(crate) use identity::{is_rounded, is_separator, read_identity, rounded};
pub use merge::merge_patch;
pub use new_ids::NewIds;
pub use placeholders::Placeholders;
pub use plan_app::{AppUpdatePlan, named_app_profile, plan_app_updates};
pub use plan_core::{finding_identities, plan_core_patches};
pub use plan_create::{CreatePlan, IdentityRow, ProfileRow, plan_creates, plan_optimistic_creates};
pub use plan_delete::{AppDeletePlan, plan_app_deletes, plan_core_deletes};
pub use plan_get::{named_app_profiles, named_core_profiles, show_app_gets, show_core_gets};
pub use prepare::{
    AppPatch, CorePatch, CoreTarget, NewCoreProfile, prepare_app_deletes, prepare_app_gets,
    prepare_app_updates, prepare_core_deletes, prepare_core_gets, prepare_core_patches,
    prepare_creates,
};
pub(crate) use record::braced;
pub use record::{StoredAppProfile, render_app, render_core};
pub use rejected::{rejected_core_profiles, rejected_identities};
pub use stored::identity_keys;
