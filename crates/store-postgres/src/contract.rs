//! Implements the contract for [`PostgresStore`]. Each method calls the module that has its SQL,
//! and notifies runners or counts tasks if the commit concerns them.

use std::collections::BTreeSet;
use std::time::Duration;

use caseload_model::ids::{DomainId, DomainName};
use caseload_model::issue::write::{Attachment, Desk, References};
use caseload_model::issue::{DeskAddresses, IssueQueue};
use caseload_model::issue_query::ParameterFault;
use caseload_model::task::{Family, Task};
use caseload_model::time::UnixMillis;
use caseload_store::issues::write;
use caseload_store::sql::Sql;
use caseload_store::tasks::{self as rules, Claims};
use caseload_store::{
    AddMessage, AddNote, Admin, Agent, App, ApplyChunk, BackupReport, CancelTask, CheckReport,
    ChunkApplied, ClaimTasks, ClaimedTask, CountIssues, CreateAgent, CreateApp, CreateBackup,
    CreateDomain, CreateIssue, CreateKey, CreateQueue, CreateSession, CreateTask, Domain,
    DomainLimits, DomainUsage, EditIssue, EditIssues, EntryStates, ExplainedStep, FailAttempt,
    GetIssue, Idempotent, IssueCounts, IssuePage, IssueStep, Issues, Key, KeyGrant, ListIssues,
    ListTasks, PackedBlock, RecordBlock, RecordBlockSize, RecordKind, RenderedIssue, RenewLeases,
    SessionKind, SettleTexts, StageAttachment, StagePayload, StepIssues, StoreError, StoreFuture,
    StoreMetrics, StoredAnswer, Submit, TaskPage, Upkeep, Work, admin, attachments, idempotency,
};
use tokio::sync::watch;

use crate::engine::Nodes;
use crate::store::{PostgresStore, wake};
use crate::tx::DomainTx;
use crate::{check, domains, issues, tasks};

/// How long a task that is visible in the queue may take to become visible itself.
const UNSEEN_WAIT: Duration = Duration::from_millis(20);

impl Admin for PostgresStore {
    fn create_domain(&self, command: CreateDomain) -> StoreFuture<'_, Domain> {
        Box::pin(self.engine.write_blocking(move |db| admin::create_domain(db, &command)))
    }

    fn domains(&self) -> StoreFuture<'_, Vec<Domain>> {
        self.read(|db| admin::domains(db))
    }

    fn domain(&self, name: &DomainName) -> StoreFuture<'_, Option<Domain>> {
        let name = name.clone();
        self.read(move |db| admin::domain_by_name(db, &name))
    }

    fn set_desk(&self, domain: DomainId, desk: Desk) -> StoreFuture<'_, ()> {
        self.write_in(domain, move |tx| admin::set_desk(&tx, &desk))
    }

    fn set_limits(&self, domain: DomainId, limits: DomainLimits) -> StoreFuture<'_, ()> {
        self.write_in(domain, move |tx| admin::set_limits(&tx, limits))
    }

    fn usage(&self, domain: DomainId) -> StoreFuture<'_, DomainUsage> {
        self.read_in(domain, |tx| admin::usage(&tx))
    }

    fn delete_domain(&self, domain: DomainId) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.write(domain, |client, domain| Box::pin(domains::begin_removal(client, *domain)))
                .await?;
            while self.write((), |client, ()| Box::pin(domains::continue_removal(client))).await? {}
            Ok(())
        })
    }

    fn create_key(&self, command: CreateKey) -> StoreFuture<'_, ()> {
        self.write_in(command.domain, move |tx| admin::create_key(&tx, &command))
    }

    fn keys(&self, domain: DomainId) -> StoreFuture<'_, Vec<Key>> {
        self.read_in(domain, |tx| admin::keys(&tx))
    }

    fn revoke_key(&self, domain: DomainId, id: &str, at: UnixMillis) -> StoreFuture<'_, bool> {
        let id = id.to_owned();
        self.write_in(domain, move |tx| admin::revoke_key(&tx, &id, at))
    }

    fn key_by_hash(&self, hash: [u8; 32]) -> StoreFuture<'_, Option<KeyGrant>> {
        self.find(admin::key_by_hash(hash))
    }

    fn touch_key(&self, domain: DomainId, id: &str, at: UnixMillis) -> StoreFuture<'_, ()> {
        let id = id.to_owned();
        self.write_in(domain, move |tx| admin::touch_key(&tx, &id, at))
    }

    fn create_session(&self, command: CreateSession) -> StoreFuture<'_, ()> {
        self.write_in(command.domain, move |tx| admin::create_session(&tx, &command))
    }

    fn key_by_session(
        &self,
        hash: [u8; 32],
        kind: SessionKind,
    ) -> StoreFuture<'_, Option<KeyGrant>> {
        self.find(admin::key_by_session(hash, kind))
    }

    fn end_session(&self, domain: DomainId, hash: [u8; 32]) -> StoreFuture<'_, bool> {
        self.write_in(domain, move |tx| admin::end_session(&tx, hash))
    }

    fn create_queue(&self, command: CreateQueue) -> StoreFuture<'_, ()> {
        self.write_in(command.domain, move |tx| admin::create_queue(&tx, &command))
    }

    fn create_app(&self, command: CreateApp) -> StoreFuture<'_, App> {
        self.write_in(command.domain, move |tx| admin::create_app(&tx, &command))
    }

    fn apps(&self, domain: DomainId) -> StoreFuture<'_, Vec<App>> {
        self.read_in(domain, |tx| admin::apps(&tx))
    }

    fn create_agent(&self, command: CreateAgent) -> StoreFuture<'_, Agent> {
        self.write_in(command.domain, move |tx| admin::create_agent(&tx, &command))
    }

    fn agents(&self, domain: DomainId) -> StoreFuture<'_, Vec<Agent>> {
        self.read_in(domain, |tx| admin::agents(&tx))
    }
}

