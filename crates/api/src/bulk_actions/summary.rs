//! `GET …/{task_id}/errors/summary`: the faults of a task or import in groups of one code at one
//! pointer, the largest group first. Array indexes in pointers count literally, so that the pointer
//! of a group is one that its records have and that the filter `pointer` takes.
//! `…/warnings/summary`: the warnings of its results in groups of one code. Invariant: a hostile
//! payload has a million groups, so that counting holds a few bytes of each and only the answer has
//! their texts.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use caseload_model::ids::DomainId;
use caseload_model::json::write_string;
use caseload_store::StoreError;
use http::{HeaderMap, HeaderValue, header};

use super::error_record::{Finding, Findings, index_of, records};
use super::path::OwnTask;
use super::record_file::DOWNLOAD_BYTES;
use super::records::check_readable;
use super::subject::Parts;
use crate::http::csv::{DamagedRecord, find, members};
use crate::http::etag::{has_already, of_text, unchanged};
use crate::http::problem::Problem;
use crate::http::query::QueryPairs;
use crate::state::AppState;

/// The most groups of an answer.
pub(crate) const SUMMARY_GROUPS_MAX: usize = 100;
/// The memory of a group while it is counted.
const GROUP_BYTES: usize = 64;

/// The groups of the faults of a task.
pub(crate) async fn error_summary(
    State(state): State<AppState>,
    query: QueryPairs,
    headers: HeaderMap,
    own: OwnTask,
) -> Result<Response, Problem> {
    summary(&state, &query, &headers, &own, Findings::Errors).await
}

/// The groups of the warnings of a task.
pub(crate) async fn warning_summary(
    State(state): State<AppState>,
    query: QueryPairs,
    headers: HeaderMap,
    own: OwnTask,
) -> Result<Response, Problem> {
    summary(&state, &query, &headers, &own, Findings::Warnings).await
}

async fn summary(
    state: &AppState,
    query: &QueryPairs,
    headers: &HeaderMap,
    own: &OwnTask,
    of: Findings,
) -> Result<Response, Problem> {
    Problem::check(query.unknown(&[]))?;
    check_readable(&own.subject, state)?;
    let (id, completed) = (&own.subject.task.id, own.subject.task.completed_at);
    let tag = of_text(&format!("{of:?} {id} {completed:?}"));
    if has_already(headers, &tag) {
        return Ok(unchanged(&format!("W/{tag}")));
    }
    let mut memory = state.memory.take(Some(own.caller.domain_id), DOWNLOAD_BYTES).await?;
    let reading = async {
        let mut counting = Counting::new(of);
        let mut blocks = Blocks::new(state, own, of);
        while let Some(lines) = blocks.next().await? {
            counting = blocks.work(move || counting.count(&lines)).await?;
            memory.grow_to(DOWNLOAD_BYTES + GROUP_BYTES * counting.groups.len()).await?;
        }
        let mut summary = counting.summary();
        let mut blocks = Blocks::new(state, own, of);
        while !summary.is_complete()
            && let Some(lines) = blocks.next().await?
        {
            summary = blocks.work(move || summary.exemplify(&lines)).await?;
        }
        Ok::<_, Problem>(summary.rendered())
    };
    let late = |_| Err(StoreError::DeadlinePassed.into());
    let body = tokio::time::timeout(state.config.query_timeout, reading).await;
    let body = memory.hold(body.unwrap_or_else(late)?);
    let mut response = ([(header::CONTENT_TYPE, "application/json")], body).into_response();
    let tag = HeaderValue::try_from(format!("W/{tag}"));
    response.headers_mut().extend(tag.map(|tag| (header::ETAG, tag)));
    Ok(response)
}

/// Reads the records that have the findings, block by block.
struct Blocks<'c> {
    state: &'c AppState,
    domain: DomainId,
    parts: Parts,
    of: Findings,
    next: Option<u32>,
}

impl<'c> Blocks<'c> {
    fn new(state: &'c AppState, own: &OwnTask, of: Findings) -> Self {
        let OwnTask { caller, subject } = own;
        // The results of other tasks are whole profiles.
        let has_some = of == Findings::Errors || subject.task.warnings > 0;
        let (domain, parts) = (caller.domain_id, subject.parts());
        Self { state, domain, parts, of, next: has_some.then_some(0) }
    }

    async fn next(&mut self) -> Result<Option<Vec<u8>>, Problem> {
        let Some(from) = self.next else { return Ok(None) };
        let (store, kind) = (&*self.state.store, self.of.kind());
        let block = self.parts.record_block(store, self.domain, kind, from).await?;
        self.next = block.as_ref().map(|block| block.next_index);
        Ok(block.map(|block| block.lines))
    }

