//! The state that all handlers share: the store, the clock, the limits, and the memory between
//! requests. Cloning it is cheap. No answer depends on this memory to be right: a server that
//! restarts begins with all of it empty.

use std::sync::Arc;

use caseload_model::time::Clock;
use caseload_store::{Serve, WebhookCounts};
use tokio::sync::watch;

use crate::bulk_actions::{Subject, UploadMemory};
use crate::changes::LogEnd;
use crate::config::ApiConfig;
use crate::http::auth::{KeyCache, RateLimiter, WatchedKeys};
use crate::http::connection::{Slots, connections_within};
use crate::http::cpu::CpuPool;
use crate::http::followed::Followed;
use crate::http::idempotency::KeysInProgress;
use crate::http::log_limiter::LogLimiter;
use crate::http::memory::MemoryBudget;
use crate::http::middleware::Outermost;
use crate::metrics::RequestCounts;

/// Returns the counts of deliveries.
pub type CountWebhooks = Arc<dyn Fn() -> WebhookCounts + Send + Sync>;

/// The state that all handlers share.
#[derive(Clone)]
pub struct AppState {
    pub store: Arc<dyn Serve>,
    pub clock: Clock,
    pub config: Arc<ApiConfig>,
    pub(crate) keys: Arc<KeyCache>,
    pub(crate) watched_keys: Arc<WatchedKeys>,
    pub(crate) keys_in_progress: Arc<KeysInProgress>,
    pub(crate) rates: Arc<RateLimiter>,
    pub(crate) request_counts: Arc<RequestCounts>,
    /// Counts of deliveries; `None` if the server delivers no webhooks.
    pub(crate) webhook_counts: Option<CountWebhooks>,
    pub(crate) followed_tasks: Arc<Followed<Subject>>,
    pub(crate) followed_logs: Arc<Followed<LogEnd>>,
    pub(crate) upload_memory: Arc<UploadMemory>,
    /// The connections of the listener for callers.
    pub(crate) slots: Arc<Slots>,
    pub(crate) memory: Arc<MemoryBudget>,
    pub(crate) cpu: CpuPool,
    pub(crate) log_limiter: Arc<LogLimiter>,
    /// True once the server has been asked to stop: from then on no request waits.
    pub(crate) stopping: watch::Sender<bool>,
}

impl AppState {
    pub fn new(store: Arc<dyn Serve>, clock: Clock, config: ApiConfig) -> Self {
        let log_limiter = Arc::<LogLimiter>::default();
        let connections = config
            .connections_max
            .min(connections_within(config.memory_bytes, config.tls.is_some()));
        let slots = Slots::new(connections, config.connections_per_domain, log_limiter.clone());
        let memory = MemoryBudget::new(config.memory_bytes, slots.clone(), log_limiter.clone());
        Self {
            store,
            clock,
            config: Arc::new(config),
            keys: Arc::new(KeyCache::new(log_limiter.clone())),
            watched_keys: Arc::default(),
            keys_in_progress: Arc::default(),
            rates: Arc::default(),
            request_counts: Arc::default(),
            webhook_counts: None,
            followed_tasks: Arc::default(),
            followed_logs: Arc::default(),
            upload_memory: Arc::default(),
            slots,
            memory: Arc::new(memory),
            cpu: CpuPool::default(),
            log_limiter,
            stopping: watch::Sender::new(false),
        }
    }

    /// The state of the same server over another store: its connections, its memory and its counts
    /// remain, and it has read nothing yet.
    pub(crate) fn over(&self, store: Arc<dyn Serve>) -> Self {
        Self {
            store,
            keys: Arc::new(KeyCache::new(self.log_limiter.clone())),
            watched_keys: Arc::default(),
            keys_in_progress: Arc::default(),
            rates: Arc::default(),
            followed_tasks: Arc::default(),
            followed_logs: Arc::default(),
            upload_memory: Arc::default(),
            ..self.clone()
        }
    }

    /// The state of a server that delivers webhooks and counts this.
    #[must_use]
    pub fn with_webhook_counts(self, counts: CountWebhooks) -> Self {
        Self { webhook_counts: Some(counts), ..self }
    }

    /// The parts for the outermost middleware.
    pub(crate) fn outermost(&self) -> Outermost {
        let (config, counts) = (self.config.clone(), self.request_counts.clone());
        Outermost { config, counts, cpu: self.cpu.clone() }
    }
}

impl std::fmt::Debug for AppState {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("AppState").field("config", &self.config).finish_non_exhaustive()
    }
}
