//! Implements the contract for [`SqliteStore`]. Each method calls the module that has its SQL, and
//! notifies runners or counts tasks if the commit concerns them.

use std::collections::BTreeSet;
use std::sync::Arc;

use caseload_model::ids::{DomainId, DomainName};
use caseload_model::issue::write::{Attachment, Desk, References};
use caseload_model::issue::{DeskAddresses, IssueQueue};
use caseload_model::issue_query::ParameterFault;
use caseload_model::task::{Family, Task};
use caseload_model::time::UnixMillis;
use caseload_store::failpoint::{self, Failpoint};
use caseload_store::issues::write;
use caseload_store::query::{count, explain, is_expensive, is_expensive_count, list, step};
use caseload_store::tasks as rules;
use caseload_store::{
    AddMessage, AddNote, Admin, Agent, App, ApplyChunk, BackupReport, CancelTask, CheckReport,
    ChunkApplied, ClaimTasks, ClaimedTask, CountIssues, CreateAgent, CreateApp, CreateBackup,
    CreateDomain, CreateIssue, CreateKey, CreateQueue, CreateSession, CreateTask, Domain,
    DomainLimits, DomainUsage, EditIssue, EditIssues, EntryStates, ExplainedStep, FailAttempt,
    GetIssue, Idempotent, IssueCounts, IssuePage, IssueStep, Issues, Key, KeyGrant, ListIssues,
    ListTasks, PackedBlock, RecordBlock, RecordBlockSize, RecordKind, RenderedIssue, RenewLeases,
    SessionKind, SettleTexts, StageAttachment, StagePayload, StepIssues, StoreFuture, StoreMetrics,
    StoredAnswer, Submit, TaskPage, Upkeep, Work, WorkerSlots, admin, attachments, idempotency,
};
use rusqlite::Connection;
use tokio::sync::watch;

use crate::engine::{Weight, WriteContext, on_blocking_thread};
use crate::tx::{DomainTx, Tx};
use crate::{SqliteStore, backup, boxed, check, domains, issues, tasks};

impl Admin for SqliteStore {
    fn create_domain(&self, command: CreateDomain) -> StoreFuture<'_, Domain> {
        self.write(move |conn| Ok(admin::create_domain(&Tx(conn), &command)?))
    }

    fn domains(&self) -> StoreFuture<'_, Vec<Domain>> {
        self.read(|conn| Ok(admin::domains(&Tx(conn))?))
    }

    fn domain(&self, name: &DomainName) -> StoreFuture<'_, Option<Domain>> {
        let name = name.clone();
        self.read(move |conn| Ok(admin::domain_by_name(&Tx(conn), &name)?))
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
            self.engine.write(move |conn, _| domains::begin_removal(conn, domain)).await?;
            Ok(domains::finish_removals(&self.engine).await?)
        })
    }

    fn create_key(&self, command: CreateKey) -> StoreFuture<'_, ()> {
        self.write_in(command.domain, move |tx| admin::create_key(&tx, &command))
    }

    fn keys(&self, domain: DomainId) -> StoreFuture<'_, Vec<Key>> {
        self.read_in(domain, move |tx| admin::keys(&tx))
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
        self.read_in(domain, move |tx| admin::apps(&tx))
    }

    fn create_agent(&self, command: CreateAgent) -> StoreFuture<'_, Agent> {
        self.write_in(command.domain, move |tx| admin::create_agent(&tx, &command))
    }

    fn agents(&self, domain: DomainId) -> StoreFuture<'_, Vec<Agent>> {
        self.read_in(domain, move |tx| admin::agents(&tx))
    }
}

