//! The opened store: its engine, its notifications, and the helpers that the methods of the
//! contract use to run work on the engine.

use std::path::Path;
use std::sync::Arc;

use caseload_model::ids::DomainId;
use caseload_model::task::Task;
use caseload_store::sql::{Query, Sql};
use caseload_store::{CompletedTasks, OpenMode, StoreError, StoreFuture, StoreMetrics};
use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::watch;

use crate::engine::{Engine, LastMember, READ_BUDGET, Weight, WriteContext};
use crate::probe::Probe;
use crate::slot_leasing::SlotLeasing;
use crate::tx::{DomainTx, Tx};
use crate::{Fault, boxed, copy, domains, tasks};

/// An opened SQLite store.
#[derive(Debug)]
pub struct SqliteStore {
    pub(crate) engine: Arc<Engine>,
    pub(crate) probe: Probe,
    pub(crate) slot_leasing: Arc<SlotLeasing>,
    /// Tasks completed since the store was opened.
    pub(crate) completed: Mutex<Vec<CompletedTasks>>,
    /// Counts the ends of tasks.
    pub(crate) ends: watch::Sender<u64>,
}

impl SqliteStore {
    /// Opens the store at `path`. Blocks.
    pub fn open(path: &Path, mode: OpenMode) -> Result<Self, StoreError> {
        let slot_leasing = Arc::new(SlotLeasing::default());
        let leasing = slot_leasing.clone();
        let last_member: LastMember = Box::new(move |now| leasing.member(now));
        let prepare = |conn: &Connection| {
            copy::refuse_unfinished(conn, path)?;
            if mode == OpenMode::Server {
                // The lock was free, so an earlier server is gone and its leases and uploads are
                // void.
                tasks::void_leases_and_uploads(Tx(conn))?;
                domains::finish_removals_alone(conn)?;
            }
            Ok(())
        };
        let engine = Engine::open(path, mode, prepare, Some(last_member))?;
        Ok(Self {
            engine: Arc::new(engine),
            probe: Probe::default(),
            slot_leasing,
            completed: Mutex::default(),
            ends: watch::Sender::new(0),
        })
    }

    /// Transactions committed since the store was opened.
    pub fn commits(&self) -> u64 {
        self.engine.commits()
    }

    pub(crate) fn read<T, F>(&self, work: F) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    {
        boxed(self.engine.read(work))
    }

    /// The answer to a query.
    pub(crate) fn ask<T: Send + 'static>(&self, query: Query<T>) -> StoreFuture<'_, Vec<T>> {
        self.read(move |conn| Ok(Tx(conn).ask(&query)?))
    }

    /// The answer to a query that has one row at most.
    pub(crate) fn find<T: Send + 'static>(&self, query: Query<T>) -> StoreFuture<'_, Option<T>> {
        self.read(move |conn| Ok(Tx(conn).ask(&query)?.pop()))
    }

    pub(crate) fn write<T, F>(&self, work: F) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    {
        self.write_weighing(Weight::Small, work)
    }

    /// [`SqliteStore::read`] in one domain.
    pub(crate) fn read_in<T, F>(&self, domain: DomainId, work: F) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: FnOnce(DomainTx<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        let work = move |conn: &Connection| Ok(work(DomainTx { conn, domain })?);
        boxed(self.engine.read_in(domain, Some(READ_BUDGET), work))
    }

    /// [`SqliteStore::write`] in one domain.
    pub(crate) fn write_in<T, F>(&self, domain: DomainId, work: F) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: FnOnce(DomainTx<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        self.write(move |conn| Ok(work(DomainTx { conn, domain })?))
    }

    pub(crate) fn write_weighing<T, F>(&self, weight: Weight, work: F) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: FnOnce(&Connection) -> Result<T, Fault> + Send + 'static,
    {
        let work = move |conn: &Connection, _: &WriteContext<'_>| work(conn);
        boxed(self.engine.write_weighing(weight, work))
    }

    /// Sends a wake-up after a write that may have made tasks runnable.
    pub(crate) fn and_wake<'a, T: Send + 'a>(
        &'a self,
        written: StoreFuture<'a, T>,
    ) -> StoreFuture<'a, T> {
        Box::pin(async move {
            let answer = written.await?;
            self.slot_leasing.wake();
            Ok(answer)
        })
    }

    /// Counts a task that may have completed by the last commit, and notifies those that wait for
    /// it.
    pub(crate) fn note(&self, task: &Task) {
        if task.outcome.is_some() {
            self.ends.send_modify(|ended| *ended = ended.wrapping_add(1));
        }
        StoreMetrics::count(&mut self.completed.lock(), task);
    }

    /// Does the same after a write is committed.
    pub(crate) fn and_note<'a>(&'a self, written: StoreFuture<'a, Task>) -> StoreFuture<'a, Task> {
        Box::pin(async move {
            let task = written.await?;
            self.note(&task);
            Ok(task)
        })
    }
}
