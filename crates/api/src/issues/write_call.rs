//! What all writing calls share: from the request to the typed request and the part of the store's
//! command that is the same everywhere. What the fields of a form mean is the model's to say; what
//! becomes of the request is its handler's. Invariant: whoever gets a request here has one without
//! a fault.

use axum::extract::Request;
use axum::response::Response;
use caseload_model::issue::write::{ParsedForm, References};
use caseload_model::key::Access;
use caseload_store::{Idempotent, StoreError, StoredAnswer, WriteOrigin};

use super::file_upload::Staged;
use super::id::{IssueId, NoIssueId, unknown_issue};
use crate::form::{self, Fields, Files, NoFiles};
use crate::idempotency::{self, InProgressMark};
use crate::problem::{Fault, Problem};
use crate::query::QueryPairs;
use crate::random::random_u64;
use crate::{AppState, Caller};

/// A writing call that is being read.
pub(super) struct Call<'c> {
    state: &'c AppState,
    caller: &'c Caller,
    what: &'static str,
    issue: Option<IssueId>,
    faults: Vec<Fault>,
}

/// How a form becomes a request.
pub(super) struct Form<T> {
    pub(super) read: fn(&[(String, String)]) -> ParsedForm<T>,
    pub(super) references: fn(&T) -> References,
}

impl<'c> Call<'c> {
    /// `what` the call does, such as "adding a message", to the issue of its path. Refused where
    /// the key only reads; a path without an id is a fault among the others.
    pub(super) fn new(
        state: &'c AppState,
        caller: &'c Caller,
        what: &'static str,
        issue: Option<Result<IssueId, NoIssueId>>,
        query: &QueryPairs,
    ) -> Result<Self, Problem> {
        caller.may(Access::Write, what)?;
        let mut faults = query.unknown(&[]);
        let issue = issue.and_then(|id| id.map_err(|none| faults.push(none.into())).ok());
        Ok(Self { state, caller, what, issue, faults })
    }

    /// Reads a call that makes something, and may be repeated under a key. The mark is on that key
    /// and to be kept until the call is answered.
    pub(super) async fn post<T>(
        mut self,
        request: Request,
        files: &mut impl Files,
        form: Form<T>,
    ) -> Result<(WriteOrigin, T, Option<InProgressMark>), Problem> {
        let (state, caller) = (self.state, self.caller);
        let key = idempotency::key(request.headers(), &mut self.faults);
        let mark = idempotency::begin(state, caller, key.as_deref()).await?;
        let fields = form::read(request, &state.config, files).await?;
        let content = self.content(&fields, files.content());
        let request = self.request(fields, files.take_faults(), form).await?;
        Ok((writing(state, caller, key.map(|text| (text, content)))?, request, mark))
    }

    /// Reads a call that sets something: it takes neither files nor a key.
    pub(super) async fn put<T>(
        self,
        request: Request,
        form: Form<T>,
    ) -> Result<(WriteOrigin, T), Problem> {
        let (state, caller) = (self.state, self.caller);
        let fields = form::read(request, &state.config, &mut NoFiles).await?;
        let request = self.request(fields, Vec::new(), form).await?;
        Ok((writing(state, caller, None)?, request))
    }

    /// The request, where it and its form have no faults; else all of them, and what of its
    /// references leads nowhere.
    async fn request<T>(
        mut self,
        fields: Fields,
        files: Vec<Fault>,
        form: Form<T>,
    ) -> Result<T, Problem> {
        let (request, faults) = (form.read)(&fields.pairs);
        self.faults.extend(fields.faults);
        self.faults.extend(faults.into_iter().map(Fault::from));
        self.faults.extend(files);
        if self.faults.is_empty() {
            return Ok(request);
        }
        let references = (form.references)(&request);
        let (store, domain) = (&self.state.store, self.caller.domain_id);
        let more = store.reference_faults(domain, references).await?;
        self.faults.extend(more.into_iter().map(Fault::from));
        Err(Problem::faults(self.faults))
    }

    /// A hash of what a request asks for: the call, the issue, the fields in whatever order and
    /// spelling they came, the files.
    fn content(&self, form: &Fields, files: [u8; 32]) -> [u8; 32] {
        let pairs = form.pairs.iter();
        let mut fields: Vec<(String, &str)> =
            pairs.map(|(name, value)| (name.replace('_', "-"), value.as_str())).collect();
        fields.sort_unstable();
        let issue = self.issue.and_then(IssueId::number).unwrap_or_default().to_be_bytes();
        let mut parts: Vec<&[u8]> = vec![self.what.as_bytes(), &issue, &files];
        for (name, value) in &fields {
            parts.extend([name.as_bytes(), value.as_bytes()]);
        }
        idempotency::content_hash(&parts)
    }
}

/// The part of a command that all share; with a key, the content that tells the request from
/// others.
fn writing(
    state: &AppState,
    caller: &Caller,
    key: Option<(String, [u8; 32])>,
) -> Result<WriteOrigin, Problem> {
    let now = state.clock.now();
    Ok(WriteOrigin {
        domain: caller.domain_id,
        domain_name: caller.domain_name.clone(),
        now,
        random: random_u64()?,
        key_name: caller.key_name.clone(),
        idempotency: key.map(|(text, content)| idempotency::stored_key(text, content, now, now)),
    })
}

/// 201 with the answer, the first time and each time after. The files of a repeat are not needed.
pub(super) fn created(
    written: Result<Idempotent<StoredAnswer>, StoreError>,
    files: &mut Staged<'_>,
) -> Result<Response, Problem> {
    match written.map_err(write_error)? {
        Idempotent::Done(answer) => {
            files.claimed();
            Ok(idempotency::created(answer))
        }
        Idempotent::Replayed(first) => Ok(idempotency::created(first)),
    }
}

/// The only thing that a writing call may not find is its issue.
pub(super) fn write_error(error: StoreError) -> Problem {
    match error {
        StoreError::NotFound { .. } => unknown_issue(),
        other => other.into(),
    }
}
