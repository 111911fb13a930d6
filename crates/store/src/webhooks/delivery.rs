//! The record of an attempt: its row among the last deliveries, and its consequence for the
//! webhook, in one transaction under the epoch of the lease.

use caseload_model::change::{Author, ChangeAction, Effect, Resource};
use caseload_model::time::UnixMillis;
use caseload_model::webhook::{Attempt, AttemptEnd, AttemptKind, DELIVERIES_KEPT};

use super::commands::{missing, webhook};
use super::row::{lock, save};
use crate::admin::log_effects;
use crate::idempotency::CommandStore;
use crate::sql::Row;
use crate::{AdminOrigin, AfterAttempt, RecordAttempt, StoreError, values};

pub fn record_attempt(
    store: &impl CommandStore,
    command: &RecordAttempt,
) -> Result<(), StoreError> {
    let RecordAttempt { id, lease_epoch, now, attempt, then, lease_until, .. } = command;
    let locked = lock(store, id)?.filter(|row| row.lease_epoch == *lease_epoch);
    let mut row = locked.ok_or(StoreError::LeaseLost)?;
    row.lease_until = lease_until.unwrap_or(UnixMillis(0));
    let failures = row.webhook.failures.saturating_add(1);
    let mut effects = Vec::new();
    match then {
        AfterAttempt::Tested => row.test = false,
        AfterAttempt::Advance { cursor } => {
            row.starts_afresh();
            row.webhook.cursor = *cursor;
        }
        AfterAttempt::Retry { at, until } => {
            row.webhook.failures = failures;
            (row.webhook.next_try_at, row.retry_until) = (Some(*at), Some(*until));
        }
        AfterAttempt::Pause { reason } => {
            row.webhook.failures = failures;
            row.webhook.next_try_at = None;
            row.webhook.settings.paused = true;
            row.webhook.pause_reason = Some(reason.clone());
            let paused = Effect::new(Resource::Webhook, &**id, ChangeAction::Updated);
            effects.push(paused.of_fields(["paused".into()]));
        }
    }
    if let Some(attempt) = attempt {
        row.attempts += 1;
        add(store, id, row.attempts, attempt)?;
    }
    save(store, &row)?;
    let origin = AdminOrigin { now: *now, by: Author::Unknown, request_id: None };
    log_effects(store, &origin, effects)
}

/// Adds an attempt, and deletes the one that it displaces.
fn add(
    store: &impl CommandStore,
    id: &str,
    number: i64,
    attempt: &Attempt,
) -> Result<(), StoreError> {
    let Attempt { at, duration_ms, message_id, kind, end } = attempt;
    let (count, first, last) = match kind {
        AttemptKind::Changes { count, first, last } => {
            (Some(*count as u64), Some(*first), Some(*last))
        }
        AttemptKind::Test => (None, None, None),
    };
    let (status, text) = match end {
        AttemptEnd::Answered { status, answer } => (Some(u32::from(*status)), answer),
        AttemptEnd::NoAnswer { reason } => (None, reason),
    };
    let domain = store.domain();
    store.change(
        "INSERT INTO webhook_deliveries (domain_id, webhook_id, number, at, duration_ms,
         message_id, changes, first_position, last_position, status, answer)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11)",
        values![domain, id, number, at, duration_ms, message_id, count, first, last, status, text],
    )?;
    let oldest = number.saturating_sub(DELIVERIES_KEPT as i64);
    let delete = "DELETE FROM webhook_deliveries
                  WHERE domain_id = ?1 AND webhook_id = ?2 AND number <= ?3";
    store.change(delete, values![domain, id, oldest]).map(drop)
}

/// The last deliveries of a webhook, newest first.
pub fn deliveries(store: &impl CommandStore, id: &str) -> Result<Vec<Attempt>, StoreError> {
    if webhook(store, id)?.is_none() {
        return Err(missing(id));
    }
    let select = "SELECT at, duration_ms, message_id, changes, first_position, last_position,
         status, answer FROM webhook_deliveries WHERE domain_id = ?1 AND webhook_id = ?2
         ORDER BY number DESC LIMIT ?3";
    store.list(select, values![store.domain(), id, DELIVERIES_KEPT as i64], attempt)
}

fn attempt(row: &dyn Row) -> Result<Attempt, StoreError> {
    let kind = match row.get::<Option<u64>>(3)? {
        Some(count) => {
            AttemptKind::Changes { count: count as usize, first: row.get(4)?, last: row.get(5)? }
        }
        None => AttemptKind::Test,
    };
    let end = match row.get::<Option<u32>>(6)? {
        Some(status) => {
            let out_of_range = || StoreError::Corrupt(format!("{status} is not a status"));
            let status = u16::try_from(status).ok().ok_or_else(out_of_range)?;
            AttemptEnd::Answered { status, answer: row.get(7)? }
        }
        None => AttemptEnd::NoAnswer { reason: row.get(7)? },
    };
    Ok(Attempt { at: row.get(0)?, duration_ms: row.get(1)?, message_id: row.get(2)?, kind, end })
}
