//! The steps that all writing calls share: from the HTTP request to the typed request and the
//! common part of the store's command. The model reads the fields of a form or of a JSON body.
//! Invariant: a handler receives a request only if it has no fault; otherwise the caller receives
//! all faults at once.

use axum::extract::Request;
use axum::response::Response;
use caseload_model::error_code::ErrorCode;
use caseload_model::issue::write::{ParsedForm, References, in_one_spelling, is_required_field};
use caseload_model::key::Access;
use caseload_model::spelling::same_name;
use caseload_store::{Idempotent, StoreError, StoredAnswer, WriteOrigin};

use super::file_upload::FileUpload;
use super::id::{InvalidIssueId, IssueId, unknown_issue};
use crate::http::auth::Caller;
use crate::http::cpu::INLINE_BYTES_MAX;
use crate::http::form::{self, Fields, Files};
use crate::http::idempotency::{self, InProgressMark};
use crate::http::memory::Memory;
use crate::http::problem::{Fault, Problem};
use crate::http::query::QueryPairs;
use crate::http::single_write::origin;
use crate::state::AppState;

/// A form of more bytes takes memory for the values in its maps and lists.
const LARGE_FORM_BYTES: usize = 1 << 20;
/// The memory that a parsed list of short values needs for each of its bytes.
const MEMORY_PER_PARSED_BYTE: usize = 16;

/// A writing call while its request is read.
pub(super) struct WriteCall<'c> {
    state: &'c AppState,
    caller: &'c Caller,
    name: &'static str,
    issue: Option<IssueId>,
    faults: Vec<Fault>,
}

/// A request that was read without a fault.
pub(super) struct Read<T, F> {
    pub(super) origin: WriteOrigin,
    pub(super) request: T,
    pub(super) files: F,
    /// The mark on the idempotency key and the memory of the form, to be dropped once the call is
    /// answered.
    pub(super) held: (Option<InProgressMark>, Memory),
}

/// How the model reads a form as a request of type `T`.
pub(super) struct FormRules<T> {
    pub(super) read: fn(&[(String, String)]) -> ParsedForm<T>,
    pub(super) references: fn(&T) -> References,
}

impl<'c> WriteCall<'c> {
    /// A call with this `name`, such as "adding a message", on the issue of its path. Refuses a
    /// read key. An invalid id in the path is a fault like the others.
    pub(super) fn new(
        state: &'c AppState,
        caller: &'c Caller,
        name: &'static str,
        issue: Option<Result<IssueId, InvalidIssueId>>,
        query: &QueryPairs,
    ) -> Result<Self, Problem> {
        caller.require(Access::Write, name)?;
        let mut faults = query.unknown(&[]);
        let issue = issue.and_then(|id| id.map_err(|invalid| faults.push(invalid.into())).ok());
        Ok(Self { state, caller, name, issue, faults })
    }

    /// Reads the request, which may have an idempotency key.
    pub(super) async fn read<T: Send + 'static, F: Files>(
        mut self,
        request: Request,
        files: F,
        form: FormRules<T>,
    ) -> Result<Read<T, F>, Problem> {
        let (state, caller) = (self.state, self.caller);
        let key = idempotency::key(request.headers(), &mut self.faults);
        let mark = idempotency::begin(state, caller, key.as_deref()).await?;
        let (fields, mut files, mut memory) = form::read(state, caller, request, files).await?;
        let bytes = fields.bytes();
        if bytes > LARGE_FORM_BYTES {
            memory.grow_to(bytes * MEMORY_PER_PARSED_BYTE).await?;
        }
        let (name, issue, file_hash) = (self.name, self.issue, files.content());
        // Only a repeat is compared, and only a request with a key has repeats.
        let has_key = key.is_some();
        let work = move || {
            let content = has_key.then(|| content(name, issue, &fields, file_hash));
            let parsed = (form.read)(&fields.pairs);
            (content, parsed, fields)
        };
        let (content, parsed, fields) =
            if bytes > INLINE_BYTES_MAX { state.cpu.run(work).await? } else { work() };
        let request = self.request(parsed, fields, files.take_faults(), form.references).await?;
        let origin = origin(state, caller, key.zip(content))?;
        Ok(Read { origin, request, files, held: (mark, memory) })
    }

    /// The typed request, or all faults of the call, its form, its files and its references.
    async fn request<T>(
        mut self,
        (request, mut faults): ParsedForm<T>,
        fields: Fields,
        files: Vec<Fault>,
        references: fn(&T) -> References,
    ) -> Result<T, Problem> {
        // A field that could not be taken over is not missing as well.
        faults.retain(|fault| {
            let is_given = fields.faults.iter().any(|given| {
                same_name(&fault.parameter, &given.parameter)
                    || !is_required_field(&fault.parameter)
            });
            fault.code != ErrorCode::MissingField || !is_given
        });
        self.faults.extend(fields.faults);
        self.faults.extend(faults.into_iter().map(Fault::from));
        self.faults.extend(files);
        if self.faults.is_empty() {
            return Ok(request);
        }
        let references = references(&request);
        let (store, domain) = (&self.state.store, self.caller.domain_id);
        let more = store.reference_faults(domain, references).await?;
        self.faults.extend(more.into_iter().map(Fault::from));
        Err(Problem::faults(self.faults))
    }
}

/// A hash of the request's content: the call, the issue, the fields in one spelling, and the files.
/// The order and spelling of the fields and the encoding of the body do not matter, the order of
/// the members of a list does.
fn content(name: &str, issue: Option<IssueId>, form: &Fields, files: [u8; 32]) -> [u8; 32] {
    let fields = in_one_spelling(&form.pairs);
    let issue = issue.and_then(IssueId::number).unwrap_or_default().to_be_bytes();
    let mut parts: Vec<&[u8]> = vec![name.as_bytes(), &issue, &files];
    for (name, value) in &fields {
        parts.extend([name.as_bytes(), value.as_bytes()]);
    }
    idempotency::content_hash(&parts)
}

/// The answer 201, the same for the first request and each repeat. The files of a repeat are
/// discarded.
pub(super) fn created(
    outcome: Result<Idempotent<StoredAnswer>, StoreError>,
    files: &mut FileUpload,
) -> Result<Response, Problem> {
    let outcome = outcome.map_err(write_error)?;
    if matches!(outcome, Idempotent::Done(_)) {
        files.set_claimed();
    }
    Ok(idempotency::created(outcome))
}

/// The only record that a writing call may not find is its issue.
pub(super) fn write_error(error: StoreError) -> Problem {
    match error {
        StoreError::NotFound { .. } => unknown_issue(),
        other => other.into(),
    }
}
