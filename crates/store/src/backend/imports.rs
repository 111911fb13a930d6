//! Imports, for every backend. The rules are in [`crate::tasks`].

use caseload_model::ids::DomainId;
use caseload_model::import::Import;
use caseload_model::task::Family;

use super::Backend;
use crate::failpoint::{self, Failpoint};
use crate::tasks as rules;
use crate::{
    CancelTask, CreateImport, Idempotent, ImportPage, Imports, ListTasks, NewImport, StoreFuture,
};

impl<B: Backend> Imports for B {
    fn create_import(&self, mut command: CreateImport) -> StoreFuture<'_, Idempotent<NewImport>> {
        let (domain, tasks) = (command.domain, command.take_tasks());
        let created =
            self.write_long_in(domain, move |tx| rules::create_import(&tx, &command, &tasks));
        Box::pin(async move {
            let created = created.await?;
            failpoint::reached(Failpoint::ImportAfterCommit);
            self.wake();
            Ok(created)
        })
    }

    fn import(
        &self,
        domain: DomainId,
        family: Family,
        id: &str,
    ) -> StoreFuture<'_, Option<Import>> {
        let id = id.to_owned();
        self.read_in(domain, move |tx| rules::import(&tx, family, &id))
    }

    fn list_imports(&self, request: ListTasks) -> StoreFuture<'_, ImportPage> {
        self.read_in(request.domain, move |tx| rules::import_page(&tx, &request))
    }

    fn cancel_import(&self, command: CancelTask) -> StoreFuture<'_, Import> {
        let cancelled =
            self.write_long_in(command.domain, move |tx| rules::cancel_import(&tx, &command));
        Box::pin(async move {
            let (import, cancelled) = cancelled.await?;
            self.wake();
            for task in &cancelled {
                self.note(task);
            }
            Ok(import)
        })
    }
}
