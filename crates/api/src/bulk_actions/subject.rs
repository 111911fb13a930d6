//! A task, or an import as one: the sums of its tasks, and their records one after another. Entries
//! of an import have global indexes, so that a place in its records needs no other name. Invariant:
//! a part holds the records of the entries from its first index up to that of the next part.

use std::sync::Arc;

use caseload_model::ids::DomainId;
use caseload_model::import::Import;
use caseload_model::task::{Family, PAYLOAD_ENTRIES_MAX, Task};
use caseload_store::{RecordBlock, RecordBlockSize, RecordKind, Serve, StoreError, Submit};

use crate::imports::FileForm;

/// The records of a bulk path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum SubjectKind {
    Task,
    Import,
}

impl SubjectKind {
    pub(crate) const fn noun(self) -> &'static str {
        match self {
            Self::Task => "task",
            Self::Import => "import",
        }
    }

    /// The word in the path.
    pub(crate) const fn segment(self) -> &'static str {
        match self {
            Self::Task => "bulk_actions",
            Self::Import => "imports",
        }
    }

    pub(super) fn of_segment(word: &str) -> Option<Self> {
        [Self::Task, Self::Import].into_iter().find(|kind| kind.segment() == word)
    }
}

/// A task or an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Subject {
    /// The task, or the sum of the tasks of the import, with its id.
    pub(crate) task: Task,
    pub(crate) import: Option<Arc<Import>>,
}

impl From<Task> for Subject {
    fn from(task: Task) -> Self {
        Self { task, import: None }
    }
}

impl From<Import> for Subject {
    fn from(import: Import) -> Self {
        let task = Task {
            id: import.id.clone(),
            action: import.action,
            status: import.status(),
            outcome: import.outcome(),
            dry_run: import.dry_run,
            upsert: import.upsert,
            counts: import.counts(),
            created_at: import.created_at,
            queued_at: None,
            started_at: import.started_at(),
            completed_at: import.completed_at(),
            expires_at: Some(import.expires_at),
            parent_id: import.parent_id.clone(),
            retried_by: import.retried_by.clone(),
            run_by: import.run_by.clone(),
            origin: import.origin.clone(),
            warnings: import.warnings(),
            position: None,
            deaths: 0,
            next_try_at: None,
            import_id: None,
        };
        Self { task, import: Some(Arc::new(import)) }
    }
}

impl Subject {
    /// The record of this id, if the family has one.
    pub(crate) async fn find(
        store: &dyn Serve,
        domain: DomainId,
        (family, kind): (Family, SubjectKind),
        id: &str,
    ) -> Result<Option<Self>, StoreError> {
        match kind {
            SubjectKind::Task => Ok(store.task(domain, family, id).await?.map(Self::from)),
            SubjectKind::Import => Ok(store.import(domain, family, id).await?.map(Self::from)),
        }
    }

    pub(crate) const fn kind(&self) -> SubjectKind {
        if self.import.is_some() { SubjectKind::Import } else { SubjectKind::Task }
    }

    pub(crate) const fn noun(&self) -> &'static str {
        self.kind().noun()
    }

    /// Its tasks in the order of their entries.
    pub(crate) fn tasks(&self) -> &[Task] {
        self.import.as_ref().map_or(std::slice::from_ref(&self.task), |import| &import.tasks)
    }

    pub(super) fn parts(&self) -> Parts {
        let numbers = self.import.as_ref().map(|import| FileForm::of(import).part_numbers());
        let part = |(at, task): (usize, &Task)| {
            let number = numbers.as_ref().map_or(0, |numbers| numbers.number(at));
            Part {
                first: number.saturating_mul(PAYLOAD_ENTRIES_MAX as u32),
                task_id: task.id.clone(),
                succeeded: task.counts.succeeded,
                failed: task.counts.failed,
            }
        };
        Parts(self.tasks().iter().enumerate().map(part).collect())
    }
}

/// The tasks whose records follow one another.
#[derive(Debug, Clone)]
pub(super) struct Parts(Arc<[Part]>);

#[derive(Debug)]
struct Part {
    /// No entry of the task has a smaller index.
    first: u32,
    task_id: String,
    succeeded: u32,
    failed: u32,
}

impl Part {
    const fn has_records(&self, kind: RecordKind) -> bool {
        match kind {
            RecordKind::Results => self.succeeded > 0,
            RecordKind::Errors => self.failed > 0,
        }
    }
}

impl Parts {
    /// The position of the part that an index belongs to.
    fn position_of(&self, index: u32) -> usize {
        self.0.partition_point(|part| part.first <= index).saturating_sub(1)
    }

    /// The first block of records that begins at or after `from_index`.
    pub(super) async fn record_block(
        &self,
        store: &dyn Submit,
        domain: DomainId,
        kind: RecordKind,
        from_index: u32,
    ) -> Result<Option<RecordBlock>, StoreError> {
        let parts = self.0[self.position_of(from_index)..].iter();
        for part in parts.filter(|part| part.has_records(kind)) {
            let from = from_index.max(part.first);
            let block = store.record_block(domain, &part.task_id, kind, from).await?;
            if block.is_some() {
                return Ok(block);
            }
        }
        Ok(None)
    }

    /// The sizes of all blocks of records.
    pub(super) async fn record_sizes(
        &self,
        store: &dyn Submit,
        domain: DomainId,
        kind: RecordKind,
    ) -> Result<Vec<RecordBlockSize>, StoreError> {
        let mut sizes = Vec::new();
        for part in self.0.iter().filter(|part| part.has_records(kind)) {
            sizes.extend(store.record_sizes(domain, &part.task_id, kind).await?);
        }
        Ok(sizes)
    }

    /// An index with which the block that has the record of `index` is read, or the next block if
    /// none has it.
    pub(super) async fn block_of(
        &self,
        store: &dyn Submit,
        domain: DomainId,
        kind: RecordKind,
        index: u32,
    ) -> Result<u32, StoreError> {
        let Some(part) = self.0.get(self.position_of(index)) else { return Ok(0) };
        let sizes = store.record_sizes(domain, &part.task_id, kind).await?;
        let begins = sizes.iter().map(|block| block.first_index);
        Ok(begins.take_while(|first| *first <= index).last().unwrap_or(part.first))
    }
}
