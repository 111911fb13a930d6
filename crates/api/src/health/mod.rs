//! Whether the process runs, and whether the store answers. These calls need no key and show no
//! data of a domain.

pub(crate) mod openapi;

use axum::Json;
use axum::extract::State;
use caseload_model::error_code::ErrorCode;
use caseload_store::StoreError;
use serde_json::{Value, json};

use crate::http::problem::Problem;
use crate::state::AppState;

/// `GET /healthz`: the process runs.
pub(crate) async fn healthz() -> Json<Value> {
    Json(json!({"status": "ok"}))
}

/// `GET /readyz`: the store can be read and written.
pub(crate) async fn readyz(State(state): State<AppState>) -> Result<Json<Value>, Problem> {
    let ready = tokio::time::timeout(state.config.query_timeout, state.store.ready());
    match ready.await {
        Ok(Ok(())) => Ok(Json(json!({"status": "ok"}))),
        Ok(Err(StoreError::Corrupt(cause))) => {
            tracing::error!(%cause, "the store is damaged");
            let detail = "stored data was found to be damaged since the start; caseload check \
                          names the damage. The server goes on and serves all other data";
            Err(Problem::new(ErrorCode::Damaged, detail))
        }
        Ok(Err(error)) => {
            tracing::error!(%error, "the store is not ready");
            Err(Problem::unavailable("the store cannot be read and written now; try again"))
        }
        Err(_) => Err(Problem::unavailable("the store does not answer in time; try again")),
    }
}
