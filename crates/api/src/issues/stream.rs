//! Every match as JSON lines or as a table, one issue per line or row. The server reads the list in
//! steps, each in a snapshot of its own, and reads a step when the client has taken the previous
//! one. So memory does not grow with the list, and a slow client holds no snapshot open. A stream
//! that cannot continue (the server stops, the key is revoked, the store fails) breaks off: clients
//! see an incomplete transfer, and the last line is missing. A caller may leave that line out, and
//! a table has none; a broken transfer is then the only sign. Invariant: the line with `end`
//! follows the last issue, and only then.

use std::io;

use axum::body::{Body, Bytes};
use axum::response::{IntoResponse, Response};
use caseload_model::issue_query::{Cursor, CursorScope};
use caseload_store::{IssueStep, StepForm, StepIssues, StoreError};
use futures_util::stream;
use http::header;
use tokio::task::spawn_blocking;

use super::deadline::in_time;
use super::table::IssueTable;
use crate::auth::require_working_key;
use crate::base_url::BaseUrl;
use crate::csv::DamagedRecord;
use crate::{AppState, Caller};

/// A step ends after this many issues.
pub(super) const STEP_ISSUES: u64 = 1000;
/// A step ends after this many bytes.
pub(super) const STEP_BYTES: usize = 2 << 20;

/// Reads a list step by step.
pub(super) struct StepReader {
    pub(super) state: AppState,
    pub(super) caller: Caller,
    pub(super) base: BaseUrl,
    pub(super) request: StepIssues,
    /// Answers of this list before the stream, which the cursor counts.
    pub(super) pages: u32,
    /// The media type of the stream.
    pub(super) content_type: &'static str,
    pub(super) form: StreamForm,
}

/// What the issues of a stream are written as.
#[derive(Debug, Clone)]
pub(super) enum StreamForm {
    /// JSON lines; `trailer` says whether a last line confirms that the stream is complete.
    Lines {
        trailer: bool,
    },
    Table(IssueTable),
}

/// The body of the answer.
struct IssueStream {
    reader: StepReader,
    /// The step that was read before the answer began.
    first: Option<IssueStep>,
    issues: u64,
    ended: bool,
}

impl StepReader {
    /// Reads the first step, so that an error of the store then is an error answer and not a broken
    /// body. The rest follows as the body.
    pub(super) async fn respond(mut self) -> Result<Response, StoreError> {
        let first = Some(self.step().await?);
        let content_type = self.content_type;
        let begin = IssueStream { reader: self, first, issues: 0, ended: false };
        let pieces = stream::try_unfold(begin, |mut stream| async {
            Ok::<_, io::Error>(stream.piece().await?.map(|piece| (piece, stream)))
        });
        let headers = [(header::CONTENT_TYPE, content_type), (header::VARY, "Accept")];
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

    /// The cursor after the last issue of the stream; empty if there was no issue.
    fn cursor(&self) -> String {
        let Some(after) = self.request.after else { return String::new() };
        let scope = CursorScope::of(self.request.domain, &self.request.query);
        let pages = self.pages.saturating_add(1);
        Cursor { scope, sort: self.request.query.sort, after, pages }.encode()
    }
}

impl IssueStream {
    async fn piece(&mut self) -> io::Result<Option<Bytes>> {
        if self.ended {
            return Ok(None);
        }
        let (step, begins) = match self.first.take() {
            Some(first) => (first, true),
            None => (self.next().await?, false),
        };
        self.issues += u64::from(step.count);
        let mut piece = self.reader.base.inserted(step.body, &step.urls);
        self.ended = !step.more;
        match &self.reader.form {
            StreamForm::Lines { trailer } => {
                if self.ended && *trailer {
                    let (count, cursor) = (self.issues, self.reader.cursor());
                    let end = format!(
                        "{{\"end\":true,\"count\":{count},\"next-cursor\":\"{cursor}\"}}\n"
                    );
                    piece.extend_from_slice(end.as_bytes());
                }
            }
            StreamForm::Table(table) => piece = rows(table.clone(), piece, begins).await?,
        }
        Ok(Some(piece.into()))
    }

    async fn next(&mut self) -> io::Result<IssueStep> {
        let state = self.reader.state.clone();
        if *state.stopping.borrow() {
            return Err(io::Error::other("the server stops"));
        }
        if require_working_key(&state, &self.reader.caller).await.is_err() {
            return Err(io::Error::other("the API key no longer works"));
        }
        self.reader.step().await.map_err(|error| {
            tracing::warn!(%error, issues = self.issues, "a stream of issues breaks off");
            io::Error::other("the issues cannot be read further")
        })
    }
}

/// The rows of issues, after the header at the beginning of the stream.
async fn rows(table: IssueTable, lines: Vec<u8>, begins: bool) -> io::Result<Vec<u8>> {
    let written = spawn_blocking(move || {
        let mut out = if begins { table.header() } else { Vec::new() };
        out.extend_from_slice(&table.rows(&lines)?);
        Ok::<_, DamagedRecord>(out)
    });
    match written.await {
        Ok(Ok(rows)) => Ok(rows),
        damaged => {
            tracing::error!(?damaged, "issues cannot be written as a table");
            Err(io::Error::other("the issues cannot be written as a table"))
        }
    }
}
