//! The life of one lease: search, send, record, and again while the receiver is quick. A worker
//! sends only while its lease outlasts the attempt, so two servers never send for one webhook at
//! the same time. If the store fails, the worker leaves the lease to run out, which is the pause
//! before the next try.

use std::sync::Arc;
use std::time::Duration;

use caseload_model::time::{Clock, UnixMillis};
use caseload_model::webhook::{Attempt, AttemptEnd, AttemptKind, NextStep, message_id, next_step};
use caseload_store::{
    AfterAttempt, Changes, ClaimedWebhook, RecordAttempt, SkipChanges, StoreError, Webhooks,
};
use tokio::sync::watch;
use tokio::time::Instant;

use crate::batch::{Batch, Found, next_batch};
use crate::counters::Counters;
use crate::records::Records;
use crate::sender::{Delivery, Sender};

/// Deliveries under one lease, so that all webhooks take turns.
const BATCHES_MAX: u32 = 10;
/// A receiver that takes longer gives its place to others after each delivery.
const QUICK_ANSWER_MAX: Duration = Duration::from_secs(1);
/// The body of a delivery that a caller asked for.
const TEST_BODY: &[u8] = b"{\"changes\":[],\"test\":true}";

/// What all workers of a runner share.
#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) webhooks: Arc<dyn Webhooks>,
    pub(crate) log: Arc<dyn Changes>,
    pub(crate) records: Arc<dyn Records>,
    pub(crate) sender: Sender,
    pub(crate) clock: Clock,
    pub(crate) counters: Arc<Counters>,
    pub(crate) stopping: watch::Receiver<bool>,
    pub(crate) server: String,
    pub(crate) lease: Duration,
}

/// How a worker ended.
#[derive(Debug)]
pub(crate) enum Ended {
    /// The lease lasts until this is stored.
    Skip(SkipChanges),
    /// The lease has ended, and there may be more to deliver.
    Delivered,
    /// There is nothing to do now.
    Idle,
}

/// A lease, and until when this server may count on it.
struct Lease {
    claimed: ClaimedWebhook,
    until: Instant,
}

impl Context {
    pub(crate) fn lease_until(&self, now: UnixMillis) -> UnixMillis {
        UnixMillis(now.0.saturating_add(self.lease.as_millis() as i64))
    }
}

/// Works under a lease that lasts until `until`.
pub(crate) async fn run(context: Context, claimed: ClaimedWebhook, until: Instant) -> Ended {
    let (domain, id) = (claimed.domain, claimed.webhook.id.clone());
    let domain_name = claimed.domain_name.clone();
    let lease = Lease { claimed, until };
    let ended = match work(&context, lease).await {
        Ok(Some(ended)) => return ended,
        Ok(None) => Ended::Idle,
        // A caller has changed the webhook, which is due at once.
        Err(StoreError::LeaseLost) => Ended::Delivered,
        // The domain is gone.
        Err(StoreError::Closed | StoreError::NotFound { .. }) => return Ended::Idle,
        Err(error) => {
            let domain = domain_name.as_str();
            tracing::error!(%error, domain, webhook = id, "a webhook waits: the store failed");
            return Ended::Idle;
        }
    };
    if let Err(error) = context.webhooks.release_webhook(domain, &id, &context.server).await {
        tracing::error!(%error, webhook = id, "the lease of a webhook could not be ended");
    }
    ended
}

/// Returns `None` if the lease is to be ended.
async fn work(context: &Context, mut lease: Lease) -> Result<Option<Ended>, StoreError> {
    if lease.claimed.test {
        let (attempt, _) = attempt(context, &lease.claimed, Sending::test(&lease.claimed)).await;
        record(context, &mut lease, Some(attempt), AfterAttempt::Tested, false).await?;
        return Ok(Some(Ended::Delivered));
    }
    let mut cursor = lease.claimed.webhook.cursor;
    let mut until = lease.claimed.retry_until;
    for batches in 1..=BATCHES_MAX {
        let claimed = &lease.claimed;
        let found = next_batch(&*context.log, &*context.records, claimed, cursor, until).await;
        let batch = match found {
            Err(StoreError::ChangesDropped { dropped }) => {
                let then = AfterAttempt::Pause { reason: dropped_reason(dropped) };
                record(context, &mut lease, None, then, false).await?;
                return Ok(Some(Ended::Idle));
            }
            Err(error) => return Err(error),
            Ok(Found::Batch(batch)) => batch,
            Ok(Found::Nothing { cursor }) => {
                let (domain, id) = (claimed.domain, claimed.webhook.id.clone());
                let (server, lease_epoch) = (context.server.clone(), claimed.lease_epoch);
                return Ok(Some(Ended::Skip(SkipChanges {
                    domain,
                    id,
                    server,
                    lease_epoch,
                    cursor,
                })));
            }
        };
        let is_safe = Instant::now() + context.sender.time_max() < lease.until;
        if *context.stopping.borrow() || !is_safe {
            return Ok(None);
        }
        let (after, last) = (batch.cursor, batch.last);
        let sending = Sending::changes(claimed, batch);
        let (attempt, ended) = attempt(context, claimed, sending).await;
        let failures = claimed.webhook.failures;
        let is_quick = attempt.duration_ms < QUICK_ANSWER_MAX.as_millis() as u64;
        let then = match next_step(&attempt.end, failures, ended) {
            NextStep::Advance => AfterAttempt::Advance { cursor: after },
            NextStep::RetryAt(at) => AfterAttempt::Retry { at, until: last },
            NextStep::Pause(reason) => AfterAttempt::Pause { reason },
        };
        let is_taken = matches!(then, AfterAttempt::Advance { .. });
        let goes_on = is_taken && is_quick && batches < BATCHES_MAX;
        record(context, &mut lease, Some(attempt), then, goes_on).await?;
        if !goes_on {
            return Ok(Some(if is_taken { Ended::Delivered } else { Ended::Idle }));
        }
        (cursor, until) = (after, None);
    }
    Ok(None)
}

