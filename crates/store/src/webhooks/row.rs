//! The row of a webhook. Commands read it whole under its lock, change it, and write it whole.

use caseload_model::change::{ChangeAction, Resource};
use caseload_model::time::UnixMillis;
use caseload_model::webhook::{Secret, Secrets, WebhookSettings};

use crate::idempotency::CommandStore;
use crate::sql::Row;
use crate::{StoreError, Webhook, values};

/// The columns that [`stored`] reads.
pub(super) const COLUMNS: &str = "id, created_at, url, resources, actions, include_record, paused, \
     pause_reason, position, failures, next_try_at, retry_until, test_asked, secret, old_secret, \
     old_secret_until, lease_until, lease_epoch, attempts";

/// A webhook as a store has it.
#[derive(Debug)]
pub(super) struct Stored {
    pub(super) webhook: Webhook,
    /// The position of the last change of the failed attempts.
    pub(super) retry_until: Option<u64>,
    pub(super) test: bool,
    pub(super) secrets: Secrets,
    /// 0 if no server has the webhook.
    pub(super) lease_until: UnixMillis,
    pub(super) lease_epoch: i64,
    /// Attempts so far: the number of the last one.
    pub(super) attempts: i64,
}

impl Stored {
    /// Nothing has failed: the webhook is due at once.
    pub(super) fn starts_afresh(&mut self) {
        (self.webhook.failures, self.webhook.next_try_at, self.retry_until) = (0, None, None);
    }
}

/// Words as one number, with the bit of each word's number; 0 for all words.
fn mask<T: Copy>(words: &[T], code: impl Fn(T) -> u64) -> i64 {
    words.iter().fold(0, |mask, word| mask | 1_i64 << code(*word))
}

fn unmask<T: Copy>(mask: i64, all: &[T], code: impl Fn(T) -> u64) -> Vec<T> {
    all.iter().copied().filter(|word| mask >> code(*word) & 1 == 1).collect()
}

/// A webhook, from a row of [`COLUMNS`].
pub(super) fn stored(row: &dyn Row) -> Result<Stored, StoreError> {
    let old: Option<Vec<u8>> = row.get(14)?;
    let old_until: Option<UnixMillis> = row.get(15)?;
    Ok(Stored {
        webhook: Webhook {
            id: row.get(0)?,
            created_at: row.get(1)?,
            settings: WebhookSettings {
                url: row.get(2)?,
                resources: unmask(row.get(3)?, Resource::ALL, Resource::code),
                actions: unmask(row.get(4)?, ChangeAction::ALL, ChangeAction::code),
                include_record: row.get(5)?,
                paused: row.get(6)?,
            },
            pause_reason: row.get(7)?,
            cursor: row.get(8)?,
            failures: row.get(9)?,
            next_try_at: row.get(10)?,
        },
        retry_until: row.get(11)?,
        test: row.get(12)?,
        secrets: Secrets {
            current: Secret::new(row.get(13)?),
            previous: old.map(Secret::new).zip(old_until),
        },
        lease_until: row.get(16)?,
        lease_epoch: row.get(17)?,
        attempts: row.get(18)?,
    })
}

/// Locks the row of a webhook and reads it; `None` if the domain has none of that id.
pub(super) fn lock(store: &impl CommandStore, id: &str) -> Result<Option<Stored>, StoreError> {
    let lock = format!(
        "UPDATE webhooks SET failures = failures WHERE domain_id = ?1 AND id = ?2
         RETURNING {COLUMNS}"
    );
    store.find(&lock, values![store.domain(), id], stored)
}

/// Adds the row of a new webhook; false if there is one of that id.
pub(super) fn insert(store: &impl CommandStore, new: &Stored) -> Result<bool, StoreError> {
    let add = "INSERT INTO webhooks (domain_id, id, created_at, url, resources, actions,
         include_record, paused, position, secret)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10) ON CONFLICT DO NOTHING";
    let Webhook { id, created_at, settings, cursor, .. } = &new.webhook;
    let WebhookSettings { url, resources, actions, include_record, paused } = settings;
    let [resources, actions] = [mask(resources, Resource::code), mask(actions, ChangeAction::code)];
    let secret = new.secrets.current.as_bytes();
    let domain = store.domain();
    let row = values![
        domain,
        id,
        created_at,
        url,
        resources,
        actions,
        include_record,
        paused,
        cursor,
        secret
    ];
    Ok(store.change(add, row)? > 0)
}

/// Writes a row that is locked. It ends the lease if `lease_until` is 0.
pub(super) fn save(store: &impl CommandStore, row: &Stored) -> Result<(), StoreError> {
    let update = "UPDATE webhooks SET url = ?3, resources = ?4, actions = ?5, include_record = ?6,
         paused = ?7, pause_reason = ?8, position = ?9, failures = ?10, next_try_at = ?11,
         retry_until = ?12, test_asked = ?13, secret = ?14, old_secret = ?15,
         old_secret_until = ?16, lease_until = ?17, lease_epoch = ?18, attempts = ?19
         WHERE domain_id = ?1 AND id = ?2";
    let Webhook { id, settings, pause_reason, cursor, failures, next_try_at, .. } = &row.webhook;
    let WebhookSettings { url, resources, actions, include_record, paused } = settings;
    let [resources, actions] = [mask(resources, Resource::code), mask(actions, ChangeAction::code)];
    let Secrets { current, previous } = &row.secrets;
    let (old, old_until) = previous.as_ref().map(|(old, until)| (old.as_bytes(), until)).unzip();
    let (domain, secret) = (store.domain(), current.as_bytes());
    let row = values![
        domain,
        id,
        url,
        resources,
        actions,
        include_record,
        paused,
        pause_reason,
        cursor,
        failures,
        next_try_at,
        row.retry_until,
        row.test,
        secret,
        old,
        old_until,
        row.lease_until,
        row.lease_epoch,
        row.attempts
    ];
    store.change(update, row).map(drop)
}
