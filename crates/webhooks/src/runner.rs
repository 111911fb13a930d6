//! The loop of a server: claims webhooks that are due and runs one worker for each, up to a bound.
//! The store decides which are due and in which order they take turns, so the loop need not know
//! how far each log is: a claim that finds nothing is one read. It claims after a commit and, in
//! any case, a few times a second. A slow receiver holds one place for the time of one attempt, and
//! a dead one less and less often. Webhooks whose filter matched nothing are stored together, with
//! one write a round.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use caseload_model::ids::DomainId;
use caseload_model::time::Clock;
use caseload_store::{
    Changes, ClaimWebhooks, OutageLine, OutageLog, SkipChanges, StoreError, WebhookCounts, Webhooks,
};
use tokio::sync::watch;
use tokio::task::{Id, JoinError, JoinHandle, JoinSet};
use tokio::time::{Instant, MissedTickBehavior, sleep_until, timeout_at};

use crate::config::WebhookConfig;
use crate::counters::Counters;
use crate::records::Records;
use crate::sender::Sender;
use crate::worker::{self, Context, Ended};

/// How long a server that stops waits for the attempts in flight. One that does not end by then is
/// sent again.
const STOP_WAIT_MAX: Duration = Duration::from_secs(3);

/// The least time between two claims because of commits: under a stream of writes, claims and the
/// cursors of webhooks that want none of them cost only a part of the store's time.
const WAKE_UP_PAUSE: Duration = Duration::from_millis(50);

/// The store of a runner: three of its capabilities, usually of one store.
#[derive(Clone)]
pub struct DeliveryStore {
    pub webhooks: Arc<dyn Webhooks>,
    pub log: Arc<dyn Changes>,
    pub records: Arc<dyn Records>,
}

impl fmt::Debug for DeliveryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("DeliveryStore")
    }
}

/// A running delivery of webhooks.
#[derive(Debug)]
pub struct WebhookRunner {
    stopping: watch::Sender<bool>,
    pub(crate) running: JoinHandle<()>,
    counters: Arc<Counters>,
}

impl WebhookRunner {
    /// Starts to deliver on the current Tokio runtime. Fails if TLS cannot be set up.
    pub fn start(
        store: DeliveryStore,
        clock: Clock,
        config: WebhookConfig,
    ) -> reqwest::Result<Self> {
        let (stopping, watcher) = watch::channel(false);
        let counters = Arc::new(Counters::default());
        let DeliveryStore { webhooks, log, records } = store;
        let context = Context {
            webhooks,
            log,
            records,
            sender: Sender::new(&config)?,
            clock,
            counters: counters.clone(),
            stopping: watcher,
            server: config.server.clone(),
            lease: config.lease,
        };
        let running = tokio::spawn(Loop::new(context, config).run());
        Ok(Self { stopping, running, counters })
    }

    /// Counts for the metrics of the server.
    pub fn counts(&self) -> impl Fn() -> WebhookCounts + Send + Sync + 'static {
        let counters = self.counters.clone();
        move || counters.counts()
    }

    /// Begins no further attempt, waits a few seconds for those in flight, and ends the leases.
    pub async fn stop(self) {
        self.stopping.send_replace(true);
        if let Err(error) = self.running.await {
            tracing::error!(%error, "the delivery of webhooks did not end cleanly");
        }
    }
}

/// Waits for a commit, and at least until this time. False if the store reports no more.
async fn wake_up(appended: Option<&mut watch::Receiver<u64>>, earliest: Instant) -> bool {
    let Some(appended) = appended else { return std::future::pending().await };
    sleep_until(earliest).await;
    appended.changed().await.is_ok()
}

struct Loop {
    context: Context,
    config: WebhookConfig,
    workers: JoinSet<Ended>,
    /// The webhook of each worker.
    leased: HashMap<Id, (DomainId, String)>,
    /// To store before the next claim.
    skips: Vec<SkipChanges>,
    outage: OutageLog,
}

impl Loop {
    fn new(context: Context, config: WebhookConfig) -> Self {
        let (workers, leased, skips) = (JoinSet::new(), HashMap::new(), Vec::new());
        Self { context, config, workers, leased, skips, outage: OutageLog::default() }
    }

