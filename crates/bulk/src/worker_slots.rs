//! The worker slots of a server: how many more tasks it can work on now. The runner claims tasks
//! for free slots. A store that the slots are registered with may do the same in a commit of its
//! own, which saves the commit for the lease. Invariant: a slot is free, or has a task, or is taken
//! by a caller of [`WorkerSlots::claim`]. Closed slots accept no tasks.

use std::collections::VecDeque;

use caseload_model::time::UnixMillis;
use caseload_store::{ClaimTasks, ClaimedTask, QueueTurn, WorkerSlots};
use parking_lot::Mutex;
use tokio::sync::Notify;

/// The slots of one server.
#[derive(Debug)]
pub struct Slots {
    server: String,
    lease_ms: i64,
    turn: QueueTurn,
    state: Mutex<State>,
    filled: Notify,
}

#[derive(Debug)]
struct State {
    free: usize,
    closed: bool,
    /// Tasks that are leased and not started.
    tasks: VecDeque<ClaimedTask>,
}

impl Slots {
    /// So many free slots of a server whose leases last for `lease_ms`.
    pub fn new(server: impl Into<String>, lease_ms: i64, free: usize) -> Self {
        let state = State { free, closed: false, tasks: VecDeque::new() };
        Self {
            server: server.into(),
            lease_ms,
            turn: QueueTurn::default(),
            state: Mutex::new(state),
            filled: Notify::new(),
        }
    }

    /// The end of a lease that begins or is renewed at `now`.
    pub const fn lease_until(&self, now: UnixMillis) -> UnixMillis {
        UnixMillis(now.0 + self.lease_ms)
    }

    /// Whether a slot is free.
    pub fn is_any_free(&self) -> bool {
        self.state.lock().free > 0
    }

    /// Waits for the next task that fills a slot.
    pub async fn next(&self) -> ClaimedTask {
        loop {
            let filled = self.filled.notified();
            let next = self.state.lock().tasks.pop_front();
            if let Some(task) = next {
                return task;
            }
            filled.await;
        }
    }

    /// Stops accepting tasks and drops those that are not started. The server releases their
    /// leases.
    pub fn close(&self) {
        *self.state.lock() = State { free: 0, closed: true, tasks: VecDeque::new() };
    }
}

impl WorkerSlots for Slots {
    fn claim(&self, now: UnixMillis) -> ClaimTasks {
        ClaimTasks {
            server: self.server.clone(),
            now,
            lease_until: self.lease_until(now),
            tasks_max: std::mem::take(&mut self.state.lock().free),
            reachable_since: UnixMillis(i64::MIN),
            turn: self.turn.clone(),
        }
    }

    fn fill(&self, tasks: Vec<ClaimedTask>) {
        let mut state = self.state.lock();
        if !state.closed {
            state.tasks.extend(tasks);
        }
        drop(state);
        self.filled.notify_one();
    }

    fn free(&self, slots: usize) {
        let mut state = self.state.lock();
        if !state.closed {
            state.free += slots;
        }
    }
}
