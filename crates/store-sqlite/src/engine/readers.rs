//! The pool of read connections. A read runs on a blocking thread in one read transaction. Domains
//! take turns: one with very many reads does not keep another one waiting. The deadline of a read
//! counts from the call and includes the wait for a slot. Connections are opened on
//! first use. Invariant: a connection returns to the pool only without an open transaction and
//! without a deadline.

use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use caseload_model::ids::DomainId;
use parking_lot::Mutex;
use rusqlite::Connection;

use super::connection;
use super::gauges::Gauges;
use super::thread::on_blocking_thread;
use crate::Fault;
use caseload_store::fair_slots::{FairSlots, Slot};
use caseload_store::throttle::{ReadLoad, Throttle};
use caseload_store::{ReadBudget, StoreError};

/// The time limit of a read without a budget of its own.
pub(crate) const READ_BUDGET: ReadBudget = ReadBudget::of_time(Duration::from_secs(10));
/// The least number of concurrent short reads, even with few cores. Half as many long reads may run
/// in addition: a throttled read pauses most of the time, and a short read must not wait for a
/// pause.
const READERS_MIN: usize = 4;
/// Virtual machine steps of SQLite between two checks of the deadline: a few microseconds.
const STEPS_PER_LOOK: i32 = 1000;

#[derive(Debug)]
struct Pool {
    path: PathBuf,
    idle: Mutex<Vec<Connection>>,
    closed: AtomicBool,
}

#[derive(Debug)]
pub(crate) struct Readers {
    pool: Arc<Pool>,
    short_slots: FairSlots,
    /// How many short slots a parallel read leaves to others.
    spared: usize,
    long_slots: FairSlots,
    load: Arc<ReadLoad>,
    gauges: Arc<Gauges>,
}

/// Readers that a long read may use in addition to its own.
#[derive(Debug, Clone)]
pub(crate) struct FurtherReaders {
    pool: Arc<Pool>,
    slots: FairSlots,
}

impl FurtherReaders {
    /// Runs `work` in a snapshot of its own, unless a read waits or might soon. Blocks.
    pub(crate) fn run<T>(
        &self,
        domain: DomainId,
        deadline: Option<Instant>,
        work: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Option<Result<T, Fault>> {
        let slot = self.slots.try_further(domain, 1)?;
        let answer = self.pool.run(deadline, work);
        drop(slot);
        Some(answer)
    }
}

impl Readers {
    pub(super) fn new(path: &Path, gauges: Arc<Gauges>) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let readers = READERS_MIN.max(2 * cores);
        Self {
            pool: Arc::new(Pool {
                path: path.to_owned(),
                idle: Mutex::default(),
                closed: AtomicBool::new(false),
            }),
            short_slots: FairSlots::new(readers + 1, readers),
            spared: readers / 2,
            long_slots: FairSlots::new(readers / 2 + 1, readers / 2),
            load: Arc::default(),
            gauges,
        }
    }

    /// Runs a read of a domain, which takes turns with the others, in one transaction. Without a
    /// budget it has no time limit. Only a few long reads, of very many records, run at a time.
    /// They are throttled, and do not take readers from short ones.
    pub(crate) async fn read<T, F>(
        &self,
        domain: DomainId,
        budget: Option<ReadBudget>,
        is_long: bool,
        work: F,
    ) -> Result<T, Fault>
    where
        T: Send + 'static,
        F: FnOnce(&Connection, &mut Throttle) -> Result<T, Fault> + Send + 'static,
    {
        let time = budget.as_ref().map(|budget| budget.time);
        let deadline = time.and_then(|time| Instant::now().checked_add(time));
        let slots = if is_long { &self.long_slots } else { &self.short_slots };
        let slot = slot(slots, domain, deadline).await?;
        budget.map_or(Ok(()), |budget| budget.begin())?;
        let pool = self.pool.clone();
        let mut throttle = Throttle::new(deadline, &self.load, is_long);
        let answer = on_blocking_thread(move || {
            let answer = pool.run(deadline, |conn| work(conn, &mut throttle));
            drop(slot);
            answer
        })
        .await;
        self.gauges.note_damage(&answer);
        answer
    }

