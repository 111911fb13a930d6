//! Leasing tasks: which server works on which task. A server claims runnable tasks and has them
//! until their leases end, are given back, or are void because the server was restarted. Each lease
//! raises the task's epoch; a chunk under an older epoch cannot commit. [`FairQueue`] chooses the
//! next tasks. Instants are those of the claiming server: if clocks differ, a lease may be taken
//! early, which costs a chunk and breaks nothing. A clock that was wrong for a moment delays no
//! task for longer than [`WAIT_MS_MAX`]. A claim reads no more than [`PLACES_MAX`] places, so its
//! cost is bounded however many tasks wait.

use std::collections::BTreeSet;
use std::ops::Range;

use caseload_model::ids::{DomainId, DomainName};
use caseload_model::task::{Task, TaskStatus};
use caseload_model::time::UnixMillis;

use super::deaths;
use super::fair_queue::{FairQueue, QueuePlace, QueuedTask};
use super::statements::{COLUMNS, COLUMNS_COUNT, TaskTables, task};
use crate::sql::{OwnedValue, Query, Row};
use crate::{ClaimTasks, ClaimedTask, StoreError};

/// A lease or a pause that ends later than this, in milliseconds from now, does not count: a clock
/// that was ahead has set it. No lease that a server may ask for is longer.
const WAIT_MS_MAX: i64 = 3_600_000;
/// Unfinished tasks that a claim reads, running ones among them.
const PLACES_MAX: usize = 512;
/// Tasks that a claim reads of a longer queue: of those that wait, which cost more each. The next
/// claim of the same server goes on with the domain after the last one that it chose.
const PART_MAX: usize = 128;

/// The latest end of a lease or a pause that counts.
pub const fn latest_wait(now: UnixMillis) -> UnixMillis {
    UnixMillis(now.0.saturating_add(WAIT_MS_MAX))
}

/// The queue of all domains, in one transaction. A backend that waits for its database does so
/// without a thread that blocks: servers claim all the time.
pub trait QueueStore {
    type Tables: TaskTables;

    /// Marks new tasks as queued. Those that have begun are marked already.
    fn mark_queued(&self, now: UnixMillis) -> impl Future<Output = Result<(), StoreError>>;
    /// Leases a task; `None` if another transaction locks it, another server leased it first, or
    /// its domain was removed a moment ago.
    fn lease(
        &self,
        place: &QueuePlace,
        command: &ClaimTasks,
    ) -> impl Future<Output = Result<Option<Leased>, StoreError>>;
    /// Ends a lease of this transaction. No server takes the task before `until`.
    fn postpone(
        &self,
        place: &QueuePlace,
        until: UnixMillis,
    ) -> impl Future<Output = Result<(), StoreError>>;
    /// Gives a lease of this transaction back. A task may be seen in the queue before it is seen
    /// itself, or after it has ended, if they are on two nodes.
    fn give_back(&self, place: &QueuePlace) -> impl Future<Output = Result<(), StoreError>>;
    /// The answer to a query.
    fn ask<T>(&self, query: &Query<T>) -> impl Future<Output = Result<Vec<T>, StoreError>>;
}

/// A new lease of a task.
#[derive(Debug, Clone)]
pub struct Leased {
    pub epoch: i64,
    pub domain_name: DomainName,
    /// As in [`ClaimedTask::placeholders`].
    pub placeholders: Option<String>,
    /// Whether a server died that had the task: its lease ran out instead of being given back, and
    /// not for want of the store.
    pub after_death: bool,
}

/// The answer to a claim.
#[derive(Debug, Default)]
pub struct Claims {
    pub claimed: Vec<ClaimedTask>,
    /// Tasks that could not be leased because their rows are locked.
    pub locked: Vec<QueuePlace>,
    /// Tasks that could not begin yet, because only their places in the queue are visible.
    pub unseen: usize,
    /// Tasks that wait from now on, because their servers died.
    pub postponed: usize,
}

impl Claims {
    /// Adds the fate of a task that was chosen.
    pub fn add(&mut self, place: QueuePlace, begun: ClaimResult) {
        match begun {
            ClaimResult::Claimed(claimed) => self.claimed.push(*claimed),
            ClaimResult::Locked => self.locked.push(place),
            ClaimResult::Unseen => self.unseen += 1,
            ClaimResult::Postponed => self.postponed += 1,
        }
    }
}

/// The fate of a task that was chosen.
#[derive(Debug)]
pub enum ClaimResult {
    Claimed(Box<ClaimedTask>),
    /// Another transaction locks its place.
    Locked,
    /// Only its place is visible.
    Unseen,
    /// Its server died: it waits.
    Postponed,
}

