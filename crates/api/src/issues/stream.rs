//! Every match as JSON lines, one issue per line, step by step: each step is a snapshot of its own
//! and is read when the client has taken the one before, so that memory does not grow with the
//! list and nothing is pinned by a slow client. Invariant: the line with `end` comes after the last
//! issue and only then. A stream that cannot go on (the server stops, the key is revoked, the store
//! fails) breaks off in the middle of its body, which clients see twice: the transfer is not ended
//! as it should be, and the last line is missing.

use std::io;

use axum::body::{Body, Bytes};
use axum::response::{IntoResponse, Response};
use caseload_model::issue_query::{Cursor, CursorScope};
use caseload_store::{IssueStep, StepForm, StepIssues, StoreError};
use futures_util::stream;
use http::{HeaderMap, header};

use super::deadline::in_time;
use crate::accept::{weight_of, weighted};
use crate::auth::demand_key;
use crate::{AppState, Caller};

/// Issues and bytes after which a step ends.
pub(super) const STEP_ISSUES: u64 = 1000;
pub(super) const STEP_BYTES: usize = 2 << 20;

const JSON_LINES: &str = "application/x-ndjson";

/// Whether the caller prefers lines to an envelope.
pub(super) fn wanted(headers: &HeaderMap) -> bool {
    let list = weighted(headers, &header::ACCEPT);
    let weight = |name| weight_of(&list, &[name]).unwrap_or(0.0);
    let lines = weight(JSON_LINES);
    lines > 0.0 && lines >= weight("application/json")
}

/// A stream between two steps.
pub(super) struct Walker {
    pub(super) state: AppState,
    pub(super) caller: Caller,
    pub(super) request: StepIssues,
    /// Answers that the walk has had before this stream.
    pub(super) pages: u32,
}

struct Streaming {
    walker: Walker,
    /// The step that was read before the answer began.
    first: Option<IssueStep>,
    issues: u64,
    ended: bool,
}

impl Walker {
    /// Reads the first step, so that a store that fails then is an error and not a broken body, and
    /// answers with the rest to come.
    pub(super) async fn respond(mut self) -> Result<Response, StoreError> {
        let first = Some(self.step().await?);
        let begin = Streaming { walker: self, first, issues: 0, ended: false };
        let pieces = stream::try_unfold(begin, |mut streaming| async {
            Ok::<_, io::Error>(streaming.piece().await?.map(|piece| (piece, streaming)))
        });
        let headers = [(header::CONTENT_TYPE, JSON_LINES), (header::VARY, "Accept")];
        Ok((headers, Body::from_stream(pieces)).into_response())
    }

    async fn step(&mut self) -> Result<IssueStep, StoreError> {
        let read = self
            .state
            .store
            .step_issues(StepIssues { form: StepForm::Lines, ..self.request.clone() });
        let step = in_time(self.request.budget, read).await?;
        self.request.after = step.last.or(self.request.after);
        Ok(step)
    }

    /// The cursor that stands where the stream is now; empty where nothing was ever delivered.
    fn cursor(&self) -> String {
        let Some(after) = self.request.after else { return String::new() };
        let scope = CursorScope::of(self.request.domain, &self.request.query);
        let pages = self.pages.saturating_add(1);
        Cursor { scope, sort: self.request.query.sort, after, pages }.encode()
    }
}

impl Streaming {
    async fn piece(&mut self) -> io::Result<Option<Bytes>> {
        if self.ended {
            return Ok(None);
        }
        let step = match self.first.take() {
            Some(first) => first,
            None => self.next().await?,
        };
        self.issues += u64::from(step.count);
        let mut piece = step.body;
        if !step.more {
            self.ended = true;
            let (count, cursor) = (self.issues, self.walker.cursor());
            let end = format!("{{\"end\":true,\"count\":{count},\"next-cursor\":\"{cursor}\"}}\n");
            piece.extend_from_slice(end.as_bytes());
        }
        Ok(Some(piece.into()))
    }

    async fn next(&mut self) -> io::Result<IssueStep> {
        let state = self.walker.state.clone();
        if *state.stopping.borrow() {
            return Err(io::Error::other("the server stops"));
        }
        if demand_key(&state, &self.walker.caller).await.is_err() {
            return Err(io::Error::other("the API key works no longer"));
        }
        self.walker.step().await.map_err(|error| {
            tracing::warn!(%error, issues = self.issues, "a stream of issues breaks off");
            io::Error::other("the issues cannot be read further")
        })
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn lines_are_sent_where_they_are_named_and_not_liked_less_than_json() {
        for (accept, lines) in [
            ("application/x-ndjson", true),
            ("application/x-ndjson, application/json", true),
            ("application/json, APPLICATION/X-NDJSON", true),
            ("application/x-ndjson;q=0.5, */*", true),
            ("application/x-ndjson;q=0.5, application/json", false),
            ("application/x-ndjson;q=0", false),
            ("application/json", false),
            ("*/*", false),
            ("", false),
        ] {
            let headers =
                HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))]);
            assert_eq!(wanted(&headers), lines, "{accept}");
        }
    }
}
