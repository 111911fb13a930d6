//! Reads and writes by code that blocks: it runs on a thread of its own, question by question.
//! Reads that look at very many records take at most half of the connections and keep a pace, so
//! that others are served beside them.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tokio::runtime::Handle;
use tokio::sync::Semaphore;

use super::{Asking, Client, Engine, Session, TRIES_MAX, given_up, not_written};
use caseload_store::StoreError;
use caseload_store::pace::{Pace, Traffic};

/// What reads of one server share.
#[derive(Debug)]
pub(super) struct Reading {
    /// What long reads may take of the connections at a time.
    long_permits: Arc<Semaphore>,
    traffic: Arc<Traffic>,
}

impl Reading {
    pub(super) fn new(connections: usize) -> Self {
        let long_permits = Arc::new(Semaphore::new((connections / 2).max(1)));
        Self { long_permits, traffic: Arc::default() }
    }
}

impl Engine {
    /// Tells long reads that a short one is served beside them.
    pub(crate) fn note_short_read(&self) {
        self.reading.traffic.note_short();
    }

    /// A read in one snapshot, within its budget, waiting included. A long one, which looks at very
    /// many records, waits until fewer than half of the connections are at such.
    pub(crate) async fn ask<T, F>(
        &self,
        budget: Duration,
        is_long: bool,
        work: F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&Asking<'_>, &mut Pace) -> Result<T, StoreError> + Send + 'static,
    {
        let until = Instant::now() + budget;
        let got = tokio::time::timeout_at(until.into(), async {
            let permits = Arc::clone(&self.reading.long_permits);
            let permit = if is_long { permits.acquire_owned().await.ok() } else { None };
            Ok((permit, self.connection().await?))
        });
        let (permit, connection) = got.await.unwrap_or(Err(StoreError::DeadlinePassed))?;
        let left = until.saturating_duration_since(Instant::now());
        let session = Session::read(Client::new(connection), Some(left));
        let mut pace = Pace::new(Some(until), &self.reading.traffic, is_long);
        let runtime = Handle::current();
        on_a_thread(move || {
            let answer = session.run_blocking(&runtime, Some(until), |ask| work(ask, &mut pace));
            drop(permit);
            session.end_read(answer)
        })
        .await
    }

    /// A write in one transaction. It is tried again when the database says that it met another
    /// one, so `work` may run more than once; what it did before is undone.
    pub(crate) async fn change<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Fn(&Asking<'_>) -> Result<T, StoreError> + Send + Sync + 'static,
    {
        let began = Instant::now();
        let work = Arc::new(work);
        for _ in 0..TRIES_MAX {
            let session = self.write_session().await?;
            let until = session.until();
            let (work, runtime) = (Arc::clone(&work), Handle::current());
            let tried = on_a_thread(move || {
                let answer = session.run_blocking(&runtime, Some(until), |ask| work(ask));
                let answer = not_written(answer);
                runtime.block_on(session.end_write(answer))
            });
            match tried.await {
                Err(StoreError::Contended) => {}
                done => {
                    self.note_write(began.elapsed(), done.is_ok());
                    return done;
                }
            }
        }
        Err(given_up())
    }
}

async fn on_a_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|e| Err(StoreError::Unavailable(format!("a command panicked: {e}"))))
}
