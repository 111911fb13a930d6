//! The retry of an import, and the run of one that was a dry run: a new import of the entries of
//! the old one, copied task by task. Its entries keep the index and the line that they have in the
//! file. Only one task is in memory at a time.

use axum::response::Response;
use caseload_model::import::Import;
use caseload_model::task::TaskOrigin;
use caseload_store::{CreateImport, ImportPart, StoreError};

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
    let (copied, content_length) = Copied::of(state, &call, import, true).await?;
    let digest = content_hash(&[b"retry", import.id.as_bytes()]);
    let new = new_import(state, &call.caller, import.action)?;
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
    let (copied, _) = Copied::of(state, &call, import, false).await?;
    let (new, id) = (new_import(state, &call.caller, import.action)?, &import.id);
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
    /// The entries that a retry has, or else all of them, and the bytes of a retry as lines.
    async fn of(
        state: &AppState,
        call: &DeriveTask,
        import: &Import,
        retries: bool,
    ) -> Result<(Self, u64), Problem> {
        let (caller, store) = (&call.caller, &state.store);
        let domain = caller.domain_id;
        let _memory = state.memory.take(Some(domain), state.config.body_bytes_max).await?;
        let mut copied = Self { staging: Staging::new(state, caller), parents: Vec::new() };
        let mut content_length = 0;
        for task in &import.tasks {
            let (entries, blocks) = if retries {
                (task.retryable_entries(), store.retry_payload(domain, &task.id))
            } else {
                (task.counts.total, store.whole_payload(domain, &task.id))
            };
            if entries == 0 {
                continue;
            }
            let mut blocks = match blocks.await {
                Err(StoreError::NotFound { .. }) => return Err(gone()),
                blocks => blocks?,
            };
            if retries {
                let bytes;
                (bytes, blocks) = state.cpu.run(move || (line_bytes(&blocks), blocks)).await?;
                content_length += bytes?;
            }
            copied.parents.push((task.id.clone(), entries));
            copied.staging.add(blocks).await?;
        }
        Ok((copied, content_length))
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
