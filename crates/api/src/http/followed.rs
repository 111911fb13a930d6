//! The records that callers follow until they change: tasks, imports, and ends of logs. For each
//! kind, one loop reads the store for all callers, one record after another. Callers that follow a
//! record share its reads, and many records make the rounds longer instead of the load higher. A
//! commit of this server begins a round at once; one of another server is seen by the next round.
//! Invariant: followers see records that only move forward.

use std::collections::HashMap;
use std::fmt::Debug;
use std::hash::Hash;
use std::sync::Arc;
use std::time::Duration;

use caseload_model::ids::DomainId;
use caseload_store::{Serve, StoreError};
use parking_lot::Mutex;
use tokio::sync::watch;
use tokio::time::Instant;

/// The time between two rounds of reads without a commit between them.
const ROUND_PAUSE: Duration = Duration::from_millis(100);
/// Rounds take at most one part in ten of the time, however much is committed.
const ROUND_SHARE: u32 = 10;
/// A burst of rounds may run ahead of that share by this much time.
const ROUNDS_AHEAD: Duration = Duration::from_millis(200);

/// A record that callers follow.
pub(crate) trait Follow: Debug + Clone + Send + Sync + 'static {
    /// Names the record in its domain.
    type Id: Debug + Clone + Eq + Hash + Send + Sync;

    fn id(&self) -> Self::Id;
    /// Reads the record again; `None` if it is gone.
    fn again(
        &self,
        store: &dyn Serve,
        domain: DomainId,
    ) -> impl Future<Output = Result<Option<Self>, StoreError>> + Send;
    /// Whether this is a later record than `old`. Reads may overtake each other.
    fn is_later(&self, old: &Self) -> bool;
}

/// The records of one kind that are followed now.
#[derive(Debug)]
pub(crate) struct Followed<T: Follow> {
    inner: Mutex<Inner<T>>,
}

#[derive(Debug)]
struct Inner<T: Follow> {
    records: HashMap<(DomainId, T::Id), watch::Sender<T>>,
    /// Whether the loop runs. It ends when nothing is followed.
    reading: bool,
}

impl<T: Follow> Default for Followed<T> {
    fn default() -> Self {
        Self { inner: Mutex::new(Inner { records: HashMap::new(), reading: false }) }
    }
}

impl<T: Follow> Followed<T> {
    pub(crate) fn subscribe(
        self: &Arc<Self>,
        store: &Arc<dyn Serve>,
        domain: DomainId,
        record: &T,
    ) -> watch::Receiver<T> {
        let mut inner = self.inner.lock();
        let sender = inner.records.entry((domain, record.id()));
        let mut records = sender.or_insert_with(|| watch::Sender::new(record.clone())).subscribe();
        records.mark_changed();
        if !std::mem::replace(&mut inner.reading, true) {
            tokio::spawn(self.clone().read(store.clone()));
        }
        records
    }

    async fn read(self: Arc<Self>, store: Arc<dyn Serve>) {
        let mut commits = store.appended();
        let mut paid_until = Instant::now();
        while let Some(round) = self.round() {
            let began = Instant::now();
            for (domain, last) in round {
                match last.again(&*store, domain).await {
                    Ok(found) => self.publish(&(domain, last.id()), found),
                    Err(error) => tracing::debug!(%error, "a followed record cannot be read"),
                }
            }
            paid_until = began.max(paid_until) + began.elapsed() * ROUND_SHARE;
            tokio::time::sleep_until(paid_until - ROUNDS_AHEAD).await;
            let committed = async {
                if commits.changed().await.is_err() {
                    std::future::pending::<()>().await;
                }
            };
            let _ = tokio::time::timeout(ROUND_PAUSE, committed).await;
        }
    }

    /// The records to read next, without those that have lost all followers. `None` ends the loop.
    fn round(&self) -> Option<Vec<(DomainId, T)>> {
        let mut inner = self.inner.lock();
        inner.records.retain(|_, records| records.receiver_count() > 0);
        inner.reading = !inner.records.is_empty();
        let round =
            inner.records.iter().map(|((domain, _), last)| (*domain, last.borrow().clone()));
        inner.reading.then(|| round.collect())
    }

    /// Sends a record to its followers. If it is gone, they stop following.
    fn publish(&self, key: &(DomainId, T::Id), found: Option<T>) {
        let mut inner = self.inner.lock();
        match (found, inner.records.get(key)) {
            (Some(found), Some(records)) => {
                records.send_if_modified(|last| {
                    let is_new = found.is_later(last);
                    if is_new {
                        *last = found;
                    }
                    is_new
                });
            }
            (None, _) => drop(inner.records.remove(key)),
            (Some(_), None) => {}
        }
    }
}
