//! The example of an import. The description of the paths that tasks and imports share shows it,
//! too.

use caseload_model::task::Action;
use serde_json::{Value, json};

use crate::bulk_actions::openapi::task::TASK_ID;

/// The id of the import in examples.
pub(super) const IMPORT_ID: &str = "019b7716-2a80-7c3e-9a51-0f3c8d1e4b99";

/// An import that has just been accepted.
pub(crate) fn import_example(action: Action) -> Value {
    let this =
        format!("https://desk.example/v2/acme/{}/imports/{IMPORT_ID}", action.family().as_str());
    json!({
        "import_id": IMPORT_ID,
        "action": action.as_str(),
        "status": "queued",
        "progress": 0,
        "outcome": null,
        "dry_run": false,
        "counts": {"total": 2, "succeeded": 0, "failed": 0, "unprocessed": 2},
        "warnings": 0,
        "created_at": 1_767_225_600_000_u64,
        "started_at": null,
        "completed_at": null,
        "expires_at": 1_769_817_600_000_u64,
        "file_name": "people.csv",
        "content_length": 4711,
        "format": {"type": "csv", "encoding": "utf-8", "delimiter": ";"},
        "columns": {"E-mail": "identities.email", "Notes": null},
        "tasks": [TASK_ID],
        "submitted_by": {"key_id": "k1", "key_name": "nightly"},
        "links": {
            "self": this,
            "results": format!("{this}/results"),
            "errors": format!("{this}/errors"),
        },
    })
}
