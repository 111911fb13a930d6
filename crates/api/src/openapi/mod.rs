//! What the rooms' descriptions share: operations, parameters, headers, errors, and the head of the
//! document. Each room describes its own paths in its `openapi` module, beside its handlers;
//! `openapi_document` puts all of them together.
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
