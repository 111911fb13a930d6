//! Computes the index update of an import on a thread of its own, while the writer thread inserts
//! the next issues. Every other command waits for the writer thread, so it does no work that needs
//! no database. The thread lives as long as its chunk. Invariant: the result covers every step, or
//! it is an error.

use std::ops::Range;
use std::sync::Arc;
use std::sync::mpsc::{SyncSender, sync_channel};
use std::thread::{Builder, JoinHandle};

use caseload_model::issue::write::IssueRecord;
use caseload_model::issue::{IssueBody, IssueFragments, IssueRow};

use crate::Fault;
use caseload_store::issues::{IndexChanges, IndexUpdate, IndexedIssue, entries_of};
use caseload_store::{ChunkWork, StoreError};

/// Planned issues, and the entries that they come from.
#[derive(Debug)]
pub(super) struct Slice {
    pub(super) work: Arc<ChunkWork>,
    pub(super) entries: Range<usize>,
    pub(super) issues: Vec<IssueRow>,
}

impl Slice {
    /// Each issue with the body that was prepared before planning.
    pub(super) fn bodies(&self) -> Result<impl Iterator<Item = (&IssueRow, &IssueBody)>, Fault> {
        let entries = entries_of(&self.work, &self.entries)?;
        let bodies = self.issues.iter().map(|issue| {
            let prepared = entries[issue.source].item.as_ref();
            prepared.map(|prepared| (issue, &prepared.body))
        });
        let bodies: Result<Vec<_>, _> = bodies.collect();
        let bodies =
            bodies.map_err(|_| StoreError::Corrupt("a refused entry was planned".to_owned()))?;
        Ok(bodies.into_iter())
    }
}

/// One step of the chunk.
#[derive(Debug)]
enum Step {
    /// A slice and the rows of its issues.
    Inserted(Slice, Vec<i64>),
    /// Issues that are replaced, and their rows.
    Removed(Vec<(u32, IssueRecord)>),
}

/// Steps that may wait for the thread.
const STEPS_WAITING: usize = 4;

/// The thread of one chunk, once it has a step.
#[derive(Debug, Default)]
pub(super) struct IndexThread {
    running: Option<(SyncSender<Step>, Running)>,
}

type Running = JoinHandle<Result<IndexUpdate, Fault>>;

impl IndexThread {
    /// Adds a slice that the writer thread has inserted.
    pub(super) fn add(&mut self, slice: Slice, rows: Vec<i64>) -> Result<(), Fault> {
        self.send(Step::Inserted(slice, rows))
    }

    /// Adds issues that the writer thread is about to delete.
    pub(super) fn remove(&mut self, removed: Vec<(u32, IssueRecord)>) -> Result<(), Fault> {
        self.send(Step::Removed(removed))
    }

    fn send(&mut self, step: Step) -> Result<(), Fault> {
        if self.running.is_none() {
            let (steps, given) = sync_channel(STEPS_WAITING);
            let thread = Builder::new().name("store-index".to_owned()).spawn(move || {
                let mut changes = IndexChanges::default();
                given.into_iter().try_for_each(|step| note(&mut changes, &step))?;
                Ok(changes.finish())
            });
            let thread = thread.map_err(|e| StoreError::Unavailable(e.to_string()))?;
            self.running = Some((steps, thread));
        }
        if let Some((steps, _)) = &self.running {
            // If the thread has ended, it found a fault; `end` returns it.
            drop(steps.send(step));
        }
        Ok(())
    }

    /// Waits for the update of all steps.
    pub(super) fn end(self) -> Result<IndexUpdate, Fault> {
        let Some((steps, thread)) = self.running else { return Ok(IndexUpdate::default()) };
        drop(steps);
        thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

fn note(changes: &mut IndexChanges, step: &Step) -> Result<(), Fault> {
    match step {
        Step::Inserted(slice, rows) => {
            for ((issue, body), row) in slice.bodies()?.zip(rows) {
                let fragments = &IssueFragments::new(&issue.head, body);
                let columns = &issue.columns;
                changes.change(*row, None, Some(IndexedIssue { columns, fragments }))?;
            }
        }
        Step::Removed(removed) => {
            for (row, issue) in removed {
                let (columns, fragments) = (&issue.columns, &issue.fragments());
                changes.change((*row).into(), Some(IndexedIssue { columns, fragments }), None)?;
            }
        }
    }
    Ok(())
}
