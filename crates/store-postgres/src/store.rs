//! The opened store: its engine, its notifications, and how it runs reads and writes.

use std::sync::Arc;

use caseload_model::ids::DomainId;
use caseload_model::task::{Family, Task};
use caseload_store::fair_slots::NO_DOMAIN;
use caseload_store::query::{RenderedPage, Rendering, Request};
use caseload_store::sql::Query;
use caseload_store::tasks as rules;
use caseload_store::throttle::Throttle;
use caseload_store::{
    Backend, CompletedTasks, CreateTask, Idempotent, OpenMode, ReadBudget, Store, StoreError,
    StoreFuture, StoreMetrics,
};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::address::PostgresAddress;
use crate::background::Background;
use crate::engine::{BlockingClient, Engine, READ_BUDGET};
use crate::probe::Probe;
use crate::tasks::{DomainsOnHold, Leases};
use crate::tx::DomainTx;
use crate::{check, copy, domains, issues, node_watch, notify, tasks};

/// An opened PostgreSQL store.
#[derive(Debug)]
pub struct PostgresStore {
    pub(crate) engine: Arc<Engine>,
    pub(crate) probe: Probe,
    /// Compacts the deltas that writes of issues leave.
    pub(crate) compactor: issues::Compactor,
    pub(crate) wake_ups: Arc<watch::Sender<u64>>,
    pub(crate) leases: Leases,
    pub(crate) avoided: DomainsOnHold,
    /// Tasks that this server completed since the store was opened.
    pub(crate) completed: Mutex<Vec<CompletedTasks>>,
    /// Run until the store is closed: the compactor, and for a server those that receive the
    /// notifications of other servers and log outages of nodes.
    pub(crate) background: Mutex<Vec<Background>>,
}

/// The store for callers that know no backend. Not inlined, so that the capabilities that all
/// backends share are compiled in this crate and not once more in each caller's.
#[inline(never)]
pub fn shared(store: PostgresStore) -> Arc<dyn Store> {
    Arc::new(store)
}

impl PostgresStore {
    /// Connects to a database and brings its tables up to date; if the mode makes stores, also
    /// those of an empty database. Any number of servers and commands may have it open.
    pub async fn open(address: &PostgresAddress, mode: OpenMode) -> Result<Self, StoreError> {
        let engine = Arc::new(Engine::open(address, mode.makes_store()).await?);
        copy::refuse_unfinished(&engine, address).await?;
        if mode == OpenMode::Server {
            if let Err(fault) = tasks::repair_queue(&engine).await {
                // The other domains of a cluster are served although a node is away.
                tracing::error!(%fault, "the queue was not compared with the tasks");
            }
            // A node that is away is logged by itself.
            for warning in check::pages_without_checksums(&engine).await.unwrap_or_default() {
                tracing::warn!("{warning}");
            }
        }
        let wake_ups = Arc::new(watch::Sender::new(0));
        let mut background = Vec::new();
        if mode == OpenMode::Server {
            let (wake_ups, heard) = (Arc::clone(&wake_ups), Arc::clone(&engine.heard));
            background.extend(engine.listen(notify::CHANNEL, move || {
                wake(&wake_ups);
                wake(&heard);
            }));
            background.extend(node_watch::start(&engine));
        }
        let (compactor, compacting) = issues::Compactor::start(&engine);
        background.push(compacting);
        Ok(Self {
            compactor,
            engine,
            probe: Probe::default(),
            wake_ups,
            leases: Leases::default(),
            avoided: DomainsOnHold::default(),
            completed: Mutex::default(),
            background: Mutex::new(background),
        })
    }
}

impl Backend for PostgresStore {
    type Tx<'t> = BlockingClient<'t>;
    type DomainTx<'t> = DomainTx<'t>;
    type Issues<'t> = DomainTx<'t>;

    const READ_BUDGET: ReadBudget = READ_BUDGET;

    fn read<T, F>(&self, work: F) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: FnOnce(&BlockingClient<'_>) -> Result<T, StoreError> + Send + 'static,
    {
        let work = move |db: &BlockingClient<'_>, _: &mut Throttle| work(db);
        Box::pin(self.engine.read_blocking(NO_DOMAIN, READ_BUDGET, false, work))
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
        F: FnOnce(&DomainTx<'_>, &mut Throttle) -> Result<T, StoreError> + Send + 'static,
    {
        Box::pin(self.engine.read_blocking(domain, budget, is_long, move |db, throttle| {
            work(&DomainTx { db, domain }, throttle)
        }))
    }

    fn write<T, F>(&self, work: F) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: Fn(&BlockingClient<'_>) -> Result<T, StoreError> + Send + Sync + 'static,
    {
        Box::pin(self.engine.write_blocking(work))
    }

    fn write_in<T, F>(&self, domain: DomainId, work: F) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
        F: Fn(DomainTx<'_>) -> Result<T, StoreError> + Send + Sync + 'static,
    {
        Box::pin(self.engine.write_blocking_in(domain, move |db| {
            let tx = DomainTx { db, domain };
            let answer = work(tx)?;
            tx.end()?;
            Ok(answer)
        }))
    }

    fn ask<T: Send + 'static>(&self, query: Query<T>) -> StoreFuture<'_, Vec<T>> {
        let read = self.engine.read(None, query, |client, query| Box::pin(client.answer_to(query)));
        Box::pin(read)
    }

    fn accept_task(&self, command: CreateTask) -> StoreFuture<'_, Idempotent<Task>> {
        let accepted = self.write_in(command.domain, move |tx| rules::accept(&tx, &command));
        Box::pin(async move {
            let accepted = accepted.await?;
            self.wake();
            Ok(accepted)
        })
    }

    fn wake(&self) {
        wake(&self.wake_ups);
    }

    fn note(&self, task: &Task) {
        StoreMetrics::count(&mut self.completed.lock(), task);
    }

    fn heard_commits(&self) -> watch::Receiver<u64> {
        self.engine.heard.subscribe()
    }

    fn refuse_pending(&self, domain: DomainId, family: Family, id: String) -> StoreFuture<'_, ()> {
        Box::pin(async move { tasks::refuse_pending(&self.engine, domain, family, &id).await })
    }

    fn remove_domain(&self, domain: DomainId) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let begin = self
                .engine
                .write(domain, |client, domain| Box::pin(domains::begin_removal(client, *domain)));
            begin.await?;
            while domains::remove_step(&self.engine).await? {}
            Ok(())
        })
    }

    async fn list_at_once(
        &self,
        domain: DomainId,
        budget: ReadBudget,
        request: Request<'_>,
        rendering: Rendering,
    ) -> Result<Option<(Option<u64>, RenderedPage)>, StoreError> {
        issues::one_flight(&self.engine, budget, domain, request, &rendering).await
    }

    fn issues_written(&self, domain: DomainId) {
        self.compactor.note(domain);
    }
}

/// Announces that tasks may be runnable.
pub(crate) fn wake(wake_ups: &watch::Sender<u64>) {
    wake_ups.send_modify(|count| *count = count.wrapping_add(1));
}
