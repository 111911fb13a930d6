//! Domains, keys, apps and agents, and the reports of a check and a backup: the plain data of the
//! contract that operators deal with.

use std::path::PathBuf;

use caseload_model::ids::{DomainId, DomainName};
use caseload_model::key::Access;
use caseload_model::time::UnixMillis;

/// A tenant: its profiles, issues, tasks and keys are its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Domain {
    pub id: DomainId,
    pub name: DomainName,
    pub created_at: UnixMillis,
}

/// Makes a domain and its default app `Web` with publish id `1`.
#[derive(Debug, Clone)]
pub struct CreateDomain {
    pub name: DomainName,
    pub now: UnixMillis,
    /// Fills the random part of the default app's id.
    pub random: u64,
}

/// A key as operators see it. Its text is not kept anywhere.
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

/// Keeps a key under its hash.
#[derive(Debug, Clone)]
pub struct CreateKey {
    pub domain: DomainId,
    pub id: String,
    pub hash: [u8; 32],
    pub name: String,
    pub access: Access,
    pub now: UnixMillis,
    pub expires_at: Option<UnixMillis>,
}

/// What a key opens.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyGrant {
    pub domain: DomainId,
    pub domain_name: DomainName,
    pub key: Key,
}

impl KeyGrant {
    /// Whether the key still opens anything at `now`.
    pub fn works_at(&self, now: UnixMillis) -> bool {
        self.key.revoked_at.is_none() && self.key.expires_at.is_none_or(|end| now < end)
    }
}

/// An app: where issues come from.
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
    pub now: UnixMillis,
}

/// An agent: who answers issues.
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
    pub now: UnixMillis,
}

impl CreateAgent {
    /// The agent that it makes.
    pub fn made(&self) -> Agent {
        Agent {
            id: self.id.clone(),
            name: self.name.clone(),
            email: self.email.clone(),
            created_at: self.now,
        }
    }
}

/// What a check looked at and what it found wrong.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CheckReport {
    /// What was verified, with the number of records looked at.
    pub verified: Vec<(String, u64)>,
    /// Broken laws, each a sentence naming domain and record. Empty is good.
    pub faults: Vec<String>,
}

/// Copies the store to a file while it is in use.
#[derive(Debug, Clone)]
pub struct CreateBackup {
    pub file: PathBuf,
    /// Whether a file of that name may be replaced.
    pub overwrite: bool,
}

/// A copy that is complete, durable and sound.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BackupReport {
    pub bytes: u64,
    /// What was verified by reading the copy.
    pub check: CheckReport,
}
