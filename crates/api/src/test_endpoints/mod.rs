//! The endpoints of a test server, below `/_test`: reset, the clock, faults, and the calls that
//! came. They need no key, so the program offers them on loopback alone and only over a store that
//! ends with the server. They wrap the whole application: a reset replaces it with one over
//! another store, and a fault changes an answer after the application has given it. Which faults
//! there are is in docs/testing.md. No route of the API is known here.

mod call_faults;
mod calls;
mod clock;
mod cut;
mod faults;
mod given;
mod held_work;
#[cfg(test)]
mod tests;

use std::pin::Pin;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{Path, Request, State};
use axum::response::{IntoResponse as _, Response};
use axum::routing::{delete, get, post};
use caseload_model::error_code::ErrorCode;
use caseload_model::time::{Clock, UnixMillis};
use caseload_store::{Serve, StoreError, Work};
use http::{HeaderValue, StatusCode, header};
use hyper::service::Service as _;
use hyper_util::service::TowerToHyperService;
use parking_lot::RwLock;
use serde_json::{Map, Value, json};
use tokio::sync::Mutex;

use crate::http::problem::{Fault, Problem};
use crate::router::{application, outermost, unknown_method};
use crate::state::{AppState, CountWebhooks};
use call_faults::Effect;
use calls::Calls;
pub use clock::{ClockStart, TestClock};
pub(crate) use cut::AnswerLost;
use faults::Faults;
use held_work::HeldWork;

/// The most bytes of a body that is sent to one of these endpoints.
const BODY_BYTES_MAX: usize = 4 << 20;
/// The beginning of their paths.
const ROOT: &str = "/_test";

/// Starts the server again with its first state, over a store of its own.
pub trait Restart: Send + Sync + 'static {
    /// Returns once the new store answers. The old one ends by itself.
    fn restart(&self) -> Pin<Box<dyn Future<Output = Result<Restarted, StoreError>> + Send + '_>>;
}

/// What answers calls after a reset.
#[expect(missing_debug_implementations, reason = "a store has none")]
pub struct Restarted {
    pub store: Arc<dyn Serve>,
    pub webhook_counts: CountWebhooks,
}

/// The endpoints, and the parts that they act on.
pub struct TestEndpoints {
    clock: TestClock,
    /// How long changes stay in the log; `None` for ever.
    keep_changes: Option<Duration>,
    faults: Arc<Faults>,
    calls: Calls,
    application: RwLock<Option<Application>>,
    restart: OnceLock<Box<dyn Restart>>,
    /// One reset at a time.
    turn: Mutex<()>,
}

/// What answers calls, until the next reset.
#[derive(Clone)]
struct Application {
    state: AppState,
    router: Router,
}

impl TestEndpoints {
    /// Endpoints of a server with this clock, whose own key `key` is blotted out of the calls.
    pub fn new(clock: TestClock, key: String, keep_changes: Option<Duration>) -> Arc<Self> {
        Arc::new(Self {
            clock,
            keep_changes,
            faults: Arc::default(),
            calls: Calls::new(key),
            application: RwLock::default(),
            restart: OnceLock::new(),
            turn: Mutex::default(),
        })
    }

    /// The same work, in which the faults of tasks take effect. Its leases last, however the clock
    /// runs.
    pub fn faulty(&self, work: Arc<dyn Work>) -> Arc<dyn Work> {
        Arc::new(HeldWork::new(work, self.faults.clone()))
    }

    /// Answers with this state from now on.
    pub fn open(&self, state: AppState, restart: Box<dyn Restart>) {
        self.answer_with(state);
        let _ = self.restart.set(restart);
    }

    /// The clock of the server.
    pub fn clock(&self) -> Clock {
        self.clock.clock()
    }

    /// Begins the time again as at the start.
    pub fn restart_clock(&self) {
        self.clock.restart();
    }

    /// Removes all faults, so that tasks that are held end their work.
    pub fn release(&self) {
        self.faults.clear();
    }

    fn answer_with(&self, state: AppState) {
        let router = application(&state);
        *self.application.write() = Some(Application { state, router });
    }

    fn application(&self) -> Result<Application, Problem> {
        let open = self.application.read().clone();
        open.ok_or_else(|| Problem::unavailable("the server is starting; try again"))
    }

    async fn reset(&self) -> Result<(), Problem> {
        let _turn = self.turn.lock().await;
        let (Application { state, .. }, Some(restart)) = (self.application()?, self.restart.get())
        else {
            return Err(Problem::unavailable("the server is starting; try again"));
        };
        self.faults.clear();
        self.clock.restart();
        let Restarted { store, webhook_counts } = restart.restart().await?;
        self.answer_with(state.over(store).with_webhook_counts(webhook_counts));
        self.calls.clear();
        Ok(())
    }

    /// The state that answers now.
    pub fn state(&self) -> Option<AppState> {
        self.application.read().as_ref().map(|open| open.state.clone())
    }
}

impl std::fmt::Debug for TestEndpoints {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TestEndpoints").finish_non_exhaustive()
    }
}

/// The endpoints around the application that answers now.
pub(crate) fn router(own: Arc<TestEndpoints>, state: &AppState) -> Router {
    let at = |rest: &str| format!("{ROOT}{rest}");
    let routes = Router::new()
        .route(&at("/reset"), post(reset))
        .route(&at("/clock"), get(show_clock).post(turn_clock).delete(restore_clock))
        .route(&at("/faults"), get(list_faults).post(add_fault).delete(clear_faults))
        .route(&at("/faults/{id}"), delete(remove_fault))
        .route(&at("/calls"), get(list_calls).delete(clear_calls))
        .method_not_allowed_fallback(unknown_method)
        .fallback(call)
        .with_state(own);
    outermost(routes, state)
}