    /// Runs a piece of work on another thread.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, DamagedRecord> + Send + 'static,
    ) -> Result<T, Problem> {
        let damaged = |_| StoreError::Corrupt("a record is not a map".to_owned()).into();
        self.state.cpu.run(work).await?.map_err(damaged)
    }
}

/// A group while it is counted: its findings, and the place of the first.
#[derive(Debug, Clone, Copy)]
struct Group {
    count: u64,
    first: (u32, usize),
}

/// The groups so far, by a keyed hash of what their findings have in common.
struct Counting {
    of: Findings,
    hasher: RandomState,
    groups: HashMap<u64, Group>,
    findings: u64,
    entries: u64,
}

impl Counting {
    fn new(of: Findings) -> Self {
        let hasher = RandomState::new();
        Self { of, hasher, groups: HashMap::new(), findings: 0, entries: 0 }
    }

    fn count(mut self, lines: &[u8]) -> Result<Self, DamagedRecord> {
        for record in records(lines) {
            let (index, found) = (index_of(record)?, self.of.in_record(record)?);
            self.entries += u64::from(!found.is_empty());
            for (n, fault) in found.iter().enumerate() {
                self.findings += 1;
                let pointer = fault.pointer.as_ref().filter(|_| self.of == Findings::Errors);
                let key = self.hasher.hash_one((&fault.code, pointer));
                let new = Group { count: 0, first: (index, n) };
                self.groups.entry(key).or_insert(new).count += 1;
            }
        }
        Ok(self)
    }

    fn summary(self) -> Summary {
        let mut groups: Vec<_> = self.groups.into_values().collect();
        groups.sort_unstable_by_key(|group| (std::cmp::Reverse(group.count), group.first));
        groups.truncate(SUMMARY_GROUPS_MAX);
        let groups = groups.into_iter().map(|group| (group, None)).collect();
        Summary { of: self.of, findings: self.findings, entries: self.entries, groups }
    }
}

/// The groups of the answer, each with its text once its example is read.
struct Summary {
    of: Findings,
    findings: u64,
    entries: u64,
    groups: Vec<(Group, Option<Vec<u8>>)>,
}

impl Summary {
    fn is_complete(&self) -> bool {
        self.groups.iter().all(|(_, text)| text.is_some())
    }

    /// Writes the groups whose first finding is in these records.
    fn exemplify(mut self, lines: &[u8]) -> Result<Self, DamagedRecord> {
        for record in records(lines) {
            let index = index_of(record)?;
            let of_record = self.groups.iter_mut().filter(|(group, _)| group.first.0 == index);
            for (group, text) in of_record {
                let found = self.of.in_record(record)?;
                let finding = found.get(group.first.1).ok_or(DamagedRecord)?;
                *text = Some(render(self.of, group.count, finding, record)?);
            }
        }
        Ok(self)
    }

    fn rendered(&self) -> Vec<u8> {
        let Self { of, findings, entries, groups } = self;
        let name = if *of == Findings::Errors { "faults" } else { "warnings" };
        let mut out = format!("{{\"{name}\":{findings},\"entries\":{entries},\"groups\":[");
        let texts = groups.iter().filter_map(|(_, text)| text.as_deref());
        let texts: Vec<_> = texts.map(String::from_utf8_lossy).collect();
        out.push_str(&texts.join(","));
        out.push_str("]}");
        out.into_bytes()
    }
}

fn render(
    of: Findings,
    count: u64,
    finding: &Finding<'_>,
    record: &[u8],
) -> Result<Vec<u8>, DamagedRecord> {
    let members = members(record)?;
    let line = find(&members, "line").ok_or(DamagedRecord)?;
    let mut pointer = b",\"pointer\":".to_vec();
    match &finding.pointer {
        Some(text) => write_string(text, &mut pointer),
        None => pointer.extend_from_slice(b"null"),
    }
    let [of_group, of_example] = match of {
        Findings::Errors => [pointer.as_slice(), b""],
        Findings::Warnings => [b"".as_slice(), &pointer],
    };
    let mut out = b"{\"code\":".to_vec();
    write_string(&finding.code, &mut out);
    out.extend_from_slice(of_group);
    let index = index_of(record)?;
    out.extend_from_slice(format!(",\"count\":{count},\"example\":{{\"index\":{index}").as_bytes());
    out.extend_from_slice(b",\"line\":");
    out.extend_from_slice(line);
    out.extend_from_slice(of_example);
    for (name, value) in [("value", finding.value.unwrap_or(b"null")), ("detail", finding.detail)] {
        out.extend_from_slice(format!(",\"{name}\":").as_bytes());
        out.extend_from_slice(value);
    }
    out.extend_from_slice(b"}}");
    Ok(out)
}
