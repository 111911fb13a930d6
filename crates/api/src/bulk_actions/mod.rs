//! Bulk action tasks over HTTP: create, list, status, results, errors, cancel and retry. Two paths
//! share all of it, one for actions on profiles and one for actions on issues. How a task runs is
//! not known here: a handler gives the task to the store and reads it from there.

mod accept;
mod cancel;
mod create;
mod csv;
mod followed_tasks;
mod follower;
mod format;
mod list;
mod no_fields;
pub(crate) mod openapi;
mod path;
mod record_file;
mod records;
mod retry;
mod staging;
mod status;
mod submission;
mod upload;
mod upload_memory;
mod view;

#[cfg(test)]
pub(crate) use {
    records::PARAMETERS as FILE_PARAMETERS, status::PARAMETERS as STATUS_PARAMETERS,
    submission::FIELDS as TASK_FIELDS,
};

pub(crate) use cancel::cancel;
pub(crate) use create::{create, read_only};
pub(crate) use followed_tasks::FollowedTasks;
pub(crate) use list::list;
pub(crate) use records::{errors, results};
pub(crate) use retry::retry;
pub(crate) use status::status;
pub(crate) use submission::Submitted;
pub(crate) use upload_memory::UploadMemory;
