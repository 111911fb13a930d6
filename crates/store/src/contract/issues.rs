//! Issues: lists, single issues, changes and attachments. The model defines the
//! meaning of a filter; each backend has its own indexes and counters.

use std::collections::{BTreeMap, BTreeSet};

use caseload_model::ids::DomainId;
use caseload_model::issue::write::{Attachment, References};
use caseload_model::issue::{IssueQueue, ListVersion};
use caseload_model::issue_query::{
    CountedGroup, Grouping, IssueQuery, IssueView, ListPosition, Paging, ParameterFault,
};

use super::{
    AddMessage, AddNote, CreateIssue, DeleteIssue, EditIssue, EditIssues, FindMessages,
    GetRedaction, Idempotent, ListPage, ListStep, LoggedRedaction, ReadBudget, Redact,
    StageAttachment, StepForm, StoreFuture, StoredAnswer,
};

/// Reading and writing issues one by one and in lists.
pub trait Issues: Send + Sync + 'static {
    /// One page of issues with the exact total, from one snapshot.
    /// [`StoreError::DeadlinePassed`](super::StoreError) if the budget is used up.
    fn list_issues(&self, request: ListIssues) -> StoreFuture<'_, IssuePage>;
    /// The issues that follow a position, from one snapshot. Costs the same at every position.
    /// [`StoreError::DeadlinePassed`](super::StoreError) if the budget is used up.
    fn step_issues(&self, request: StepIssues) -> StoreFuture<'_, IssueStep>;
    /// A number that is greater after each change of the domain's issues and profiles: between two
    /// equal ones, nothing changed.
    fn change_mark(&self, domain: DomainId) -> StoreFuture<'_, i64>;
    /// The number of matches and the numbers of their groups, from one snapshot.
    /// [`StoreError::DeadlinePassed`](super::StoreError) if the budget is used up.
    fn count_issues(&self, request: CountIssues) -> StoreFuture<'_, IssueCounts>;
    /// How the page would be found: which counters, indexes and sets are read. Renders no issue and
    /// reads no text.
    fn explain_issues(&self, request: ListIssues) -> StoreFuture<'_, Vec<ExplainedStep>>;
    /// One issue, rendered; `None` if the domain has none of that id.
    fn issue(&self, request: GetIssue) -> StoreFuture<'_, Option<RenderedIssue>>;

    /// Makes an issue; returns the answer to the caller.
    /// [`StoreError::Refused`](super::StoreError) if the request refers to something that does not
    /// exist, here and in the four commands that follow.
    fn create_issue(&self, command: CreateIssue) -> StoreFuture<'_, Idempotent<StoredAnswer>>;
    /// Adds a message; returns the answer to the caller.
    /// [`StoreError::NotFound`](super::StoreError) for an unknown issue, here and in the three
    /// commands that follow.
    fn add_message(&self, command: AddMessage) -> StoreFuture<'_, Idempotent<StoredAnswer>>;
    /// Adds a private note; returns the answer to the caller.
    fn add_note(&self, command: AddNote) -> StoreFuture<'_, Idempotent<StoredAnswer>>;
    /// Deletes an issue; the answer is empty.
    fn delete_issue(&self, command: DeleteIssue) -> StoreFuture<'_, Idempotent<StoredAnswer>>;
    /// Changes an issue; returns the answer to the caller. A request that changes nothing writes
    /// nothing, here and in the command that follows.
    fn edit_issue(&self, command: EditIssue) -> StoreFuture<'_, Idempotent<StoredAnswer>>;
    /// Changes many issues in one transaction; returns the answer to the caller. Any fault, an
    /// unknown issue included, leaves all issues unchanged.
    fn edit_issues(&self, command: EditIssues) -> StoreFuture<'_, Idempotent<StoredAnswer>>;
    /// Carries out the requests of a form of redactions; returns the answer to the caller. One that
    /// cannot be carried out is answered with the reason, and the others are carried out.
    fn redact(&self, command: Redact) -> StoreFuture<'_, Idempotent<StoredAnswer>>;
    /// A redaction of issues; `None` if the log of changes does not have it.
    fn redaction(&self, request: GetRedaction) -> StoreFuture<'_, Option<LoggedRedaction>>;
    /// The issues of messages, by the ids of these; several if they share an id. Reads the messages
    /// of all issues.
    fn find_messages(
        &self,
        request: FindMessages,
    ) -> StoreFuture<'_, BTreeMap<String, BTreeSet<u64>>>;
    /// The references that lead nowhere, of a request that is refused already, so that its caller
    /// gets all faults in one answer.
    fn reference_faults(
        &self,
        domain: DomainId,
        references: References,
    ) -> StoreFuture<'_, Vec<ParameterFault>>;
    /// The queues of a domain, oldest first.
    fn queues(&self, domain: DomainId) -> StoreFuture<'_, Vec<IssueQueue>>;

    /// Stores a piece of a file. [`StoreError::AttachmentLost`](super::StoreError) if the pieces
    /// before it are gone.
    fn stage_attachment(&self, command: StageAttachment) -> StoreFuture<'_, ()>;
    /// Removes staged files that no message claimed.
    fn discard_attachments(&self, domain: DomainId, ids: Vec<String>) -> StoreFuture<'_, ()>;
    /// An attachment of a message; `None` if the domain has none of that id.
    fn attachment(&self, domain: DomainId, id: &str) -> StoreFuture<'_, Option<Attachment>>;
    /// A piece of its bytes, of [`ATTACHMENT_PIECE_BYTES`](super::ATTACHMENT_PIECE_BYTES) except
    /// for the last.
    fn attachment_piece(
        &self,
        domain: DomainId,
        id: &str,
        number: u32,
    ) -> StoreFuture<'_, Option<Vec<u8>>>;
}

