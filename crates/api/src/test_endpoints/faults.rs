//! The faults that were asked for and are not used up, in the order in which they were: the first
//! one that matches acts. Faults of calls are in [`super::call_faults`]; those of tasks act in
//! [`super::held_work`].

use caseload_model::error_code::ErrorCode;
use caseload_model::record::EntryFault;
use http::Method;
use parking_lot::Mutex;
use serde_json::{Map, Value};
use tokio::sync::watch;

use super::call_faults::{CallFault, Effect};
use crate::http::problem::Problem;

/// The most faults at a time.
const FAULTS_MAX: usize = 1000;

/// A fault, as it was asked for.
#[derive(Debug, Clone)]
pub(super) enum TestFault {
    Call(CallFault),
    /// Tasks stay in this state.
    Hold(Stage),
    /// The next tasks complete with these errors.
    TaskErrors {
        errors: Vec<EntryErrors>,
        left: u32,
    },
}

/// The state in which tasks are held.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    Queued,
    Processing,
}

/// The errors of an entry.
#[derive(Debug, Clone)]
pub(super) struct EntryErrors {
    /// The number of the entry, from 0.
    pub(super) index: u32,
    pub(super) faults: Vec<EntryFault>,
}

#[derive(Debug)]
struct Active {
    id: String,
    /// The map that asked for it.
    shown: Map<String, Value>,
    fault: TestFault,
}

#[derive(Debug, Default)]
pub(super) struct Faults {
    state: Mutex<State>,
    /// Rises whenever tasks that were held may run.
    changed: watch::Sender<u64>,
}

#[derive(Debug, Default)]
struct State {
    /// Faults so far. Ids are not used again after a reset.
    count: u64,
    active: Vec<Active>,
}

impl Faults {
    /// Adds a fault. Returns the map that asked for it, with its id.
    pub(super) fn add(
        &self,
        mut map: Map<String, Value>,
        fault: TestFault,
    ) -> Result<Value, Problem> {
        let mut state = self.state.lock();
        if state.active.len() >= FAULTS_MAX {
            let detail = format!(
                "there may be {FAULTS_MAX} faults at a time; DELETE /_test/faults removes all"
            );
            return Err(Problem::new(ErrorCode::LimitReached, detail));
        }
        state.count += 1;
        let id = format!("f{}", state.count);
        map.insert("id".to_owned(), id.clone().into());
        let shown = Value::Object(map.clone());
        state.active.push(Active { id, shown: map, fault });
        Ok(shown)
    }

    pub(super) fn list(&self) -> Vec<Value> {
        let state = self.state.lock();
        state.active.iter().map(|one| Value::Object(one.shown.clone())).collect()
    }

    /// Removes a fault; whether there was one.
    pub(super) fn remove(&self, id: &str) -> bool {
        let mut state = self.state.lock();
        let before = state.active.len();
        state.active.retain(|one| one.id != id);
        let found = state.active.len() < before;
        drop(state);
        self.wake();
        found
    }

    pub(super) fn clear(&self) {
        self.state.lock().active.clear();
        self.wake();
    }

    /// Notifies those who wait that tasks may run.
    pub(super) fn wake(&self) {
        self.changed.send_modify(|count| *count += 1);
    }

    pub(super) fn changes(&self) -> watch::Receiver<u64> {
        self.changed.subscribe()
    }

    /// The fault that this call meets, and its id.
    pub(super) fn of_call(&self, method: &Method, path: &str) -> Option<(String, Effect)> {
        let mut state = self.state.lock();
        let found = state.active.iter_mut().find_map(|one| match &mut one.fault {
            TestFault::Call(fault) => {
                fault.take(method, path).map(|effect| (one.id.clone(), effect))
            }
            _ => None,
        });
        state.active.retain(|one| !matches!(&one.fault, TestFault::Call(f) if f.is_used_up()));
        found
    }

    /// Whether tasks stay in this state.
    pub(super) fn holds(&self, stage: Stage) -> bool {
        let state = self.state.lock();
        state.active.iter().any(|one| matches!(one.fault, TestFault::Hold(held) if held == stage))
    }

    /// The errors of a task that begins, if there are some for it.
    pub(super) fn of_task(&self) -> Option<Vec<EntryErrors>> {
        let mut state = self.state.lock();
        let found = state.active.iter_mut().find_map(|one| match &mut one.fault {
            TestFault::TaskErrors { errors, left } => {
                *left = left.saturating_sub(1);
                Some(errors.clone())
            }
            _ => None,
        });
        let is_used_up = |one: &Active| matches!(one.fault, TestFault::TaskErrors { left: 0, .. });
        state.active.retain(|one| !is_used_up(one));
        found
    }
}
