//! Leasing tasks in the commit by which they become runnable. A command that may have made a task
//! runnable asks for it; at the end of its group the tasks that are next are leased to the hands
//! that a server of this process lends, as one more member of the group: durable with it, undone
//! alone where it fails. Where no hand is free, or more may be runnable than there are hands, the
//! bell rings.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex, PoisonError};

use caseload_model::time::UnixMillis;
use rusqlite::Connection;
use tokio::sync::watch;

use super::engine::{Member, WriteContext};
use super::tasks;
use caseload_store::{ClaimedTask, Hands, StoreError};

/// Who is told of work.
#[derive(Debug, Default)]
pub(super) struct Handing {
    bell: watch::Sender<u64>,
    hands: Mutex<Option<Arc<Hands>>>,
}

impl Handing {
    pub(super) fn lend(&self, hands: Arc<Hands>) {
        *self.hands.lock().unwrap_or_else(PoisonError::into_inner) = Some(hands);
    }

    pub(super) fn ring(&self) {
        self.bell.send_modify(|rung| *rung = rung.wrapping_add(1));
    }

    pub(super) fn bell(&self) -> watch::Receiver<u64> {
        self.bell.subscribe()
    }

    /// The last member of a group in which tasks may have become runnable at `now`.
    pub(super) fn member(self: &Arc<Self>, now: UnixMillis) -> Box<dyn Member> {
        let hands = self.hands.lock().unwrap_or_else(PoisonError::into_inner).clone();
        Box::new(HandOut {
            handing: self.clone(),
            hands,
            now,
            taken: 0,
            leased: Vec::new(),
            found_all: false,
        })
    }
}

struct HandOut {
    handing: Arc<Handing>,
    hands: Option<Arc<Hands>>,
    now: UnixMillis,
    /// Hands that were taken for this.
    taken: usize,
    leased: Vec<ClaimedTask>,
    /// Whether all that is runnable is leased.
    found_all: bool,
}

impl Member for HandOut {
    fn run(&mut self, conn: &Connection, _: &WriteContext<'_>) -> bool {
        let Some(hands) = &self.hands else { return true };
        let command = hands.claim(self.now);
        self.taken = command.tasks_max;
        if self.taken == 0 {
            return true;
        }
        let claimed = catch_unwind(AssertUnwindSafe(|| tasks::claim(conn, &command)));
        match claimed.unwrap_or_else(|_| Err(StoreError::Unavailable("a panic".to_owned()).into()))
        {
            Ok(leased) => {
                self.found_all = leased.len() < self.taken;
                self.leased = leased;
                true
            }
            Err(error) => {
                tracing::error!(%error, "no task could be leased where it became runnable");
                false
            }
        }
    }

    fn fail(&mut self, _: &str) {
        self.leased.clear();
        self.found_all = false;
    }

    fn answer(mut self: Box<Self>) {
        let leased = std::mem::take(&mut self.leased);
        if !self.found_all {
            self.handing.ring();
        }
        if let Some(hands) = &self.hands {
            self.taken -= leased.len();
            hands.put(leased);
        }
    }
}

impl Drop for HandOut {
    fn drop(&mut self) {
        if let Some(hands) = &self.hands {
            hands.give_back(self.taken);
        }
    }
}
