//! Imports over HTTP: a file of any size becomes tasks of bounded size. The calls that a task has,
//! too, are those of `bulk_actions`, which serve both. This module reads the form and the file,
//! creates an import and copies one, and has its record.

mod accept;
mod create;
mod derive;
mod example;
mod file_form;
mod file_reader;
mod form;
pub(crate) mod openapi;
mod options;
mod preview;
mod view;

#[cfg(test)]
pub(crate) use options::FIELDS as IMPORT_FIELDS;

pub(crate) use create::create;
pub(crate) use derive::{retry_import, run_import};
pub(crate) use example::import_example;
pub(crate) use file_form::FileForm;
pub(crate) use file_reader::Rejects;
pub(crate) use preview::preview;
pub(crate) use view::{COLUMNS, View, memory_bytes};
