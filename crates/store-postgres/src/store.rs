//! The opened store: its engine, its notifications, and the helpers that the methods of the
//! contract use to run work on the engine.

use std::sync::Arc;

use caseload_model::ids::DomainId;
use caseload_model::task::Task;
use caseload_store::fair_slots::NO_DOMAIN;
use caseload_store::sql::Query;
use caseload_store::{CompletedTasks, OpenMode, StoreError, StoreFuture, StoreMetrics};
use futures_util::future::BoxFuture;
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::address::PostgresAddress;
use crate::engine::{BlockingClient, Client, Engine, Listener, READ_BUDGET};
use crate::node_watch::NodeWatch;
use crate::probe::Probe;
use crate::tasks::{Avoided, Leases};
use crate::tx::DomainTx;
use crate::{copy, issues, notify};

/// An opened PostgreSQL store.
#[derive(Debug)]
pub struct PostgresStore {
    pub(crate) engine: Arc<Engine>,
    pub(crate) probe: Probe,
    /// Compacts the deltas that writes of issues leave.
    pub(crate) compactor: issues::Compactor,
    pub(crate) wake_ups: Arc<watch::Sender<u64>>,
    pub(crate) leases: Leases,
    pub(crate) avoided: Avoided,
    /// Tasks that this server completed since the store was opened.
    pub(crate) completed: Mutex<Vec<CompletedTasks>>,
    /// Receives notifications of other servers; admin commands have none.
    pub(crate) listener: Mutex<Option<Listener>>,
    /// Logs outages of nodes; servers on a cluster have it.
    pub(crate) node_watch: Mutex<Option<NodeWatch>>,
}

impl PostgresStore {
    /// Connects to a database and brings its tables up to date; if the mode makes stores, also
    /// those of an empty database. Any number of servers and commands may have it open.
    pub async fn open(address: &PostgresAddress, mode: OpenMode) -> Result<Self, StoreError> {
        let engine = Arc::new(Engine::open(address, mode.makes_store()).await?);
        copy::refuse_unfinished(&engine, address).await?;
        let wake_ups = Arc::new(watch::Sender::new(0));
        let listener = match mode {
            OpenMode::Server => {
                let wake_ups = Arc::clone(&wake_ups);
                engine.listen(notify::CHANNEL, move || wake(&wake_ups))
            }
            OpenMode::Admin | OpenMode::Create => None,
        };
        let node_watch = match mode {
            OpenMode::Server => NodeWatch::start(&engine),
            OpenMode::Admin | OpenMode::Create => None,
        };
        Ok(Self {
            compactor: issues::Compactor::start(&engine),
            engine,
            probe: Probe::default(),
            wake_ups,
            leases: Leases::default(),
            avoided: Avoided::default(),
            completed: Mutex::default(),
            listener: Mutex::new(listener),
            node_watch: Mutex::new(node_watch),
        })
    }

    /// The answer to a query.
    pub(crate) fn ask<T: Send + 'static>(&self, query: Query<T>) -> StoreFuture<'_, Vec<T>> {
        let read = self.engine.read(None, query, |client, query| Box::pin(client.answer_to(query)));
        Box::pin(read)
    }

    /// The answer to a query that has one row at most.
    pub(crate) fn find<T: Send + 'static>(&self, query: Query<T>) -> StoreFuture<'_, Option<T>> {
        let rows = self.ask(query);
        Box::pin(async move { Ok(rows.await?.pop()) })
    }

    /// A read by the rules that all backends share.
    pub(crate) fn read<T, F>(&self, work: F) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: FnOnce(&BlockingClient<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        self.read_for(NO_DOMAIN, work)
    }

    fn read_for<T, F>(&self, domain: DomainId, work: F) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: FnOnce(&BlockingClient<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        Box::pin(self.engine.read_blocking(domain, READ_BUDGET, false, move |db, _| work(db)))
    }

    pub(crate) fn write<C, T, F>(&self, command: C, work: F) -> StoreFuture<'_, T>
    where
        C: Send + Sync + 'static,
        T: Send + 'static,
        F: for<'a> Fn(&'a Client, &'a C) -> BoxFuture<'a, Result<T, StoreError>>
            + Send
            + Sync
            + 'static,
    {
        Box::pin(self.engine.write(command, work))
    }

    /// A write by the rules that all backends share, in one domain.
    pub(crate) fn write_in<T, F>(&self, domain: DomainId, work: F) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: Fn(DomainTx<'_>) -> Result<T, StoreError> + Send + Sync + 'static,
    {
        Box::pin(self.engine.write_blocking(move |db| {
            let tx = DomainTx { db, domain };
            let answer = work(tx)?;
            tx.end_bytes()?;
            Ok(answer)
        }))
    }

    /// [`PostgresStore::read`] in one domain.
    pub(crate) fn read_in<T, F>(&self, domain: DomainId, work: F) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: FnOnce(DomainTx<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        self.read_for(domain, move |db| work(DomainTx { db, domain }))
    }

    /// Sends a wake-up after a write that may have made tasks runnable.
    pub(crate) fn and_wake<'a, T: Send + 'a>(
        &'a self,
        written: StoreFuture<'a, T>,
    ) -> StoreFuture<'a, T> {
        Box::pin(async move {
            let answer = written.await?;
            wake(&self.wake_ups);
            Ok(answer)
        })
    }

    /// Has deltas compacted after a write of issues.
    pub(crate) fn and_compact<'a, T: Send + 'a>(
        &'a self,
        domain: DomainId,
        written: impl Future<Output = Result<T, StoreError>> + Send + 'a,
    ) -> StoreFuture<'a, T> {
        Box::pin(async move {
            let answer = written.await?;
            self.compactor.note(domain);
            Ok(answer)
        })
    }

    /// Counts a task that may have completed by the last commit.
    pub(crate) fn note(&self, task: &Task) {
        let mut completed = self.completed.lock();
        StoreMetrics::count(&mut completed, task);
    }
}

/// Announces that tasks may be runnable.
pub(crate) fn wake(wake_ups: &watch::Sender<u64>) {
    wake_ups.send_modify(|count| *count = count.wrapping_add(1));
}
