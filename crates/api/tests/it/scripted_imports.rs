//! The imports of the store double: it makes them as a store does, and runs none.

use std::sync::Mutex;

use caseload_model::ids::DomainId;
use caseload_model::import::Import;
use caseload_model::task::{Counts, Family, Outcome, TaskStatus};
use caseload_model::time::UnixMillis;
use caseload_store::{
    CancelTask, CreateImport, Idempotent, ImportPage, Imports, ListTasks, NewImport, PackedBlock,
    StoreError, StoreFuture,
};

use crate::scripted_store::{NOW, ScriptedStore, created};

#[derive(Default)]
pub(crate) struct ScriptedImports {
    pub(crate) created: Mutex<Vec<CreateImport>>,
    pub(crate) all: Mutex<Vec<(DomainId, Import)>>,
}

impl ScriptedImports {
    pub(crate) fn change(&self, id: &str, change: impl FnOnce(&mut Import)) {
        let mut all = self.all.lock().unwrap();
        change(&mut all.iter_mut().find(|(_, import)| import.id == id).unwrap().1);
    }

    /// Ends all tasks of an import, without a single entry processed.
    pub(crate) fn cancel(&self, id: &str) {
        self.change(id, |import| {
            let tasks = import.tasks.iter_mut();
            tasks.for_each(|task| task.complete(Outcome::Cancelled, UnixMillis(NOW.0 + 3)));
        });
    }

    fn find(&self, domain: DomainId, family: Family, id: &str) -> Option<Import> {
        let all = self.all.lock().unwrap();
        let found = all.iter().find(|(owner, import)| {
            *owner == domain && import.action.family() == family && import.id == id
        });
        found.map(|(_, import)| import.clone())
    }
}

impl ScriptedStore {
    /// The blocks of a task of an import.
    pub(crate) fn blocks_of(&self, task_id: &str) -> Vec<PackedBlock> {
        let staged = self.staged.lock().unwrap();
        let staged = staged.iter().filter(|part| part.task_id == task_id);
        let mut blocks: Vec<_> = staged.flat_map(|part| part.blocks.clone()).collect();
        let created = self.imports.created.lock().unwrap();
        let parts = created.iter().flat_map(|import| &import.parts);
        let parts = parts.filter(|part| part.task_id == task_id);
        blocks.extend(parts.flat_map(|part| part.blocks.clone()));
        blocks
    }
}

impl Imports for ScriptedStore {
    fn create_import(&self, command: CreateImport) -> StoreFuture<'_, Idempotent<NewImport>> {
        Box::pin(async move {
            self.may_fail()?;
            let earlier = {
                let commands = self.imports.created.lock().unwrap();
                let same = |before: &&CreateImport| {
                    before.digest == command.digest && !before.dry_run && !command.dry_run
                };
                commands.iter().find(same).map(|before| before.id.clone())
            };
            let (domain, family) = (command.domain, command.action.family());
            if let Some(first) = earlier.as_ref().filter(|_| command.once)
                && let Some(import) = self.imports.find(domain, family, first)
            {
                return Ok(Idempotent::Done(NewImport { import, is_repeat: true }));
            }
            let tasks = command.parts.iter().map(|part| {
                let mut task = created(&part.task_id, command.action, part.total);
                task.import_id = Some(command.id.clone());
                task
            });
            let import = Import {
                id: command.id.clone(),
                action: command.action,
                dry_run: command.dry_run,
                upsert: command.upsert,
                origin: command.origin.clone(),
                file: command.file.clone(),
                created_at: command.now,
                expires_at: command.expires_at,
                parent_id: command.parent_id.clone(),
                retried_by: None,
                run_by: None,
                repeat_of: earlier,
                doubles: None,
                tasks: tasks.collect(),
            };
            self.imports.all.lock().unwrap().push((domain, import.clone()));
            self.imports.created.lock().unwrap().push(command);
            Ok(Idempotent::Done(NewImport { import, is_repeat: false }))
        })
    }

    fn import(
        &self,
        domain: DomainId,
        family: Family,
        id: &str,
    ) -> StoreFuture<'_, Option<Import>> {
        let found = self.imports.find(domain, family, id);
        Box::pin(async move { self.may_fail().map(|()| found) })
    }

    fn list_imports(&self, request: ListTasks) -> StoreFuture<'_, ImportPage> {
        let all = self.imports.all.lock().unwrap();
        let imports: Vec<_> = all
            .iter()
            .rev()
            .filter(|(owner, import)| {
                *owner == request.domain && import.action.family() == request.family
            })
            .map(|(_, import)| import.clone())
            .collect();
        let total_hits = imports.len() as u64;
        Box::pin(async move { Ok(ImportPage { imports, total_hits }) })
    }

    fn cancel_import(&self, command: CancelTask) -> StoreFuture<'_, Import> {
        Box::pin(async move {
            let CancelTask { domain, family, task_id, .. } = command;
            let unknown = || StoreError::NotFound { what: "the import".to_owned() };
            let import = self.imports.find(domain, family, &task_id).ok_or_else(unknown)?;
            if import.status() == TaskStatus::Completed {
                return Err(StoreError::TaskCompleted);
            }
            self.imports.cancel(&task_id);
            self.imports.find(domain, family, &task_id).ok_or_else(unknown)
        })
    }
}

/// The counts of a task of which all entries are processed.
pub(crate) fn done(succeeded: u32, failed: u32) -> Counts {
    Counts { total: succeeded + failed, succeeded, failed, unprocessed: 0 }
}
