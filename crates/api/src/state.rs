//! What every handler shares: the store, the clock, the limits, and the cache of keys. Cloning it
//! is cheap. Nothing in here changes but the cache and the
//! marks on requests that are being answered.

use std::sync::Arc;
use std::time::Duration;

use caseload_model::time::Clock;
use caseload_store::Store;

use crate::auth::KeyCache;
use crate::idempotency::Answering;

/// Limits of the server that its operator may set.
#[derive(Debug, Clone)]
pub struct ApiConfig {
    /// Bytes of a request body.
    pub body_bytes_max: usize,
    /// Time a read may take.
    pub query_timeout: Duration,
    /// Unfinished tasks that a domain may have.
    pub unfinished_tasks_max: u32,
    /// How long payload, results and errors of a task are kept.
    pub keep_results: Duration,
    /// How long a client may pause while it sends its body.
    pub body_pause_max: Duration,
    /// How long a client may take to send the head of a request, or stay silent between two.
    pub head_timeout: Duration,
}

impl Default for ApiConfig {
    fn default() -> Self {
        Self {
            body_bytes_max: 128 << 20,
            query_timeout: Duration::from_secs(10),
            unfinished_tasks_max: 1000,
            keep_results: Duration::from_hours(24 * 30),
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
}

impl AppState {
    pub fn new(store: Arc<dyn Store>, clock: Clock, config: ApiConfig) -> Self {
        Self {
            store,
            clock,
            config: Arc::new(config),
            keys: Arc::default(),
            answering: Arc::default(),
        }
    }
}

impl std::fmt::Debug for AppState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AppState").field("config", &self.config).finish_non_exhaustive()
    }
}
