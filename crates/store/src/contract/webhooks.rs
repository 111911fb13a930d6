//! Webhooks: their settings, which callers change, and their delivery, which servers share. Each
//! webhook has a cursor in the log of its domain. Everything up to the cursor is delivered or did
//! not match. A server delivers only for webhooks that are leased to it, so a receiver gets
//! one delivery at a time, in the order of the log. The cursor moves only with the record of an
//! attempt; a server that dies before that has its changes sent again by another one.
//!
//! Each lease has an epoch, which rises with it. A change by a caller (an edit, a rotation, a
//! replay, a deletion) raises the epoch, too, and leaves the end of the lease. So an attempt under
//! the old settings cannot be recorded, and none under the new ones begins while it may still be
//! under way. Invariant: cursor, failures and pauses change only under the epoch that was read.

use caseload_model::ids::{DomainId, DomainName};
use caseload_model::time::UnixMillis;
use caseload_model::webhook::{Attempt, Secret, Secrets, WebhookRequest, WebhookSettings};

use super::{AdminOrigin, StoreFuture};

/// Webhooks and their deliveries.
pub trait Webhooks: Send + Sync + 'static {
    /// Makes a webhook whose cursor is the end of the log: it gets later changes, the first of them
    /// the change `created` that this writes. [`StoreError::QuotaExceeded`](super::StoreError) if
    /// the domain has [`DOMAIN_WEBHOOKS_MAX`](caseload_model::webhook::DOMAIN_WEBHOOKS_MAX).
    fn create_webhook(&self, command: CreateWebhook) -> StoreFuture<'_, Webhook>;
    /// The webhooks of a domain, oldest first.
    fn webhooks(&self, domain: DomainId) -> StoreFuture<'_, Vec<Webhook>>;
    /// One webhook; `None` if the domain has none of that id.
    fn webhook(&self, domain: DomainId, id: &str) -> StoreFuture<'_, Option<Webhook>>;
    /// Changes the settings and writes a change `updated` with the names of those that differ; if
    /// none does, it does nothing. It makes the webhook due at once, as if nothing had failed.
    /// [`StoreError::NotFound`](super::StoreError) if the domain has none of that id, here and in
    /// the commands that follow.
    fn edit_webhook(&self, command: EditWebhook) -> StoreFuture<'_, Webhook>;
    /// Removes a webhook with its deliveries, and writes a change `deleted`.
    fn delete_webhook(&self, command: OfWebhook) -> StoreFuture<'_, ()>;
    /// Sets a new secret; the old one continues to sign for a while (see [`Secrets::rotated`]).
    /// Writes a change `updated` of the field `secret`.
    fn rotate_secret(&self, command: OfWebhook, new: Secret) -> StoreFuture<'_, Webhook>;
    /// Moves the cursor to a position, back or forth, but not past the end of the log, and makes
    /// the webhook due as if nothing had failed. A pause by the server ends; one by a caller lasts.
    /// Writes a change `updated` of the field `cursor`, and of `paused` if a pause ended.
    /// [`StoreError::ChangesDropped`](super::StoreError) if changes after the position are no
    /// longer stored.
    fn replay_webhook(&self, command: OfWebhook, cursor: u64) -> StoreFuture<'_, Webhook>;
    /// Asks for one delivery without changes, even of a paused webhook. It is due at once and moves
    /// no cursor. No change is written.
    fn test_webhook(&self, command: OfWebhook) -> StoreFuture<'_, ()>;
    /// The last deliveries, newest first, at most
    /// [`DELIVERIES_KEPT`](caseload_model::webhook::DELIVERIES_KEPT).
    fn deliveries(&self, domain: DomainId, id: &str) -> StoreFuture<'_, Vec<Attempt>>;

    /// Leases webhooks that are due to a server, raises their epochs, and takes note of the time of
    /// the lease. Those come first whose last lease is longest ago, so that all take turns. A
    /// webhook is due if no lease of it lasts and one of these holds:
    /// - A test was asked for.
    /// - It is not paused, its next try, if it has one, is not later than `now`, and the log of its
    ///   domain has a position after its cursor.
    ///
    /// Writes nothing if none is due.
    fn claim_webhooks(&self, command: ClaimWebhooks) -> StoreFuture<'_, Vec<ClaimedWebhook>>;
    /// Stores an attempt among the last deliveries, if there was one, with its consequence for the
    /// webhook, in one transaction. [`StoreError::LeaseLost`](super::StoreError) if the epoch is
    /// another one or the webhook is gone; nothing is stored then. A pause also writes a change
    /// `updated` of the field `paused`, by no author. Other consequences write none: a webhook that
    /// follows webhooks would never come to rest.
    fn record_attempt(&self, command: RecordAttempt) -> StoreFuture<'_, ()>;
    /// Moves the cursors of webhooks past changes that do not match, and ends their leases, in one
    /// transaction. If the epoch is another one, the cursor stays, and the lease ends only if the
    /// server still has it: a caller has changed the webhook, which is then due.
    fn skip_changes(&self, skips: Vec<SkipChanges>) -> StoreFuture<'_, ()>;
    /// Ends the lease of a webhook, if the server has it, under any epoch.
    fn release_webhook(&self, domain: DomainId, id: &str, server: &str) -> StoreFuture<'_, ()>;
}