type Own = State<Arc<TestEndpoints>>;

/// Answers a call of a client: records it, and lets it meet a fault.
async fn call(State(own): Own, request: Request) -> Response {
    let Application { state, router } = match own.application() {
        Ok(open) => open,
        Err(problem) => return problem.into_response(),
    };
    let path = request.uri().path();
    if matches!(path, "/healthz" | "/readyz") || is_below_root(path) {
        return answer(router, request).await;
    }
    let (number, request) = own.calls.begin(request).await;
    let fault = own.faults.of_call(request.method(), request.uri().path());
    let response = match fault {
        None => answer(router, request).await,
        Some((id, Effect::Status(status))) => call_faults::refusal(&id, status, own.clock.now()),
        Some((_, Effect::Delay(wait))) => {
            // A server that stops waits for no call.
            let mut stopping = state.stopping.subscribe();
            let _ = tokio::time::timeout(wait, stopping.wait_for(|stops| *stops)).await;
            answer(router, request).await
        }
        Some((_, Effect::CutBody)) => answer(router, request).await.map(cut::cut_body),
        Some((_, Effect::LoseAnswer)) => {
            drop(answer(router, request).await);
            return cut::lost_answer();
        }
    };
    own.calls.end(number, response.status());
    response
}

fn is_below_root(path: &str) -> bool {
    path.strip_prefix(ROOT).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
}

async fn answer(router: Router, request: Request) -> Response {
    let Ok(response) = TowerToHyperService::new(router).call(request).await;
    response
}

/// Returns to the start: the first records, the first time, no tasks, faults and calls.
async fn reset(State(own): Own) -> Result<StatusCode, Problem> {
    // A caller who leaves would leave half a reset.
    let done = tokio::spawn(async move { own.reset().await }).await;
    done.map_err(|_| Problem::internal())??;
    Ok(StatusCode::NO_CONTENT)
}

async fn show_clock(State(own): Own) -> Response {
    clock_shown(&own)
}

async fn turn_clock(State(own): Own, body: Body) -> Result<Response, Problem> {
    let turn = given::read_clock(&read_map(body).await?)?;
    own.clock.turn(turn)?;
    expire(&own).await?;
    Ok(clock_shown(&own))
}

async fn restore_clock(State(own): Own) -> Result<Response, Problem> {
    own.clock.restart();
    expire(&own).await?;
    Ok(clock_shown(&own))
}

fn clock_shown(own: &TestEndpoints) -> Response {
    let (now, speed) = own.clock.shown();
    json(StatusCode::OK, &json!({"now": clock::iso(now), "frozen": speed == 0, "speed": speed}))
}

/// Expired records are removed now, and not at the next round: the answer to the next call is that
/// of a server that has run until this time.
async fn expire(own: &TestEndpoints) -> Result<(), Problem> {
    let (store, now) = (own.application()?.state.store, own.clock.now());
    while store.purge_expired(now).await? {}
    if let Some(span) = own.keep_changes {
        let span = i64::try_from(span.as_millis()).unwrap_or(i64::MAX);
        let before = UnixMillis(now.0.saturating_sub(span));
        while store.purge_changes(before).await? {}
    }
    // Tasks that wait for a time may run.
    own.faults.wake();
    Ok(())
}

async fn list_faults(State(own): Own) -> Response {
    json(StatusCode::OK, &json!({"faults": own.faults.list()}))
}

async fn add_fault(State(own): Own, body: Body) -> Result<Response, Problem> {
    let map = read_map(body).await?;
    let fault = given::read_fault(&map)?;
    let shown = own.faults.add(map, fault)?;
    Ok(json(StatusCode::CREATED, &shown))
}

async fn clear_faults(State(own): Own) -> StatusCode {
    own.faults.clear();
    StatusCode::NO_CONTENT
}

async fn remove_fault(State(own): Own, Path(id): Path<String>) -> Result<StatusCode, Problem> {
    if own.faults.remove(&id) {
        return Ok(StatusCode::NO_CONTENT);
    }
    let detail = "there is no such fault, or it has been used up; GET /_test/faults lists those \
                  that are left";
    Err(Problem::new(ErrorCode::NotFound, detail))
}

async fn list_calls(State(own): Own) -> Response {
    json(StatusCode::OK, &own.calls.list())
}

async fn clear_calls(State(own): Own) -> StatusCode {
    own.calls.clear();
    StatusCode::NO_CONTENT
}

fn json(status: StatusCode, value: &Value) -> Response {
    let mut response = (status, value.to_string()).into_response();
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(header::CONTENT_TYPE, kind);
    response
}

/// Reads a body that is a JSON map. Its content type does not matter.
async fn read_map(body: Body) -> Result<Map<String, Value>, Problem> {
    let bytes = to_bytes(body, BODY_BYTES_MAX)
        .await
        .map_err(|_| Problem::new(ErrorCode::TooLarge, "the body is cut, or longer than 4 MiB"))?;
    match serde_json::from_slice(&bytes) {
        Ok(Value::Object(map)) => Ok(map),
        Ok(_) => Err(not_a_map("it is another kind of value")),
        Err(error) => Err(not_a_map(&error.to_string())),
    }
}

fn not_a_map(reason: &str) -> Problem {
    let detail = format!("the body must be a JSON map: {reason}");
    Problem::faults(vec![Fault::parameter("body", ErrorCode::InvalidRequest, detail)])
}
