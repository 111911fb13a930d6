//! What every handler shares: the store, the clock, the limits, and what is kept in memory between
//! requests. Cloning it is cheap. Nothing in here is needed to be right: a server that starts anew
//! starts with all of it empty.

use std::sync::Arc;

use caseload_model::time::Clock;
use caseload_store::Serve;
use tokio::sync::watch;

use crate::ApiConfig;
use crate::auth::{KeyCache, RateLimiter};
use crate::bulk_actions::{FollowedTasks, UploadMemory};
use crate::idempotency::KeysInProgress;
use crate::metrics::RequestCounts;

/// What every handler shares.
#[derive(Clone)]
pub struct AppState {
    pub store: Arc<dyn Serve>,
    pub clock: Clock,
    pub config: Arc<ApiConfig>,
    pub(crate) keys: Arc<KeyCache>,
    pub(crate) keys_in_progress: Arc<KeysInProgress>,
    pub(crate) rates: Arc<RateLimiter>,
    pub(crate) request_counts: Arc<RequestCounts>,
    pub(crate) followed_tasks: Arc<FollowedTasks>,
    pub(crate) upload_memory: Arc<UploadMemory>,
    /// True from when the server was asked to stop: nothing waits any longer.
    pub(crate) stopping: watch::Sender<bool>,
}

impl AppState {
    pub fn new(store: Arc<dyn Serve>, clock: Clock, config: ApiConfig) -> Self {
        Self {
            store,
            clock,
            config: Arc::new(config),
            keys: Arc::default(),
            keys_in_progress: Arc::default(),
            rates: Arc::default(),
            request_counts: Arc::default(),
            followed_tasks: Arc::default(),
            upload_memory: Arc::default(),
            stopping: watch::Sender::new(false),
        }
    }
}

impl std::fmt::Debug for AppState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AppState").field("config", &self.config).finish_non_exhaustive()
    }
}
