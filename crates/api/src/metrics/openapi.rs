//! The description of the metrics, which need no key.
//! The list of metrics is in docs/api.md.

use serde_json::{Value, json};

use crate::openapi::operation::Operation;

pub(crate) fn paths() -> Value {
    let figures = Operation::open(
        "getMetrics",
        "service",
        "Figures for operators",
        "The text format 0.0.4 of Prometheus. No name of a domain, id of a record or key stands in \
         it. The figures are listed in docs/api.md, \"Health and metrics\".",
    );
    let figures = figures.answers(
        200,
        "The figures.",
        &[],
        &json!({"text/plain": {
            "schema": {"type": "string"},
            "example": "# TYPE caseload_store_up gauge\ncaseload_store_up 1\n",
        }}),
    );
    json!({"/metrics": {"get": figures.build()}})
}
