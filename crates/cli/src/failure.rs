//! Why a command failed: the exit status, the sentence after `error:` and, if one helps, the
//! sentence after `hint:`. Errors of the other crates become failures here, so that every command
//! reports the same error in the same words. The exit status is 0 if the command did its work; 1 if
//! it did and some entries failed, or a check found faults; 2 for a mistake of the caller's; 3 for
//! a failure of the server, the network or the store; 4 if the caller may not do it; 130 after a
//! signal.

use std::io;
use std::path::Path;
use std::process::ExitCode;

use caseload_client::ClientError;
use caseload_store::StoreError;

/// The outcome of a command that did its work.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Done {
    /// Exit status 0.
    Good,
    /// Some entries failed, or a check found faults: exit status 1.
    SomeFailed,
}

impl From<Done> for ExitCode {
    fn from(done: Done) -> Self {
        match done {
            Done::Good => Self::SUCCESS,
            Done::SomeFailed => Self::from(1),
        }
    }
}

/// The reason why a command did not do its work.
#[derive(Debug)]
pub(crate) struct Failure {
    pub(crate) exit: u8,
    pub(crate) message: String,
    pub(crate) hint: Option<String>,
    /// The reader of standard output has closed it, so the program ends without a message.
    pub(crate) quiet: bool,
}

/// Exit status for a mistake in the command line, in a file that it names, or in a request.
const USAGE: u8 = 2;
/// Exit status for a failure of the server, the network or the store.
const SERVER: u8 = 3;
/// Exit status for a caller whom the server does not know or does not permit the call.
const NOT_ALLOWED: u8 = 4;
/// Exit status after SIGINT, as shells define it. SIGTERM ends a command in the same way.
pub(crate) const INTERRUPTED: u8 = 130;

impl Failure {
    fn new(exit: u8, message: impl Into<String>) -> Self {
        Self { exit, message: message.into(), hint: None, quiet: false }
    }

    /// A mistake in the command line or in a file that it names.
    pub(crate) fn usage(message: impl Into<String>) -> Self {
        Self::new(USAGE, message)
    }

    /// A failure of the server, the network or the store.
    pub(crate) fn server(message: impl Into<String>) -> Self {
        Self::new(SERVER, message)
    }

    /// A signal ended the command.
    pub(crate) fn interrupted() -> Self {
        Self::interrupted_after("interrupted")
    }

    /// A signal ended the command; the text says how far it came.
    pub(crate) fn interrupted_after(text: impl Into<String>) -> Self {
        Self::new(INTERRUPTED, text)
    }

    /// A file that cannot be read or written.
    pub(crate) fn file(doing: &str, path: &Path, error: &io::Error) -> Self {
        Self::usage(format!("cannot {doing} {}: {}", path.display(), io_reason(error)))
    }

    /// Standard output that cannot be written.
    pub(crate) fn output(error: &io::Error) -> Self {
        let mut failure =
            Self::server(format!("cannot write to standard output: {}", io_reason(error)));
        failure.quiet = error.kind() == io::ErrorKind::BrokenPipe;
        failure
    }

    pub(crate) fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }
}

/// How to name a store, and which commands make one.
const NAME_A_STORE: &str = "name a store with --store or CASELOAD_STORE; `caseload domain create \
                            NAME` and `caseload serve` make one";

/// An I/O error in words, without the operating system's error number.
pub(crate) fn io_reason(error: &io::Error) -> String {
    let text = error.to_string();
    let text = text.split(" (os error").next().unwrap_or_default();
    let mut letters = text.chars();
    match letters.next() {
        Some(first) => first.to_lowercase().chain(letters).collect(),
        None => error.kind().to_string(),
    }
}

impl From<StoreError> for Failure {
    fn from(error: StoreError) -> Self {
        let usage = matches!(
            error,
            StoreError::AlreadyExists { .. }
                | StoreError::NotFound { .. }
                | StoreError::BackupTarget { .. }
                | StoreError::CopyRefused(_)
                | StoreError::NoStore { .. }
                | StoreError::NotDistributed { .. }
                | StoreError::Refused(_)
        );
        let mut failure = Self::new(if usage { USAGE } else { SERVER }, error.to_string());
        failure.hint = match error {
            StoreError::NotOpened { hint, .. } | StoreError::NotDistributed { hint, .. } => hint,
            StoreError::NoStore { .. } => Some(NAME_A_STORE.to_owned()),
            _ => None,
        };
        failure
    }
}

impl From<ClientError> for Failure {
    fn from(error: ClientError) -> Self {
        let hint = hint_of(&error);
        let exit = match &error {
            ClientError::InvalidUrl { .. }
            | ClientError::InvalidDomain(_)
            | ClientError::InvalidKey
            | ClientError::InvalidAuthorities
            | ClientError::InvalidIdempotencyKey
            | ClientError::Payload(_) => USAGE,
            error => error.status().map_or(SERVER, exit_of),
        };
        let mut failure = Self::new(exit, error.to_string());
        failure.hint = hint.map(str::to_owned);
        failure
    }
}

/// The exit status for a refusal with this HTTP status.
const fn exit_of(status: u16) -> u8 {
    match status {
        401 | 403 => NOT_ALLOWED,
        // The request may succeed later as it is.
        408 | 429 => SERVER,
        400..500 => USAGE,
        _ => SERVER,
    }
}

fn hint_of(error: &ClientError) -> Option<&'static str> {
    if let ClientError::Unreachable { .. } = error {
        return Some("is the server running, and is --url (CASELOAD_URL) its address?");
    }
    match (error.status()?, error.code()?) {
        (401, _) => Some(
            "give a working key with --api-key or CASELOAD_API_KEY; `caseload key create` \
             makes one",
        ),
        (403, _) => {
            Some("the key belongs to another domain or may only read; see `caseload key list`")
        }
        (409, "already_retried") => Some("`caseload bulk status TASK` names the retry"),
        (409, "not_completed") => Some("`caseload bulk status TASK` shows the task's progress"),
        (429, "queue_full") => Some("wait until some of the domain's tasks have completed"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_exit_status_says_who_can_do_something_about_a_refusal() {
        for (status, exit) in [
            (400, USAGE),
            (401, NOT_ALLOWED),
            (403, NOT_ALLOWED),
            (404, USAGE),
            (405, USAGE),
            (409, USAGE),
            (413, USAGE),
            (415, USAGE),
            (422, USAGE),
            (429, SERVER),
            (500, SERVER),
            (502, SERVER),
            (503, SERVER),
        ] {
            assert_eq!(exit_of(status), exit, "{status}");
        }
    }
}
