//! `GET /v1/{domain}/issues/durations`: how long the matches took to the first reply and to the
//! resolution. Their messages say so, so this reads each match, in the steps of the list; all steps
//! together have the time of one read.

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use caseload_model::issue_query::{
    Durations, DurationsRequest, IssueQuery, IssueView, parse_durations,
};
use caseload_store::{StepForm, StoreError};
use http::header;
use tokio::time::Instant;

use super::list::Issues;
use super::person;
use crate::http::auth::Caller;
use crate::http::base_url::BaseUrl;
use crate::http::memory::WAIT;
use crate::http::problem::Problem;
use crate::http::query::{QueryPairs, refused};
use crate::lists::call::list_error;
use crate::lists::noun::Noun as _;
use crate::lists::steps::ListReader;
use crate::lists::stream::STEP_BYTES;
use crate::state::AppState;

/// `GET /v1/{domain}/issues/durations`
pub(crate) async fn durations(
    State(state): State<AppState>,
    caller: Caller,
    base: BaseUrl,
    QueryPairs(pairs): QueryPairs,
) -> Result<Response, Problem> {
    let DurationsRequest { mut query, by, zone } = parse_durations(&pairs).map_err(refused)?;
    let found = person::look_up(&state, &caller, &mut query).await;
    found.map_err(|error| list_error::<Issues>(error, &pairs))?;
    let mut reader = reader(state, caller, base, query);
    let mut durations = Durations::new(by, zone);
    let deadline = Instant::now() + reader.state.config.query_timeout;
    loop {
        let step = reader.step(WAIT).await;
        let (step, memory) = step.map_err(|error| list_error::<Issues>(error, &pairs))?;
        let add = move || {
            let added = durations.add_lines(&step.body);
            drop(memory);
            added.map(|()| durations)
        };
        let added = reader.state.cpu.run(add).await?;
        durations = added.map_err(|_| {
            StoreError::Corrupt("a rendered issue cannot be read: run `caseload check`".to_owned())
        })?;
        if !step.more {
            break;
        }
        if Instant::now() >= deadline {
            return Err(list_error::<Issues>(StoreError::DeadlinePassed, &pairs));
        }
    }
    let body = reader.state.cpu.run(move || durations.into_json()).await?;
    Ok(([(header::CONTENT_TYPE, "application/json")], body).into_response())
}

/// Reads every match with its messages.
fn reader(state: AppState, caller: Caller, base: BaseUrl, query: IssueQuery) -> ListReader<Issues> {
    ListReader {
        state,
        caller,
        base,
        query,
        view: IssueView::default(),
        after: None,
        records_max: Issues::STREAM_RECORDS,
        bytes_max: STEP_BYTES,
        form: StepForm::Lines,
        count: false,
    }
}
