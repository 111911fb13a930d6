//! Core and app profiles over HTTP: the lists (by page, by cursor, as a stream) and the single
//! profiles. The store renders profiles; this module sends their bytes without parsing them. Tasks
//! write profiles; a call deletes one.

mod delete;
mod get;
mod id;
mod list;
pub(crate) mod openapi;

pub(crate) use delete::{delete_app_profile, delete_core_profile};
pub(crate) use get::{get_app_profile, get_core_profile};
pub(crate) use id::{core_profile_id, unknown_profile};
pub(crate) use list::{list_app_profiles, list_core_profiles};
