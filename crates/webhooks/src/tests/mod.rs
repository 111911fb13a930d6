//! Whole runners against real receivers on this machine, with a store in memory and a clock that
//! the tests turn.

#![expect(clippy::unwrap_used, reason = "tests")]

mod delivery;
mod faults;
mod receiver;
mod resolver;
mod store;

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use caseload_model::time::{Clock, UnixMillis};
use caseload_model::webhook::{AddressRule, Attempt, Secret, Secrets};
use caseload_store::{Changes as _, Webhook, Webhooks as _};

use crate::{DeliveryStore, WebhookConfig, WebhookRunner};
use receiver::Receiver;
use store::{DOMAIN, MemoryStore};

/// The longest wait for something that should happen.
const PATIENCE: Duration = Duration::from_secs(20);

fn secrets() -> Secrets {
    Secrets::new(Secret::new((0..32).collect()))
}

/// A store with a clock, and the runners on it.
struct World {
    store: Arc<MemoryStore>,
    /// Milliseconds.
    now: Arc<AtomicI64>,
}

impl World {
    fn new() -> Self {
        Self { store: Arc::default(), now: Arc::new(AtomicI64::new(1_700_000_000_000)) }
    }

    fn pass(&self, time: Duration) {
        self.now.fetch_add(time.as_millis() as i64, Ordering::SeqCst);
    }

    fn config(server: &str) -> WebhookConfig {
        WebhookConfig {
            poll_every: Duration::from_millis(20),
            answer_within: Duration::from_secs(2),
            ..WebhookConfig::new(server, AddressRule::All)
        }
    }

    fn run(&self, config: WebhookConfig) -> WebhookRunner {
        let store = DeliveryStore {
            webhooks: self.store.clone(),
            log: self.store.clone(),
            records: self.store.clone(),
        };
        let now = self.now.clone();
        let clock = Clock::new(move || UnixMillis(now.load(Ordering::SeqCst)));
        WebhookRunner::start(store, clock, config).unwrap()
    }

    async fn webhook(&self, id: &str) -> Webhook {
        self.store.webhook(DOMAIN, id).await.unwrap().unwrap()
    }

    /// The attempts, oldest first, once there are so many.
    async fn attempts(&self, id: &str, count: usize) -> Vec<Attempt> {
        eventually(|| async {
            let mut attempts = self.store.deliveries(DOMAIN, id).await.unwrap();
            attempts.reverse();
            (attempts.len() >= count).then_some(attempts)
        })
        .await
    }

    /// Waits until a webhook has nothing left to deliver.
    async fn at_the_end(&self, id: &str) {
        let last = self.store.last_position(DOMAIN).await.unwrap();
        eventually(|| async { (self.webhook(id).await.cursor == last).then_some(()) }).await;
    }
}

async fn eventually<T, F: Future<Output = Option<T>>>(look: impl Fn() -> F) -> T {
    let waiting = async {
        loop {
            if let Some(found) = look().await {
                return found;
            }
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(PATIENCE, waiting).await.expect("it did not happen in time")
}

/// The positions that a receiver got, in order, with repeats.
fn positions(receiver: &Receiver) -> Vec<u64> {
    let requests = receiver.requests();
    requests.iter().flat_map(receiver::Request::positions).collect()
}
