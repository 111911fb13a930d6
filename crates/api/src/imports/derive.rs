//! The retry of an import, and the run of one that was a dry run: a new import of the entries of
//! the old one, copied task by task. Its entries keep the index and the line that they have in the
//! file. Only one task is in memory at a time.

use axum::response::Response;
use caseload_model::import::Import;
use caseload_model::task::{Task, TaskOrigin};
use caseload_store::{CreateImport, ImportPart, PackedBlock, StoreError};

use super::accept::{accept, new_import};
use super::file_form::FileForm;
use crate::bulk_actions::{DeriveTask, StagedPart, Staging, gone, line_bytes};
use crate::http::idempotency::content_hash;
use crate::http::problem::Problem;
use crate::state::AppState;

/// A new import of the entries that failed or were not processed.
pub(crate) async fn retry_import(
    state: &AppState,
    call: DeriveTask,
    import: &Import,
) -> Result<Response, Problem> {
    let (caller, store) = (&call.caller, &state.store);
    let memory = state.memory.take(Some(caller.domain_id), state.config.body_bytes_max).await?;
    let mut copied = Copied::new(Staging::new(state, caller));
    let mut content_length = 0;
    for task in import.tasks.iter().filter(|task| task.retryable_entries() > 0) {
        let blocks = store.retry_payload(caller.domain_id, &task.id).await?;
        let (bytes, blocks) = state.cpu.run(move || (line_bytes(&blocks), blocks)).await?;
        content_length += bytes?;
        copied.add(task, task.retryable_entries(), blocks).await?;
    }
    drop(memory);
    let digest = content_hash(&[b"retry", import.id.as_bytes()]);
    let new = new_import(state, caller, import.action)?;
    let origin = TaskOrigin {
        file_name: import.origin.file_name.clone(),
        content_length: Some(content_length),
        ..new.origin
    };
    let command = CreateImport {
        dry_run: import.dry_run,
        upsert: import.upsert,
        digest,
        parent_id: Some(import.id.clone()),
        origin,
        ..new
    };
    copied.accept(state, call, import, command).await
}

/// A new import with all entries of a dry run. It counts as an import of the file itself.
pub(crate) async fn run_import(
    state: &AppState,
    call: DeriveTask,
    import: &Import,
) -> Result<Response, Problem> {
    let (caller, store) = (&call.caller, &state.store);
    let memory = state.memory.take(Some(caller.domain_id), state.config.body_bytes_max).await?;
    let mut copied = Copied::new(Staging::new(state, caller));
    for task in &import.tasks {
        let blocks = match store.whole_payload(caller.domain_id, &task.id).await {
            Err(StoreError::NotFound { .. }) => return Err(gone()),
            blocks => blocks?,
        };
        copied.add(task, task.counts.total, blocks).await?;
    }
    drop(memory);
    let (new, id) = (new_import(state, caller, import.action)?, &import.id);
    let command = CreateImport {
        upsert: import.upsert,
        digest: FileForm::of(import).digest().unwrap_or(content_hash(&[b"run", id.as_bytes()])),
        parent_id: Some(import.id.clone()),
        runs_parent: true,
        origin: TaskOrigin { submitted_by: new.origin.submitted_by, ..import.origin.clone() },
        ..new
    };
    copied.accept(state, call, import, command).await
}

/// The copied tasks.
struct Copied {
    staging: Staging,
    /// The old task and the number of entries of each part.
    parents: Vec<(String, u32)>,
}

impl Copied {
    const fn new(staging: Staging) -> Self {
        Self { staging, parents: Vec::new() }
    }

    async fn add(
        &mut self,
        task: &Task,
        entries: u32,
        blocks: Vec<PackedBlock>,
    ) -> Result<(), Problem> {
        self.parents.push((task.id.clone(), entries));
        self.staging.add(blocks).await
    }

    async fn accept(
        mut self,
        state: &AppState,
        call: DeriveTask,
        import: &Import,
        command: CreateImport,
    ) -> Result<Response, Problem> {
        let parts = self.staging.take().await?;
        let numbers = parts.iter().map(|part| part.number).collect();
        let parts = parts.into_iter().zip(self.parents).map(|(part, (parent, total))| {
            let StagedPart { task_id, content_length, staged, blocks, .. } = part;
            ImportPart { task_id, total, content_length, staged, blocks, parent_id: Some(parent) }
        });
        let file = FileForm::of(import).with_parts(numbers).with_digest(&command.digest);
        let command = CreateImport { file: file.text(), parts: parts.collect(), ..command };
        let staging = &mut self.staging;
        accept(state, &call.caller, command, call.key.clone(), || staging.set_accepted()).await
    }
}
