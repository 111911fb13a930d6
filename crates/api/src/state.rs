//! What every handler shares: the store, the clock, the limits, and what is kept in memory between
//! requests. Cloning it is cheap. Nothing in here is needed to be right: a server that starts anew
//! starts with all of it empty.

use std::sync::Arc;
use std::time::Duration;

use caseload_model::time::Clock;
use caseload_store::Store;
use tokio::sync::watch;

use crate::auth::{KeyCache, RateLimiter};
use crate::bulk::{Followed, HeldBytes};
use crate::idempotency::Answering;
use crate::metrics::Metrics;

/// Limits of the server that its operator may set.
#[derive(Debug, Clone)]
pub struct ApiConfig {
    /// Bytes of a request body.
    pub body_bytes_max: usize,
    /// Bytes of one attachment.
    pub attachment_bytes_max: usize,
    /// Time a read may take.
    pub query_timeout: Duration,
    /// Requests that a key may make in 60 s; 0 is no limit.
    pub rate_limit: u32,
    /// Unfinished tasks that a domain may have.
    pub unfinished_tasks_max: u32,
    /// How long payload, results and errors of a task are kept.
    pub keep_results: Duration,
    /// Bytes of its packed payload that an upload holds in memory before it is staged.
    pub upload_bytes_held: usize,
    /// The same of all uploads together; with more, each is staged from its first megabyte on.
    pub uploads_bytes_held: usize,
    /// How long a client may pause while it sends its body.
    pub body_pause_max: Duration,
    /// How long a client may take to send the head of a request, or stay silent between two.
    pub head_timeout: Duration,
}

impl Default for ApiConfig {
    fn default() -> Self {
        Self {
            body_bytes_max: 128 << 20,
            attachment_bytes_max: 25 << 20,
            query_timeout: Duration::from_secs(10),
            rate_limit: 1500,
            unfinished_tasks_max: 1000,
            keep_results: Duration::from_hours(24 * 30),
            upload_bytes_held: 8 << 20,
            uploads_bytes_held: 32 << 20,
            body_pause_max: Duration::from_mins(1),
            head_timeout: Duration::from_mins(1),
        }
    }
}

/// What every handler shares.
#[derive(Clone)]
pub struct AppState {
    pub store: Arc<dyn Store>,
    pub clock: Clock,
    pub config: Arc<ApiConfig>,
    pub(crate) keys: Arc<KeyCache>,
    pub(crate) answering: Arc<Answering>,
    pub(crate) rates: Arc<RateLimiter>,
    pub(crate) metrics: Arc<Metrics>,
    pub(crate) followed: Arc<Followed>,
    /// What uploads hold in memory.
    pub(crate) held: Arc<HeldBytes>,
    /// True from when the server was asked to stop: nothing waits any longer.
    pub(crate) stopping: watch::Sender<bool>,
}

impl AppState {
    pub fn new(store: Arc<dyn Store>, clock: Clock, config: ApiConfig) -> Self {
        Self {
            store,
            clock,
            config: Arc::new(config),
            keys: Arc::default(),
            answering: Arc::default(),
            rates: Arc::default(),
            metrics: Arc::default(),
            followed: Arc::default(),
            held: Arc::default(),
            stopping: watch::Sender::new(false),
        }
    }
}

impl std::fmt::Debug for AppState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AppState").field("config", &self.config).finish_non_exhaustive()
    }
}
