//! The opened store: its engine, its notifications, and how it runs reads and writes.

use std::path::Path;
use std::sync::Arc;

use caseload_model::ids::DomainId;
use caseload_model::task::Task;
use caseload_store::sql::{Query, Sql as _};
use caseload_store::tasks as rules;
use caseload_store::throttle::Throttle;
use caseload_store::{
    Backend, CompletedTasks, CreateTask, Idempotent, OpenMode, ReadBudget, Store, StoreError,
    StoreFuture, StoreMetrics,
};
use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::watch;

use crate::engine::{Engine, LastMember, READ_BUDGET, Weight, WriteContext};
use crate::probe::Probe;
use crate::slot_leasing::SlotLeasing;
use crate::tx::{DomainTx, Tx};
use crate::{boxed, copy, domains, issues, tasks};

/// An opened SQLite store.
#[derive(Debug)]
pub struct SqliteStore {
    pub(crate) engine: Arc<Engine>,
    pub(crate) probe: Probe,
    pub(crate) slot_leasing: Arc<SlotLeasing>,
    /// Tasks completed since the store was opened.
    pub(crate) completed: Mutex<Vec<CompletedTasks>>,
}

/// The store for callers that know no backend. Not inlined, so that the capabilities that all
/// backends share are compiled in this crate and not once more in each caller's.
#[inline(never)]
pub fn shared(store: SqliteStore) -> Arc<dyn Store> {
    Arc::new(store)
}

impl SqliteStore {
    /// Opens the store at `path`. Blocks.
    pub fn open(path: &Path, mode: OpenMode) -> Result<Self, StoreError> {
        let slot_leasing = Arc::new(SlotLeasing::default());
        let leasing = slot_leasing.clone();
        let last_member: LastMember = Box::new(move |now| leasing.member(now));
        let prepare = |conn: &Connection| {
            copy::refuse_unfinished(conn, path)?;
            if mode.is_server() {
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
        })
    }

    /// Transactions committed since the store was opened.
    pub fn commits(&self) -> u64 {
        self.engine.commits()
    }
}

impl Backend for SqliteStore {
    type Tx<'t> = Tx<'t>;
    type DomainTx<'t> = DomainTx<'t>;
    type Issues<'t> = issues::IssueSource<'t>;

    const READ_BUDGET: ReadBudget = READ_BUDGET;

    fn read<T, F>(&self, work: F) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: FnOnce(&Tx<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        boxed(self.engine.read(move |conn| Ok(work(&Tx(conn))?)))
    }

    fn read_within<T, F>(
        &self,
        domain: DomainId,
        budget: ReadBudget,
        is_long: bool,
        work: F,
    ) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: FnOnce(&issues::IssueSource<'_>, &mut Throttle) -> Result<T, StoreError>
            + Send
            + 'static,
    {
        let further = self.engine.readers().further();
        boxed(self.engine.readers().read(domain, Some(budget), is_long, move |conn, throttle| {
            Ok(work(&issues::IssueSource::new(conn, domain).with(&further), throttle)?)
        }))
    }

    fn write<T, F>(&self, work: F) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: Fn(&Tx<'_>) -> Result<T, StoreError> + Send + Sync + 'static,
    {
        boxed(self.engine.write(move |conn, _| Ok(work(&Tx(conn))?)))
    }

    fn write_in<T, F>(&self, domain: DomainId, work: F) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: Fn(DomainTx<'_>) -> Result<T, StoreError> + Send + Sync + 'static,
    {
        let work =
            move |conn: &Connection, _: &WriteContext<'_>| Ok(work(DomainTx { conn, domain })?);
        boxed(self.engine.write_in(domain, Weight::Small, work))
    }

    fn write_long_in<T, F>(&self, domain: DomainId, work: F) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: Fn(DomainTx<'_>) -> Result<T, StoreError> + Send + Sync + 'static,
    {
        let work =
            move |conn: &Connection, _: &WriteContext<'_>| Ok(work(DomainTx { conn, domain })?);
        boxed(self.engine.write_in(domain, Weight::Long, work))
    }

    fn ask<T: Send + 'static>(&self, query: Query<T>) -> StoreFuture<'_, Vec<T>> {
        self.read(move |tx| tx.ask(&query))
    }

    fn accept_task(&self, command: CreateTask) -> StoreFuture<'_, Idempotent<Task>> {
        let weight = Weight::of_bytes(command.blocks.iter().map(|block| block.bytes.len()).sum());
        let domain = command.domain;
        boxed(self.engine.write_in(domain, weight, move |conn, context| {
            let accepted = rules::accept(&DomainTx { conn, domain }, &command)?;
            context.made_runnable(command.now);
            Ok(accepted)
        }))
    }

    fn wake(&self) {
        self.slot_leasing.wake();
    }

    fn note(&self, task: &Task) {
        StoreMetrics::count(&mut self.completed.lock(), task);
    }

    fn heard_commits(&self) -> watch::Receiver<u64> {
        self.engine.commits_watch()
    }

    fn remove_domain(&self, domain: DomainId) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.engine.write(move |conn, _| domains::begin_removal(conn, domain)).await?;
            Ok(domains::finish_removals(&self.engine).await?)
        })
    }
}
