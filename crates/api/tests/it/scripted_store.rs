//! A store double: it holds keys and tasks in memory, returns the records and pages that a test has
//! set, and fails on request. It runs no tasks.

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::sync::atomic::{AtomicBool, AtomicI64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use caseload_model::ids::{DomainId, DomainName};
use caseload_model::issue::write::{Attachment, Desk, References};
use caseload_model::issue::{DeskAddresses, IssueQueue};
use caseload_model::issue_query::ParameterFault;
use caseload_model::key::Access;
use caseload_model::named_view::ViewEdit;
use caseload_model::task::{
    Action, Counts, Family, Outcome, PAYLOAD_ENTRIES_MAX, Task, TaskOrigin, TaskStatus,
};
use caseload_model::time::UnixMillis;
use caseload_model::webhook::{Attempt, Secret};
use caseload_store::{
    ATTACHMENT_PIECE_BYTES, AddMessage, AddNote, Admin, AdminOrigin, Agent, App, AppProfilesOf,
    BackupReport, CancelTask, ChangePage, Changes, CheckReport, ClaimWebhooks, ClaimedWebhook,
    CountIssues, CreateAgent, CreateApp, CreateBackup, CreateDomain, CreateIssue, CreateKey,
    CreateQueue, CreateSession, CreateTask, CreateView, CreateWebhook, DeleteIssue, DeleteProfile,
    Domain, DomainLimits, DomainUsage, EditIssue, EditIssues, EditWebhook, EntryStates,
    ExplainedStep, FindMessages, FindPerson, FoundPerson, GetIssue, GetProfile, GetRedaction,
    HistoryPage, Idempotent, IndexTexts, IssueCounts, IssuePage, IssueStep, Issues, Key, KeyGrant,
    ListIssues, ListProfiles, ListTasks, LoggedRedaction, NamedView, OfView, OfWebhook,
    PackedBlock, Payloads, ProfilePage, ProfileStep, Profiles, ReadChanges, ReadHistory,
    RecordAttempt, RecordBlock, RecordBlockSize, RecordKind, Redact, RenderedIssue,
    RenderedProfile, RotateKey, SessionKind, SkipChanges, StageAttachment, StagePayload,
    StepIssues, StepProfiles, StoreError, StoreFuture, StoreMetrics, StoredAnswer, Submit,
    TaskPage, Upkeep, Views, Webhook, Webhooks, unpack_block,
};
use sha2::{Digest, Sha256};
use tokio::sync::Notify;

use crate::scripted_imports::ScriptedImports;

/// The time of the tests.
pub(crate) const NOW: UnixMillis = UnixMillis(1_700_000_000_000);

/// The id of a task, and whether the records are its results (true) or its errors.
type RecordsOf = (String, bool);

#[derive(Default)]
pub(crate) struct ScriptedStore {
    pub(crate) keys: Mutex<HashMap<[u8; 32], KeyGrant>>,
    pub(crate) key_reads: AtomicUsize,
    marks: AtomicI64,
    /// Whether the domain does not change; else it changes all the time.
    pub(crate) is_still: AtomicBool,
    pub(crate) touched: Mutex<Vec<(String, UnixMillis)>>,
    pub(crate) created: Mutex<Vec<CreateTask>>,
    pub(crate) imports: ScriptedImports,
    /// Staged blocks in their order.
    pub(crate) staged: Mutex<Vec<StagePayload>>,
    /// The ids of tasks whose staged blocks were discarded.
    pub(crate) discarded: Mutex<Vec<String>>,
    /// Staging waits at this gate.
    pub(crate) stage_gate: Gate,
    pub(crate) task_reads: AtomicUsize,
    pub(crate) tasks: Mutex<Vec<(DomainId, Task)>>,
    pub(crate) records: Mutex<HashMap<RecordsOf, Vec<Vec<u8>>>>,
    pub(crate) page: Mutex<IssuePage>,
    pub(crate) issue: Mutex<Option<RenderedIssue>>,
    pub(crate) listed: Mutex<Vec<ListIssues>>,
    /// The next steps; after them a step fails.
    pub(crate) steps: Mutex<VecDeque<IssueStep>>,
    pub(crate) stepped: Mutex<Vec<StepIssues>>,
    /// How long a step takes.
    pub(crate) step_takes: Mutex<Duration>,
    /// How the next reads and writes fail.
    pub(crate) fault: Mutex<Option<fn() -> StoreError>>,
    /// How reading records fails.
    pub(crate) records_fault: Mutex<Option<fn() -> StoreError>>,
    /// The size of every attachment, and the number of its damaged piece.
    pub(crate) file: Mutex<(u64, u32)>,
    /// A list waits at this gate for its turn, and then at this one for its end.
    pub(crate) turn_gate: Gate,
    pub(crate) list_gate: Gate,
}

/// A notification that commands wait for, if there is one. The first notification opens the gate.
#[derive(Default)]
pub(crate) struct Gate(Mutex<Option<Arc<Notify>>>);

impl Gate {
    /// Closes the gate. The notification opens it again.
    pub(crate) fn close(&self) -> Arc<Notify> {
        self.0.lock().unwrap().insert(Arc::default()).clone()
    }

    async fn pass(&self) {
        let gate = self.0.lock().unwrap().clone();
        if let Some(gate) = gate {
            gate.notified().await;
            // Open from now on.
            gate.notify_one();
        }
    }
}

impl ScriptedStore {
    pub(crate) fn add_key(&self, text: &str, domain: i64, name: &str, access: Access) {
        let key = Key {
            id: format!("key-{text}"),
            name: text.to_owned(),
            access,
            created_at: UnixMillis(0),
            last_used_at: None,
            expires_at: None,
            revoked_at: None,
        };
        let domain_name = DomainName::parse(name).unwrap();
        let grant =
            KeyGrant { domain: DomainId(domain), domain_name, domain_rate_limit: None, key };
        self.keys.lock().unwrap().insert(Sha256::digest(text).into(), grant);
    }

    pub(crate) fn change_key(&self, text: &str, change: impl FnOnce(&mut Key)) {
        let hash: [u8; 32] = Sha256::digest(text).into();
        change(&mut self.keys.lock().unwrap().get_mut(&hash).unwrap().key);
    }

    /// Adds a completed task with records, one list of lines per block.
    pub(crate) fn add_completed(&self, id: &str, domain: i64, results: &[&str], errors: &[&str]) {
        let count = |blocks: &[&str]| blocks.iter().map(|b| b.lines().count() as u32).sum::<u32>();
        let (succeeded, failed) = (count(results), count(errors));
        let counts = Counts { total: succeeded + failed, succeeded, failed, unprocessed: 0 };
        let mut task = created(id, Action::CreateCoreProfiles, counts.total);
        task.status = TaskStatus::Completed;
        task.counts = counts;
        task.outcome = Some(Task::outcome_by_counts(&counts));
        task.queued_at = Some(UnixMillis(NOW.0 + 1));
        task.started_at = Some(UnixMillis(NOW.0 + 2));
        task.completed_at = Some(UnixMillis(NOW.0 + 3));
        self.tasks.lock().unwrap().push((DomainId(domain), task));
        let bytes = |blocks: &[&str]| blocks.iter().map(|b| b.as_bytes().to_vec()).collect();
        let mut records = self.records.lock().unwrap();
        records.insert((id.to_owned(), true), bytes(results));
        records.insert((id.to_owned(), false), bytes(errors));
    }

    pub(crate) fn change_task(&self, id: &str, change: impl FnOnce(&mut Task)) {
        let mut tasks = self.tasks.lock().unwrap();
        change(&mut tasks.iter_mut().find(|(_, task)| task.id == id).unwrap().1);
    }

    pub(crate) fn fail(&self, fault: fn() -> StoreError) {
        *self.fault.lock().unwrap() = Some(fault);
    }

    pub(crate) fn fail_records(&self, fault: fn() -> StoreError) {
        *self.records_fault.lock().unwrap() = Some(fault);
    }

    fn records_may_fail(&self) -> Result<(), StoreError> {
        let fault = *self.records_fault.lock().unwrap();
        self.may_fail().and(fault.map_or(Ok(()), |fault| Err(fault())))
    }

    pub(crate) fn may_fail(&self) -> Result<(), StoreError> {
        let fault = *self.fault.lock().unwrap();
        fault.map_or(Ok(()), |fault| Err(fault()))
    }
}

/// The first index of the part of an import that has these records.
fn first_of_part(lines: &[u8]) -> u32 {
    let record = serde_json::Deserializer::from_slice(lines).into_iter::<serde_json::Value>();
    let index = record.flatten().next().and_then(|record| record["index"].as_u64());
    let part = index.unwrap_or_default() as usize / PAYLOAD_ENTRIES_MAX;
    (part * PAYLOAD_ENTRIES_MAX) as u32
}

pub(crate) fn created(id: &str, action: Action, total: u32) -> Task {
    Task {
        id: id.to_owned(),
        action,
        status: TaskStatus::Created,
        outcome: None::<Outcome>,
        dry_run: false,
        upsert: false,
        counts: Counts::new(total),
        created_at: NOW,
        queued_at: None,
        started_at: None,
        completed_at: None,
        expires_at: Some(UnixMillis(NOW.0 + 1000)),
        parent_id: None,
        retried_by: None,
        run_by: None,
        origin: TaskOrigin::default(),
        warnings: 0,
        position: None,
        deaths: 0,
        next_try_at: None,
        import_id: None,
    }
}

macro_rules! unscripted {
    ($($name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*) => {
        $(fn $name(&self $(, $argument: $type)*) -> StoreFuture<'_, $result> {
            $(let _ = $argument;)*
            Box::pin(async { Err(StoreError::Closed) })
        })*
    };
}

impl Admin for ScriptedStore {
    unscripted! {
        create_domain(command: CreateDomain) -> Domain;
        domains() -> Vec<Domain>;
        set_desk(domain: DomainId, desk: Desk, origin: AdminOrigin) -> ();
        set_limits(domain: DomainId, limits: DomainLimits, origin: AdminOrigin) -> ();
        set_placeholders(domain: DomainId, list: Option<String>, origin: AdminOrigin) -> ();
        usage(domain: DomainId) -> DomainUsage;
        delete_domain(domain: DomainId) -> ();
        create_key(command: CreateKey) -> ();
        keys(domain: DomainId) -> Vec<Key>;
        revoke_key(domain: DomainId, id: &str, origin: AdminOrigin) -> bool;
        rotate_key(command: RotateKey) -> ();
        create_session(command: CreateSession) -> ();
        key_by_session(hash: [u8; 32], kind: SessionKind) -> Option<KeyGrant>;
        end_session(domain: DomainId, hash: [u8; 32]) -> bool;
        create_queue(command: CreateQueue) -> ();
        create_app(command: CreateApp) -> App;
        apps(domain: DomainId) -> Vec<App>;
        create_agent(command: CreateAgent) -> Agent;
        agents(domain: DomainId) -> Vec<Agent>;
    }

    fn key_by_hash(&self, hash: [u8; 32]) -> StoreFuture<'_, Option<KeyGrant>> {
        self.key_reads.fetch_add(1, Ordering::SeqCst);
        Box::pin(async move { Ok(self.keys.lock().unwrap().get(&hash).cloned()) })
    }

    fn domain(&self, _: &DomainName) -> StoreFuture<'_, Option<Domain>> {
        Box::pin(async { Ok(None) })
    }

    fn touch_key(&self, _: DomainId, id: &str, at: UnixMillis) -> StoreFuture<'_, ()> {
        self.touched.lock().unwrap().push((id.to_owned(), at));
        Box::pin(async { Ok(()) })
    }
}