    async fn run(mut self) {
        let mut stopping = self.context.stopping.clone();
        let mut appended = Some(self.context.log.appended());
        let mut next_wake_up = Instant::now();
        let mut ticks = tokio::time::interval(self.config.poll_every);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        while !*stopping.borrow() {
            tokio::select! {
                biased;
                _ = stopping.changed() => {}
                _ = ticks.tick() => self.claim().await,
                has_more = wake_up(appended.as_mut(), next_wake_up) => {
                    next_wake_up = Instant::now() + WAKE_UP_PAUSE;
                    if has_more {
                        self.claim().await;
                    } else {
                        appended = None;
                    }
                }
                Some(ended) = self.workers.join_next_with_id() => {
                    // A webhook may wait for the place, or for the next turn of this one.
                    let was_full = self.free_places() == 1;
                    if self.ended(ended) || was_full {
                        self.claim().await;
                    }
                }
            }
        }
        self.stop().await;
    }

    fn free_places(&self) -> usize {
        self.config.deliveries_at_once.saturating_sub(self.workers.len())
    }

    async fn claim(&mut self) {
        self.store_skips().await;
        let (webhooks_max, now) = (self.free_places(), self.context.clock.now());
        if webhooks_max == 0 {
            return;
        }
        let lease_until = self.context.lease_until(now);
        let server = self.config.server.clone();
        let until = Instant::now() + self.config.lease;
        let command = ClaimWebhooks { server, now, lease_until, webhooks_max };
        match self.context.webhooks.claim_webhooks(command).await {
            Ok(claims) => {
                self.reachable();
                for claimed in claims {
                    let webhook = (claimed.domain, claimed.webhook.id.clone());
                    let work = worker::run(self.context.clone(), claimed, until);
                    let worker = self.workers.spawn(work);
                    self.leased.insert(worker.id(), webhook);
                }
            }
            Err(error) => self.report(&error, "no webhook could be claimed"),
        }
    }

    /// Takes note of the end of a worker. True if its webhook may have more to deliver.
    fn ended(&mut self, ended: Result<(Id, Ended), JoinError>) -> bool {
        match ended {
            Ok((id, ended)) => {
                self.leased.remove(&id);
                match ended {
                    Ended::Skip(skip) => self.skips.push(skip),
                    Ended::Delivered => return true,
                    Ended::Idle => {}
                }
            }
            Err(error) => {
                tracing::error!(%error, "the delivery of a webhook did not end cleanly");
                self.leased.remove(&error.id());
            }
        }
        false
    }

    async fn store_skips(&mut self) {
        let skips = std::mem::take(&mut self.skips);
        if skips.is_empty() {
            return;
        }
        // If this fails, the leases run out and the changes are searched again.
        if let Err(error) = self.context.webhooks.skip_changes(skips).await {
            self.report(&error, "the cursors of webhooks could not be stored");
        }
    }

    async fn stop(&mut self) {
        let deadline = Instant::now() + STOP_WAIT_MAX;
        while let Ok(Some(ended)) = timeout_at(deadline, self.workers.join_next_with_id()).await {
            self.ended(ended);
        }
        self.workers.shutdown().await;
        self.store_skips().await;
        for (domain, id) in std::mem::take(&mut self.leased).into_values() {
            let released = self.context.webhooks.release_webhook(domain, &id, &self.config.server);
            match released.await {
                Ok(()) | Err(StoreError::Closed) => {}
                Err(error) => self.report(&error, "the lease of a webhook could not be ended"),
            }
        }
    }

    fn reachable(&mut self) {
        if let Some(lasted) = self.outage.ends(Instant::now().into_std()) {
            let seconds = lasted.as_secs();
            tracing::warn!(seconds, "the store answers again: webhooks are delivered");
        }
    }

    /// Logs a fault of the store; an outage at its beginning and once a minute while it lasts.
    fn report(&mut self, error: &StoreError, what: &'static str) {
        match error {
            StoreError::NodeAway { .. } => {}
            StoreError::Unreachable(_) => match self.outage.fails(Instant::now().into_std()) {
                Some(OutageLine::Begins) => {
                    tracing::error!(%error, "the store cannot be reached: webhooks wait for it");
                }
                Some(OutageLine::Lasts(time)) => {
                    let seconds = time.as_secs();
                    tracing::error!(%error, seconds, "the store still cannot be reached");
                }
                None => {}
            },
            _ => tracing::error!(%error, "{what}"),
        }
    }
}