impl Submit for SqliteStore {
    fn stage_payload(&self, command: StagePayload) -> StoreFuture<'_, ()> {
        let domain = command.domain;
        let stage =
            move |conn: &Connection| Ok(rules::stage(&DomainTx { conn, domain }, &command)?);
        let written = self.write_weighing(Weight::Long, stage);
        Box::pin(async move {
            written.await?;
            failpoint::reached(Failpoint::StageAfterCommit);
            Ok(())
        })
    }

    fn discard_staged(&self, domain: DomainId, task_id: &str) -> StoreFuture<'_, ()> {
        let task_id = task_id.to_owned();
        Box::pin(async move {
            loop {
                let id = task_id.clone();
                let step = move |conn: &Connection| {
                    Ok(rules::discard_step(&DomainTx { conn, domain }, &id)?)
                };
                if !self.write_weighing(Weight::Long, step).await? {
                    return Ok(());
                }
            }
        })
    }

    fn create_task(&self, command: CreateTask) -> StoreFuture<'_, Idempotent<Task>> {
        let weight = Weight::of_bytes(command.blocks.iter().map(|block| block.bytes.len()).sum());
        let create = move |conn: &Connection, context: &WriteContext<'_>| {
            let domain = command.domain;
            let accepted = rules::accept(&DomainTx { conn, domain }, &command)?;
            context.made_runnable(command.now);
            Ok(accepted)
        };
        Box::pin(async move {
            let accepted = self.engine.write_weighing(weight, create).await?;
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
        self.find(rules::of_family::<Tx<'_>>(domain, family, id))
    }

    fn list_tasks(&self, request: ListTasks) -> StoreFuture<'_, TaskPage> {
        self.read_in(request.domain, move |tx| rules::page(&tx, &request))
    }

    fn cancel_task(&self, command: CancelTask) -> StoreFuture<'_, Task> {
        let cancel = self.write_in(command.domain, move |tx| rules::cancel(&tx, &command));
        self.and_note(self.and_wake(cancel))
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
        self.ends.subscribe()
    }
}

impl Work for SqliteStore {
    fn claim_tasks(&self, command: ClaimTasks) -> StoreFuture<'_, Vec<ClaimedTask>> {
        let written = self.write(move |conn| Ok(tasks::claim(Tx(conn), &command)?));
        Box::pin(async move {
            let claims = written.await?;
            failpoint::reached(Failpoint::ClaimAfterCommit);
            Ok(claims.claimed)
        })
    }

    fn renew_leases(&self, command: RenewLeases) -> StoreFuture<'_, ()> {
        self.write(move |conn| Ok(tasks::renew(Tx(conn), &command)?))
    }

    fn release_leases(&self, server: &str) -> StoreFuture<'_, ()> {
        let server = server.to_owned();
        self.and_wake(self.write(move |conn| Ok(tasks::release(Tx(conn), &server)?)))
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
            let applied = tasks::apply(&self.engine, command).await?;
            failpoint::reached(Failpoint::ChunkAfterCommit);
            self.note(&applied.task);
            Ok(applied)
        })
    }

    fn fail_attempt(&self, command: FailAttempt) -> StoreFuture<'_, Task> {
        let fail = self.write_in(command.domain, move |tx| rules::fail_attempt(&tx, &command));
        self.and_note(self.and_wake(fail))
    }

    fn register(&self, slots: Arc<dyn WorkerSlots>) {
        self.slot_leasing.register(slots);
    }

    fn wake_ups(&self) -> watch::Receiver<u64> {
        self.slot_leasing.wake_ups()
    }
}

