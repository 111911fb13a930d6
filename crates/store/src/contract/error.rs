//! Why a store command failed. The text of an error is for operators: the log has it, and the
//! program prints it. The api crate never shows it; it answers callers by the variant.

use std::path::PathBuf;
use std::pin::Pin;

use caseload_model::issue_query::ParameterFault;

/// What every method of the contract returns.
pub type StoreFuture<'a, T> = Pin<Box<dyn Future<Output = Result<T, StoreError>> + Send + 'a>>;

/// A failed command or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    #[error("{what} already exists")]
    AlreadyExists { what: String },
    #[error("{what} does not exist")]
    NotFound { what: String },
    /// A backup that cannot go where it was sent.
    #[error("a backup cannot go to {}: {reason}", file.display())]
    BackupTarget { file: PathBuf, reason: &'static str },
    #[error("the domain has {unfinished} unfinished tasks, {limit} are allowed")]
    QueueFull { unfinished: u32, limit: u32 },
    #[error("the idempotency key was used for another request")]
    IdempotencyKeyReused,
    #[error("what was staged of the upload is not there any more")]
    UploadLost,
    #[error("the task is completed")]
    TaskCompleted,
    #[error("another server took this task over")]
    LeaseLost,
    #[error("what the request refers to is not there, or does not fit")]
    Refused(Vec<ParameterFault>),
    #[error("a staged attachment is gone")]
    AttachmentLost,
    #[error("the read passed its deadline")]
    DeadlinePassed,
    #[error("another caseload server uses {path}; stop it first, or give this one another --store")]
    ServerRunning { path: PathBuf },
    #[error("{path} holds a newer version of the store than this program knows")]
    NewerVersion { path: PathBuf },
    /// What is there is not a store that this program can work on, or it may not.
    #[error("cannot open {store}: {reason}")]
    NotOpened { store: String, reason: String, hint: Option<String> },
    #[error(
        "{store} is an unfinished copy; run `caseload copy` again, with the same --from and --to, \
         to finish it"
    )]
    CopyUnfinished { store: String },
    /// A copy that cannot be made, and why.
    #[error("no copy was made: {0}")]
    CopyRefused(String),
    #[error("the store is closed")]
    Closed,
    /// A full or failing disk, or another process that writes for long: nothing of the command is
    /// stored, and it may be tried again.
    #[error("the store could not be written: {0}")]
    NotWritten(String),
    #[error("the store cannot answer now: {0}")]
    Unavailable(String),
    /// The database is not there, is on its way up or down, or is a standby. Whether a write took
    /// place that got no answer is not known; it may be repeated, as commands are made for.
    #[error("the database cannot be reached or does not take writes now: {0}")]
    Unreachable(String),
    /// A write met another one and is tried again by the store; callers never see it.
    #[error("a write met another one")]
    Contended,
    #[error("stored data is damaged: {0}")]
    Corrupt(String),
}
