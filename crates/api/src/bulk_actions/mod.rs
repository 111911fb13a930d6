//! Bulk action tasks over HTTP: create, list, status, results, errors, cancel and retry. The paths
//! for actions on profiles and on issues share this code, and those of imports share most of it.
//! Handlers give tasks to the store and read them from there; the crate `bulk` runs them.

mod accept;
mod cancel;
mod create;
mod csv;
mod derive_task;
mod error_pages;
mod error_record;
mod followed_tasks;
mod list;
mod no_fields;
pub(crate) mod openapi;
mod path;
mod payload;
mod record_file;
mod records;
mod result_record;
mod retry;
mod run;
mod staging;
mod status;
mod subject;
pub(crate) mod summary;
mod task_form;
mod upload;
mod upload_memory;
mod view;

#[cfg(test)]
pub(crate) use {status::PARAMETERS as STATUS_PARAMETERS, task_form::FIELDS as TASK_FIELDS};

pub(crate) use accept::{accept, log_queue_full, new_task};
pub(crate) use cancel::cancel;
pub(crate) use create::{create, read_only};
pub(crate) use derive_task::DeriveTask;
pub(crate) use list::list;
pub(crate) use path::BulkPath;
pub(crate) use payload::{gone, line_bytes, payload, rejects};
pub(crate) use records::{errors, results};
pub(crate) use retry::retry;
pub(crate) use run::run;
pub(crate) use staging::{StagedPart, Staging};
pub(crate) use status::status;
pub(crate) use subject::{Subject, SubjectKind};
pub(crate) use summary::{error_summary, warning_summary};
pub(crate) use task_form::{TaskRequest, read_boolean};
pub(crate) use upload::{BlockReader, Payload, Upload};
pub(crate) use upload_memory::UploadMemory;
pub(crate) use view::{CountsView, Links, SubmitterView, TaskView};
