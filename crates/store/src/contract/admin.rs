//! The administration of a store: domains with their API keys, apps and agents. Everything else in
//! a store belongs to a domain.

use caseload_model::change::Author;
use caseload_model::ids::{DomainId, DomainName};
use caseload_model::issue::write::Desk;
use caseload_model::key::Access;
use caseload_model::time::UnixMillis;

use super::StoreFuture;

/// Domains, their API keys, apps and agents.
pub trait Admin: Send + Sync + 'static {
    /// Makes a domain with its default app. [`StoreError::AlreadyExists`](super::StoreError) if the
    /// name is taken.
    fn create_domain(&self, command: CreateDomain) -> StoreFuture<'_, Domain>;
    /// All domains, by name.
    fn domains(&self) -> StoreFuture<'_, Vec<Domain>>;
    /// The domain of that name; `None` if there is none.
    fn domain(&self, name: &DomainName) -> StoreFuture<'_, Option<Domain>>;
    /// Sets the author of messages and notes that no agent signs. It takes effect with the next
    /// command that writes one, on every server.
    fn set_desk(&self, domain: DomainId, desk: Desk, origin: AdminOrigin) -> StoreFuture<'_, ()>;
    /// Sets the quotas of a domain. Running servers obey it within seconds.
    fn set_limits(
        &self,
        domain: DomainId,
        limits: DomainLimits,
        origin: AdminOrigin,
    ) -> StoreFuture<'_, ()>;
    /// Sets the placeholders of a domain. Tasks obey them that a server begins after it.
    fn set_placeholders(
        &self,
        domain: DomainId,
        list: Option<String>,
        origin: AdminOrigin,
    ) -> StoreFuture<'_, ()>;
    /// The present usage of a domain.
    fn usage(&self, domain: DomainId) -> StoreFuture<'_, DomainUsage>;
    /// Removes a domain and everything in it.
    fn delete_domain(&self, domain: DomainId) -> StoreFuture<'_, ()>;

    /// Stores the hash of a new key. [`StoreError::AlreadyExists`](super::StoreError) if its id or
    /// hash is taken.
    fn create_key(&self, command: CreateKey) -> StoreFuture<'_, ()>;
    /// The keys of a domain, oldest first, revoked ones included.
    fn keys(&self, domain: DomainId) -> StoreFuture<'_, Vec<Key>>;
    /// Revokes a key by its id and removes its views; false if the domain has no such key.
    fn revoke_key(&self, domain: DomainId, id: &str, origin: AdminOrigin) -> StoreFuture<'_, bool>;
    /// Replaces a key by a new one with the same name, access and expiry, and with its views, in
    /// one transaction. [`StoreError::NotFound`](super::StoreError) if the domain has no such
    /// key, `KeyEnded` if it was revoked or has expired: a replacement must not give back an access
    /// that was taken away.
    fn rotate_key(&self, command: RotateKey) -> StoreFuture<'_, ()>;
    /// The key whose SHA-256 is `hash`, with its domain, whether or not the key still works.
    fn key_by_hash(&self, hash: [u8; 32]) -> StoreFuture<'_, Option<KeyGrant>>;
    /// Records that a key was used. Callers do this at most once a minute for each key.
    fn touch_key(&self, domain: DomainId, id: &str, at: UnixMillis) -> StoreFuture<'_, ()>;

    /// Makes a session of a key, or a code that begins one, and removes those that have expired. If
    /// the key then has more than it may, its oldest ends.
    fn create_session(&self, command: CreateSession) -> StoreFuture<'_, ()>;
    /// The key of the session or code whose SHA-256 is `hash`, with its domain, whether or not it
    /// still works. It expires with the session, if the key itself does not expire before.
    fn key_by_session(
        &self,
        hash: [u8; 32],
        kind: SessionKind,
    ) -> StoreFuture<'_, Option<KeyGrant>>;
    /// Ends a session or uses up a code; false if there is none, so that a code works once.
    fn end_session(&self, domain: DomainId, hash: [u8; 32]) -> StoreFuture<'_, bool>;

    /// Makes an app.
    fn create_app(&self, command: CreateApp) -> StoreFuture<'_, App>;
    /// The apps of a domain, oldest first.
    fn apps(&self, domain: DomainId) -> StoreFuture<'_, Vec<App>>;
    /// Makes an agent.
    fn create_agent(&self, command: CreateAgent) -> StoreFuture<'_, Agent>;
    /// The agents of a domain, oldest first.
    fn agents(&self, domain: DomainId) -> StoreFuture<'_, Vec<Agent>>;
    /// Makes a queue. [`StoreError::AlreadyExists`](super::StoreError) if its id is taken.
    fn create_queue(&self, command: CreateQueue) -> StoreFuture<'_, ()>;
}