/// A webhook as callers see it, without its secret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Webhook {
    pub id: String,
    pub created_at: UnixMillis,
    pub settings: WebhookSettings,
    /// Why the server paused it; `None` if a caller did or if it is not paused.
    pub pause_reason: Option<String>,
    /// The position up to which everything is delivered or does not match.
    pub cursor: u64,
    /// Failed attempts at the changes that follow the cursor.
    pub failures: u32,
    /// When these are tried again.
    pub next_try_at: Option<UnixMillis>,
}

/// Makes a webhook.
#[derive(Debug, Clone)]
pub struct CreateWebhook {
    pub domain: DomainId,
    pub id: String,
    pub settings: WebhookSettings,
    pub secret: Secret,
    pub origin: AdminOrigin,
}

/// Changes the settings of a webhook.
#[derive(Debug, Clone)]
pub struct EditWebhook {
    pub webhook: OfWebhook,
    pub request: WebhookRequest,
}

/// The webhook of a command, and the command's origin.
#[derive(Debug, Clone)]
pub struct OfWebhook {
    pub domain: DomainId,
    pub id: String,
    pub origin: AdminOrigin,
}

/// Asks for webhooks to deliver for.
#[derive(Debug, Clone)]
pub struct ClaimWebhooks {
    /// The asking server; a fresh id each time the program starts.
    pub server: String,
    pub now: UnixMillis,
    pub lease_until: UnixMillis,
    /// The largest number of webhooks to lease.
    pub webhooks_max: usize,
}

/// A webhook leased to the server that asked.
#[derive(Debug, Clone)]
pub struct ClaimedWebhook {
    pub domain: DomainId,
    pub domain_name: DomainName,
    pub webhook: Webhook,
    pub secrets: Secrets,
    pub lease_epoch: i64,
    /// The position of the last change of the failed attempts: a retry sends the same changes.
    pub retry_until: Option<u64>,
    /// Whether a test was asked for. It is the first thing to do.
    pub test: bool,
}

/// Records the end of an attempt, or a pause without one.
#[derive(Debug, Clone)]
pub struct RecordAttempt {
    pub domain: DomainId,
    pub id: String,
    pub lease_epoch: i64,
    pub now: UnixMillis,
    /// `None` if the changes to send are no longer stored.
    pub attempt: Option<Attempt>,
    pub then: AfterAttempt,
    /// Until when the server retains the lease, to deliver more; `None` ends it.
    pub lease_until: Option<UnixMillis>,
}

/// The consequence of an attempt for its webhook.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AfterAttempt {
    /// The cursor moves to a position after the delivered changes. Nothing has failed any more.
    Advance { cursor: u64 },
    /// One more failure. The same changes, up to the position `until`, are tried again.
    Retry { at: UnixMillis, until: u64 },
    /// One more failure. The webhook is paused.
    Pause { reason: String },
    /// The test that was asked for is done. Nothing else changes.
    Tested,
}

/// Moves the cursor of a webhook past changes that do not match.
#[derive(Debug, Clone)]
pub struct SkipChanges {
    pub domain: DomainId,
    pub id: String,
    /// The server that has the lease.
    pub server: String,
    pub lease_epoch: i64,
    pub cursor: u64,
}
