//! Why a store command failed. The text of an error is for operators: the log has it, and the
//! program prints it. The api crate never shows it; it answers callers by the variant.

use std::path::PathBuf;
use std::pin::Pin;
use std::time::Duration;

use caseload_model::issue_query::ParameterFault;

/// The return type of every method of the contract.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// A failed command or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{what} already exists")]
    AlreadyExists { what: String },
    #[error("{what} does not exist")]
    NotFound { what: String },
    /// A backup cannot be written to the file.
    #[error("a backup cannot go to {}: {reason}", file.display())]
    BackupTarget { file: PathBuf, reason: &'static str },
    #[error("the domain has {unfinished} unfinished tasks, {limit} are allowed")]
    QueueFull { unfinished: u32, limit: u32 },
    /// The domain has no room for more; the text has the quota.
    #[error("the domain has reached its quota: {0}")]
    QuotaExceeded(String),
    #[error("the idempotency key was used for another request")]
    IdempotencyKeyReused,
    #[error("the caller's API key was revoked or has expired")]
    KeyEnded,
    #[error("the staged blocks of the upload are gone")]
    UploadLost,
    #[error("the task was retried before, by the task {by}")]
    AlreadyRetried { by: String },
    #[error("the dry run was run before, by the task {by}")]
    AlreadyRun { by: String },
    #[error("the task is completed")]
    TaskCompleted,
    /// A chunk did not commit within the time that one may have the store for itself. Nothing of it
    /// is stored.
    #[error("a chunk was interrupted after {} ms of work", worked.as_millis())]
    ChunkInterrupted { worked: Duration },
    /// The database refuses the values of a statement. It would do so again.
    #[error("the database refused a statement: {0}")]
    ValuesRefused(String),
    #[error("another server took this task over")]
    LeaseLost,
    #[error("the request refers to something that does not exist or does not fit")]
    Refused(Vec<ParameterFault>),
    #[error("a staged attachment is gone")]
    AttachmentLost,
    /// A reader of the log of changes came too late; the last position that was dropped.
    #[error("the changes up to position {dropped} are no longer stored")]
    ChangesDropped { dropped: u64 },
    #[error("the read passed its deadline")]
    DeadlinePassed,
    /// The read did not begin.
    #[error("there is no memory for the result of the read")]
    NoMemory,
    #[error("another caseload server uses {path}; stop it first, or give this one another --store")]
    ServerRunning { path: PathBuf },
    /// Nothing is there, or something that is not a store, and the command makes none.
    #[error("there is no store at {place}{}", because(reason.as_deref()))]
    NoStore { place: String, reason: Option<String> },
    /// The file or database is not a store that this program can open, or it may not open it.
    #[error("cannot open {store}: {reason}")]
    NotOpened { store: String, reason: String, hint: Option<String> },
    #[error(
        "{store} is an unfinished copy; run `caseload copy` again, with the same --from and --to, \
         to finish it"
    )]
    CopyUnfinished { store: String },
    /// A copy cannot be made; the text is the reason.
    #[error("no copy was made: {0}")]
    CopyRefused(String),
    /// The tables cannot be distributed over the nodes of a cluster; the text is the reason.
    #[error("the store was not distributed: {reason}")]
    NotDistributed { reason: String, hint: Option<String> },
    #[error("the store is closed")]
    Closed,
    /// The disk is full or failing, or another process writes for too long. The command stored
    /// nothing and may be tried again.
    #[error("the store could not be written: {0}")]
    NotWritten(String),
    #[error("the store cannot answer now: {0}")]
    Unavailable(String),
    /// The database is gone, starting, stopping, or a standby. A write that got no answer may have
    /// taken place; it may be repeated, because commands are idempotent.
    #[error("the database cannot be reached or does not take writes now: {0}")]
    Unreachable(String),
    /// The same for one node of a cluster: commands that do not need it go on. The store logs its
    /// outage.
    #[error("the node {node} of the cluster cannot be reached: {fault}")]
    NodeAway { node: String, fault: String },
    /// A write conflicted with another one. The store tries it again; callers never see this.
    #[error("a write conflicted with another one")]
    Contended,
    #[error("stored data is damaged: {0}")]
    Corrupt(String),
}

impl StoreError {
    /// A command names a domain that was removed or never was.
    pub fn unknown_domain() -> Self {
        Self::NotFound { what: "the domain".to_owned() }
    }

    /// The reason, if a part of the store is away or all of it: an outage that passes.
    pub fn outage(&self) -> Option<&str> {
        match self {
            Self::Unreachable(fault) | Self::NodeAway { fault, .. } => Some(fault),
            _ => None,
        }
    }

    /// A command creates a record of this kind under an existing id.
    pub fn exists(kind: &str, id: &str) -> Self {
        Self::AlreadyExists { what: format!("{kind} {id}") }
    }
}

/// The reason after a sentence, if there is one.
fn because(reason: Option<&str>) -> String {
    reason.map(|reason| format!(": {reason}")).unwrap_or_default()
}
