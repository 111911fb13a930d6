//! The shared parts of the description: operations, parameters, headers, errors, and the head of
//! the document. Each room describes its own paths in its module `openapi`, next to its handlers,
//! and `openapi_document` joins them.
#![expect(
    clippy::needless_pass_by_value,
    reason = "the macro that writes JSON takes references; calls that pass values read better"
)]

pub(crate) mod headers;
pub(crate) mod info;
pub(crate) mod json;
pub(crate) mod operation;
pub(crate) mod parameters;
pub(crate) mod problem;
