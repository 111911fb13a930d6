//! Leases tasks to registered worker slots in the commit that makes the tasks runnable, which saves
//! a commit for the lease. A command that may have made a task runnable asks for it; the lease is
//! then the last member of its group commit. It is durable with the group, and undone alone if it
//! fails. If no slot is free, or more tasks may be runnable than slots are free, servers get a
//! wake-up.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use caseload_model::time::UnixMillis;
use caseload_store::{ClaimedTask, StoreError, WorkerSlots};
use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::watch;

use crate::engine::{Member, WriteContext};
use crate::tasks;
use crate::tx::Tx;

/// The registered slots, and the wake-ups for work that they do not get.
#[derive(Debug, Default)]
pub(crate) struct SlotLeasing {
    wake_ups: watch::Sender<u64>,
    slots: Mutex<Option<Arc<dyn WorkerSlots>>>,
}

impl SlotLeasing {
    pub(crate) fn register(&self, slots: Arc<dyn WorkerSlots>) {
        *self.slots.lock() = Some(slots);
    }

    pub(crate) fn wake(&self) {
        self.wake_ups.send_modify(|count| *count = count.wrapping_add(1));
    }

    pub(crate) fn wake_ups(&self) -> watch::Receiver<u64> {
        self.wake_ups.subscribe()
    }

    /// The last member of a group in which tasks may have become runnable at `now`.
    pub(crate) fn member(self: &Arc<Self>, now: UnixMillis) -> Box<dyn Member> {
        Box::new(Leasing {
            slots: self.slots.lock().clone(),
            owner: self.clone(),
            now,
            taken: 0,
            leased: Vec::new(),
            has_all: false,
        })
    }
}

/// One lease of tasks at the end of a group.
struct Leasing {
    owner: Arc<SlotLeasing>,
    slots: Option<Arc<dyn WorkerSlots>>,
    now: UnixMillis,
    /// The number of slots taken and not yet filled or freed.
    taken: usize,
    leased: Vec<ClaimedTask>,
    /// Whether all runnable tasks are leased.
    has_all: bool,
}

impl Member for Leasing {
    fn run(&mut self, conn: &Connection, _: &WriteContext<'_>) -> bool {
        let Some(slots) = &self.slots else { return true };
        let command = slots.claim(self.now);
        self.taken = command.tasks_max;
        if self.taken == 0 {
            return true;
        }
        let claimed = catch_unwind(AssertUnwindSafe(|| tasks::claim(Tx(conn), &command)));
        match claimed.unwrap_or_else(|_| Err(StoreError::Unavailable("a panic".to_owned()))) {
            Ok(claims) => {
                self.has_all = claims.claimed.len() < self.taken;
                self.leased = claims.claimed;
                true
            }
            Err(error) => {
                tracing::error!(%error, "tasks that became runnable could not be leased");
                false
            }
        }
    }

    fn fail(&mut self, _: &str) {
        self.leased.clear();
        self.has_all = false;
    }

    fn answer(mut self: Box<Self>) {
        let leased = std::mem::take(&mut self.leased);
        if !self.has_all {
            self.owner.wake();
        }
        if let Some(slots) = &self.slots {
            self.taken -= leased.len();
            slots.fill(leased);
        }
    }
}

impl Drop for Leasing {
    fn drop(&mut self) {
        if let Some(slots) = &self.slots {
            slots.free(self.taken);
        }
    }
}