impl Payloads for ScriptedStore {
    fn payload_block(
        &self,
        _: DomainId,
        task_id: &str,
        from_index: u32,
    ) -> StoreFuture<'_, Option<Vec<u8>>> {
        let blocks = self.blocks_of(task_id);
        let block = blocks.into_iter().find(|block| block.last_index >= from_index);
        Box::pin(async move { block.map(|block| unpack_block(&block.bytes)).transpose() })
    }

    fn desk_addresses(&self, _: DomainId) -> StoreFuture<'_, DeskAddresses> {
        Box::pin(async { Ok(DeskAddresses::default()) })
    }
}

impl Submit for ScriptedStore {
    unscripted! {
        extend_staged(domain: DomainId, task_ids: Vec<String>, now: UnixMillis) -> ();
        stored_answer(domain: DomainId, key: &str)
            -> Option<([u8; 32], StoredAnswer)>;
        list_tasks(request: ListTasks) -> TaskPage;
        cancel_task(command: CancelTask) -> Task;
    }

    /// All entries: no task of this store has processed any.
    fn retry_payload(&self, _: DomainId, id: &str) -> StoreFuture<'_, Vec<PackedBlock>> {
        let blocks = self.blocks_of(id);
        Box::pin(async { Ok(blocks) })
    }

    fn whole_payload(&self, domain: DomainId, id: &str) -> StoreFuture<'_, Vec<PackedBlock>> {
        self.retry_payload(domain, id)
    }

    fn entry_states(&self, _: DomainId, _: &str) -> StoreFuture<'_, EntryStates> {
        Box::pin(async { Ok(EntryStates { failed: BTreeSet::new(), unprocessed_from: 0 }) })
    }

    fn stage_payload(&self, command: StagePayload) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            self.may_fail()?;
            self.stage_gate.pass().await;
            self.staged.lock().unwrap().push(command);
            Ok(())
        })
    }

    fn discard_staged(&self, _: DomainId, task_id: &str) -> StoreFuture<'_, ()> {
        self.discarded.lock().unwrap().push(task_id.to_owned());
        Box::pin(async { Ok(()) })
    }

    fn create_task(&self, command: CreateTask) -> StoreFuture<'_, Idempotent<Task>> {
        Box::pin(async move {
            self.may_fail()?;
            let task = command.accepted(None);
            self.tasks.lock().unwrap().push((command.domain, task.clone()));
            self.created.lock().unwrap().push(command);
            Ok(Idempotent::Done(task))
        })
    }

    fn task(&self, domain: DomainId, family: Family, id: &str) -> StoreFuture<'_, Option<Task>> {
        self.task_reads.fetch_add(1, Ordering::SeqCst);
        let tasks = self.tasks.lock().unwrap();
        let found = tasks.iter().find(|(owner, task)| {
            *owner == domain && task.action.family() == family && task.id == id
        });
        let found = found.map(|(_, task)| task.clone());
        Box::pin(async move { self.may_fail().map(|()| found) })
    }

    fn record_block(
        &self,
        _: DomainId,
        task_id: &str,
        kind: RecordKind,
        from_index: u32,
    ) -> StoreFuture<'_, Option<RecordBlock>> {
        let key = (task_id.to_owned(), kind == RecordKind::Results);
        Box::pin(async move {
            self.records_may_fail()?;
            let records = self.records.lock().unwrap();
            let blocks = records.get(&key).map(Vec::as_slice).unwrap_or_default();
            let lines = blocks.get(from_index as usize % PAYLOAD_ENTRIES_MAX).cloned();
            Ok(lines.map(|lines| RecordBlock { lines, next_index: from_index + 1 }))
        })
    }

    fn record_sizes(
        &self,
        _: DomainId,
        task_id: &str,
        kind: RecordKind,
    ) -> StoreFuture<'_, Vec<RecordBlockSize>> {
        let key = (task_id.to_owned(), kind == RecordKind::Results);
        Box::pin(async move {
            self.records_may_fail()?;
            let records = self.records.lock().unwrap();
            let blocks = records.get(&key).map(Vec::as_slice).unwrap_or_default();
            let size = |(at, lines): (usize, &Vec<u8>)| RecordBlockSize {
                first_index: first_of_part(lines) + at as u32,
                bytes: lines.len() as u64,
            };
            Ok(blocks.iter().enumerate().map(size).collect())
        })
    }
}