/// When a command was given and by whom: the time and the author of its changes in the log.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct AdminOrigin {
    pub now: UnixMillis,
    pub by: Author,
    /// The id of the request, if a call gave it.
    pub request_id: Option<String>,
}

impl From<UnixMillis> for AdminOrigin {
    /// Of a command without a known author.
    fn from(now: UnixMillis) -> Self {
        Self { now, ..Self::default() }
    }
}

/// A tenant, with profiles, issues, tasks and keys of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain {
    pub id: DomainId,
    pub name: DomainName,
    pub created_at: UnixMillis,
    pub desk: Desk,
    pub limits: DomainLimits,
    /// A comma list of the words that are nobody's identity; `None` means the usual ones.
    pub placeholders: Option<String>,
}

/// The quotas of a domain; `None` is without a limit of its own.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DomainLimits {
    /// Bytes of its issues, profiles, payloads, records and files.
    pub quota_bytes: Option<u64>,
    /// Tasks that are not completed.
    pub quota_tasks: Option<u32>,
    /// Requests of all its keys in a window of a minute, at each server.
    pub rate_limit: Option<u32>,
}

/// The usage of a domain.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DomainUsage {
    /// As in [`DomainLimits::quota_bytes`].
    pub bytes: u64,
    /// As in [`DomainLimits::quota_tasks`].
    pub tasks: u32,
    /// Those among them that wait because their server died or met a fault.
    pub delayed: u32,
}

/// Makes a domain and its default app `Web` with publish id `1`.
#[derive(Debug, Clone)]
pub struct CreateDomain {
    pub name: DomainName,
    pub origin: AdminOrigin,
    /// Fills the random part of the default app's id.
    pub random: u64,
}

/// An API key as operators see it. The store has the hash of its text, not the text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    pub id: String,
    pub name: String,
    pub access: Access,
    pub created_at: UnixMillis,
    pub last_used_at: Option<UnixMillis>,
    pub expires_at: Option<UnixMillis>,
    pub revoked_at: Option<UnixMillis>,
}

/// Stores a key under its hash.
#[derive(Debug, Clone)]
pub struct CreateKey {
    pub domain: DomainId,
    pub id: String,
    pub hash: [u8; 32],
    pub name: String,
    pub access: Access,
    pub origin: AdminOrigin,
    pub expires_at: Option<UnixMillis>,
}

/// Replaces a key by a new one.
#[derive(Debug, Clone)]
pub struct RotateKey {
    pub domain: DomainId,
    /// Id of the key to replace.
    pub id: String,
    pub new_id: String,
    pub new_hash: [u8; 32],
    pub origin: AdminOrigin,
    /// When the replaced key expires, if it does not expire before; without it, it is revoked now.
    pub old_expires_at: Option<UnixMillis>,
}

/// The use of a session's text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SessionKind {
    /// Begins one session.
    Code,
    /// Opens the domain of its key.
    Session,
}

/// Stores a session, or a code that begins one, under its hash.
#[derive(Debug, Clone)]
pub struct CreateSession {
    pub domain: DomainId,
    pub hash: [u8; 32],
    pub key_id: String,
    pub kind: SessionKind,
    pub now: UnixMillis,
    pub expires_at: UnixMillis,
}

#[derive(Debug, Clone)]
pub struct CreateQueue {
    pub domain: DomainId,
    pub id: String,
    pub name: String,
    pub origin: AdminOrigin,
}

/// A key and the domain that it opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyGrant {
    pub domain: DomainId,
    pub domain_name: DomainName,
    /// The requests that all keys of the domain may make in a minute.
    pub domain_rate_limit: Option<u32>,
    pub key: Key,
}

impl KeyGrant {
    /// Whether the key is neither revoked nor expired at `now`.
    pub fn works_at(&self, now: UnixMillis) -> bool {
        self.key.revoked_at.is_none() && self.key.expires_at.is_none_or(|end| now < end)
    }
}

/// An app, from which issues come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct App {
    pub id: String,
    pub publish_id: String,
    pub title: String,
    pub created_at: UnixMillis,
}

#[derive(Debug, Clone)]
pub struct CreateApp {
    pub domain: DomainId,
    pub id: String,
    pub title: String,
    pub origin: AdminOrigin,
}

/// An agent, who answers issues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Agent {
    pub id: String,
    pub name: String,
    pub email: String,
    pub created_at: UnixMillis,
}

#[derive(Debug, Clone)]
pub struct CreateAgent {
    pub domain: DomainId,
    pub id: String,
    pub name: String,
    pub email: String,
    pub origin: AdminOrigin,
}

impl CreateAgent {
    /// The agent that this command makes.
    pub fn made(&self) -> Agent {
        Agent {
            id: self.id.clone(),
            name: self.name.clone(),
            email: self.email.clone(),
            created_at: self.origin.now,
        }
    }
}
