//! Issues in PostgreSQL: importing, listing, writing, and the files attached to messages. The rules
//! are the model's.
#![expect(clippy::unused_async, reason = "what answers nothing yet waits for nothing")]

use std::sync::Arc;

use caseload_model::ids::DomainId;
use caseload_model::issue::write::{Attachment, References};
use caseload_model::issue::{IssueQueue, NewIssue};
use caseload_model::issue_query::ParameterFault;
use caseload_model::record::{ChunkRecords, Prepared};
use caseload_model::time::UnixMillis;

use super::engine::{Client, Engine};
use crate::{
    AddMessage, AddNote, ApplyChunk, CreateIssue, EditIssue, EditIssues, GetIssue, IssuePage,
    IssueStep, KeptAnswer, ListIssues, Once, RenderedIssue, StageAttachment, StepIssues,
    StoreError,
};

fn not_yet<T>() -> Result<T, StoreError> {
    Err(StoreError::Unavailable("not yet".to_owned()))
}

/// What the slices of one chunk share.
pub(super) struct Import;

impl Import {
    pub(super) const fn new(_: &ApplyChunk) -> Self {
        Self
    }

    /// Imports `entries`, whose bytes are in `payload`, and returns their records.
    pub(super) async fn import(
        &mut self,
        _client: &Client,
        _payload: &[u8],
        _entries: &[Prepared<NewIssue>],
    ) -> Result<ChunkRecords, StoreError> {
        not_yet()
    }

    /// Writes what the chunk comes to.
    pub(super) async fn finish(self, _client: &Client) -> Result<(), StoreError> {
        Ok(())
    }
}

/// Removes some of the staged files that nobody claimed in time; whether there were any. Called by
/// the housekeeping of every server.
pub(super) async fn purge(_engine: &Arc<Engine>, _now: UnixMillis) -> Result<bool, StoreError> {
    Ok(false)
}

pub(super) async fn list(
    _engine: &Arc<Engine>,
    _request: ListIssues,
) -> Result<IssuePage, StoreError> {
    not_yet()
}

pub(super) async fn step(
    _engine: &Arc<Engine>,
    _request: StepIssues,
) -> Result<IssueStep, StoreError> {
    not_yet()
}

pub(super) async fn get(
    _engine: &Arc<Engine>,
    _request: GetIssue,
) -> Result<Option<RenderedIssue>, StoreError> {
    not_yet()
}

pub(super) async fn create(
    _engine: &Arc<Engine>,
    _command: CreateIssue,
) -> Result<Once<KeptAnswer>, StoreError> {
    not_yet()
}

pub(super) async fn add_message(
    _engine: &Arc<Engine>,
    _command: AddMessage,
) -> Result<Once<KeptAnswer>, StoreError> {
    not_yet()
}

pub(super) async fn add_note(
    _engine: &Arc<Engine>,
    _command: AddNote,
) -> Result<Once<KeptAnswer>, StoreError> {
    not_yet()
}

pub(super) async fn edit(
    _engine: &Arc<Engine>,
    _command: EditIssue,
) -> Result<Vec<u8>, StoreError> {
    not_yet()
}

pub(super) async fn edit_many(
    _engine: &Arc<Engine>,
    _command: EditIssues,
) -> Result<Vec<u8>, StoreError> {
    not_yet()
}

pub(super) async fn reference_faults(
    _engine: &Arc<Engine>,
    _domain: DomainId,
    _references: References,
) -> Result<Vec<ParameterFault>, StoreError> {
    not_yet()
}

pub(super) async fn queues(
    _engine: &Arc<Engine>,
    _domain: DomainId,
) -> Result<Vec<IssueQueue>, StoreError> {
    not_yet()
}

pub(super) async fn stage_attachment(
    _engine: &Arc<Engine>,
    _command: StageAttachment,
) -> Result<(), StoreError> {
    not_yet()
}

pub(super) async fn discard_attachments(
    _engine: &Arc<Engine>,
    _domain: DomainId,
    _ids: Vec<String>,
) -> Result<(), StoreError> {
    not_yet()
}

pub(super) async fn attachment(
    _engine: &Arc<Engine>,
    _domain: DomainId,
    _id: String,
) -> Result<Option<Attachment>, StoreError> {
    not_yet()
}

pub(super) async fn attachment_piece(
    _engine: &Arc<Engine>,
    _domain: DomainId,
    _id: String,
    _number: u32,
) -> Result<Option<Vec<u8>>, StoreError> {
    not_yet()
}
