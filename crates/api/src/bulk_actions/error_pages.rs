//! A page of the errors of a task or import, by number or by cursor, in the envelope of lists with
//! the key `errors`. Filters select whole records, and the totals count them. Without a filter the
//! counts of the task are the total, and a page by cursor begins at its block; with one, all
//! blocks are read.

use axum::response::Response;
use caseload_model::issue_query::{
    CursorPaging, ErrorFilter, ErrorListRequest, ErrorPages, ListPosition,
};
use caseload_model::time::UnixMillis;
use caseload_store::{RecordKind, StoreError};
use http::{HeaderMap, HeaderValue, Uri, header};

use super::csv::Table;
use super::error_record::{index_of, is_selected, records, write};
use super::path::OwnTask;
use super::record_file::DOWNLOAD_BYTES;
use crate::http::base_url::BaseUrl;
use crate::http::cpu::INLINE_BYTES_MAX;
use crate::http::csv::DamagedRecord;
use crate::http::etag;
use crate::http::format::{Chosen, Format};
use crate::http::memory::Memory;
use crate::http::problem::Problem;
use crate::http::query::{QueryPairs, refused};
use crate::lists::envelope;
use crate::lists::place::Place;
use crate::state::AppState;

/// The key of the records.
const KEY: &str = "errors";

/// The parts of a request that the answer depends on.
pub(super) struct PageCall<'r> {
    pub(super) base: &'r BaseUrl,
    pub(super) uri: &'r Uri,
    pub(super) headers: &'r HeaderMap,
    pub(super) query: &'r QueryPairs,
    pub(super) chosen: Chosen,
}

/// A page of errors.
pub(super) async fn page(
    state: &AppState,
    call: &PageCall<'_>,
    own: &OwnTask,
    request: &ErrorListRequest,
    pages: &ErrorPages,
) -> Result<Response, Problem> {
    let (domain, task) = (own.caller.domain_id, &own.subject.task);
    let scope = request.filter.scope(domain, &task.id);
    let after = pages.cursor.as_ref().map(|cursor| scope.position(cursor)).transpose();
    let after = after.map_err(|fault| refused(vec![fault]))?.flatten();
    let (base, chosen) = (call.base, call.chosen);
    let completed = task.completed_at;
    let shown = format!("{domain:?} {} {completed:?} {request:?} {chosen:?} {base}", task.id);
    let tag = etag::of_text(&shown);
    if etag::has_already(call.headers, &tag) {
        return Ok(etag::unchanged(&format!("W/{tag}")));
    }
    let mut memory = state.memory.take(Some(domain), DOWNLOAD_BYTES).await?;
    let counted = pages.cursor.as_ref().is_none_or(|cursor: &CursorPaging| cursor.count);
    let part = Part::new(request, pages, after, counted);
    let reading = read(state, own, part, after, &mut memory);
    let late = |_| Err(StoreError::DeadlinePassed.into());
    let part =
        tokio::time::timeout(state.config.query_timeout, reading).await.unwrap_or_else(late)?;
    let mut response = call.respond(own, request, pages, (part, memory));
    let tag = HeaderValue::try_from(format!("W/{tag}"));
    response.headers_mut().extend(tag.map(|tag| (header::ETAG, tag)));
    response.headers_mut().insert(header::VARY, HeaderValue::from_static("Accept"));
    Ok(response)
}

/// Reads the blocks that the page needs.
async fn read(
    state: &AppState,
    own: &OwnTask,
    mut part: Part,
    after: Option<ListPosition>,
    memory: &mut Memory,
) -> Result<Part, Problem> {
    let (domain, kind, parts) = (own.caller.domain_id, RecordKind::Errors, own.subject.parts());
    let mut from = match after.filter(|_| !part.counts_all) {
        Some(after) => {
            let index = u32::try_from(after.id.saturating_add(1)).unwrap_or(u32::MAX);
            parts.block_of(&*state.store, domain, kind, index).await?
        }
        None => 0,
    };
    while !part.is_done()
        && let Some(block) = parts.record_block(&*state.store, domain, kind, from).await?
    {
        from = block.next_index;
        part = part.with_block(state, block.lines).await?;
        memory.grow_to(DOWNLOAD_BYTES + 2 * part.body.len()).await?;
    }
    Ok(part)
}

