//! Lists of issues, writes of issues, and attachments, for every backend. A backend may answer a
//! list at once; otherwise it is planned and read as [`crate::query`] says.

use std::collections::{BTreeMap, BTreeSet};

use caseload_model::ids::DomainId;
use caseload_model::issue::IssueQueue;
use caseload_model::issue::write::{Attachment, References};
use caseload_model::issue_query::ParameterFault;

use super::Backend;
use crate::idempotency::CommandStore;
use crate::issues::write;
use crate::query::{
    Rendering, Request, count, explain, is_expensive, is_expensive_count, issue, list, page_of,
    step, step_of,
};
use crate::{
    AddMessage, AddNote, CountIssues, CreateIssue, DeleteIssue, EditIssue, EditIssues,
    ExplainedStep, FindMessages, GetIssue, GetRedaction, Idempotent, IssueCounts, IssuePage,
    IssueStep, Issues, ListIssues, LoggedRedaction, Redact, RenderedIssue, StageAttachment,
    StepIssues, StoreError, StoreFuture, StoredAnswer, attachments, erasure,
};

impl<B: Backend> Issues for B {
    fn list_issues(&self, request: ListIssues) -> StoreFuture<'_, IssuePage> {
        Box::pin(async move {
            let (domain, budget) = (request.domain, request.budget.clone());
            let (plan, rendering) = (Request::of_list(&request), Rendering::of_list(&request));
            if let Some((total, page)) =
                self.list_at_once(domain, budget.clone(), plan, rendering).await?
            {
                return Ok(page_of(total.unwrap_or_default(), page));
            }
            let is_long = is_expensive(&request.query);
            self.read_within(domain, budget, is_long, move |issues, throttle| {
                list(issues, &request, throttle)
            })
            .await
        })
    }

    fn step_issues(&self, request: StepIssues) -> StoreFuture<'_, IssueStep> {
        Box::pin(async move {
            let (domain, budget) = (request.domain, request.budget.clone());
            let (plan, rendering) = (Request::of_step(&request), Rendering::of_step(&request));
            if let Some((total, page)) =
                self.list_at_once(domain, budget.clone(), plan, rendering).await?
            {
                return Ok(step_of(total, page));
            }
            let is_long = is_expensive(&request.query);
            self.read_within(domain, budget, is_long, move |issues, throttle| {
                step(issues, &request, throttle)
            })
            .await
        })
    }

    fn change_mark(&self, domain: DomainId) -> StoreFuture<'_, i64> {
        self.read_in(domain, |tx| tx.change_mark())
    }

    fn count_issues(&self, request: CountIssues) -> StoreFuture<'_, IssueCounts> {
        let is_long = is_expensive_count(&request);
        self.read_within(
            request.domain,
            request.budget.clone(),
            is_long,
            move |issues, throttle| count(issues, &request, throttle),
        )
    }

    fn explain_issues(&self, request: ListIssues) -> StoreFuture<'_, Vec<ExplainedStep>> {
        self.read_within(request.domain, request.budget.clone(), true, move |issues, _| {
            explain(issues, &request)
        })
    }

    fn issue(&self, request: GetIssue) -> StoreFuture<'_, Option<RenderedIssue>> {
        let (domain, budget) = (request.domain, request.budget.clone());
        self.read_within(domain, budget, false, move |issues, _| issue(issues, &request))
    }

    fn create_issue(&self, command: CreateIssue) -> StoreFuture<'_, Idempotent<StoredAnswer>> {
        let domain = command.origin.domain;
        write_issues(self, domain, move |tx| write::create(&tx, &command))
    }

    fn add_message(&self, command: AddMessage) -> StoreFuture<'_, Idempotent<StoredAnswer>> {
        let domain = command.origin.domain;
        write_issues(self, domain, move |tx| write::add_message(&tx, &command))
    }

    fn add_note(&self, command: AddNote) -> StoreFuture<'_, Idempotent<StoredAnswer>> {
        let domain = command.origin.domain;
        write_issues(self, domain, move |tx| write::add_note(&tx, &command))
    }

    fn edit_issue(&self, command: EditIssue) -> StoreFuture<'_, Idempotent<StoredAnswer>> {
        let domain = command.origin.domain;
        write_issues(self, domain, move |tx| write::edit(&tx, &command))
    }

    fn delete_issue(&self, command: DeleteIssue) -> StoreFuture<'_, Idempotent<StoredAnswer>> {
        let domain = command.origin.domain;
        let deleted = self.write_long_in(domain, move |tx| write::delete(&tx, &command));
        note_issues(self, domain, deleted)
    }

    fn edit_issues(&self, command: EditIssues) -> StoreFuture<'_, Idempotent<StoredAnswer>> {
        let domain = command.origin.domain;
        let edited = self.write_long_in(domain, move |tx| write::edit_many(&tx, &command));
        note_issues(self, domain, edited)
    }

    fn redact(&self, command: Redact) -> StoreFuture<'_, Idempotent<StoredAnswer>> {
        let domain = command.origin.domain;
        let redacted = self.write_long_in(domain, move |tx| erasure::redact(&tx, &command));
        let redacted = note_issues(self, domain, redacted);
        Box::pin(async move {
            let answer = redacted.await?;
            // It may have made tasks.
            self.wake();
            Ok(answer)
        })
    }

    fn redaction(&self, request: GetRedaction) -> StoreFuture<'_, Option<LoggedRedaction>> {
        self.read_in(request.domain, move |tx| erasure::redaction(&tx, request.id))
    }

    fn find_messages(
        &self,
        request: FindMessages,
    ) -> StoreFuture<'_, BTreeMap<String, BTreeSet<u64>>> {
        let FindMessages { domain, ids, budget } = request;
        self.read_within(domain, budget, true, move |issues, throttle| {
            erasure::find_messages(issues, &ids, throttle)
        })
    }

    fn reference_faults(
        &self,
        domain: DomainId,
        references: References,
    ) -> StoreFuture<'_, Vec<ParameterFault>> {
        self.read_in(domain, move |tx| write::reference_faults(&tx, &references))
    }

    fn queues(&self, domain: DomainId) -> StoreFuture<'_, Vec<IssueQueue>> {
        self.read_in(domain, |tx| write::queues(&tx))
    }

    fn stage_attachment(&self, command: StageAttachment) -> StoreFuture<'_, ()> {
        self.write_in(command.domain, move |tx| attachments::stage(&tx, &command))
    }

    fn discard_attachments(&self, domain: DomainId, ids: Vec<String>) -> StoreFuture<'_, ()> {
        self.write_in(domain, move |tx| attachments::discard(&tx, &ids))
    }

    fn attachment(&self, domain: DomainId, id: &str) -> StoreFuture<'_, Option<Attachment>> {
        let id = id.to_owned();
        self.read_in(domain, move |tx| attachments::get(&tx, &id))
    }

    fn attachment_piece(
        &self,
        domain: DomainId,
        id: &str,
        number: u32,
    ) -> StoreFuture<'_, Option<Vec<u8>>> {
        let id = id.to_owned();
        self.read_in(domain, move |tx| attachments::piece(&tx, &id, number))
    }
}

/// Runs a write of issues.
fn write_issues<B: Backend, T: Send + 'static>(
    backend: &B,
    domain: DomainId,
    work: impl Fn(B::DomainTx<'_>) -> Result<T, StoreError> + Send + Sync + 'static,
) -> StoreFuture<'_, T> {
    note_issues(backend, domain, backend.write_in(domain, work))
}

/// Lets the backend know that issues were written.
fn note_issues<'b, B: Backend, T: Send + 'static>(
    backend: &'b B,
    domain: DomainId,
    written: StoreFuture<'b, T>,
) -> StoreFuture<'b, T> {
    Box::pin(async move {
        let answer = written.await?;
        backend.issues_written(domain);
        Ok(answer)
    })
}
