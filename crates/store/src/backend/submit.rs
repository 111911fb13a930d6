//! Uploads, tasks, payloads and records, for every backend. The rules are in [`crate::tasks`]; a
//! backend accepts a task in its own way, because servers then get work.

use caseload_model::ids::DomainId;
use caseload_model::issue::DeskAddresses;
use caseload_model::task::{Family, Task};
use caseload_model::time::UnixMillis;

use super::Backend;
use crate::failpoint::{self, Failpoint};
use crate::issues::write;
use crate::tasks as rules;
use crate::{
    CancelTask, CreateTask, EntryStates, Idempotent, ListTasks, PackedBlock, Payloads, RecordBlock,
    RecordBlockSize, RecordKind, StagePayload, StoreError, StoreFuture, StoredAnswer, Submit,
    TaskPage, idempotency,
};

impl<B: Backend> Payloads for B {
    fn payload_block(
        &self,
        domain: DomainId,
        task_id: &str,
        from_index: u32,
    ) -> StoreFuture<'_, Option<Vec<u8>>> {
        self.find(rules::payload_block(domain, task_id, from_index))
    }

    fn desk_addresses(&self, domain: DomainId) -> StoreFuture<'_, DeskAddresses> {
        self.read_in(domain, |tx| write::desk_addresses(&tx))
    }
}

impl<B: Backend> Submit for B {
    fn stage_payload(&self, command: StagePayload) -> StoreFuture<'_, ()> {
        let written = self.write_long_in(command.domain, move |tx| rules::stage(&tx, &command));
        Box::pin(async move {
            written.await?;
            failpoint::reached(Failpoint::StageAfterCommit);
            Ok(())
        })
    }

    fn extend_staged(
        &self,
        domain: DomainId,
        task_ids: Vec<String>,
        now: UnixMillis,
    ) -> StoreFuture<'_, ()> {
        self.write_in(domain, move |tx| rules::extend(&tx, &task_ids, now))
    }

    fn discard_staged(&self, domain: DomainId, task_id: &str) -> StoreFuture<'_, ()> {
        let task_id = task_id.to_owned();
        Box::pin(async move {
            loop {
                let id = task_id.clone();
                if !self.write_long_in(domain, move |tx| rules::discard_step(&tx, &id)).await? {
                    return Ok(());
                }
            }
        })
    }

    fn create_task(&self, command: CreateTask) -> StoreFuture<'_, Idempotent<Task>> {
        let accepted = self.accept_task(command);
        Box::pin(async move {
            let accepted = accepted.await?;
            failpoint::reached(Failpoint::CreateTaskAfterCommit);
            Ok(accepted)
        })
    }

    fn stored_answer(
        &self,
        domain: DomainId,
        key: &str,
    ) -> StoreFuture<'_, Option<([u8; 32], StoredAnswer)>> {
        self.find(idempotency::stored_answer(domain, key))
    }

    fn task(&self, domain: DomainId, family: Family, id: &str) -> StoreFuture<'_, Option<Task>> {
        let found = self.find(rules::of_family::<B::DomainTx<'static>>(domain, family, id));
        let id = id.to_owned();
        Box::pin(async move {
            let found = found.await?;
            if found.is_none() {
                self.refuse_pending(domain, family, id).await?;
            }
            Ok(found)
        })
    }

    fn list_tasks(&self, request: ListTasks) -> StoreFuture<'_, TaskPage> {
        self.read_in(request.domain, move |tx| rules::page(&tx, &request))
    }

    fn cancel_task(&self, command: CancelTask) -> StoreFuture<'_, Task> {
        let (domain, family, id) = (command.domain, command.family, command.task_id.clone());
        let cancelled = self.write_in(domain, move |tx| rules::cancel(&tx, &command));
        Box::pin(async move {
            let cancelled = cancelled.await;
            match &cancelled {
                Ok(task) => {
                    self.wake();
                    self.note(task);
                }
                Err(StoreError::NotFound { .. }) => {
                    self.refuse_pending(domain, family, id).await?;
                }
                Err(_) => {}
            }
            cancelled
        })
    }

    fn retry_payload(&self, domain: DomainId, task_id: &str) -> StoreFuture<'_, Vec<PackedBlock>> {
        let task_id = task_id.to_owned();
        self.read_in(domain, move |tx| rules::retry_payload(&tx, &task_id))
    }

    fn whole_payload(&self, domain: DomainId, task_id: &str) -> StoreFuture<'_, Vec<PackedBlock>> {
        let task_id = task_id.to_owned();
        self.read_in(domain, move |tx| rules::whole_payload(&tx, &task_id))
    }

    fn entry_states(&self, domain: DomainId, task_id: &str) -> StoreFuture<'_, EntryStates> {
        let task_id = task_id.to_owned();
        self.read_in(domain, move |tx| rules::entry_states(&tx, &task_id))
    }

    fn record_block(
        &self,
        domain: DomainId,
        task_id: &str,
        kind: RecordKind,
        from_index: u32,
    ) -> StoreFuture<'_, Option<RecordBlock>> {
        self.find(rules::record_block(domain, task_id, kind, from_index))
    }

    fn record_sizes(
        &self,
        domain: DomainId,
        task_id: &str,
        kind: RecordKind,
    ) -> StoreFuture<'_, Vec<RecordBlockSize>> {
        self.ask(rules::record_sizes(domain, task_id, kind))
    }
}