impl Issues for ScriptedStore {
    fn change_mark(&self, _: DomainId) -> StoreFuture<'_, i64> {
        let changed = !self.is_still.load(Ordering::SeqCst);
        let mark = self.marks.fetch_add(changed.into(), Ordering::SeqCst);
        Box::pin(async move { Ok(mark) })
    }

    unscripted! {
        count_issues(request: CountIssues) -> IssueCounts;
        create_issue(command: CreateIssue) -> Idempotent<StoredAnswer>;
        add_message(command: AddMessage) -> Idempotent<StoredAnswer>;
        add_note(command: AddNote) -> Idempotent<StoredAnswer>;
        delete_issue(command: DeleteIssue) -> Idempotent<StoredAnswer>;
        edit_issue(command: EditIssue) -> Idempotent<StoredAnswer>;
        edit_issues(command: EditIssues) -> Idempotent<StoredAnswer>;
        redact(command: Redact) -> Idempotent<StoredAnswer>;
        redaction(request: GetRedaction) -> Option<LoggedRedaction>;
        find_messages(request: FindMessages) -> BTreeMap<String, BTreeSet<u64>>;
        reference_faults(domain: DomainId, references: References) -> Vec<ParameterFault>;
        queues(domain: DomainId) -> Vec<IssueQueue>;
        stage_attachment(command: StageAttachment) -> ();
        discard_attachments(domain: DomainId, ids: Vec<String>) -> ();
    }

    fn attachment(&self, _: DomainId, id: &str) -> StoreFuture<'_, Option<Attachment>> {
        let (id, name) = (id.to_owned(), "a.bin".to_owned());
        Box::pin(async move {
            let (size, _) = *self.file.lock().unwrap();
            let content_type = "application/octet-stream".to_owned();
            Ok(Some(Attachment { id, file_name: name, content_type, size }))
        })
    }

    fn attachment_piece(
        &self,
        _: DomainId,
        _: &str,
        number: u32,
    ) -> StoreFuture<'_, Option<Vec<u8>>> {
        Box::pin(async move {
            let (size, damaged) = *self.file.lock().unwrap();
            if number == damaged {
                return Err(StoreError::Corrupt(format!("piece {number}")));
            }
            let before = u64::from(number) * ATTACHMENT_PIECE_BYTES as u64;
            let left = size.checked_sub(before).map(|left| left as usize);
            Ok(left.map(|left| vec![number as u8; left.min(ATTACHMENT_PIECE_BYTES)]))
        })
    }

    fn list_issues(&self, request: ListIssues) -> StoreFuture<'_, IssuePage> {
        let budget = request.budget.clone();
        self.listed.lock().unwrap().push(request);
        Box::pin(async move {
            self.turn_gate.pass().await;
            budget.begin()?;
            self.list_gate.pass().await;
            self.may_fail()?;
            Ok(self.page.lock().unwrap().clone())
        })
    }

    fn explain_issues(&self, _: ListIssues) -> StoreFuture<'_, Vec<ExplainedStep>> {
        Box::pin(async { Ok(Vec::new()) })
    }

    fn step_issues(&self, request: StepIssues) -> StoreFuture<'_, IssueStep> {
        let begun = request.budget.begin();
        self.stepped.lock().unwrap().push(request);
        let takes = *self.step_takes.lock().unwrap();
        Box::pin(async move {
            tokio::time::sleep(takes).await;
            begun?;
            self.may_fail()?;
            let next = self.steps.lock().unwrap().pop_front();
            next.ok_or_else(|| StoreError::Corrupt("no step is left".to_owned()))
        })
    }

    fn issue(&self, _: GetIssue) -> StoreFuture<'_, Option<RenderedIssue>> {
        Box::pin(async {
            self.may_fail()?;
            Ok(self.issue.lock().unwrap().clone())
        })
    }
}

