//! `GET …/{task_id}/payload`: the entries of a task as they were sent, one per line, while they are
//! stored: all of them until the task completes, then those that failed or were not processed, and
//! of a dry run all. With `only` it is a reject file, which can be mended and sent again as it is.
//! Invariant: a file that lacks an entry ends in an error and never looks complete.

use std::collections::BTreeSet;
use std::io;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use caseload_model::error_code::ErrorCode;
use caseload_model::ids::DomainId;
use caseload_model::payload::Block;
use caseload_model::task::{Outcome, Task, TaskStatus};
use caseload_model::task_query::{PayloadPart, PayloadRequest, parse_payload};
use caseload_store::{EntryStates, StoreError, Submit};
use futures_util::{Stream, stream};
use http::{HeaderMap, HeaderValue, header};

use super::path::OwnTask;
use super::record_file::DOWNLOAD_BYTES;
use super::records::{check_kept, not_completed};
use crate::http::accept::Accept;
use crate::http::compression::gzip_file;
use crate::http::connection::LongAnswer;
use crate::http::cpu::{CpuPool, INLINE_BYTES_MAX};
use crate::http::etag::{has_already, of_text, unchanged};
use crate::http::format::LINES;
use crate::http::memory::Memory;
use crate::http::problem::Problem;
use crate::http::query::{QueryPairs, refused};
use crate::state::AppState;

/// The media type of the same lines for callers that prefer to look at them.
const TEXT: [&str; 1] = ["text/plain"];

/// The entries of a task, as they were sent.
pub(crate) async fn payload(
    State(state): State<AppState>,
    query: QueryPairs,
    headers: HeaderMap,
    own: OwnTask,
) -> Result<Response, Problem> {
    let request = parse_payload(&query.0).map_err(refused)?;
    let OwnTask { caller, task } = own;
    let PayloadRequest { only, download } = request;
    let completed = task.status == TaskStatus::Completed;
    if only.is_some() && !completed {
        return Err(not_completed(&task));
    }
    if completed {
        check_kept(&task, &state)?;
    }
    let tag = of_text(&format!("{} {:?} {request:?}", task.id, task.completed_at));
    let tag = if download { format!("W/{tag}") } else { tag };
    if completed && has_already(&headers, tag.trim_start_matches("W/")) {
        return Ok(unchanged(&tag));
    }
    let memory = state.memory.take(Some(caller.domain_id), DOWNLOAD_BYTES).await?;
    let states = match only {
        None => EntryStates { failed: BTreeSet::new(), unprocessed_from: 0 },
        Some(_) => state.store.entry_states(caller.domain_id, &task.id).await?,
    };
    let mut reader = PayloadReader {
        store: state.store.clone(),
        cpu: state.cpu.clone(),
        domain: caller.domain_id,
        task_id: task.id.clone(),
        chosen: Arc::new((only, states)),
        expected: expected(&task, only),
        sent: 0,
        next: Some(0),
        ahead: None,
        memory,
    };
    // Read at once, so that an error of the store is an error answer and not a cut body.
    reader.ahead = reader.read().await?;
    let lines = pieces(reader);
    let name = format!("{}-{}-payload.jsonl", task.action.as_str(), task.id);
    let (body, content_type, name) = if download {
        let body = gzip_file(&state.memory, lines).await?;
        (body, "application/gzip", format!("{name}.gz"))
    } else {
        (Body::from_stream(lines), Accept::of(&headers).preferred(&[&LINES, &TEXT]).1, name)
    };
    let mut response = ([(header::CONTENT_TYPE, content_type)], body).into_response();
    let own_headers = response.headers_mut();
    own_headers.insert(header::VARY, HeaderValue::from_static("Accept"));
    let disposition = HeaderValue::try_from(format!("attachment; filename=\"{name}\""));
    own_headers.extend(disposition.map(|value| (header::CONTENT_DISPOSITION, value)));
    if completed {
        own_headers.extend(HeaderValue::try_from(tag).map(|tag| (header::ETAG, tag)));
    }
    response.extensions_mut().insert(LongAnswer);
    Ok(response)
}

