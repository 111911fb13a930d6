//! From a new task to the answer 201, for the calls that create a task, retry one or run a dry
//! run.

use axum::response::Response;
use caseload_model::task::{Action, Submitter, TaskOrigin};
use caseload_model::time::UnixMillis;
use caseload_store::{AnswerOf, CreateTask, Idempotent, StoreError, StoredAnswer};

use super::view::TaskView;
use crate::http::auth::Caller;
use crate::http::base_url::BaseUrl;
use crate::http::current_request::current_request_id;
use crate::http::idempotency;
use crate::http::log_limiter::{Event, Origin};
use crate::http::problem::Problem;
use crate::http::random::random_bytes;
use crate::state::AppState;

/// A task without entries.
pub(crate) fn new_task(
    state: &AppState,
    caller: &Caller,
    action: Action,
) -> Result<CreateTask, Problem> {
    let now = state.clock.now();
    let by = Submitter { key_id: caller.key_id.clone(), key_name: caller.key_name.clone() };
    let retention = i64::try_from(state.config.keep_results.as_millis()).unwrap_or(i64::MAX);
    Ok(CreateTask {
        domain: caller.domain_id,
        key: Some(caller.key_id.clone()),
        request_id: current_request_id(),
        id: new_task_id(now)?,
        action,
        dry_run: false,
        upsert: false,
        total: 0,
        staged: 0,
        blocks: Vec::new(),
        now,
        expires_at: UnixMillis(now.0.saturating_add(retention)),
        unfinished_max: state.config.unfinished_tasks_max,
        parent_id: None,
        runs_parent: false,
        origin: TaskOrigin { submitted_by: Some(by), ..TaskOrigin::default() },
        import_id: None,
        idempotency: None,
    })
}

/// Gives the task to the store and answers 201. A repeat under `key` receives the first answer,
/// which the store commits together with the task. Its links are paths there.
pub(crate) async fn accept(
    state: &AppState,
    caller: &Caller,
    mut command: CreateTask,
    key: Option<(String, [u8; 32])>,
) -> Result<Response, Problem> {
    let domain = caller.domain_name.clone();
    let answer = AnswerOf::new(move |task| {
        let view = TaskView::new(task, &domain, &BaseUrl::default());
        let body = serde_json::to_vec(&view).expect("a task is rendered as JSON");
        StoredAnswer { location: view.links.this, body }
    });
    command.idempotency = key.map(|(text, content)| {
        let key = idempotency::stored_key(text, content, command.now, command.expires_at);
        (key, answer.clone())
    });
    let created = state.store.create_task(command).await;
    let created = created.inspect_err(|error| log_queue_full(state, caller, error));
    match created? {
        Idempotent::Replayed(first) => Ok(idempotency::created(Idempotent::Replayed(first))),
        Idempotent::Done(task) => {
            tracing::info!(
                task_id = task.id,
                action = task.action.as_str(),
                entries = task.counts.total,
                key = caller.key_id,
                key_name = caller.key_name,
                "a task was accepted"
            );
            Ok(idempotency::created(Idempotent::Done(answer.of(&task))))
        }
    }
}

/// Logs that a domain has too many unfinished tasks.
pub(crate) fn log_queue_full(state: &AppState, caller: &Caller, error: &StoreError) {
    let origin = Origin::Domain(caller.domain_id);
    if matches!(error, StoreError::QueueFull { .. })
        && let Some(left_out) = state.log_limiter.line(Event::QueueLimit, origin)
    {
        let domain = caller.domain_name.as_str();
        tracing::warn!(domain, left_out, "a domain is over its limit of unfinished tasks");
    }
}

/// A UUID of version 7, so that task ids sort by creation time.
pub(crate) fn new_task_id(now: UnixMillis) -> Result<String, Problem> {
    let random = random_bytes()?;
    let millis = u64::try_from(now.0).unwrap_or_default();
    Ok(uuid::Builder::from_unix_timestamp_millis(millis, &random).into_uuid().to_string())
}
