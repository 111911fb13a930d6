//! The free hands of a server: how many more tasks it would work on now. A store that has them may
//! lease a task in the very commit by which it becomes runnable, so that its work begins without a
//! commit of its own for the lease. Hands are a hint, as the bell is: a store need not use them,
//! and whoever lends them asks for work as well. Invariant: a hand is free, or at a task, or taken
//! by somebody who looks for one; closed hands take no task any more.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use caseload_model::time::UnixMillis;
use tokio::sync::Notify;

use super::{ClaimTasks, ClaimedTask};

/// What one server lends.
#[derive(Debug)]
pub struct Hands {
    server: String,
    lease_ms: i64,
    state: Mutex<State>,
    filled: Notify,
}

#[derive(Debug)]
struct State {
    free: usize,
    closed: bool,
    /// Leased and not begun.
    tasks: VecDeque<ClaimedTask>,
}

impl Hands {
    /// So many free hands of a server whose leases last for `lease_ms`.
    pub fn new(server: impl Into<String>, lease_ms: i64, free: usize) -> Self {
        let state = State { free, closed: false, tasks: VecDeque::new() };
        Self { server: server.into(), lease_ms, state: Mutex::new(state), filled: Notify::new() }
    }

    /// Takes all free hands to look for work for them; the command that claims it. Whoever asks
    /// gives back with [`Hands::give_back`] what has found none.
    pub fn claim(&self, now: UnixMillis) -> ClaimTasks {
        ClaimTasks {
            server: self.server.clone(),
            now,
            lease_until: self.lease_until(now),
            tasks_max: std::mem::take(&mut self.state().free),
        }
    }

    /// When a lease ends that begins or is renewed at `now`.
    pub const fn lease_until(&self, now: UnixMillis) -> UnixMillis {
        UnixMillis(now.0 + self.lease_ms)
    }

    /// Hands that have no task, or none any more.
    pub fn give_back(&self, hands: usize) {
        let mut state = self.state();
        if !state.closed {
            state.free += hands;
        }
    }

    /// Whether there is a free hand.
    pub fn is_any_free(&self) -> bool {
        self.state().free > 0
    }

    /// Gives tasks that are leased to the server to hands that were taken.
    pub fn put(&self, tasks: Vec<ClaimedTask>) {
        let mut state = self.state();
        if !state.closed {
            state.tasks.extend(tasks);
        }
        drop(state);
        self.filled.notify_one();
    }

    /// The next task that was put, as soon as there is one.
    pub async fn next(&self) -> ClaimedTask {
        loop {
            let filled = self.filled.notified();
            let next = self.state().tasks.pop_front();
            if let Some(task) = next {
                return task;
            }
            filled.await;
        }
    }

    /// Takes no further task; those that were put and not begun are dropped, and their leases are
    /// the server's to give back.
    pub fn close(&self) {
        let mut state = self.state();
        *state = State { free: 0, closed: true, tasks: VecDeque::new() };
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
