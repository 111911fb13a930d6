//! The queue of the writer thread: small and long commands. Among each kind, domains take turns, so
//! that one with very many commands waits for itself. Small commands go first, but two groups in a
//! row never begin with one while a long command waits. Invariant: every accepted command runs, or
//! its caller gets [`StoreError::Closed`].

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Instant;

use caseload_model::ids::DomainId;
use parking_lot::{Condvar, Mutex};

use super::command::{Member, QueuedCommand, Weight};
use super::gauges::Gauges;
use crate::Fault;
use caseload_store::StoreError;
use caseload_store::fair_slots::{FairSlots, Turns};

/// The most commands that may wait, and those of one domain. Further callers wait for room in the
/// queue.
const COMMANDS_MAX: usize = 1024;
const COMMANDS_OF_DOMAIN_MAX: usize = 256;

/// Filled by many callers, emptied by the writer.
pub(super) struct Queue {
    state: Mutex<State>,
    filled: Condvar,
    places: FairSlots,
    gauges: Arc<Gauges>,
}

#[derive(Default)]
struct State {
    small: Turns<QueuedCommand>,
    long: Turns<QueuedCommand>,
    closed: bool,
    /// Whether the next group begins with a long command, if one waits.
    long_next: bool,
}

impl Queue {
    pub(super) fn new(gauges: Arc<Gauges>) -> Self {
        Self {
            state: Mutex::default(),
            filled: Condvar::new(),
            places: FairSlots::new(COMMANDS_MAX, COMMANDS_OF_DOMAIN_MAX),
            gauges,
        }
    }

    /// Adds a command as soon as there is room.
    pub(super) async fn push(
        &self,
        domain: DomainId,
        member: Box<dyn Member>,
        weight: Weight,
    ) -> Result<(), Fault> {
        let since = Instant::now();
        let place = Some(self.places.take(domain).await?);
        let mut state = self.state.lock();
        if state.closed {
            return Err(StoreError::Closed.into());
        }
        let queued = QueuedCommand { member, weight, since, place };
        match weight {
            Weight::Small => state.small.push(domain, queued),
            Weight::Long => state.long.push(domain, queued),
        }
        self.note_lengths(&state);
        drop(state);
        self.filled.notify_one();
        Ok(())
    }

    /// Waits for the command that begins the next group. `None` once the queue is closed and empty.
    pub(super) fn first(&self) -> Option<QueuedCommand> {
        let mut state = self.state.lock();
        loop {
            let long_first = state.small.is_empty() || state.long_next;
            let first = if long_first { state.long.pop() } else { None };
            if let Some(first) = first.or_else(|| state.small.pop()) {
                state.long_next = first.weight != Weight::Long;
                return Some(self.taken(&state, first));
            }
            if state.closed {
                return None;
            }
            self.filled.wait(&mut state);
        }
    }

    /// A command that may join a group. Small commands may join any group, long ones only a group
    /// that began with a long one.
    pub(super) fn next(&self, began_with: Weight) -> Option<QueuedCommand> {
        let mut state = self.state.lock();
        let mut next = state.small.pop();
        if next.is_none() && began_with == Weight::Long {
            next = state.long.pop();
        }
        next.map(|next| self.taken(&state, next))
    }

    /// Refuses further commands. The waiting ones still run.
    pub(super) fn close(&self) {
        self.places.close();
        self.state.lock().closed = true;
        self.filled.notify_all();
    }

    /// Drops the waiting commands, because no thread will run them.
    pub(super) fn abandon(&self) {
        self.close();
        let mut state = self.state.lock();
        let waiting = (std::mem::take(&mut state.small), std::mem::take(&mut state.long));
        self.note_lengths(&state);
        drop(state);
        drop(waiting);
    }

    fn taken(&self, state: &State, mut queued: QueuedCommand) -> QueuedCommand {
        queued.place = None;
        self.note_lengths(state);
        queued
    }

    fn note_lengths(&self, state: &State) {
        self.gauges.small_waiting.store(state.small.len(), Ordering::Relaxed);
        self.gauges.long_waiting.store(state.long.len(), Ordering::Relaxed);
    }
}
