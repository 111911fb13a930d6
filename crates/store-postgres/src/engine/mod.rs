//! Connections to PostgreSQL. A read runs in one snapshot and within a time budget. A write runs in
//! one transaction and is retried after a deadlock or a serialization failure. This module does not
//! know the tables. Sessions carry no state from one transaction to the next except prepared
//! statements. Invariant: a connection returns to the pool only without an open transaction;
//! otherwise it is closed.

mod arrays;
mod blocking;
mod blocking_client;
mod bounds;
mod client;
mod copying;
mod error;
mod examine;
mod layout;
mod limits;
mod listen;
mod migrate;
mod nodes;
mod placement;
mod pooler;
mod session;
mod values;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use deadpool_postgres::{
    ManagerConfig, Object, Pool, PoolError, QueueMode, RecyclingMethod, Runtime, Timeouts,
};
use futures_util::future::BoxFuture;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::watch;
use tokio::task::JoinHandle;

use super::address::{Connector, PostgresAddress};
use super::background::Background;
pub(super) use arrays::Column;
pub(super) use blocking_client::BlockingClient;
use bounds::Bounds;
use caseload_model::ids::DomainId;
use caseload_store::fair_slots::NO_DOMAIN;
use caseload_store::{DurationCounts, ReadBudget, StoreError};
pub(super) use client::{Client, Params};
pub(super) use copying::CopyRows;
pub(super) use error::{first_cause, is_aftermath, is_duplicate, store_error};
pub(crate) use examine::examine;
pub(super) use layout::FIRST;
pub use layout::{LAYOUT, Placement};
use limits::Limits;
pub(crate) use migrate::versions;
use nodes::Database;
pub(super) use nodes::Nodes;
pub use placement::TablePlacement;
pub(super) use placement::{extension, place_tables, placements, refused};
pub(super) use session::Session;
pub(super) use values::{BoundRow, Values};

/// The most connections of one server.
const CONNECTIONS_MAX: usize = 16;
/// How long a command waits for a connection before it fails.
const CONNECTION_WAIT: Duration = Duration::from_secs(5);
/// The same if several hosts have to be tried until one accepts writes.
const CONNECTION_WAIT_MAX: Duration = Duration::from_secs(15);
/// How often a write is tried that conflicts with other writes.
pub(super) const TRIES_MAX: u32 = 5;
/// The time limit of a read without a budget of its own.
pub(super) const READ_BUDGET: ReadBudget = ReadBudget::of_time(Duration::from_secs(30));

/// The connections of an opened store.
#[derive(Debug)]
pub(super) struct Engine {
    pool: Pool,
    connector: Connector,
    database: Database,
    commits: AtomicU64,
    /// Moves after a commit, and after a notification of another server.
    pub(super) heard: Arc<watch::Sender<u64>>,
    writes: Mutex<DurationCounts>,
    limits: Limits,
    bounds: Mutex<Bounds>,
    /// The first damage that was found since the store was opened.
    damage: Mutex<Option<String>>,
    /// The last node of a cluster that did not answer.
    lost: watch::Sender<LostNode>,
}

/// A node of a cluster that did not answer a command.
#[derive(Debug, Clone, Default)]
pub(super) struct LostNode {
    /// Its address.
    pub(super) node: String,
    pub(super) fault: String,
}

impl Engine {
    /// Connects and migrates the tables. An empty database is refused unless `may_create`.
    pub(super) async fn open(
        address: &PostgresAddress,
        may_create: bool,
    ) -> Result<Self, StoreError> {
        let connector = address.connector()?;
        let found = migrate::bring_up_to_date(&connector, address, may_create).await?;
        Self::of(connector, found)
    }

