//! Reads and writes by blocking code, which runs on a thread of its own and waits for each answer.
//! Reads of very many records use at most half of the connections and are throttled, so that other
//! reads are served at the same time.

use std::sync::Arc;
use std::time::Instant;

use caseload_model::ids::DomainId;
use tokio::runtime::Handle;

use super::{BlockingClient, Engine, Session, TRIES_MAX, not_written, too_many_conflicts};
use caseload_store::throttle::Throttle;
use caseload_store::{ReadBudget, StoreError};

impl Engine {
    /// Notifies long reads that a short one is running.
    pub(crate) fn note_short_read(&self) {
        self.limits.load.note_short();
    }

    /// Runs a read in one snapshot. The budget includes the wait for a connection. A long read, of
    /// very many records, waits while long reads use half of the connections.
    pub(crate) async fn read_blocking<T, F>(
        &self,
        domain: DomainId,
        budget: ReadBudget,
        is_long: bool,
        work: F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&BlockingClient<'_>, &mut Throttle) -> Result<T, StoreError> + Send + 'static,
    {
        let until = Instant::now() + budget.time;
        let got = tokio::time::timeout_at(until.into(), async {
            let limits = &self.limits;
            let slots = if is_long { &limits.long_slots } else { &limits.short_slots };
            let slot = slots.take(domain).await?;
            budget.begin()?;
            Ok((slot, self.connection().await?))
        });
        let (slot, connection) = got.await.unwrap_or(Err(StoreError::DeadlinePassed))?;
        let left = until.saturating_duration_since(Instant::now());
        let session = Session::read(self.client(connection), Some(left));
        let mut throttle = Throttle::new(Some(until), &self.limits.load, is_long);
        let runtime = Handle::current();
        on_a_thread(move || {
            let answer =
                session.run_blocking(&runtime, (Some(until), None), |db| work(db, &mut throttle));
            drop(slot);
            session.end_read(answer)
        })
        .await
        .inspect_err(|fault| self.note(fault))
    }

    /// Runs a read of a task in one snapshot. It may send very many statements.
    pub(crate) async fn read_blocking_at_leisure<T, F>(
        &self,
        domain: DomainId,
        work: F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&BlockingClient<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        let limit = self.bounds().leisure;
        let read = self.read_blocking(domain, limit.into(), false, move |db, _| work(db));
        read.await.map_err(|fault| match fault {
            // The task is not at fault: the database or the network is stuck.
            StoreError::DeadlinePassed => {
                StoreError::Unreachable(format!("a read did not end within {limit:?}"))
            }
            fault => fault,
        })
    }

    /// Runs a read in one snapshot, without any limit of time.
    pub(crate) async fn read_blocking_without_limit<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: FnOnce(&BlockingClient<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        let session = Session::read(self.client(self.connection().await?), None);
        let runtime = Handle::current();
        on_a_thread(move || {
            let answer = session.run_blocking(&runtime, (None, None), work);
            session.end_read(answer)
        })
        .await
    }

    /// Runs a write of a domain, which takes turns with the others.
    pub(crate) async fn write_blocking_in<T, F>(
        &self,
        domain: DomainId,
        work: F,
    ) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Fn(&BlockingClient<'_>) -> Result<T, StoreError> + Send + Sync + 'static,
    {
        let slot = self.limits.write_slots.take(domain).await?;
        // The thread has the slot, because it may continue after its caller has gone.
        let work = move |db: &BlockingClient<'_>| {
            let _slot = &slot;
            work(db)
        };
        self.write_blocking(work).await
    }

    /// Runs a write in one transaction. If it conflicts with another write, the database rolls it
    /// back and `work` runs again.
    pub(crate) async fn write_blocking<T, F>(&self, work: F) -> Result<T, StoreError>
    where
        T: Send + 'static,
        F: Fn(&BlockingClient<'_>) -> Result<T, StoreError> + Send + Sync + 'static,
    {
        let began = Instant::now();
        let work = Arc::new(work);
        for _ in 0..TRIES_MAX {
            let session = self.write_session(self.bounds()).await?;
            let until = session.until();
            let (work, runtime) = (Arc::clone(&work), Handle::current());
            let limits = (Some(until), Some(self.connector.clone()));
            let tried = on_a_thread(move || {
                let answer = session.run_blocking(&runtime, limits, |db| {
                    let answer = work(db)?;
                    assert!(db.is_logged(), "a write ended without its changes in the log");
                    Ok(answer)
                });
                let answer = not_written(answer);
                runtime.block_on(session.end_write(answer))
            });
            match tried.await {
                Err(StoreError::Contended) => {}
                done => {
                    if let Err(fault) = &done {
                        self.note(fault);
                    }
                    self.note_write(began.elapsed(), done.is_ok());
                    return done;
                }
            }
        }
        Err(too_many_conflicts())
    }
}

async fn on_a_thread<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, StoreError> + Send + 'static,
) -> Result<T, StoreError> {
    tokio::task::spawn_blocking(work)
        .await
        .unwrap_or_else(|e| Err(StoreError::Unavailable(format!("a command panicked: {e}"))))
}
