//! `GET …/{task_id}/payload`: the entries of a task as they were sent, one per line, while they are
//! stored: all of them until the task completes, then those that failed or were not processed, and
//! of a dry run all. With `only` it is a reject file, which can be mended and sent again as it is.
//! Invariant: a file that lacks an entry ends in an error and never looks complete.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::io;
use std::sync::Arc;

use axum::body::{Body, Bytes};
use axum::extract::State;
use axum::response::{IntoResponse, Response};
use caseload_model::error_code::ErrorCode;
use caseload_model::ids::DomainId;
use caseload_model::payload::Block;
use caseload_model::task::{Outcome, Task, TaskStatus};
use caseload_model::task_query::{PayloadPart, PayloadRequest, parse_payload, parse_rejects};
use caseload_store::{EntryStates, PackedBlock, RecordKind, StoreError, Submit, unpack_block};
use futures_util::{Stream, stream};
use http::{HeaderMap, HeaderValue, header};

use super::error_record;
use super::path::OwnTask;
use super::record_file::DOWNLOAD_BYTES;
use super::records::{check_completed, check_kept};
use crate::http::accept::Accept;
use crate::http::compression::gzip_file;
use crate::http::connection::LongAnswer;
use crate::http::cpu::{CpuPool, INLINE_BYTES_MAX};
use crate::http::etag::{has_already, of_text, unchanged};
use crate::http::format::{CSV, LINES};
use crate::http::memory::Memory;
use crate::http::problem::Problem;
use crate::http::query::{QueryPairs, refused};
use crate::imports::{FileForm, Rejects};
use crate::state::AppState;

/// The media type of the same lines for callers that prefer to look at them.
const TEXT: [&str; 1] = ["text/plain"];
const TABLE: [&str; 1] = [CSV];

/// The entries of a task, as they were sent.
pub(crate) async fn payload(
    State(state): State<AppState>,
    query: QueryPairs,
    headers: HeaderMap,
    own: OwnTask,
) -> Result<Response, Problem> {
    let request = parse_payload(&query.0).map_err(refused)?;
    answer(&state, &headers, &own, (&request, None, "payload")).await
}

/// `GET …/imports/{import_id}/rejects`: the entries that failed or were not processed, in the form
/// of the file.
pub(crate) async fn rejects(
    State(state): State<AppState>,
    query: QueryPairs,
    headers: HeaderMap,
    own: OwnTask,
) -> Result<Response, Problem> {
    let PayloadRequest { download, .. } = parse_rejects(&query.0).map_err(refused)?;
    let only = Some(PayloadPart { failed: true, unprocessed: true });
    let table = own.subject.import.as_ref().and_then(|import| FileForm::of(import).rejects());
    answer(&state, &headers, &own, (&PayloadRequest { only, download }, table, "rejects")).await
}

