//! Leases of webhooks. A lease that ends later than any may, because a clock was ahead, does not
//! count, and neither does such a time of a next try.

use caseload_model::ids::{DomainId, DomainName};
use caseload_model::time::UnixMillis;
use caseload_model::webhook::RETRY_SECONDS;

use super::row::{COLUMNS, stored};
use crate::idempotency::CommandStore;
use crate::sql::{OwnedValue, Query, Sql};
use crate::tasks::latest_wait;
use crate::{ClaimWebhooks, ClaimedWebhook, SkipChanges, StoreError, values};

/// The longest time until a next try, in milliseconds.
const NEXT_TRY_MS_MAX: i64 = 1000 * RETRY_SECONDS[RETRY_SECONDS.len() - 1] as i64;

/// Whether the webhook `w` is due: `?1` is the current time, `?2` the latest end of a lease that
/// counts, `?3` the latest next try.
const IS_DUE: &str = "(w.lease_until <= ?1 OR w.lease_until > ?2) AND (w.test_asked OR (
     NOT w.paused AND (w.next_try_at IS NULL OR w.next_try_at <= ?1 OR w.next_try_at > ?3)
     AND w.position < c.last_position))";

/// A webhook that is due.
#[derive(Debug)]
pub struct DueWebhook {
    pub domain: DomainId,
    pub id: String,
}

/// The webhooks of all domains that are due: first those whose last lease is longest ago.
pub fn due(command: &ClaimWebhooks) -> Query<DueWebhook> {
    due_where(command, "", [])
}

/// The same of one domain.
pub fn due_in(domain: DomainId, command: &ClaimWebhooks) -> Query<DueWebhook> {
    due_where(command, "w.domain_id = ?5 AND", [domain.into()])
}

fn due_where<const N: usize>(
    command: &ClaimWebhooks,
    which: &str,
    more: [OwnedValue; N],
) -> Query<DueWebhook> {
    let select = format!(
        "SELECT w.domain_id, w.id FROM webhooks w
         JOIN domain_clocks c ON c.domain_id = w.domain_id
         WHERE {which} {IS_DUE} ORDER BY w.leased_at, w.domain_id, w.id LIMIT ?4"
    );
    let [now, lease, next_try] = times(command.now);
    let values = [now, lease, next_try, command.webhooks_max as i64].map(OwnedValue::from);
    Query::new(select, values.into_iter().chain(more), |row| {
        Ok(DueWebhook { domain: row.get(0)?, id: row.get(1)? })
    })
}

/// The current time, and the latest ones that count.
fn times(now: UnixMillis) -> [i64; 3] {
    [now.0, latest_wait(now).0, now.0.saturating_add(NEXT_TRY_MS_MAX)]
}

/// Leases webhooks of the domain to a server, as far as they are still due. One that another server
/// took first, or a domain that was removed, is passed over.
pub fn claim(
    store: &impl CommandStore,
    ids: &[String],
    command: &ClaimWebhooks,
) -> Result<Vec<ClaimedWebhook>, StoreError> {
    let domain = store.domain();
    let select = "SELECT name FROM domains WHERE id = ?1";
    let name: Option<DomainName> = store.find(select, values![domain], |row| row.get(0))?;
    let Some(domain_name) = name else { return Ok(Vec::new()) };
    let lease = format!(
        "UPDATE webhooks AS w SET lease_server = ?6, lease_until = ?7, leased_at = ?1,
         lease_epoch = w.lease_epoch + 1 FROM domain_clocks c
         WHERE w.domain_id = ?4 AND w.id = ?5 AND c.domain_id = ?4 AND {IS_DUE}
         RETURNING {COLUMNS}"
    );
    let [now, lease_max, next_try] = times(command.now);
    let ClaimWebhooks { server, lease_until, .. } = command;
    let mut claimed = Vec::new();
    for id in ids {
        let values = values![now, lease_max, next_try, domain, id, server, lease_until];
        let leased = store.find(&lease, values, stored)?;
        claimed.extend(leased.map(|row| ClaimedWebhook {
            domain,
            domain_name: domain_name.clone(),
            webhook: row.webhook,
            secrets: row.secrets,
            lease_epoch: row.lease_epoch,
            retry_until: row.retry_until,
            test: row.test,
        }));
    }
    Ok(claimed)
}

/// Moves the cursor of a webhook past changes that do not match, and ends the lease.
pub fn skip(store: &impl Sql, skip: &SkipChanges) -> Result<(), StoreError> {
    let SkipChanges { domain, id, server, lease_epoch, cursor } = skip;
    let skip = "UPDATE webhooks SET lease_server = NULL, lease_until = 0,
         position = CASE WHEN lease_epoch = ?4 THEN greatest(position, ?5) ELSE position END
         WHERE domain_id = ?1 AND id = ?2 AND lease_server = ?3";
    store.change(skip, values![domain, id, server, lease_epoch, cursor]).map(drop)
}

/// Ends the lease of a webhook, if the server has it.
pub fn release(store: &impl CommandStore, id: &str, server: &str) -> Result<(), StoreError> {
    let release = "UPDATE webhooks SET lease_server = NULL, lease_until = 0
         WHERE domain_id = ?1 AND id = ?2 AND lease_server = ?3";
    store.change(release, values![store.domain(), id, server]).map(drop)
}

/// Ends all leases, for a server that is the only one and has just started.
pub fn end_all_leases(store: &impl Sql) -> Result<(), StoreError> {
    let end = "UPDATE webhooks SET lease_server = NULL, lease_until = 0,
         lease_epoch = lease_epoch + 1 WHERE lease_server IS NOT NULL";
    store.change(end, &[]).map(drop)
}

/// How many webhooks have changes to deliver, and how many are paused.
pub fn states() -> Query<(u64, u64)> {
    let count = "SELECT count(CASE WHEN NOT w.paused AND w.position < c.last_position THEN 1 END),
         count(CASE WHEN w.paused THEN 1 END)
         FROM webhooks w JOIN domain_clocks c ON c.domain_id = w.domain_id";
    Query::new(count, [], |row| Ok((row.get(0)?, row.get(1)?)))
}