    fn of(connector: Connector, database: Database) -> Result<Self, StoreError> {
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let wait = Some(CONNECTION_WAIT);
        let create = Some(connector.time_max().clamp(CONNECTION_WAIT, CONNECTION_WAIT_MAX));
        let pool = Pool::builder(connector.manager(recycling))
            .max_size(CONNECTIONS_MAX)
            // Reuse the latest connection: its server process has statements and tables cached.
            .queue_mode(QueueMode::Lifo)
            .timeouts(Timeouts { wait, create, recycle: wait })
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|e| StoreError::Unavailable(e.to_string()))?;
        Ok(Self {
            pool,
            connector,
            database,
            commits: AtomicU64::new(0),
            heard: Arc::default(),
            writes: Mutex::default(),
            limits: Limits::new(CONNECTIONS_MAX),
            bounds: Mutex::default(),
            damage: Mutex::default(),
            lost: watch::Sender::default(),
        })
    }

    /// Migrates the tables and opens a connection outside the pool. The task drives the connection
    /// until it ends. An empty database is refused unless `may_create`.
    pub(super) async fn connect_alone(
        address: &PostgresAddress,
        may_create: bool,
    ) -> Result<(tokio_postgres::Client, JoinHandle<()>), StoreError> {
        let connector = address.connector()?;
        migrate::bring_up_to_date(&connector, address, may_create).await?;
        let connected = connector.connect().await;
        let (client, connection) = connected.map_err(|error| address.not_connected(&error))?;
        let driver = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::warn!(%error, "a connection to the database ended");
            }
        });
        Ok((client, driver))
    }

    /// Runs a read in one snapshot, within `budget` or else [`READ_BUDGET`].
    pub(super) async fn read<C, T, F>(
        &self,
        budget: Option<ReadBudget>,
        command: C,
        work: F,
    ) -> Result<T, StoreError>
    where
        F: for<'a> FnOnce(&'a Client, &'a C) -> BoxFuture<'a, Result<T, StoreError>>,
    {
        self.read_in_session(NO_DOMAIN, budget, async |session: &Session| {
            session.run(|client| work(client, &command)).await
        })
        .await
    }

    /// Runs a read in one snapshot that may begin its own transaction, to send all statements in
    /// one flight ([`Session::in_one_flight`]).
    pub(super) async fn read_in_session<T>(
        &self,
        domain: DomainId,
        budget: Option<ReadBudget>,
        work: impl AsyncFnOnce(&Session) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let budget = budget.unwrap_or(READ_BUDGET);
        let until = Instant::now() + budget.time;
        let read = async {
            let _slot = self.limits.short_slots.take(domain).await?;
            budget.begin()?;
            let connection = self.connection().await?;
            let left = until.saturating_duration_since(Instant::now());
            let session = Session::read(self.client(connection), Some(left));
            let answer = work(&session).await;
            session.end_read(answer)
        };
        // The database limits each statement. This limits all of them, and the network.
        let read = tokio::time::timeout(budget.time, read).await;
        let read = read.unwrap_or(Err(StoreError::DeadlinePassed));
        read.inspect_err(|fault| self.note(fault))
    }

    /// Notes damage that a read or a write found, and a node that did not answer it.
    fn note(&self, fault: &StoreError) {
        match fault {
            StoreError::Corrupt(damage) => {
                self.damage.lock().get_or_insert_with(|| damage.clone());
            }
            StoreError::NodeAway { node, fault } => {
                let lost = LostNode { node: node.clone(), fault: fault.clone() };
                self.lost.send_replace(lost);
            }
            _ => {}
        }
    }

    /// Changes each time that a node of the cluster does not answer a command.
    pub(super) fn lost_nodes(&self) -> watch::Receiver<LostNode> {
        self.lost.subscribe()
    }

    /// Fails with the first damage that a read or a write found, if one did.
    pub(super) fn require_undamaged(&self) -> Result<(), StoreError> {
        self.damage.lock().clone().map_or(Ok(()), |damage| Err(StoreError::Corrupt(damage)))
    }

    /// Runs a write in one transaction. If it conflicts with another write, the database rolls it
    /// back and `work` runs again.
    pub(super) async fn write<C, T, F>(&self, command: C, work: F) -> Result<T, StoreError>
    where
        F: for<'a> Fn(&'a Client, &'a C) -> BoxFuture<'a, Result<T, StoreError>>,
    {
        let began = Instant::now();
        let mut context = (command, work);
        for _ in 0..TRIES_MAX {
            let once =
                self.write_once(&mut context, |client, (command, work)| work(client, command));
            match once.await {
                Err(StoreError::Contended) => {}
                done => {
                    self.writes().add(began.elapsed());
                    return done;
                }
            }
        }
        Err(too_many_conflicts())
    }

    /// Tries a write once. After [`StoreError::Contended`] the caller may try again, up to
    /// [`TRIES_MAX`] times, and then returns [`too_many_conflicts`].
    pub(super) async fn write_once<C, T>(
        &self,
        context: &mut C,
        work: impl for<'a> FnOnce(&'a Client, &'a mut C) -> BoxFuture<'a, Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let session = self.write_session(self.bounds()).await?;
        let answer = not_written(session.run_within(|client| work(client, context)).await);
        let answer = session.end_write(answer).await.inspect_err(|fault| self.note(fault))?;
        self.note_commit();
        Ok(answer)
    }

    fn note_commit(&self) {
        self.commits.fetch_add(1, Ordering::Relaxed);
        self.heard.send_modify(|count| *count = count.wrapping_add(1));
    }

    /// Counts a write by its duration, and its commit.
    fn note_write(&self, took: Duration, committed: bool) {
        if committed {
            self.note_commit();
        }
        self.writes().add(took);
    }

    async fn write_session(&self, bounds: Bounds) -> Result<Session, StoreError> {
        let client = self.client(self.connection().await?);
        Ok(Session::write(client, bounds, self.connector.warnings()))
    }

    /// Which nodes store the data.
    pub(super) const fn nodes(&self) -> Nodes {
        self.database.nodes
    }

    fn client(&self, connection: Object) -> Client {
        Client::new(connection, self.database.nodes)
    }

    fn bounds(&self) -> Bounds {
        *self.bounds.lock()
    }

    /// Limits the idle time of writes to the length of a task lease.
    pub(super) fn follow_lease(&self, lease: Duration) {
        *self.bounds.lock() = Bounds::of_lease(lease);
    }

    async fn connection(&self) -> Result<Object, StoreError> {
        self.pool.get().await.map_err(|e| match e {
            PoolError::Backend(e) => store_error(e),
            PoolError::Closed => StoreError::Closed,
            other => StoreError::Unreachable(format!("no connection to the database: {other}")),
        })
    }

    /// Transactions committed since the store was opened.
    pub(super) fn commits(&self) -> u64 {
        self.commits.load(Ordering::Relaxed)
    }

    /// The durations of writes.
    pub(super) fn writes(&self) -> MutexGuard<'_, DurationCounts> {
        self.writes.lock()
    }

    /// Calls `notify` for every notification of new work until the task is dropped. `None` behind a
    /// pooler, where servers find work by polling.
    pub(super) fn listen(
        &self,
        channel: &'static str,
        notify: impl Fn() + Send + Sync + 'static,
    ) -> Option<Background> {
        let listening = listen::listen(self.connector.clone(), channel, notify);
        (!self.database.pooled).then(|| Background::start(listening))
    }

    pub(super) fn close(&self) {
        self.pool.close();
    }
}

/// A write that reached the time limit of a statement was not written.
fn not_written<T>(answer: Result<T, StoreError>) -> Result<T, StoreError> {
    match answer {
        Err(StoreError::DeadlinePassed) => {
            Err(StoreError::NotWritten("a statement took too long".to_owned()))
        }
        answer => answer,
    }
}

/// The fault of a write that conflicted in each of its attempts.
pub(super) fn too_many_conflicts() -> StoreError {
    StoreError::NotWritten(format!("it conflicted with other writes {TRIES_MAX} times"))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests;
