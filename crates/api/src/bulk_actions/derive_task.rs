//! The beginning of the calls that make a new task or import of the entries of a completed one:
//! `retry` and `run`. They take no fields, need the access that creating the new one needs, and
//! answer a repeat under the same idempotency key before they look at the old one, which may have
//! changed.

use axum::response::Response;
use caseload_store::CreateTask;
use http::HeaderMap;

use super::accept::accept;
use super::no_fields::NoFields;
use super::path::OwnTask;
use super::records;
use super::subject::Subject;
use crate::http::auth::Caller;
use crate::http::idempotency::{self, InProgressMark};
use crate::http::problem::{Fault, Problem};
use crate::http::query::QueryPairs;
use crate::state::AppState;

/// Makes a new task of the entries of another one.
pub(crate) struct DeriveTask {
    pub(crate) caller: Caller,
    pub(crate) subject: Subject,
    pub(crate) key: Option<(String, [u8; 32])>,
    /// Held until the answer, so that a second call with the key waits for it.
    _mark: Option<InProgressMark>,
}

/// A call whose key is looked up.
pub(super) enum Call {
    /// The first answer to the same call.
    Repeat(Response),
    First(Box<DeriveTask>),
}

impl Call {
    /// Reads a call of `verb`, which changes the task into a new one with `dry_run`.
    pub(super) async fn read(
        state: &AppState,
        query: &QueryPairs,
        headers: &HeaderMap,
        own: OwnTask,
        fields: NoFields,
        verb: Verb,
    ) -> Result<Self, Problem> {
        let mut faults: Vec<Fault> = [query.unknown(&[]), fields.0].concat();
        let key = idempotency::key(headers, &mut faults);
        Problem::check(faults)?;
        let OwnTask { caller, subject } = own;
        let (task, noun) = (&subject.task, subject.noun());
        let (word, doing, dry_run) = match verb {
            Verb::Retry => ("retry", format!("retrying this {noun}"), task.dry_run),
            Verb::Run => ("run", format!("running this {noun}"), false),
        };
        caller.require(task.action.access_of(dry_run), &doing)?;
        let mark = idempotency::begin(state, &caller, key.as_deref()).await?;
        let content = idempotency::content_hash(&[word.as_bytes(), task.id.as_bytes()]);
        let first = idempotency::first_answer(state, &caller, key.as_deref(), content).await?;
        if let Some(first) = first {
            return Ok(Self::Repeat(idempotency::created(first)));
        }
        let key = key.map(|key| (key, content));
        Ok(Self::First(Box::new(DeriveTask { caller, subject, key, _mark: mark })))
    }
}

/// The two calls.
#[derive(Debug, Clone, Copy)]
pub(super) enum Verb {
    Retry,
    Run,
}

impl DeriveTask {
    /// Refuses a task that is not completed.
    pub(super) fn check_completed(&self) -> Result<(), Problem> {
        records::check_completed(&self.subject)
    }

    /// Refuses a task whose entries have expired.
    pub(super) fn check_kept(&self, state: &AppState) -> Result<(), Problem> {
        records::check_kept(&self.subject, state)
    }

    /// Gives the new task to the store.
    pub(super) async fn accept(
        self,
        state: &AppState,
        command: CreateTask,
    ) -> Result<Response, Problem> {
        accept(state, &self.caller, command, self.key).await
    }
}
