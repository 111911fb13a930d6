//! Writing issues one by one, and attachments. What a request means and what it makes of an issue
//! is the model's; a command carries the typed request and what only the caller's side knows: the
//! time, randomness, the idempotency key. Each command is one transaction: what it refers to and is
//! not there refuses it as a whole, with [`StoreError::Refused`](crate::StoreError::Refused).

use caseload_model::ids::{DomainId, DomainName};
use caseload_model::issue::write::{
    Attachment, BulkEditRequest, CreateRequest, EditRequest, MessageRequest, NoteRequest,
};
use caseload_model::time::UnixMillis;

use crate::IdempotencyKey;

/// What every writing command has.
#[derive(Debug, Clone)]
pub struct Writing {
    pub domain: DomainId,
    pub domain_name: DomainName,
    pub now: UnixMillis,
    /// Makes generated ids their own.
    pub random: u64,
    /// In whose name the desk writes where the request names nobody.
    pub key_name: String,
    /// Only where the command makes something.
    pub idempotency: Option<IdempotencyKey>,
}

/// Makes an issue. The attachments are staged.
#[derive(Debug, Clone)]
pub struct CreateIssue {
    pub on: Writing,
    pub request: CreateRequest,
    pub attachments: Vec<Attachment>,
}

/// Adds a message to an issue. The attachments are staged.
#[derive(Debug, Clone)]
pub struct AddMessage {
    pub on: Writing,
    pub issue_id: u64,
    pub request: MessageRequest,
    pub attachments: Vec<Attachment>,
}

/// Adds a private note to an issue.
#[derive(Debug, Clone)]
pub struct AddNote {
    pub on: Writing,
    pub issue_id: u64,
    pub request: NoteRequest,
}

/// Changes one issue.
#[derive(Debug, Clone)]
pub struct EditIssue {
    pub on: Writing,
    pub issue_id: u64,
    pub request: EditRequest,
}

/// Changes many issues, all of them or none.
#[derive(Debug, Clone)]
pub struct EditIssues {
    pub on: Writing,
    pub request: BulkEditRequest,
}

/// Bytes of each staged piece of a file, but for the last.
pub const ATTACHMENT_PIECE_BYTES: usize = 1 << 20;

/// Keeps a piece of a file before the message that it belongs to is there. Pieces come in order,
/// from number 0 on; what no message claims is removed some time later.
#[derive(Debug, Clone)]
pub struct StageAttachment {
    pub domain: DomainId,
    /// Of the attachment.
    pub id: String,
    pub number: u32,
    pub bytes: Vec<u8>,
    pub now: UnixMillis,
}
