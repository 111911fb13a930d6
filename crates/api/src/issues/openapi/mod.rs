//! The description of issues: the operations that read and write them, their parameters and forms,
//! and the issue itself.
#![expect(
    clippy::needless_pass_by_value,
    reason = "the macro that writes JSON takes references; calls that pass values read better"
)]

mod counts;
mod durations;
pub(crate) mod filters;
mod forms;
mod issue;
mod parameters;
mod reading;
mod writing;

use serde_json::{Value, json};

use crate::openapi::json::merged;

pub(crate) use issue::{cursor_envelope, envelope};
pub(crate) use parameters::parameters;

pub(crate) fn paths() -> Value {
    json!({
        "/v1/{domain}/issues": {
            "get": reading::list(),
            "post": writing::create(),
            "put": writing::edit_many(),
        },
        "/v1/{domain}/issues/counts": {"get": counts::operation()},
        "/v1/{domain}/issues/durations": {"get": durations::operation()},
        "/v1/{domain}/issues/{issue_id}": {
            "get": reading::single(),
            "put": writing::edit(),
            "delete": writing::delete(),
        },
        "/v1/{domain}/issues/{issue_id}/messages": {
            "get": reading::messages(),
            "post": writing::message(),
        },
        "/v1/{domain}/issues/{issue_id}/private-notes": {
            "get": reading::notes(),
            "post": writing::note(),
        },
    })
}

/// Every schema of this room.
pub(crate) fn schemas() -> Value {
    merged([
        issue::schemas(),
        counts::schemas(),
        durations::schemas(),
        forms::schemas(),
        writing::schemas(),
    ])
}
