//! Redactions of single parts of issues. The caller of the store looks up persons and messages
//! first, because that may take long; the command then redacts everything in one transaction.

use caseload_model::erasure::{Person, RedactionId};
use caseload_model::ids::DomainId;
use caseload_model::time::UnixMillis;

use super::{CreateTask, ReadBudget, WriteOrigin};

/// Asks which issues have the messages with these ids.
#[derive(Debug, Clone)]
pub struct FindMessages {
    pub domain: DomainId,
    pub ids: Vec<String>,
    pub budget: ReadBudget,
}

/// Carries out the requests of a form: each that can be, in their order.
#[derive(Debug, Clone)]
pub struct Redact {
    pub origin: WriteOrigin,
    pub requests: Vec<RedactionCommand>,
}

/// One request of a form.
#[derive(Debug, Clone)]
pub struct RedactionCommand {
    /// The caller's own name for it.
    pub external_id: Option<String>,
    /// Only issues of the app with this publish id.
    pub app_publish_id: Option<String>,
    /// `Err` is the reason why it cannot be carried out.
    pub target: Result<RedactionTarget, String>,
}

/// The part that a redaction removes.
#[derive(Debug, Clone)]
pub enum RedactionTarget {
    Title(u64),
    /// Everything of the end users of this issue.
    Issue(u64),
    Message {
        issue: u64,
        id: String,
    },
    Attachment(String),
    /// The issues that this person is the author of.
    IssuesOf(Person),
    /// A person, whom this task erases.
    User(Box<CreateTask>),
}

/// Asks for a redaction of issues.
#[derive(Debug, Clone, Copy)]
pub struct GetRedaction {
    pub domain: DomainId,
    pub id: RedactionId,
}

/// A redaction of issues, from the log of changes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LoggedRedaction {
    pub issue_ids: Vec<u64>,
    pub at: UnixMillis,
}