impl Profiles for ScriptedStore {
    unscripted! {
        list_profiles(request: ListProfiles) -> ProfilePage;
        step_profiles(request: StepProfiles) -> ProfileStep;
        profile(request: GetProfile) -> Option<RenderedProfile>;
        find_person(request: FindPerson) -> Option<FoundPerson>;
        delete_profile(command: DeleteProfile) -> Idempotent<StoredAnswer>;
        app_profiles_of(request: AppProfilesOf) -> Vec<String>;
    }
}

impl Changes for ScriptedStore {
    unscripted! {
        read_changes(request: ReadChanges) -> ChangePage;
        history(request: ReadHistory) -> HistoryPage;
        last_position(domain: DomainId) -> u64;
        position_before(domain: DomainId, at: UnixMillis) -> u64;
    }

    fn appended(&self) -> tokio::sync::watch::Receiver<u64> {
        tokio::sync::watch::channel(0).1
    }
}

impl Webhooks for ScriptedStore {
    unscripted! {
        create_webhook(command: CreateWebhook) -> Webhook;
        webhooks(domain: DomainId) -> Vec<Webhook>;
        webhook(domain: DomainId, id: &str) -> Option<Webhook>;
        edit_webhook(command: EditWebhook) -> Webhook;
        delete_webhook(command: OfWebhook) -> ();
        rotate_secret(command: OfWebhook, new: Secret) -> Webhook;
        replay_webhook(command: OfWebhook, cursor: u64) -> Webhook;
        test_webhook(command: OfWebhook) -> ();
        deliveries(domain: DomainId, id: &str) -> Vec<Attempt>;
        claim_webhooks(command: ClaimWebhooks) -> Vec<ClaimedWebhook>;
        record_attempt(command: RecordAttempt) -> ();
        skip_changes(skips: Vec<SkipChanges>) -> ();
        release_webhook(domain: DomainId, id: &str, server: &str) -> ();
    }
}

impl Views for ScriptedStore {
    unscripted! {
        create_view(command: CreateView) -> NamedView;
        views(domain: DomainId, key_id: &str) -> Vec<NamedView>;
        view(domain: DomainId, key_id: &str, id: &str) -> Option<NamedView>;
        edit_view(of: OfView, edit: ViewEdit) -> NamedView;
        delete_view(of: OfView) -> ();
    }
}

impl Upkeep for ScriptedStore {
    unscripted! {
        metrics() -> StoreMetrics;
        check() -> CheckReport;
        backup(command: CreateBackup) -> BackupReport;
        purge_expired(now: UnixMillis) -> bool;
        purge_changes(before: UnixMillis) -> bool;
        index_texts(how: IndexTexts) -> bool;
        close() -> ();
    }

    fn ready(&self) -> StoreFuture<'_, ()> {
        Box::pin(async { self.may_fail() })
    }
}