impl Submit for PostgresStore {
    fn stage_payload(&self, command: StagePayload) -> StoreFuture<'_, ()> {
        self.write_in(command.domain, move |tx| rules::stage(&tx, &command))
    }

    fn discard_staged(&self, domain: DomainId, task_id: &str) -> StoreFuture<'_, ()> {
        let task_id = task_id.to_owned();
        Box::pin(async move {
            loop {
                let id = task_id.clone();
                if !self.write_in(domain, move |tx| rules::discard_step(&tx, &id)).await? {
                    return Ok(());
                }
            }
        })
    }

    fn create_task(&self, command: CreateTask) -> StoreFuture<'_, Idempotent<Task>> {
        let accept = self.write_in(command.domain, move |tx| rules::accept(&tx, &command));
        self.and_wake(accept)
    }

    fn stored_answer(
        &self,
        domain: DomainId,
        key: &str,
    ) -> StoreFuture<'_, Option<([u8; 32], StoredAnswer)>> {
        self.find(idempotency::stored_answer(domain, key))
    }

    fn task(&self, domain: DomainId, family: Family, id: &str) -> StoreFuture<'_, Option<Task>> {
        let (id, found) =
            (id.to_owned(), self.find(rules::of_family::<DomainTx<'_>>(domain, family, id)));
        Box::pin(async move {
            let found = found.await?;
            if found.is_none() {
                tasks::refuse_pending(&self.engine, domain, family, &id).await?;
            }
            Ok(found)
        })
    }

    fn list_tasks(&self, request: ListTasks) -> StoreFuture<'_, TaskPage> {
        self.read_in(request.domain, move |tx| rules::page(&tx, &request))
    }

    fn cancel_task(&self, command: CancelTask) -> StoreFuture<'_, Task> {
        let (domain, family, id) = (command.domain, command.family, command.task_id.clone());
        let cancel = self.write_in(command.domain, move |tx| rules::cancel(&tx, &command));
        let cancel = self.and_wake(cancel);
        Box::pin(async move {
            let cancelled = cancel.await;
            if matches!(cancelled, Err(StoreError::NotFound { .. })) {
                tasks::refuse_pending(&self.engine, domain, family, &id).await?;
            }
            let task = cancelled?;
            self.note(&task);
            Ok(task)
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

    fn kept_block(
        &self,
        domain: DomainId,
        task_id: &str,
        from_index: u32,
    ) -> StoreFuture<'_, Option<Vec<u8>>> {
        self.find(rules::payload_block(domain, task_id, from_index))
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

    fn task_ends(&self) -> watch::Receiver<u64> {
        self.wake_ups.subscribe()
    }
}

impl Work for PostgresStore {
    fn claim_tasks(&self, command: ClaimTasks) -> StoreFuture<'_, Vec<ClaimedTask>> {
        Box::pin(async move {
            let (server, now) = (command.server.clone(), command.now);
            self.engine.follow_lease(command.lease());
            let claims = match self.engine.nodes() {
                Nodes::One => {
                    self.write(command, |client, command| Box::pin(rules::claim(client, command)))
                        .await
                }
                Nodes::Many => tasks::claim_apart(&self.engine, &self.avoided, command).await,
            };
            let Claims { claimed, locked, unseen, .. } = claims?;
            self.leases.add(&server, &claimed);
            if tasks::end_holders(&self.engine, locked, now).await {
                wake(&self.wake_ups);
            }
            if unseen > 0 {
                let wake_ups = self.wake_ups.clone();
                tokio::spawn(async move {
                    tokio::time::sleep(UNSEEN_WAIT).await;
                    wake(&wake_ups);
                });
            }
            Ok(claimed)
        })
    }

    fn renew_leases(&self, command: RenewLeases) -> StoreFuture<'_, ()> {
        let leases = self.leases.of(&command.server);
        self.write((command, leases), |client, (command, leases)| {
            Box::pin(tasks::renew(client, command, leases))
        })
    }

    fn release_leases(&self, server: &str) -> StoreFuture<'_, ()> {
        self.leases.remove_all(server);
        let release = self
            .write(server.to_owned(), |client, server| Box::pin(tasks::release(client, server)));
        self.and_wake(release)
    }

    fn payload_block(
        &self,
        domain: DomainId,
        task_id: &str,
        from_index: u32,
    ) -> StoreFuture<'_, Option<Vec<u8>>> {
        self.find(rules::payload_block(domain, task_id, from_index))
    }

    fn failed_entries(&self, domain: DomainId, task_id: &str) -> StoreFuture<'_, BTreeSet<u32>> {
        let task_id = task_id.to_owned();
        self.read_in(domain, move |tx| rules::failed_entries(&tx, &task_id))
    }

    fn desk_addresses(&self, domain: DomainId) -> StoreFuture<'_, DeskAddresses> {
        self.read_in(domain, |tx| write::desk_addresses(&tx))
    }

    fn apply_chunk(&self, command: ApplyChunk) -> StoreFuture<'_, ChunkApplied> {
        Box::pin(async move {
            let (domain, epoch) = (command.domain, command.lease_epoch);
            let task_id = command.task_id.clone();
            let applied = tasks::apply(&self.engine, command).await;
            if let Ok(applied) = &applied {
                self.note(&applied.task);
                if applied.task.action.family() == Family::Issues {
                    self.compactor.note(domain);
                }
            }
            let ended = match &applied {
                Ok(applied) => applied.task.outcome.is_some(),
                Err(fault) => matches!(fault, StoreError::LeaseLost),
            };
            if ended {
                self.leases.remove(domain, &task_id, epoch);
                // The domain's next writing task may begin.
                wake(&self.wake_ups);
            }
            applied
        })
    }

    fn fail_attempt(&self, command: FailAttempt) -> StoreFuture<'_, Task> {
        Box::pin(async move {
            self.leases.remove(command.domain, &command.task_id, command.lease_epoch);
            let fail = self.write_in(command.domain, move |tx| rules::fail_attempt(&tx, &command));
            let task = self.and_wake(fail).await?;
            self.note(&task);
            Ok(task)
        })
    }

    fn wake_ups(&self) -> watch::Receiver<u64> {
        self.wake_ups.subscribe()
    }
}