async fn answer(
    state: &AppState,
    headers: &HeaderMap,
    own: &OwnTask,
    (request, table, name): (&PayloadRequest, Option<Rejects>, &str),
) -> Result<Response, Problem> {
    let OwnTask { caller, subject } = own;
    let (task, PayloadRequest { only, download }) = (&subject.task, *request);
    let completed = task.status == TaskStatus::Completed;
    if only.is_some() {
        check_completed(subject)?;
    }
    if completed {
        check_kept(subject, state)?;
    }
    let tag = of_text(&format!("{} {:?} {request:?}", task.id, task.completed_at));
    let tag = if download { format!("W/{tag}") } else { tag };
    if completed && has_already(headers, tag.trim_start_matches("W/")) {
        return Ok(unchanged(&tag));
    }
    let memory = state.memory.take(Some(caller.domain_id), DOWNLOAD_BYTES).await?;
    let is_table = table.is_some();
    let mut reader = PayloadReader {
        store: state.store.clone(),
        cpu: state.cpu.clone(),
        domain: caller.domain_id,
        only,
        tasks: subject.tasks().to_vec().into(),
        open: None,
        ahead: None,
        memory,
        table: table.map(Arc::new),
    };
    // Read at once, so that an error of the store is an error answer and not a cut body.
    reader.ahead = reader.first().await?;
    let lines = pieces(reader);
    let (ending, types) =
        if is_table { ("csv", [&TABLE[..], &TEXT]) } else { ("jsonl", [&LINES[..], &TEXT]) };
    let name = format!("{}-{}-{name}.{ending}", task.action.as_str(), task.id);
    let (body, content_type, name) = if download {
        let body = gzip_file(&state.memory, lines).await?;
        (body, "application/gzip", format!("{name}.gz"))
    } else {
        (Body::from_stream(lines), Accept::of(headers).preferred(&types).1, name)
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

/// Reads payloads block by block, one task after another.
struct PayloadReader {
    store: Arc<dyn Submit>,
    cpu: CpuPool,
    domain: DomainId,
    only: Option<PayloadPart>,
    /// The tasks that are not open yet.
    tasks: VecDeque<Task>,
    open: Option<OpenPayload>,
    /// Lines that were read before they were asked for.
    ahead: Option<Bytes>,
    /// Of the download, for as long as it is read.
    memory: Memory,
    /// How entries are written as rows of a table.
    table: Option<Arc<Rejects>>,
}

/// The payload of one task.
struct OpenPayload {
    task_id: String,
    chosen: Arc<Chosen>,
    expected: u32,
    /// Lines so far.
    sent: u32,
    /// The index to read the next block with.
    next: u32,
}

/// The entries of a file, and how they are written.
struct Chosen {
    only: Option<PayloadPart>,
    states: EntryStates,
    table: Option<Arc<Rejects>>,
    /// Of a table: the faults of each failed entry, as one text.
    errors: BTreeMap<u32, String>,
}

/// The lines of a block, their number, and the index after its last entry.
type BlockLines = (Vec<u8>, u32, u32);

impl PayloadReader {
    /// The beginning of the file.
    async fn first(&mut self) -> Result<Option<Bytes>, StoreError> {
        let mut first = Vec::new();
        if let Some(table) = &self.table {
            table.write_header(&mut first);
        }
        first.extend(self.read().await?.unwrap_or_default());
        Ok(Some(first.into()).filter(|first: &Bytes| !first.is_empty()))
    }

    /// The next lines; `None` at the end.
    async fn read(&mut self) -> Result<Option<Bytes>, StoreError> {
        loop {
            let mut open = match self.open.take() {
                Some(open) => open,
                None => match self.tasks.pop_front() {
                    Some(task) => self.begin(&task).await?,
                    None => return Ok(None),
                },
            };
            let block = self.store.payload_block(self.domain, &open.task_id, open.next).await?;
            let Some(bytes) = block.filter(|_| open.expected > 0) else {
                open.check_complete()?;
                continue;
            };
            let (lines, count, next) = self.lines(bytes, &open).await?;
            (open.next, open.sent) = (next, open.sent + count);
            self.open = Some(open);
            if !lines.is_empty() {
                self.memory.grow_to(DOWNLOAD_BYTES + 2 * lines.len()).await.map_err(|_| {
                    StoreError::Unavailable("no memory for a block of a payload".to_owned())
                })?;
                return Ok(Some(lines.into()));
            }
        }
    }

    async fn begin(&self, task: &Task) -> Result<OpenPayload, StoreError> {
        let expected = expected(task, self.only);
        let states = match self.only {
            Some(_) if expected > 0 => self.store.entry_states(self.domain, &task.id).await?,
            _ => EntryStates { failed: BTreeSet::new(), unprocessed_from: 0 },
        };
        let errors = match self.table {
            Some(_) => self.errors(&task.id).await?,
            None => BTreeMap::new(),
        };
        let (only, table) = (self.only, self.table.clone());
        let chosen = Arc::new(Chosen { only, states, table, errors });
        Ok(OpenPayload { task_id: task.id.clone(), chosen, expected, sent: 0, next: 0 })
    }

    /// The faults of the failed entries of a task. Only their sentences are in memory.
    async fn errors(&self, task_id: &str) -> Result<BTreeMap<u32, String>, StoreError> {
        let (mut errors, mut next) = (BTreeMap::new(), 0);
        while let Some(block) =
            self.store.record_block(self.domain, task_id, RecordKind::Errors, next).await?
        {
            next = block.next_index;
            for record in error_record::records(&block.lines) {
                let (index, error) = error_record::in_words(record)
                    .map_err(|_| StoreError::Corrupt("a record is not a map".to_owned()))?;
                errors.insert(index, error);
            }
        }
        Ok(errors)
    }

    async fn lines(&self, bytes: Vec<u8>, open: &OpenPayload) -> Result<BlockLines, StoreError> {
        let (chosen, from) = (open.chosen.clone(), open.next);
        if bytes.len() <= INLINE_BYTES_MAX {
            return lines_of(bytes, from, &chosen);
        }
        let work = move || lines_of(bytes, from, &chosen);
        let failed = |_| StoreError::Unavailable("a block of a payload was not read".to_owned());
        self.cpu.run(work).await.map_err(failed)?
    }
}

impl OpenPayload {
    fn check_complete(&self) -> Result<(), StoreError> {
        let Self { sent, expected, .. } = self;
        if sent == expected {
            return Ok(());
        }
        Err(StoreError::Unavailable(format!("{sent} entries of a payload, not {expected}")))
    }
}

fn lines_of(
    bytes: Vec<u8>,
    from: u32,
    Chosen { only, states, table, errors }: &Chosen,
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
            match table {
                Some(table) => {
                    let error = errors.get(&entry.index).map(String::as_str);
                    table.write(&block, entry, error, &mut lines);
                }
                None => block.write_line(entry, &mut lines),
            }
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
        match reader.read().await {
            Ok(lines) => Ok(lines.map(|lines| (lines, reader))),
            Err(error) => {
                tracing::error!(%error, "the payload cannot be read");
                Err(io::Error::other("the remaining entries cannot be read"))
            }
        }
    })
}

/// The refusal to run a dry run whose entries are gone.
pub(crate) fn gone() -> Problem {
    let detail =
        "the entries of this dry run are gone, because it has expired; send the payload again";
    Problem::new(ErrorCode::Expired, detail)
}

/// Bytes of the entries as lines, as the payload of a retry shows them.
pub(crate) fn line_bytes(blocks: &[PackedBlock]) -> Result<u64, StoreError> {
    blocks.iter().try_fold(0, |bytes, block| {
        let block = Block::decode(unpack_block(&block.bytes)?)
            .map_err(|error| StoreError::Corrupt(error.to_string()))?;
        let lines: usize = block.entries.iter().map(|entry| entry.range.len() + 1).sum();
        Ok(bytes + lines as u64)
    })
}