/// A page of issues.
pub type IssuePage = ListPage<u64>;

/// Some issues of a list.
pub type IssueStep = ListStep<u64>;

/// A request for one page.
#[derive(Debug, Clone)]
pub struct ListIssues {
    pub domain: DomainId,
    pub query: IssueQuery,
    pub view: IssueView,
    pub paging: Paging,
    /// The most bytes of the page; its first issue is written in any case.
    pub bytes_max: usize,
    pub budget: ReadBudget,
}

/// A request for the issues that follow a position.
#[derive(Debug, Clone)]
pub struct StepIssues {
    pub domain: DomainId,
    pub query: IssueQuery,
    pub view: IssueView,
    /// Only the issues after this position in the order of the query; `None` for all.
    pub after: Option<ListPosition>,
    /// The largest number of issues, at least 1.
    pub issues_max: u64,
    /// The most bytes of the step; its first issue is written in any case.
    pub bytes_max: usize,
    pub form: StepForm,
    /// Whether to count all issues that match.
    pub count: bool,
    pub budget: ReadBudget,
}

/// A request for the numbers of groups.
#[derive(Debug, Clone)]
pub struct CountIssues {
    pub domain: DomainId,
    pub query: IssueQuery,
    pub grouping: Grouping,
    pub budget: ReadBudget,
}

/// The numbers of groups.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IssueCounts {
    /// Exact number of matching issues.
    pub total_hits: u64,
    /// The groups that have issues, in order, up to the limit.
    pub groups: Vec<CountedGroup>,
    /// The sum of the groups beyond the limit.
    pub other: u64,
}

/// A request for one issue.
#[derive(Debug, Clone)]
pub struct GetIssue {
    pub domain: DomainId,
    pub id: u64,
    pub view: IssueView,
    pub budget: ReadBudget,
}

/// One issue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RenderedIssue {
    /// A JSON map.
    pub body: Vec<u8>,
    /// As in [`IssuePage::urls`].
    pub urls: Vec<usize>,
    pub version: ListVersion,
}

/// One step of a list's plan, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedStep {
    /// `agents`, `filter`, `span`, `set`, `texts`, `seek`, `total` or `page`.
    pub step: &'static str,
    /// Which counters, index or sets are read.
    pub how: String,
    /// Issues that the step lets through or counts, if it is measured.
    pub issues: Option<u64>,
}
