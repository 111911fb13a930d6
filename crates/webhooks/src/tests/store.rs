//! A store in memory that obeys the contract of webhooks as simply as possible.

use std::collections::BTreeMap;
use std::future::{pending, ready};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};

use caseload_model::change::{Author, Change, ChangeAction, Effect, RecordId, Resource};
use caseload_model::ids::{DomainId, DomainName};
use caseload_model::time::UnixMillis;
use caseload_model::webhook::{Attempt, Secret, Secrets, WebhookSettings};
use caseload_store::{
    AfterAttempt, ChangePage, Changes, ClaimWebhooks, ClaimedWebhook, CreateWebhook, EditWebhook,
    HistoryPage, OfWebhook, ReadChanges, ReadHistory, RecordAttempt, SkipChanges, StoreError,
    StoreFuture, Webhook, Webhooks,
};
use parking_lot::Mutex;
use tokio::sync::watch;

use crate::Records;

pub(super) const DOMAIN: DomainId = DomainId(1);

#[derive(Default)]
pub(super) struct MemoryStore {
    rows: Mutex<BTreeMap<String, Row>>,
    log: Mutex<Vec<Change>>,
    /// Whether the record of an attempt never comes to its end, as if the server died before.
    pub(super) never_records: AtomicBool,
    /// Whether claims fail.
    pub(super) is_away: AtomicBool,
    /// The last position that is no longer stored.
    pub(super) dropped: AtomicU64,
    appended: watch::Sender<u64>,
    /// Writes of cursors without a delivery.
    pub(super) skips: AtomicUsize,
}

struct Row {
    webhook: Webhook,
    secrets: Secrets,
    epoch: i64,
    server: String,
    leased_until: UnixMillis,
    leased_at: UnixMillis,
    retry_until: Option<u64>,
    test: bool,
    attempts: Vec<Attempt>,
}

impl MemoryStore {
    pub(super) fn add(&self, id: &str, url: &str, settings: WebhookSettings) {
        let settings = WebhookSettings { url: url.to_owned(), ..settings };
        let webhook = Webhook {
            id: id.to_owned(),
            created_at: UnixMillis(0),
            settings,
            pause_reason: None,
            cursor: 0,
            failures: 0,
            next_try_at: None,
        };
        let row = Row {
            webhook,
            secrets: super::secrets(),
            epoch: 0,
            server: String::new(),
            leased_until: UnixMillis(0),
            leased_at: UnixMillis(0),
            retry_until: None,
            test: false,
            attempts: Vec::new(),
        };
        self.rows.lock().insert(id.to_owned(), row);
    }

    /// Logs changes of so many issues.
    pub(super) fn log(&self, resource: Resource, count: u64) {
        let mut log = self.log.lock();
        for _ in 0..count {
            let position = log.len() as u64 + 1;
            let effect = Effect::new(resource, position, ChangeAction::Updated);
            let (at, by) = (UnixMillis(0), Author::Unknown.into());
            log.push(Change { position, at, effect, by, request_id: None });
        }
        self.appended.send_modify(|count| *count += 1);
    }

    /// Runs a command of a caller, which raises the epoch.
    fn change<T>(&self, id: &str, change: impl FnOnce(&mut Row) -> T) -> StoreFuture<'_, T>
    where
        T: Send + 'static,
    {
        let mut rows = self.rows.lock();
        let changed = rows.get_mut(id).map(|row| {
            row.epoch += 1;
            change(row)
        });
        let missing = || StoreError::NotFound { what: "the webhook".to_owned() };
        Box::pin(ready(changed.ok_or_else(missing)))
    }
}

impl Row {
    fn starts_afresh(&mut self) {
        (self.webhook.failures, self.webhook.next_try_at, self.retry_until) = (0, None, None);
    }
}