impl Issues for SqliteStore {
    fn list_issues(&self, request: ListIssues) -> StoreFuture<'_, IssuePage> {
        let further = self.engine.further_readers();
        let is_long = is_expensive(&request.query);
        boxed(self.engine.read_throttled(
            request.domain,
            Some(request.budget),
            is_long,
            move |conn, throttle| {
                let source = issues::IssueSource::new(conn, request.domain).with(&further);
                list(&source, &request, throttle)
            },
        ))
    }

    fn step_issues(&self, request: StepIssues) -> StoreFuture<'_, IssueStep> {
        let further = self.engine.further_readers();
        let is_long = is_expensive(&request.query);
        boxed(self.engine.read_throttled(
            request.domain,
            Some(request.budget),
            is_long,
            move |conn, throttle| {
                let source = issues::IssueSource::new(conn, request.domain).with(&further);
                step(&source, &request, throttle)
            },
        ))
    }

    fn count_issues(&self, request: CountIssues) -> StoreFuture<'_, IssueCounts> {
        let further = self.engine.further_readers();
        let is_long = is_expensive_count(&request);
        boxed(self.engine.read_throttled(
            request.domain,
            Some(request.budget),
            is_long,
            move |conn, throttle| {
                let source = issues::IssueSource::new(conn, request.domain).with(&further);
                count(&source, &request, throttle)
            },
        ))
    }

    fn explain_issues(&self, request: ListIssues) -> StoreFuture<'_, Vec<ExplainedStep>> {
        boxed(self.engine.read_throttled(
            request.domain,
            Some(request.budget),
            true,
            move |conn, _| explain(&issues::IssueSource::new(conn, request.domain), &request),
        ))
    }

    fn issue(&self, request: GetIssue) -> StoreFuture<'_, Option<RenderedIssue>> {
        let budget = Some(request.budget);
        boxed(self.engine.read_in(request.domain, budget, move |conn| issues::get(conn, &request)))
    }

    fn create_issue(&self, command: CreateIssue) -> StoreFuture<'_, Idempotent<StoredAnswer>> {
        let domain = command.origin.domain;
        self.write_in(domain, move |tx| write::create(&tx, &command))
    }

    fn add_message(&self, command: AddMessage) -> StoreFuture<'_, Idempotent<StoredAnswer>> {
        let domain = command.origin.domain;
        self.write_in(domain, move |tx| write::add_message(&tx, &command))
    }

    fn add_note(&self, command: AddNote) -> StoreFuture<'_, Idempotent<StoredAnswer>> {
        let domain = command.origin.domain;
        self.write_in(domain, move |tx| write::add_note(&tx, &command))
    }

    fn edit_issue(&self, command: EditIssue) -> StoreFuture<'_, Idempotent<StoredAnswer>> {
        let domain = command.origin.domain;
        self.write_in(domain, move |tx| write::edit(&tx, &command))
    }

    fn edit_issues(&self, command: EditIssues) -> StoreFuture<'_, Idempotent<StoredAnswer>> {
        let domain = command.origin.domain;
        self.write_in(domain, move |tx| write::edit_many(&tx, &command))
    }

    fn reference_faults(
        &self,
        domain: DomainId,
        references: References,
    ) -> StoreFuture<'_, Vec<ParameterFault>> {
        self.read_in(domain, move |tx| write::reference_faults(&tx, &references))
    }

    fn queues(&self, domain: DomainId) -> StoreFuture<'_, Vec<IssueQueue>> {
        self.read_in(domain, move |tx| write::queues(&tx))
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

impl Upkeep for SqliteStore {
    fn ready(&self) -> StoreFuture<'_, ()> {
        boxed(self.probe.ready(&self.engine))
    }

    fn metrics(&self) -> StoreFuture<'_, StoreMetrics> {
        let tasks = self.engine.read(|conn| Ok(rules::unfinished_by_lease(&Tx(conn))?));
        Box::pin(async move {
            let tasks = tasks.await?;
            let completed = self.completed.lock().clone();
            let (database_bytes, log_bytes) = self.engine.file_bytes();
            let commits = self.engine.commits();
            let writes = self.engine.writes();
            Ok(StoreMetrics {
                commits,
                writes,
                log_bytes,
                database_bytes,
                tasks_waiting: tasks.waiting,
                tasks_running: tasks.running,
                tasks_delayed: tasks.delayed,
                completed,
            })
        })
    }

    fn check(&self) -> StoreFuture<'_, CheckReport> {
        boxed(check::run(&self.engine))
    }

    fn backup(&self, command: CreateBackup) -> StoreFuture<'_, BackupReport> {
        boxed(backup::run(&self.engine, command))
    }

    fn purge_expired(&self, now: UnixMillis) -> StoreFuture<'_, bool> {
        let written =
            self.write_weighing(Weight::Long, move |conn| Ok(rules::purge_step(&Tx(conn), now)?));
        Box::pin(async move {
            let more = written.await?;
            failpoint::reached(Failpoint::PurgeAfterCommit);
            Ok(more)
        })
    }

    fn settle_texts(&self, how: SettleTexts) -> StoreFuture<'_, bool> {
        boxed(issues::settle(&self.engine, how))
    }

    fn close(&self) -> StoreFuture<'_, ()> {
        let engine = self.engine.clone();
        boxed(async move { on_blocking_thread(move || engine.close()).await })
    }
}
