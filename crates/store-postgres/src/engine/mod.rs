//! Connections to PostgreSQL and the two ways to use one: a read in one snapshot, bounded by its
//! budget, and a write in one transaction that is tried again where the database asks for it. It
//! knows no table. Nothing is kept in a session from one transaction to the next but prepared
//! statements. Invariant: a connection goes back to the pool only with no transaction open; one
//! that was left in the middle is closed.

mod arrays;
mod asking;
mod blocking;
mod bounds;
mod client;
mod copying;
mod error;
mod examine;
mod listen;
mod migrate;
mod pooler;
mod session;
mod values;

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use deadpool_postgres::{
    ManagerConfig, Object, Pool, PoolError, QueueMode, RecyclingMethod, Runtime, Timeouts,
};
use futures_util::future::BoxFuture;
use tokio::task::JoinHandle;

use super::address::{Connector, PostgresAddress};
pub(super) use arrays::Column;
pub(super) use asking::Asking;
use blocking::Reading;
use bounds::Bounds;
use caseload_store::{DurationCounts, StoreError};
pub(super) use client::{Client, Params};
pub(super) use copying::CopyRows;
pub(super) use error::{constraint, store_error};
pub(super) use listen::Listener;
pub(super) use session::Session;
pub(super) use values::{Bound, Values};

/// Connections of one server.
const CONNECTIONS_MAX: usize = 16;
/// Time to wait for a connection before a request is told that the store cannot answer.
const CONNECTION_WAIT: Duration = Duration::from_secs(5);
/// The same where several hosts have to be asked which of them takes writes.
const CONNECTION_WAIT_MAX: Duration = Duration::from_secs(15);
/// How often a write is tried that meets another one.
pub(super) const TRIES_MAX: u32 = 5;
/// What a read may take that was given no budget of its own.
pub(super) const READ_BUDGET: Duration = Duration::from_secs(30);

/// The connections of an opened store.
#[derive(Debug)]
pub(super) struct Engine {
    pool: Pool,
    connector: Connector,
    /// A pooler hands out connections by transaction, and passes no notes on.
    pooled: bool,
    commits: AtomicU64,
    writes: Mutex<DurationCounts>,
    reading: Reading,
    bounds: Mutex<Bounds>,
}

impl Engine {
    /// Connects and brings the tables up to date.
    pub(super) async fn open(address: &PostgresAddress) -> Result<Self, StoreError> {
        let connector = address.connector()?;
        let pooled = migrate::bring_up_to_date(&connector, address).await?;
        Self::of(connector, pooled)
    }

    fn of(connector: Connector, pooled: bool) -> Result<Self, StoreError> {
        let recycling = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let wait = Some(CONNECTION_WAIT);
        let create = Some(connector.time_max().clamp(CONNECTION_WAIT, CONNECTION_WAIT_MAX));
        let pool = Pool::builder(connector.manager(recycling))
            .max_size(CONNECTIONS_MAX)
            // The one that was used last: what serves it has its statements and tables at hand.
            .queue_mode(QueueMode::Lifo)
            .timeouts(Timeouts { wait, create, recycle: wait })
            .runtime(Runtime::Tokio1)
            .build()
            .map_err(|e| StoreError::Unavailable(e.to_string()))?;
        Ok(Self {
            pool,
            connector,
            pooled,
            commits: AtomicU64::new(0),
            writes: Mutex::default(),
            reading: Reading::new(CONNECTIONS_MAX),
            bounds: Mutex::default(),
        })
    }

    /// A connection of its own with the tables up to date, and what drives it until it ends.
    pub(super) async fn connect_alone(
        address: &PostgresAddress,
    ) -> Result<(tokio_postgres::Client, JoinHandle<()>), StoreError> {
        let connector = address.connector()?;
        migrate::bring_up_to_date(&connector, address).await?;
        let connected = connector.connect().await;
        let (client, connection) = connected.map_err(|error| address.not_connected(&error))?;
        let driver = tokio::spawn(async move {
            if let Err(error) = connection.await {
                tracing::warn!(%error, "a connection to the database ended");
            }
        });
        Ok((client, driver))
    }

    /// A read in one snapshot. `budget` is the time that it may take, [`READ_BUDGET`] where it is
    /// not said.
    pub(super) async fn read<C, T, F>(
        &self,
        budget: Option<Duration>,
        command: C,
        work: F,
    ) -> Result<T, StoreError>
    where
        F: for<'a> FnOnce(&'a Client, &'a C) -> BoxFuture<'a, Result<T, StoreError>>,
    {
        self.read_in_session(budget, async |session: &Session| {
            session.run(|client| work(client, &command)).await
        })
        .await
    }