impl Issues for PostgresStore {
    fn list_issues(&self, request: ListIssues) -> StoreFuture<'_, IssuePage> {
        Box::pin(issues::list(&self.engine, request))
    }

    fn step_issues(&self, request: StepIssues) -> StoreFuture<'_, IssueStep> {
        Box::pin(issues::step(&self.engine, request))
    }

    fn count_issues(&self, request: CountIssues) -> StoreFuture<'_, IssueCounts> {
        Box::pin(issues::count(&self.engine, request))
    }

    fn explain_issues(&self, request: ListIssues) -> StoreFuture<'_, Vec<ExplainedStep>> {
        Box::pin(issues::explain(&self.engine, request))
    }

    fn issue(&self, request: GetIssue) -> StoreFuture<'_, Option<RenderedIssue>> {
        Box::pin(issues::get(&self.engine, request))
    }

    fn create_issue(&self, command: CreateIssue) -> StoreFuture<'_, Idempotent<StoredAnswer>> {
        let domain = command.origin.domain;
        self.and_compact(domain, self.write_in(domain, move |tx| write::create(&tx, &command)))
    }

    fn add_message(&self, command: AddMessage) -> StoreFuture<'_, Idempotent<StoredAnswer>> {
        let domain = command.origin.domain;
        self.and_compact(domain, self.write_in(domain, move |tx| write::add_message(&tx, &command)))
    }

    fn add_note(&self, command: AddNote) -> StoreFuture<'_, Idempotent<StoredAnswer>> {
        let domain = command.origin.domain;
        self.and_compact(domain, self.write_in(domain, move |tx| write::add_note(&tx, &command)))
    }

    fn edit_issue(&self, command: EditIssue) -> StoreFuture<'_, Idempotent<StoredAnswer>> {
        let domain = command.origin.domain;
        self.and_compact(domain, self.write_in(domain, move |tx| write::edit(&tx, &command)))
    }

    fn edit_issues(&self, command: EditIssues) -> StoreFuture<'_, Idempotent<StoredAnswer>> {
        let domain = command.origin.domain;
        self.and_compact(domain, self.write_in(domain, move |tx| write::edit_many(&tx, &command)))
    }

    fn reference_faults(
        &self,
        domain: DomainId,
        references: References,
    ) -> StoreFuture<'_, Vec<ParameterFault>> {
        self.read_in(domain, move |tx| write::reference_faults(&tx, &references))
    }

    fn queues(&self, domain: DomainId) -> StoreFuture<'_, Vec<IssueQueue>> {
        self.read_in(domain, |tx| write::queues(&tx))
    }

    fn stage_attachment(&self, command: StageAttachment) -> StoreFuture<'_, ()> {
        self.write_in(command.domain, move |tx| attachments::stage(&tx, &command))
    }

    fn discard_attachments(&self, domain: DomainId, ids: Vec<String>) -> StoreFuture<'_, ()> {
        self.write_in(domain, move |tx| attachments::discard(&tx, &ids))
    }

    fn attachment(&self, domain: DomainId, id: &str) -> StoreFuture<'_, Option<Attachment>> {
        let id = id.to_owned();
        self.read_in(domain, move |tx| attachments::get(&tx, &id))
    }

    fn attachment_piece(
        &self,
        domain: DomainId,
        id: &str,
        number: u32,
    ) -> StoreFuture<'_, Option<Vec<u8>>> {
        let id = id.to_owned();
        self.read_in(domain, move |tx| attachments::piece(&tx, &id, number))
    }
}