/// The number of lines of a complete file. A task that completed has only the entries that a retry
/// needs, unless it was a dry run or a fault of the server ended it.
fn expected(task: &Task, only: Option<PayloadPart>) -> u32 {
    let counts = &task.counts;
    match only {
        Some(PayloadPart { failed, unprocessed }) => {
            let failed = if failed { counts.failed } else { 0 };
            failed + if unprocessed { counts.unprocessed } else { 0 }
        }
        None if task.status != TaskStatus::Completed
            || task.dry_run
            || task.outcome == Some(Outcome::Failed) =>
        {
            counts.total
        }
        None => task.retryable_entries(),
    }
}

/// Reads the payload block by block.
struct PayloadReader {
    store: Arc<dyn Submit>,
    cpu: CpuPool,
    domain: DomainId,
    task_id: String,
    /// The chosen part, and the entries of each part.
    chosen: Arc<(Option<PayloadPart>, EntryStates)>,
    expected: u32,
    /// Lines so far.
    sent: u32,
    /// The index to read the next block with; `None` after the last block.
    next: Option<u32>,
    /// Lines that were read before they were asked for.
    ahead: Option<Bytes>,
    /// Of the download, for as long as it is read.
    memory: Memory,
}

/// The lines of a block, their number, and the index after its last entry.
type BlockLines = (Vec<u8>, u32, u32);

impl PayloadReader {
    /// The next lines; `None` at the end.
    async fn read(&mut self) -> Result<Option<Bytes>, StoreError> {
        while let Some(from) = self.next {
            let block = self.store.payload_block(self.domain, &self.task_id, from).await?;
            let Some(bytes) = block else {
                self.next = None;
                break;
            };
            let (lines, count, next) = self.lines(bytes, from).await?;
            self.next = Some(next);
            self.sent += count;
            if !lines.is_empty() {
                self.memory.grow_to(DOWNLOAD_BYTES + 2 * lines.len()).await.map_err(|_| {
                    StoreError::Unavailable("no memory for a block of a payload".to_owned())
                })?;
                return Ok(Some(lines.into()));
            }
        }
        let (sent, expected) = (self.sent, self.expected);
        if sent == expected {
            return Ok(None);
        }
        Err(StoreError::Unavailable(format!("{sent} entries of a payload, not {expected}")))
    }

    async fn lines(&self, bytes: Vec<u8>, from: u32) -> Result<BlockLines, StoreError> {
        let chosen = self.chosen.clone();
        if bytes.len() <= INLINE_BYTES_MAX {
            return lines_of(bytes, from, &chosen);
        }
        let work = move || lines_of(bytes, from, &chosen);
        let failed = |_| StoreError::Unavailable("a block of a payload was not read".to_owned());
        self.cpu.run(work).await.map_err(failed)?
    }
}

fn lines_of(
    bytes: Vec<u8>,
    from: u32,
    (only, states): &(Option<PayloadPart>, EntryStates),
) -> Result<BlockLines, StoreError> {
    let block = Block::decode(bytes).map_err(|error| StoreError::Corrupt(error.to_string()))?;
    let is_chosen = |index: u32| match only {
        None => true,
        Some(part) if index >= states.unprocessed_from => part.unprocessed,
        Some(part) => part.failed && states.failed.contains(&index),
    };
    let (mut lines, mut count) = (Vec::new(), 0);
    for entry in &block.entries {
        if entry.index >= from && is_chosen(entry.index) {
            block.write_line(entry, &mut lines);
            count += 1;
        }
    }
    let last = block.entries.last().map_or(from, |entry| entry.index);
    Ok((lines, count, last.saturating_add(1)))
}

fn pieces(reader: PayloadReader) -> impl Stream<Item = io::Result<Bytes>> + Send {
    stream::try_unfold(reader, |mut reader| async {
        if let Some(first) = reader.ahead.take() {
            return Ok(Some((first, reader)));
        }
        if reader.next.is_none() {
            return Ok(None);
        }
        match reader.read().await {
            Ok(lines) => Ok(lines.map(|lines| (lines, reader))),
            Err(error) => {
                tracing::error!(%error, task = reader.task_id, "the payload cannot be read");
                Err(io::Error::other("the remaining entries cannot be read"))
            }
        }
    })
}

/// The refusal to run a dry run whose entries are gone.
pub(super) fn gone() -> Problem {
    let detail =
        "the entries of this dry run are gone, because it has expired; send the payload again";
    Problem::new(ErrorCode::Expired, detail)
}
