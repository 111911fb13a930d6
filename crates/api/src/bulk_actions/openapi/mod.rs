//! The description of bulk action tasks: their paths, those that mend an import, the task record,
//! the records of results and errors, and the profiles in entries and results.
#![expect(
    clippy::needless_pass_by_value,
    reason = "the macro that writes JSON takes references; calls that pass values read better"
)]

pub(crate) mod mending;
pub(crate) mod paths;
mod profiles;
mod records;
pub(crate) mod task;

use serde_json::Value;

use crate::openapi::json::merged;

/// Every path of this room.
pub(crate) fn paths() -> Value {
    merged([paths::paths(), mending::paths()])
}

/// Every parameter of this room.
pub(crate) fn parameters() -> Value {
    merged([task::parameters(), mending::parameters()])
}

/// Every schema of this room.
pub(crate) fn schemas() -> Value {
    merged([task::schemas(), records::schemas(), mending::schemas(), profiles::schemas()])
}