/// Leases runnable tasks to a server, all in one transaction.
pub async fn claim<S: QueueStore>(store: &S, command: &ClaimTasks) -> Result<Claims, StoreError> {
    let mut claims = Claims::default();
    let Choice { places, leaves_new } = choose(store, command, &BTreeSet::new()).await?;
    for place in places {
        let begun = begin(store, &place, command, claims.postponed).await?;
        claims.add(place, begun);
    }
    if leaves_new {
        store.mark_queued(command.now).await?;
    }
    Ok(claims)
}

/// The tasks that a server should have next.
#[derive(Debug)]
pub struct Choice {
    pub places: Vec<QueuePlace>,
    /// Whether there may be other tasks that are to be marked as queued.
    pub leaves_new: bool,
}

/// The tasks that a server should have next, of all domains but the avoided ones. Of a long queue
/// it looks at one part.
pub async fn choose<S: QueueStore>(
    store: &S,
    command: &ClaimTasks,
    avoided: &BTreeSet<DomainId>,
) -> Result<Choice, StoreError> {
    let (mut queue, tasks) = read_queue(store, command).await?;
    let is_part = queue.is_part();
    let new: Vec<QueuePlace> =
        tasks.iter().filter(|task| task.is_new).map(|task| task.place.clone()).collect();
    let last_read = tasks.last().map(|task| task.place.domain).filter(|_| is_part);
    for task in tasks {
        if !avoided.contains(&task.place.domain) {
            queue.add(task);
        }
    }
    let chosen = queue.choose(command.tasks_max);
    if let Some(last_read) = last_read {
        // If only avoided domains were read, others come next.
        let last = chosen.last().map_or(last_read, |place| place.domain);
        command.turn.set(last.0 + 1);
    }
    let leaves_new = is_part || new.iter().any(|place| !chosen.contains(place));
    Ok(Choice { places: chosen, leaves_new })
}

/// The unfinished tasks, or a part of a long queue. A queue that was long is likely to be so still:
/// its part is read first, which saves the other read.
async fn read_queue<S: QueueStore>(
    store: &S,
    command: &ClaimTasks,
) -> Result<(FairQueue, Vec<QueuedTask>), StoreError> {
    let mut part = Vec::new();
    if command.turn.get() != 0 {
        part = part_of_queue(store, command).await?;
        if part.len() == PART_MAX {
            return Ok((FairQueue::part(), part));
        }
    }
    let whole = store.ask(&unfinished::<S::Tables>(command.now, PLACES_MAX + 1)).await?;
    if whole.len() <= PLACES_MAX {
        command.turn.set(0);
        return Ok((FairQueue::whole(), whole));
    }
    if command.turn.get() == 0 {
        part = part_of_queue(store, command).await?;
    }
    Ok((FairQueue::part(), part))
}

/// Leases a task to a server and starts it, unless it is to wait because its server died, as
/// `postponed` tasks of the same claim do.
pub async fn begin<S: QueueStore>(
    store: &S,
    place: &QueuePlace,
    command: &ClaimTasks,
    postponed: usize,
) -> Result<ClaimResult, StoreError> {
    let Some(leased) = store.lease(place, command).await? else { return Ok(ClaimResult::Locked) };
    if leased.after_death && postpone(store, place, command.now, postponed).await? {
        return Ok(ClaimResult::Postponed);
    }
    let Some(started) = store.ask(&start(place, command.now)).await?.pop() else {
        store.give_back(place).await?;
        return Ok(ClaimResult::Unseen);
    };
    let (task, next_index, cancel_requested) = started;
    Ok(ClaimResult::Claimed(Box::new(ClaimedTask {
        domain: place.domain,
        domain_name: leased.domain_name,
        placeholders: leased.placeholders,
        task,
        lease_epoch: leased.epoch,
        next_index,
        cancel_requested,
        first_block: None,
    })))
}

/// Counts the death of the server that had this task, and makes the task wait; false if it need
/// not.
async fn postpone<S: QueueStore>(
    store: &S,
    place: &QueuePlace,
    now: UnixMillis,
    earlier: usize,
) -> Result<bool, StoreError> {
    let Some(deaths) = store.ask(&deaths::count(place)).await?.pop() else { return Ok(false) };
    let at = deaths::next_try_at(now, deaths, earlier);
    store.ask(&deaths::set_next_try(place, at)).await?;
    store.postpone(place, at).await?;
    let (task_id, wait_ms) = (&place.id, at.0.saturating_sub(now.0));
    tracing::warn!(task_id, deaths, wait_ms, "the server of a task died; the task waits");
    Ok(true)
}

