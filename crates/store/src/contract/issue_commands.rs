//! Commands that write issues one by one, and attachments. The model defines the meaning and
//! the effect of a request. A command carries the typed request and what only the caller knows: the
//! time, randomness, the idempotency key. Each command is one transaction, which a reference to
//! something that does not exist refuses as a whole ([`StoreError::Refused`](super::StoreError)).

use caseload_model::ids::{DomainId, DomainName};
use caseload_model::issue::write::{
    Attachment, BulkEditRequest, CreateRequest, EditRequest, MessageRequest, NoteRequest,
};
use caseload_model::time::UnixMillis;

use crate::IdempotencyKey;

/// The part that all commands share.
#[derive(Debug, Clone)]
pub struct WriteOrigin {
    pub domain: DomainId,
    pub domain_name: DomainName,
    /// The id of the caller's API key: the transaction looks again whether the key works. `None`
    /// for commands that need no key.
    pub key: Option<String>,
    pub now: UnixMillis,
    /// Makes generated ids unique.
    pub random: u64,
    /// The id of the request, which the log of changes has.
    pub request_id: Option<String>,
    /// If the caller may repeat the command.
    pub idempotency: Option<IdempotencyKey>,
}

/// Makes an issue. The attachments are staged.
#[derive(Debug, Clone)]
pub struct CreateIssue {
    pub origin: WriteOrigin,
    pub request: CreateRequest,
    pub attachments: Vec<Attachment>,
}

/// Adds a message to an issue. The attachments are staged.
#[derive(Debug, Clone)]
pub struct AddMessage {
    pub origin: WriteOrigin,
    pub issue_id: u64,
    pub request: MessageRequest,
    pub attachments: Vec<Attachment>,
}

/// Adds a private note to an issue.
#[derive(Debug, Clone)]
pub struct AddNote {
    pub origin: WriteOrigin,
    pub issue_id: u64,
    pub request: NoteRequest,
}

/// Changes one issue.
#[derive(Debug, Clone)]
pub struct EditIssue {
    pub origin: WriteOrigin,
    pub issue_id: u64,
    pub request: EditRequest,
}

/// Deletes one issue with its messages, notes and attachments.
#[derive(Debug, Clone)]
pub struct DeleteIssue {
    pub origin: WriteOrigin,
    pub issue_id: u64,
}

/// Changes many issues, all of them or none.
#[derive(Debug, Clone)]
pub struct EditIssues {
    pub origin: WriteOrigin,
    pub request: BulkEditRequest,
}

/// Bytes of each staged piece of a file, except for the last.
pub const ATTACHMENT_PIECE_BYTES: usize = 1 << 20;

/// Stores a piece of a file before its message exists. Pieces come in order, from number 0 on;
/// files that no message claims are purged.
#[derive(Debug, Clone)]
pub struct StageAttachment {
    pub domain: DomainId,
    /// As in [`WriteOrigin`].
    pub key: Option<String>,
    /// Of the attachment.
    pub id: String,
    pub number: u32,
    pub bytes: Vec<u8>,
    pub now: UnixMillis,
}