impl PageCall<'_> {
    fn respond(
        &self,
        own: &OwnTask,
        request: &ErrorListRequest,
        pages: &ErrorPages,
        (part, memory): (Part, Memory),
    ) -> Response {
        let scope = request.filter.scope(own.caller.domain_id, &own.subject.task.id);
        let all = u64::from(own.subject.task.counts.failed);
        let total = if request.filter.is_empty() { all } else { part.hits };
        let shown = Place {
            url: self.base.of_path(self.uri.path()),
            pairs: &self.query.0,
            paging: pages.paging,
            cursor: pages.cursor.as_ref(),
        };
        let place = |index: u32| ListPosition { at: UnixMillis(0), id: u64::from(index) };
        let last = part.last.filter(|_| part.more);
        let next = last.map(|index| scope.cursor(place(index), shown.number()));
        let links = shown.links(Some(total), next.as_deref());
        let mut response = if self.chosen.format == Format::Json {
            let records = memory.hold(part.array());
            envelope::respond(shown.envelope(KEY, records, Some(total), next))
        } else {
            let table = Table::new(own.subject.task.action, RecordKind::Errors, false);
            self.chosen.answer_rows(memory, part.body, |lines, out| {
                table.write_header(self.chosen.style, out);
                table.write_rows(lines, self.chosen.style, out)
            })
        };
        for link in links {
            response.headers_mut().append(header::LINK, link);
        }
        response
    }
}

/// The part of the list that is read.
struct Part {
    filter: ErrorFilter,
    without_entry: bool,
    after: Option<u64>,
    /// Selected records before the page.
    skip: u64,
    size: u64,
    /// Whether records after the page are counted, too.
    counts_all: bool,
    /// Selected records so far.
    hits: u64,
    /// Those on the page.
    shown: u64,
    /// The page, one record per line.
    body: Vec<u8>,
    /// The index of the last record on the page.
    last: Option<u32>,
    /// Whether a selected record follows the page.
    more: bool,
}

impl Part {
    fn new(
        request: &ErrorListRequest,
        pages: &ErrorPages,
        after: Option<ListPosition>,
        counted: bool,
    ) -> Self {
        Self {
            filter: request.filter.clone(),
            without_entry: request.exclude_entry,
            after: after.map(|after| after.id),
            skip: if pages.cursor.is_some() { 0 } else { pages.paging.offset() },
            size: pages.paging.page_size,
            counts_all: counted && !request.filter.is_empty(),
            hits: 0,
            shown: 0,
            body: Vec::new(),
            last: None,
            more: false,
        }
    }

    async fn with_block(mut self, state: &AppState, lines: Vec<u8>) -> Result<Self, Problem> {
        let (part, read) = if lines.len() <= INLINE_BYTES_MAX {
            let read = self.read(&lines);
            (self, read)
        } else {
            let work = move || {
                let read = self.read(&lines);
                (self, read)
            };
            state.cpu.run(work).await?
        };
        read.map_err(|_| StoreError::Corrupt("an error record is not a map".to_owned()))?;
        Ok(part)
    }

    fn read(&mut self, lines: &[u8]) -> Result<(), DamagedRecord> {
        for record in records(lines) {
            if !is_selected(&self.filter, record)? {
                continue;
            }
            self.hits += 1;
            let index = index_of(record)?;
            if self.hits <= self.skip || self.after.is_some_and(|after| u64::from(index) <= after) {
                continue;
            }
            if self.shown == self.size {
                self.more = true;
                if !self.counts_all {
                    break;
                }
                continue;
            }
            write(record, self.without_entry, &mut self.body)?;
            self.body.push(b'\n');
            self.shown += 1;
            self.last = Some(index);
        }
        Ok(())
    }

    const fn is_done(&self) -> bool {
        self.more && !self.counts_all
    }

    /// The records with commas between them. No record contains a newline.
    fn array(&self) -> Vec<u8> {
        let lines = self.body.strip_suffix(b"\n").unwrap_or(&self.body);
        lines.iter().map(|byte| if *byte == b'\n' { b',' } else { *byte }).collect()
    }
}