/// Why a webhook is paused whose next changes are gone.
fn dropped_reason(dropped: u64) -> String {
    format!(
        "the changes up to position {dropped} are no longer stored, so some were not delivered; a \
         replay from {dropped} continues with those that are stored"
    )
}

/// The request of an attempt.
struct Sending {
    kind: AttemptKind,
    message_id: String,
    body: Vec<u8>,
}

impl Sending {
    fn test(claimed: &ClaimedWebhook) -> Self {
        // The epoch makes it another message than that of any other test.
        let test = format!("{} test {}", claimed.webhook.id, claimed.lease_epoch);
        let (message_id, body) = (message_id(&test, []), TEST_BODY.to_vec());
        Self { kind: AttemptKind::Test, message_id, body }
    }

    fn changes(claimed: &ClaimedWebhook, batch: Batch) -> Self {
        let Batch { body, positions, last, .. } = batch;
        let (count, first) = (positions.len(), positions.first().copied().unwrap_or(last));
        let kind = AttemptKind::Changes { count, first, last };
        Self { kind, message_id: message_id(&claimed.webhook.id, positions), body }
    }
}

/// Returns the attempt and when it ended.
async fn attempt(
    context: &Context,
    claimed: &ClaimedWebhook,
    sending: Sending,
) -> (Attempt, UnixMillis) {
    let Sending { kind, message_id, body } = sending;
    let now = context.clock.now();
    let in_flight = context.counters.begin();
    let (url, secrets) = (&*claimed.webhook.settings.url, &claimed.secrets);
    let delivery = Delivery { url, message_id: &message_id, secrets, now, body };
    let began = Instant::now();
    let end = context.sender.send(delivery).await;
    drop(in_flight);
    let duration_ms = began.elapsed().as_millis() as u64;
    (Attempt { at: now, duration_ms, message_id, kind, end }, context.clock.now())
}

/// Stores an attempt. Its end is counted and logged even if that fails: it has taken place.
async fn record(
    context: &Context,
    lease: &mut Lease,
    attempt: Option<Attempt>,
    then: AfterAttempt,
    goes_on: bool,
) -> Result<(), StoreError> {
    let claimed = &mut lease.claimed;
    if let AfterAttempt::Pause { reason } = &then {
        Counters::add(&context.counters.paused, 1);
        let (domain, webhook) = (claimed.domain_name.as_str(), &*claimed.webhook.id);
        tracing::warn!(domain, webhook, reason, "a webhook is paused");
    }
    if let Some(attempt) = &attempt {
        report(&context.counters, claimed, attempt);
    }
    let now = context.clock.now();
    let renewed = Instant::now() + context.lease;
    context
        .webhooks
        .record_attempt(RecordAttempt {
            domain: claimed.domain,
            id: claimed.webhook.id.clone(),
            lease_epoch: claimed.lease_epoch,
            now,
            attempt,
            then,
            lease_until: goes_on.then(|| context.lease_until(now)),
        })
        .await?;
    claimed.webhook.failures = 0;
    lease.until = renewed;
    Ok(())
}

fn report(counters: &Counters, claimed: &ClaimedWebhook, attempt: &Attempt) {
    let (domain, webhook) = (claimed.domain_name.as_str(), &*claimed.webhook.id);
    let Attempt { duration_ms, kind, end, .. } = attempt;
    if end.is_success() {
        Counters::add(&counters.succeeded, 1);
        if let AttemptKind::Changes { count, .. } = kind {
            Counters::add(&counters.changes, *count as u64);
        }
        tracing::debug!(domain, webhook, duration_ms, "a webhook was delivered");
        return;
    }
    Counters::add(&counters.failed, 1);
    let (status, reason) = match end {
        AttemptEnd::Answered { status, .. } => (Some(*status), None),
        AttemptEnd::NoAnswer { reason } => (None, Some(reason)),
    };
    let failures = claimed.webhook.failures + 1;
    tracing::info!(domain, webhook, status, reason, failures, "a delivery failed");
}