    /// Readers that a long read may use in addition to its own.
    pub(crate) fn further(&self) -> FurtherReaders {
        FurtherReaders { pool: self.pool.clone(), slots: self.long_slots.clone() }
    }

    /// Runs a read on up to `readers_max` readers in parallel, each in a transaction of its own and
    /// within [`READ_BUDGET`]. It takes one at least, and leaves half of all readers to others. The
    /// caller provides the state that they share. Returns the first fault.
    pub(crate) async fn read_side_by_side<F>(
        &self,
        domain: DomainId,
        readers_max: usize,
        work: F,
    ) -> Result<(), Fault>
    where
        F: Fn(&Connection) -> Result<(), Fault> + Send + Sync + 'static,
    {
        let deadline = Instant::now().checked_add(READ_BUDGET.time);
        let mut slots = vec![slot(&self.short_slots, domain, deadline).await?];
        while slots.len() < readers_max {
            let Some(further) = self.short_slots.try_further(domain, self.spared) else { break };
            slots.push(further);
        }
        let work = Arc::new(work);
        let mut running = Vec::new();
        for slot in slots {
            let (pool, work) = (self.pool.clone(), work.clone());
            running.push(on_blocking_thread(move || {
                let answer = pool.run(deadline, |conn| work(conn));
                drop((slot, work));
                answer
            }));
        }
        let mut answer = Ok(());
        for reader in running {
            answer = answer.and(reader.await);
        }
        self.gauges.note_damage(&answer);
        answer
    }

    /// Refuses further reads and closes idle connections. Busy ones close after their read.
    pub(super) fn close(&self) {
        self.short_slots.close();
        self.long_slots.close();
        self.pool.closed.store(true, Ordering::SeqCst);
        self.pool.idle.lock().clear();
    }
}

async fn slot(
    slots: &FairSlots,
    domain: DomainId,
    deadline: Option<Instant>,
) -> Result<Slot, Fault> {
    let slot = slots.take(domain);
    Ok(match deadline {
        None => slot.await?,
        Some(deadline) => tokio::time::timeout_at(deadline.into(), slot)
            .await
            .map_err(|_| StoreError::DeadlinePassed)??,
    })
}

impl Pool {
    fn run<T>(
        &self,
        deadline: Option<Instant>,
        work: impl FnOnce(&Connection) -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let idle = self.idle.lock().pop();
        let mut conn = match idle {
            Some(conn) => conn,
            None => connection::open_reader(&self.path)?,
        };
        let late = deadline.map(|deadline| move || Instant::now() >= deadline);
        conn.progress_handler(STEPS_PER_LOOK, late)?;
        let answer = in_snapshot(&conn, work);
        conn.progress_handler(0, None::<fn() -> bool>)?;
        let fault = matches!(
            answer,
            Err(Fault(
                StoreError::Unavailable(_) | StoreError::NotWritten(_) | StoreError::Corrupt(_)
            ))
        );
        if !fault && conn.is_autocommit() && !self.closed.load(Ordering::SeqCst) {
            self.idle.lock().push(conn);
        }
        answer
    }
}

/// Runs `work` in one snapshot. The statements around it are cached, because preparing them would
/// cost as much as a small read.
fn in_snapshot<T>(
    conn: &Connection,
    work: impl FnOnce(&Connection) -> Result<T, Fault>,
) -> Result<T, Fault> {
    conn.prepare_cached("BEGIN")?.execute([])?;
    // `run` drops the connection if a transaction is still open afterwards.
    let answer = work(conn);
    // The read wrote nothing, so that a rollback just ends the snapshot. It fails if a fault has
    // ended the snapshot already.
    if let Err(error) = conn.prepare_cached("ROLLBACK")?.execute([]) {
        tracing::debug!(%error, "a fault had ended the snapshot of a read");
    }
    answer
}
