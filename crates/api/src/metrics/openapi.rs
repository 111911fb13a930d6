//! The description of the metrics, which need no key on the same machine.
//! The list of metrics is in docs/operating.md.

use caseload_model::error_code::ErrorCode;
use serde_json::{Value, json};

use crate::openapi::operation::Operation;

pub(crate) fn paths() -> Value {
    let metrics = Operation::open(
        "getMetrics",
        "service",
        "Metrics for operators",
        "The text format 0.0.4 of Prometheus. It contains no domain \
         name, record id or key. It needs a key of any domain, unless the caller is on the same \
         machine, uses its loopback name, and comes through no proxy. If the operator has set an \
         address for metrics, they are there alone. The metrics are listed in \
         docs/operating.md, \"Read metrics\".",
    );
    let metrics = metrics.fails(&[ErrorCode::Unauthorized, ErrorCode::NotFound]);
    let metrics = metrics.answers(
        200,
        "The metrics.",
        &[],
        &json!({"text/plain": {
            "schema": {"type": "string"},
            "example": "# TYPE caseload_store_up gauge\ncaseload_store_up 1\n",
        }}),
    );
    json!({"/metrics": {"get": metrics.build()}})
}