impl Changes for MemoryStore {
    fn read_changes(&self, request: ReadChanges) -> StoreFuture<'_, ChangePage> {
        // As a store that looks at no more than ten changes without a match.
        let log = self.log.lock();
        let dropped = self.dropped.load(Ordering::SeqCst);
        if request.after < dropped {
            return Box::pin(ready(Err(StoreError::ChangesDropped { dropped })));
        }
        let mut page = ChangePage { changes: Vec::new(), next: request.after };
        for change in log.iter().skip(request.after as usize) {
            let is_far = page.changes.is_empty() && page.next >= request.after + 10;
            if page.changes.len() == request.changes_max || is_far {
                break;
            }
            page.next = change.position;
            if request.filter.matches(change) {
                page.changes.push(change.clone());
            }
        }
        Box::pin(ready(Ok(page)))
    }

    fn last_position(&self, _: DomainId) -> StoreFuture<'_, u64> {
        Box::pin(ready(Ok(self.log.lock().len() as u64)))
    }

    fn history(&self, _: ReadHistory) -> StoreFuture<'_, HistoryPage> {
        panic!("a webhook reads no history")
    }

    fn position_before(&self, _: DomainId, _: UnixMillis) -> StoreFuture<'_, u64> {
        panic!("a webhook reads from its cursor on")
    }

    fn appended(&self) -> watch::Receiver<u64> {
        self.appended.subscribe()
    }
}

impl Records for MemoryStore {
    fn record<'r>(
        &'r self,
        _: (DomainId, &'r DomainName),
        _: Resource,
        id: &'r RecordId,
    ) -> StoreFuture<'r, Option<Vec<u8>>> {
        let exists = id.number().is_some_and(|number| number % 2 == 0);
        Box::pin(ready(Ok(exists.then(|| format!("{{\"the\":\"{id}\"}}").into_bytes()))))
    }
}

