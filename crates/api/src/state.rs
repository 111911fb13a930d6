//! The state that all handlers share: the store, the clock, the limits, and the memory between
//! requests. Cloning it is cheap. No answer depends on this memory to be right: a server that
//! restarts begins with all of it empty.

use std::sync::Arc;

use caseload_model::time::Clock;
use caseload_store::Serve;
use tokio::sync::watch;

use crate::ApiConfig;
use crate::auth::{KeyCache, RateLimiter};
use crate::bulk_actions::{FollowedTasks, UploadMemory};
use crate::idempotency::KeysInProgress;
use crate::metrics::RequestCounts;

/// The state that all handlers share.
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
    /// True once the server has been asked to stop: from then on no request waits.
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