/// Runnable tasks of a long queue: of the domains from the server's turn on, and from the first
/// domain again after the last one.
async fn part_of_queue<S: QueueStore>(
    store: &S,
    command: &ClaimTasks,
) -> Result<Vec<QueuedTask>, StoreError> {
    if command.turn.get() == 0 {
        // Servers begin at different domains.
        let last = store.ask(&last_domain::<S::Tables>()).await?.pop().unwrap_or_default();
        let seed = command
            .server
            .bytes()
            .fold(command.now.0, |seed, byte| seed.wrapping_mul(31).wrapping_add(byte.into()));
        command.turn.set(seed.rem_euclid(last.max(1)) + 1);
    }
    let (now, from) = (command.now, command.turn.get());
    let mut part = store.ask(&waiting::<S::Tables>(now, from..i64::MAX, PART_MAX)).await?;
    if part.len() < PART_MAX {
        let left = PART_MAX - part.len();
        part.extend(store.ask(&waiting::<S::Tables>(now, 0..from, left)).await?);
    }
    Ok(part)
}

/// The columns of a task in the queue. `?1` is the current time, `?2` the latest wait that counts.
fn columns<T: TaskTables>() -> String {
    format!(
        "domain_id, seq, task_id, writes,
         lease_server IS NOT NULL AND lease_until > ?1 AND lease_until <= ?2,
         not_before <= ?1 OR not_before > ?2, {}",
        T::IS_NEW
    )
}

/// The order of [`FairQueue::add`].
const ORDER: &str = "domain_id IN (SELECT id FROM domains) ORDER BY domain_id, writes, seq";

fn queued(row: &dyn Row) -> Result<QueuedTask, StoreError> {
    let place = QueuePlace { domain: row.get(0)?, seq: row.get(1)?, id: row.get(2)? };
    Ok(QueuedTask {
        place,
        writes: row.get(3)?,
        leased: row.get(4)?,
        due: row.get(5)?,
        is_new: row.get(6)?,
    })
}

/// The first unfinished tasks.
fn unfinished<T: TaskTables>(now: UnixMillis, places_max: usize) -> Query<QueuedTask> {
    let (columns, queue) = (columns::<T>(), T::QUEUE);
    let select = format!("SELECT {columns} FROM {queue} q WHERE {ORDER} LIMIT ?3");
    let values = [now.0, latest_wait(now).0, places_max as i64].map(OwnedValue::from);
    Query::new(select, values, queued)
}

/// The first runnable tasks of these domains.
fn waiting<T: TaskTables>(
    now: UnixMillis,
    domains: Range<i64>,
    places_max: usize,
) -> Query<QueuedTask> {
    let select = format!(
        "SELECT {} FROM {} q WHERE domain_id >= ?3 AND domain_id < ?4
         AND (lease_server IS NULL OR lease_until <= ?1 OR lease_until > ?2)
         AND (not_before <= ?1 OR not_before > ?2)
         AND NOT (writes AND EXISTS (SELECT 1 FROM {} o
             WHERE o.domain_id = q.domain_id AND o.writes AND o.seq < q.seq))
         AND {ORDER} LIMIT ?5",
        columns::<T>(),
        T::QUEUE,
        T::QUEUE
    );
    let Range { start, end } = domains;
    let values = [now.0, latest_wait(now).0, start, end, places_max as i64].map(OwnedValue::from);
    Query::new(select, values, queued)
}

/// The highest id of a domain in the queue.
fn last_domain<T: TaskTables>() -> Query<i64> {
    Query::new(format!("SELECT coalesce(max(domain_id), 0) FROM {} q", T::QUEUE), [], |row| {
        row.get(0)
    })
}

/// Starts a task that was leased: the task, the index of its next entry, and whether a caller has
/// cancelled it.
fn start(place: &QueuePlace, now: UnixMillis) -> Query<(Task, u32, bool)> {
    let start = format!(
        "UPDATE tasks SET status = ?3, next_try_at = NULL,
         started_at = coalesce(started_at, greatest(?4, created_at)),
         queued_at = coalesce(queued_at, greatest(?4, created_at))
         WHERE domain_id = ?1 AND id = ?2 AND status < 4
         RETURNING {COLUMNS}, next_index, cancel_at IS NOT NULL"
    );
    let status = TaskStatus::Processing.code();
    let values = [place.domain.into(), place.id.as_str().into(), status.into(), now.into()];
    Query::new(start, values, |row| {
        Ok((task(row)?, row.get(COLUMNS_COUNT)?, row.get(COLUMNS_COUNT + 1)?))
    })
}
