//! The description of bulk action tasks: their paths, the task record, the records of results and
//! errors, and the profiles in entries and results.
#![expect(
    clippy::needless_pass_by_value,
    reason = "the macro that writes JSON takes references; calls that pass values read better"
)]

mod paths;
mod profiles;
mod records;
mod task;

use serde_json::Value;

use crate::openapi::json::merged;

pub(crate) use paths::paths;
pub(crate) use task::parameters;

/// Every schema of this room.
pub(crate) fn schemas() -> Value {
    merged([task::schemas(), records::schemas(), profiles::schemas()])
}