impl Upkeep for PostgresStore {
    fn ready(&self) -> StoreFuture<'_, ()> {
        Box::pin(self.probe.ready(&self.engine))
    }

    fn metrics(&self) -> StoreFuture<'_, StoreMetrics> {
        Box::pin(async move {
            let read = self.read(|db| {
                let size = "SELECT pg_database_size(current_database())";
                let bytes = db.find(size, &[], |row| row.get(0))?.unwrap_or_default();
                Ok((bytes, rules::unfinished_by_lease(db)?))
            });
            let (database_bytes, tasks) = read.await?;
            let completed = self.completed.lock().clone();
            Ok(StoreMetrics {
                commits: self.engine.commits(),
                writes: self.engine.writes().clone(),
                // PostgreSQL manages its own log.
                log_bytes: 0,
                database_bytes,
                tasks_waiting: tasks.waiting,
                tasks_running: tasks.running,
                tasks_delayed: tasks.delayed,
                completed,
            })
        })
    }

    fn check(&self) -> StoreFuture<'_, CheckReport> {
        Box::pin(check::run(&self.engine))
    }

    fn backup(&self, command: CreateBackup) -> StoreFuture<'_, BackupReport> {
        let reason = "the store is a PostgreSQL database; back it up with pg_dump or pg_basebackup";
        Box::pin(async move { Err(StoreError::BackupTarget { file: command.file, reason }) })
    }

    fn purge_expired(&self, now: UnixMillis) -> StoreFuture<'_, bool> {
        Box::pin(async move {
            // Any server may continue the removal of a domain that another server did not finish.
            let removal = self.write((), |client, ()| Box::pin(domains::continue_removal(client)));
            let removed = removal.await?;
            let purged = self.engine.write_blocking(move |db| tasks::purge_step(db, now)).await?;
            // Deltas that other servers left.
            Ok(issues::compact_remaining(&self.engine).await? || purged || removed)
        })
    }

    fn settle_texts(&self, how: SettleTexts) -> StoreFuture<'_, bool> {
        Box::pin(issues::settle(&self.engine, how))
    }

    fn close(&self) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let listener = self.listener.lock().take();
            if let Some(listener) = listener {
                listener.stop().await;
            }
            let watch = self.node_watch.lock().take();
            if let Some(watch) = watch {
                watch.stop().await;
            }
            self.compactor.stop().await;
            self.engine.close();
            Ok(())
        })
    }
}