impl Webhooks for MemoryStore {
    fn create_webhook(&self, command: CreateWebhook) -> StoreFuture<'_, Webhook> {
        let CreateWebhook { id, settings, .. } = command;
        self.add(&id, &settings.url.clone(), settings);
        self.change(&id, |row| row.webhook.clone())
    }

    fn webhooks(&self, _: DomainId) -> StoreFuture<'_, Vec<Webhook>> {
        let webhooks = self.rows.lock().values().map(|row| row.webhook.clone()).collect();
        Box::pin(ready(Ok(webhooks)))
    }

    fn webhook(&self, _: DomainId, id: &str) -> StoreFuture<'_, Option<Webhook>> {
        Box::pin(ready(Ok(self.rows.lock().get(id).map(|row| row.webhook.clone()))))
    }

    fn edit_webhook(&self, command: EditWebhook) -> StoreFuture<'_, Webhook> {
        let EditWebhook { webhook, request } = command;
        self.change(&webhook.id, |row| {
            row.starts_afresh();
            row.webhook.settings = request.apply(row.webhook.settings.clone());
            row.webhook.pause_reason = None;
            row.webhook.clone()
        })
    }

    fn delete_webhook(&self, command: OfWebhook) -> StoreFuture<'_, ()> {
        self.rows.lock().remove(&command.id);
        Box::pin(ready(Ok(())))
    }

    fn rotate_secret(&self, command: OfWebhook, new: Secret) -> StoreFuture<'_, Webhook> {
        self.change(&command.id, |row| {
            row.secrets = row.secrets.clone().rotated(new, command.origin.now);
            row.webhook.clone()
        })
    }

    fn replay_webhook(&self, command: OfWebhook, cursor: u64) -> StoreFuture<'_, Webhook> {
        self.change(&command.id, |row| {
            row.starts_afresh();
            row.webhook.cursor = cursor;
            if row.webhook.pause_reason.take().is_some() {
                row.webhook.settings.paused = false;
            }
            row.webhook.clone()
        })
    }

    fn test_webhook(&self, command: OfWebhook) -> StoreFuture<'_, ()> {
        self.change(&command.id, |row| row.test = true)
    }

    fn deliveries(&self, _: DomainId, id: &str) -> StoreFuture<'_, Vec<Attempt>> {
        let attempts = self.rows.lock().get(id).map(|row| row.attempts.clone());
        Box::pin(ready(Ok(attempts.unwrap_or_default().into_iter().rev().collect())))
    }

    fn claim_webhooks(&self, command: ClaimWebhooks) -> StoreFuture<'_, Vec<ClaimedWebhook>> {
        if self.is_away.load(Ordering::SeqCst) {
            return Box::pin(ready(Err(StoreError::Unreachable("a test".to_owned()))));
        }
        let ClaimWebhooks { server, now, lease_until, webhooks_max } = command;
        let last = self.log.lock().len() as u64;
        let mut rows = self.rows.lock();
        let mut due: Vec<&mut Row> =
            rows.values_mut().filter(|row| row.is_due(now, last)).collect();
        due.sort_by_key(|row| row.leased_at);
        let claim = |row: &mut Row| {
            (row.epoch, row.leased_until, row.leased_at) = (row.epoch + 1, lease_until, now);
            row.server.clone_from(&server);
            ClaimedWebhook {
                domain: DOMAIN,
                domain_name: DomainName::parse("acme").unwrap(),
                webhook: row.webhook.clone(),
                secrets: row.secrets.clone(),
                lease_epoch: row.epoch,
                retry_until: row.retry_until,
                test: row.test,
            }
        };
        let claims = due.into_iter().take(webhooks_max).map(claim).collect();
        Box::pin(ready(Ok(claims)))
    }

    fn record_attempt(&self, command: RecordAttempt) -> StoreFuture<'_, ()> {
        if self.never_records.load(Ordering::SeqCst) {
            return Box::pin(pending());
        }
        let mut rows = self.rows.lock();
        let row = rows.get_mut(&command.id).filter(|row| row.epoch == command.lease_epoch);
        let Some(row) = row else { return Box::pin(ready(Err(StoreError::LeaseLost))) };
        row.leased_until = command.lease_until.unwrap_or(UnixMillis(0));
        row.attempts.extend(command.attempt);
        let failures = row.webhook.failures + 1;
        match command.then {
            AfterAttempt::Tested => row.test = false,
            AfterAttempt::Advance { cursor } => {
                row.starts_afresh();
                row.webhook.cursor = cursor;
            }
            AfterAttempt::Retry { at, until } => {
                row.webhook.failures = failures;
                (row.webhook.next_try_at, row.retry_until) = (Some(at), Some(until));
            }
            AfterAttempt::Pause { reason } => {
                row.webhook.failures = failures;
                row.webhook.next_try_at = None;
                row.webhook.settings.paused = true;
                row.webhook.pause_reason = Some(reason);
            }
        }
        Box::pin(ready(Ok(())))
    }

    fn skip_changes(&self, skips: Vec<SkipChanges>) -> StoreFuture<'_, ()> {
        self.skips.fetch_add(1, Ordering::SeqCst);
        let mut rows = self.rows.lock();
        for skip in skips {
            let row = rows.get_mut(&skip.id).filter(|row| row.server == skip.server);
            if let Some(row) = row {
                row.leased_until = UnixMillis(0);
                if row.epoch == skip.lease_epoch {
                    row.webhook.cursor = skip.cursor;
                }
            }
        }
        Box::pin(ready(Ok(())))
    }

    fn release_webhook(&self, _: DomainId, id: &str, server: &str) -> StoreFuture<'_, ()> {
        let mut rows = self.rows.lock();
        if let Some(row) = rows.get_mut(id).filter(|row| row.server == server) {
            row.leased_until = UnixMillis(0);
        }
        Box::pin(ready(Ok(())))
    }
}

impl Row {
    fn is_due(&self, now: UnixMillis, last: u64) -> bool {
        let has_work = !self.webhook.settings.paused
            && self.webhook.next_try_at.is_none_or(|at| at <= now)
            && self.webhook.cursor < last;
        self.leased_until <= now && (self.test || has_work)
    }
}
