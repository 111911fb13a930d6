//! Imports: one file as several tasks. The payload of each task is staged under the task's id with
//! [`Submit::stage_payload`](super::Submit). One commit then makes the import and all its tasks
//! real, or nothing. Which file it was and how it was read, the store has as text.

use std::mem;

use caseload_model::ids::DomainId;
use caseload_model::import::Import;
use caseload_model::sketch::Sketch;
use caseload_model::task::{Action, Family, Task, TaskOrigin};
use caseload_model::time::UnixMillis;

use super::{AnswerOf, CancelTask, CreateTask, IdempotencyKey, Idempotent, ListTasks, StoreFuture};
use crate::PackedBlock;

/// Creating, reading and cancelling imports. Their tasks run like all others.
pub trait Imports: Send + Sync + 'static {
    /// Creates an import with all its tasks, durably, in one commit. Errors are those of
    /// [`Submit::create_task`](super::Submit). The limit of unfinished tasks needs room for one
    /// task: an import is accepted whole. After an error the staged blocks remain until they are
    /// discarded or purged.
    fn create_import(&self, command: CreateImport) -> StoreFuture<'_, Idempotent<NewImport>>;
    /// An import of one family with its tasks, which have no position; `None` for imports of other
    /// families.
    fn import(&self, domain: DomainId, family: Family, id: &str)
    -> StoreFuture<'_, Option<Import>>;
    /// A page of the imports of one family, newest first. The filters look at the state that an
    /// import has as a whole.
    fn list_imports(&self, request: ListTasks) -> StoreFuture<'_, ImportPage>;
    /// Cancels the unfinished tasks of an import, whose id is the command's `task_id`. Returns the
    /// import as it is then. [`StoreError::TaskCompleted`](super::StoreError) if all have ended.
    fn cancel_import(&self, command: CancelTask) -> StoreFuture<'_, Import>;
}

/// Creates an import. All of it becomes durable in one commit.
#[derive(Debug, Clone)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct CreateImport {
    pub domain: DomainId,
    /// As in [`WriteOrigin`](super::WriteOrigin).
    pub key: Option<String>,
    /// As in [`WriteOrigin`](super::WriteOrigin).
    pub request_id: Option<String>,
    pub id: String,
    pub action: Action,
    pub dry_run: bool,
    /// As in [`Import::upsert`].
    pub upsert: bool,
    /// As in [`Import::file`].
    pub file: String,
    /// SHA-256 of the file's bytes and of all options but the dry run. Repeats are found by it: two
    /// imports that are not dry runs have the same one, and the `expires_at` of the first is to
    /// come. A run of a dry run has the digest of that one instead, and a retry has none.
    pub digest: [u8; 32],
    /// The entries without an id. The import of a parent has those of the parent instead.
    pub sketch: Sketch,
    /// Whether a repeat returns the first import instead of creating another one.
    pub once: bool,
    /// In the order of the file; at least one.
    pub parts: Vec<ImportPart>,
    pub now: UnixMillis,
    pub expires_at: UnixMillis,
    /// As in [`CreateTask`](super::CreateTask).
    pub unfinished_max: u32,
    /// The import that this one retries, or the dry run that it runs.
    pub parent_id: Option<String>,
    /// Whether the parent is a dry run that this import runs.
    pub runs_parent: bool,
    pub origin: TaskOrigin,
    /// The key under which the caller may repeat the request, and the answer to a repeat.
    pub idempotency: Option<(IdempotencyKey, AnswerOf<NewImport>)>,
}

/// The entries of one task of an import.
#[derive(Debug, Clone)]
pub struct ImportPart {
    pub task_id: String,
    /// Entries, staged ones included.
    pub total: u32,
    /// Bytes of its blocks without compression, staged ones included.
    pub content_length: u64,
    /// Blocks that were staged under this id; they come before `blocks`.
    pub staged: u32,
    pub blocks: Vec<PackedBlock>,
    /// The task of the parent import that has the same entries. Each task of an import may also be
    /// retried or run by itself. Such a task cannot have a part here: the import is then refused
    /// with [`StoreError::AlreadyRetried`](super::StoreError) or
    /// [`StoreError::AlreadyRun`](super::StoreError), which name that other task. A retry leaves
    /// it out; of a dry run, the other tasks can be run by themselves, too.
    pub parent_id: Option<String>,
}

impl CreateImport {
    /// The commands for its tasks, which take the payload of the parts.
    pub fn take_tasks(&mut self) -> Vec<CreateTask> {
        let parts = mem::take(&mut self.parts);
        parts.into_iter().map(|part| self.task(part)).collect()
    }

    fn task(&self, part: ImportPart) -> CreateTask {
        CreateTask {
            domain: self.domain,
            key: None,
            request_id: None,
            id: part.task_id,
            action: self.action,
            dry_run: self.dry_run,
            upsert: self.upsert,
            total: part.total,
            staged: part.staged,
            blocks: part.blocks,
            now: self.now,
            expires_at: self.expires_at,
            unfinished_max: self.unfinished_max,
            parent_id: part.parent_id,
            runs_parent: self.runs_parent,
            origin: TaskOrigin { content_length: Some(part.content_length), ..self.origin.clone() },
            import_id: Some(self.id.clone()),
            idempotency: None,
        }
    }

    /// The import with these tasks, as it is right after its creation.
    pub fn accepted(&self, tasks: Vec<Task>) -> Import {
        let first = tasks.first();
        Import {
            id: self.id.clone(),
            action: self.action,
            dry_run: self.dry_run,
            upsert: self.upsert,
            origin: self.origin.clone(),
            file: self.file.clone(),
            created_at: first.map_or(self.now, |task| task.created_at),
            expires_at: first.and_then(|task| task.expires_at).unwrap_or(self.expires_at),
            parent_id: self.parent_id.clone(),
            retried_by: None,
            run_by: None,
            repeat_of: None,
            doubles: None,
            tasks,
        }
    }
}

/// The outcome of creating an import.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewImport {
    pub import: Import,
    /// Whether this is an earlier import, and nothing was created.
    pub is_repeat: bool,
}

/// A page of imports with the exact number of all that match, from one snapshot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportPage {
    pub imports: Vec<Import>,
    pub total_hits: u64,
}