    /// A read in one snapshot that begins its transaction itself, where all of it is one flight
    /// ([`Session::whole`]).
    pub(super) async fn read_in_session<T>(
        &self,
        budget: Option<Duration>,
        work: impl AsyncFnOnce(&Session) -> Result<T, StoreError>,
    ) -> Result<T, StoreError> {
        let budget = budget.unwrap_or(READ_BUDGET);
        let until = Instant::now() + budget;
        let read = async {
            let connection = self.connection().await?;
            let left = until.saturating_duration_since(Instant::now());
            let session = Session::read(Client::new(connection), Some(left));
            let answer = work(&session).await;
            session.end_read(answer)
        };
        // The database keeps the time of each statement; this keeps that of all, and of the wire.
        tokio::time::timeout(budget, read).await.unwrap_or(Err(StoreError::DeadlinePassed))
    }

    /// A read in one snapshot for a task, which may ask very many questions.
    pub(super) async fn read_at_leisure<C, T, F>(
        &self,
        command: C,
        work: F,
    ) -> Result<T, StoreError>
    where
        F: for<'a> FnOnce(&'a Client, &'a C) -> BoxFuture<'a, Result<T, StoreError>>,
    {
        let limit = self.bounds().leisure;
        let read = self.read_in_turn(Some(limit), command, work);
        // No fault of the task's: the database stands still, or the wire does.
        tokio::time::timeout(limit, read).await.unwrap_or_else(|_| {
            Err(StoreError::Unreachable(format!("a read had no end within {limit:?}")))
        })
    }

    /// A read in one snapshot, each of whose statements may take so long, or as long as it takes.
    pub(super) async fn read_in_turn<C, T, F>(
        &self,
        each: Option<Duration>,
        command: C,
        work: F,
    ) -> Result<T, StoreError>
    where
        F: for<'a> FnOnce(&'a Client, &'a C) -> BoxFuture<'a, Result<T, StoreError>>,
    {
        let session = Session::read(Client::new(self.connection().await?), each);
        let answer = session.run(|client| work(client, &command)).await;
        session.end_read(answer)
    }

    /// A write in one transaction. It is tried again when the database says that it met another
    /// one, so `work` may run more than once; what it did before is undone.
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
        Err(given_up())
    }

    /// One try of a write. [`StoreError::Contended`] where it met another one and may be tried
    /// again; after [`TRIES_MAX`] it is to be [`given_up`].
    pub(super) async fn write_once<C, T>(
        &self,
        context: &mut C,
        work: impl for<'a> FnOnce(&'a Client, &'a mut C) -> BoxFuture<'a, Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        let session = self.write_session().await?;
        let answer = not_written(session.run_within(|client| work(client, context)).await);
        let answer = session.end_write(answer).await?;
        self.commits.fetch_add(1, Ordering::Relaxed);
        Ok(answer)
    }

    /// Notes how long a write took, and a commit where there was one.
    fn note_write(&self, took: Duration, committed: bool) {
        self.commits.fetch_add(u64::from(committed), Ordering::Relaxed);
        self.writes().add(took);
    }

    async fn write_session(&self) -> Result<Session, StoreError> {
        Ok(Session::write(Client::new(self.connection().await?), self.bounds()))
    }

    fn bounds(&self) -> Bounds {
        *self.bounds.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Has writes stand still for no longer than a lease of tasks is.
    pub(super) fn follow_lease(&self, lease: Duration) {
        *self.bounds.lock().unwrap_or_else(PoisonError::into_inner) = Bounds::of_lease(lease);
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

    /// Writes by how long they took.
    pub(super) fn writes(&self) -> std::sync::MutexGuard<'_, DurationCounts> {
        self.writes.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Calls `ring` whenever a server says that there is work, until what is returned is dropped;
    /// nothing through a pooler, where servers find each other's work by asking.
    pub(super) fn listen(
        &self,
        channel: &'static str,
        ring: impl Fn() + Send + Sync + 'static,
    ) -> Option<Listener> {
        (!self.pooled).then(|| Listener::start(self.connector.clone(), channel, ring))
    }

    pub(super) fn close(&self) {
        self.pool.close();
    }
}

/// What a statement's end by its time limit means to a write.
fn not_written<T>(answer: Result<T, StoreError>) -> Result<T, StoreError> {
    match answer {
        Err(StoreError::DeadlinePassed) => {
            Err(StoreError::NotWritten("a statement took too long".to_owned()))
        }
        answer => answer,
    }
}

/// What a write comes to that met others as often as it was tried.
pub(super) fn given_up() -> StoreError {
    StoreError::NotWritten(format!("it met other writes {TRIES_MAX} times"))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests;
