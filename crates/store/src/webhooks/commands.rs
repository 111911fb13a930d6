//! The commands of callers. Each that changes a delivery raises the epoch and leaves the end of the
//! lease: no attempt under the old settings is recorded, and none under the new ones begins while
//! it may still be under way.

use caseload_model::change::{ChangeAction, Effect, Resource};
use caseload_model::time::UnixMillis;
use caseload_model::webhook::{DOMAIN_WEBHOOKS_MAX, Secret, Secrets, WebhookSettings};

use super::row::{COLUMNS, Stored, insert, lock, save, stored};
use crate::admin::{log_created, log_effects};
use crate::changes::positions;
use crate::idempotency::CommandStore;
use crate::{AdminOrigin, CreateWebhook, EditWebhook, OfWebhook, StoreError, Webhook, values};

/// Makes a webhook. Two at once take turns, so that the domain never has too many.
pub fn create_webhook(
    store: &impl CommandStore,
    command: &CreateWebhook,
) -> Result<Webhook, StoreError> {
    let CreateWebhook { domain, id, settings, secret, origin } = command;
    let turn = "UPDATE domains SET name = name WHERE id = ?1";
    if store.change(turn, values![domain])? == 0 {
        return Err(StoreError::unknown_domain());
    }
    let count = "SELECT count(*) FROM webhooks WHERE domain_id = ?1";
    let count: Option<u64> = store.find(count, values![domain], |row| row.get(0))?;
    if count.unwrap_or_default() >= DOMAIN_WEBHOOKS_MAX as u64 {
        return Err(StoreError::QuotaExceeded(format!(
            "it has {DOMAIN_WEBHOOKS_MAX} webhooks, as many as a domain may have"
        )));
    }
    let new = Stored {
        webhook: Webhook {
            id: id.clone(),
            created_at: origin.now,
            settings: settings.clone(),
            pause_reason: None,
            cursor: positions(store)?.0,
            failures: 0,
            next_try_at: None,
        },
        retry_until: None,
        test: false,
        secrets: Secrets::new(secret.clone()),
        lease_until: UnixMillis(0),
        lease_epoch: 0,
        attempts: 0,
    };
    if !insert(store, &new)? {
        return Err(StoreError::exists("webhook", id));
    }
    log_created(store, origin, Resource::Webhook, id)?;
    Ok(new.webhook)
}

pub fn webhooks(store: &impl CommandStore) -> Result<Vec<Webhook>, StoreError> {
    let select =
        format!("SELECT {COLUMNS} FROM webhooks WHERE domain_id = ?1 ORDER BY created_at, id");
    store.list(&select, values![store.domain()], |row| Ok(stored(row)?.webhook))
}

pub fn webhook(store: &impl CommandStore, id: &str) -> Result<Option<Webhook>, StoreError> {
    let select = format!("SELECT {COLUMNS} FROM webhooks WHERE domain_id = ?1 AND id = ?2");
    store.find(&select, values![store.domain(), id], |row| Ok(stored(row)?.webhook))
}

pub fn edit_webhook(
    store: &impl CommandStore,
    command: &EditWebhook,
) -> Result<Webhook, StoreError> {
    let EditWebhook { webhook: OfWebhook { id, origin, .. }, request } = command;
    let mut row = lock(store, id)?.ok_or_else(|| missing(id))?;
    let before = std::mem::take(&mut row.webhook.settings);
    row.webhook.settings = request.clone().apply(before.clone());
    let fields = changed_fields(&before, &row.webhook.settings);
    if fields.is_empty() {
        return Ok(row.webhook);
    }
    row.starts_afresh();
    row.webhook.pause_reason = row.webhook.pause_reason.filter(|_| row.webhook.settings.paused);
    write(store, row, origin, fields)
}

/// Removes a webhook with its deliveries.
pub fn delete_webhook(store: &impl CommandStore, command: &OfWebhook) -> Result<(), StoreError> {
    let OfWebhook { id, origin, .. } = command;
    let domain = store.domain();
    let of = values![domain, id];
    if store.change("DELETE FROM webhooks WHERE domain_id = ?1 AND id = ?2", of)? == 0 {
        return Err(missing(id));
    }
    store.change("DELETE FROM webhook_deliveries WHERE domain_id = ?1 AND webhook_id = ?2", of)?;
    let deleted = Effect::new(Resource::Webhook, &**id, ChangeAction::Deleted);
    log_effects(store, origin, vec![deleted])
}

pub fn rotate_secret(
    store: &impl CommandStore,
    command: &OfWebhook,
    new: &Secret,
) -> Result<Webhook, StoreError> {
    let OfWebhook { id, origin, .. } = command;
    let mut row = lock(store, id)?.ok_or_else(|| missing(id))?;
    row.secrets = row.secrets.rotated(new.clone(), origin.now);
    write(store, row, origin, vec!["secret"])
}

pub fn replay_webhook(
    store: &impl CommandStore,
    command: &OfWebhook,
    cursor: u64,
) -> Result<Webhook, StoreError> {
    let OfWebhook { id, origin, .. } = command;
    let mut row = lock(store, id)?.ok_or_else(|| missing(id))?;
    let (last, dropped) = positions(store)?;
    if cursor < dropped {
        return Err(StoreError::ChangesDropped { dropped });
    }
    row.webhook.cursor = cursor.min(last);
    row.starts_afresh();
    let mut fields = vec!["cursor"];
    if row.webhook.pause_reason.take().is_some() {
        row.webhook.settings.paused = false;
        fields.push("paused");
    }
    write(store, row, origin, fields)
}

pub fn test_webhook(store: &impl CommandStore, command: &OfWebhook) -> Result<(), StoreError> {
    let ask = "UPDATE webhooks SET test_asked = ?3 WHERE domain_id = ?1 AND id = ?2";
    match store.change(ask, values![store.domain(), command.id, true])? {
        0 => Err(missing(&command.id)),
        _ => Ok(()),
    }
}

/// Writes a webhook that a caller changed.
fn write(
    store: &impl CommandStore,
    mut row: Stored,
    origin: &AdminOrigin,
    fields: Vec<&'static str>,
) -> Result<Webhook, StoreError> {
    row.lease_epoch += 1;
    save(store, &row)?;
    let updated = Effect::new(Resource::Webhook, &*row.webhook.id, ChangeAction::Updated);
    let updated = updated.of_fields(fields.into_iter().map(Into::into));
    log_effects(store, origin, vec![updated])?;
    Ok(row.webhook)
}

/// The names of the settings that differ.
fn changed_fields(before: &WebhookSettings, after: &WebhookSettings) -> Vec<&'static str> {
    let fields = [
        ("url", before.url != after.url),
        ("resources", before.resources != after.resources),
        ("actions", before.actions != after.actions),
        ("include_record", before.include_record != after.include_record),
        ("paused", before.paused != after.paused),
    ];
    fields.into_iter().filter_map(|(name, differs)| differs.then_some(name)).collect()
}

pub(super) fn missing(id: &str) -> StoreError {
    StoreError::NotFound { what: format!("the webhook {id}") }
}
