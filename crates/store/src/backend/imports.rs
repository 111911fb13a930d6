//! Imports, for every backend. The rules are in [`crate::tasks`].

use caseload_model::ids::DomainId;
use caseload_model::import::Import;
use caseload_model::task::Family;

use super::Backend;
use crate::{
    CancelTask, CreateImport, Idempotent, ImportPage, Imports, ListTasks, NewImport, StoreError,
    StoreFuture,
};

impl<B: Backend> Imports for B {
    fn create_import(&self, _: CreateImport) -> StoreFuture<'_, Idempotent<NewImport>> {
        Box::pin(async { Err(StoreError::Closed) })
    }

    fn import(&self, _: DomainId, _: Family, _: &str) -> StoreFuture<'_, Option<Import>> {
        Box::pin(async { Err(StoreError::Closed) })
    }

    fn list_imports(&self, _: ListTasks) -> StoreFuture<'_, ImportPage> {
        Box::pin(async { Err(StoreError::Closed) })
    }

    fn cancel_import(&self, _: CancelTask) -> StoreFuture<'_, Import> {
        Box::pin(async { Err(StoreError::Closed) })
    }
}
