//! `GET …/{task_id}/errors/summary`: the faults of a task in groups of one code at one pointer, the
//! largest group first. Array indexes in pointers count literally, so that the pointer of a group
//! is one that its records have and that the filter `pointer` takes. Invariant: a hostile payload
//! has a million groups, so that counting holds a few bytes of each and only the answer has their
//! texts.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use axum::extract::State;
use axum::response::{IntoResponse, Response};
use caseload_model::json::write_string;
use caseload_store::{RecordKind, StoreError};
use http::{HeaderMap, HeaderValue, header};

use super::error_record::{Fault, faults, index_of, records};
use super::path::OwnTask;
use super::record_file::DOWNLOAD_BYTES;
use super::records::check_readable;
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
    Problem::check(query.unknown(&[]))?;
    check_readable(&own.task, &state)?;
    let tag = of_text(&format!("summary {} {:?}", own.task.id, own.task.completed_at));
    if has_already(&headers, &tag) {
        return Ok(unchanged(&format!("W/{tag}")));
    }
    let mut memory = state.memory.take(Some(own.caller.domain_id), DOWNLOAD_BYTES).await?;
    let reading = async {
        let mut counting = Counting::default();
        let mut blocks = Blocks { state: &state, own: &own, next: Some(0) };
        while let Some(lines) = blocks.next().await? {
            counting = blocks.work(move || counting.count(&lines)).await?;
            memory.grow_to(DOWNLOAD_BYTES + GROUP_BYTES * counting.groups.len()).await?;
        }
        let mut summary = counting.summary();
        let mut blocks = Blocks { state: &state, own: &own, next: Some(0) };
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

/// Reads the error records of a task block by block.
struct Blocks<'c> {
    state: &'c AppState,
    own: &'c OwnTask,
    next: Option<u32>,
}

impl Blocks<'_> {
    async fn next(&mut self) -> Result<Option<Vec<u8>>, Problem> {
        let Some(from) = self.next else { return Ok(None) };
        let (domain, id) = (self.own.caller.domain_id, &self.own.task.id);
        let block = self.state.store.record_block(domain, id, RecordKind::Errors, from).await?;
        self.next = block.as_ref().map(|block| block.next_index);
        Ok(block.map(|block| block.lines))
    }

    /// Runs a piece of work on another thread.
    async fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> Result<T, DamagedRecord> + Send + 'static,
    ) -> Result<T, Problem> {
        let damaged = |_| StoreError::Corrupt("an error record is not a map".to_owned()).into();
        self.state.cpu.run(work).await?.map_err(damaged)
    }
}

/// A group while it is counted: its faults, and the place of the first.
#[derive(Debug, Clone, Copy)]
struct Group {
    count: u64,
    first: (u32, usize),
}

/// The groups so far, by a keyed hash of code and pointer.
#[derive(Default)]
struct Counting {
    hasher: RandomState,
    groups: HashMap<u64, Group>,
    faults: u64,
    entries: u64,
}

impl Counting {
    fn count(mut self, lines: &[u8]) -> Result<Self, DamagedRecord> {
        for record in records(lines) {
            let index = index_of(record)?;
            self.entries += 1;
            for (n, fault) in faults(record)?.iter().enumerate() {
                self.faults += 1;
                let key = self.hasher.hash_one((&fault.code, &fault.pointer));
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
        Summary { faults: self.faults, entries: self.entries, groups }
    }
}

/// The groups of the answer, each with its text once its example is read.
struct Summary {
    faults: u64,
    entries: u64,
    groups: Vec<(Group, Option<Vec<u8>>)>,
}

impl Summary {
    fn is_complete(&self) -> bool {
        self.groups.iter().all(|(_, text)| text.is_some())
    }

    /// Writes the groups whose first fault is in these records.
    fn exemplify(mut self, lines: &[u8]) -> Result<Self, DamagedRecord> {
        for record in records(lines) {
            let index = index_of(record)?;
            let of_record = self.groups.iter_mut().filter(|(group, _)| group.first.0 == index);
            for (group, text) in of_record {
                let faults = faults(record)?;
                let fault = faults.get(group.first.1).ok_or(DamagedRecord)?;
                *text = Some(render(group.count, fault, record)?);
            }
        }
        Ok(self)
    }

    fn rendered(&self) -> Vec<u8> {
        let Self { faults, entries, groups } = self;
        let mut out = format!("{{\"faults\":{faults},\"entries\":{entries},\"groups\":[");
        let texts = groups.iter().filter_map(|(_, text)| text.as_deref());
        let texts: Vec<_> = texts.map(String::from_utf8_lossy).collect();
        out.push_str(&texts.join(","));
        out.push_str("]}");
        out.into_bytes()
    }
}

fn render(count: u64, fault: &Fault<'_>, record: &[u8]) -> Result<Vec<u8>, DamagedRecord> {
    let members = members(record)?;
    let line = find(&members, "line").ok_or(DamagedRecord)?;
    let mut out = b"{\"code\":".to_vec();
    write_string(&fault.code, &mut out);
    out.extend_from_slice(b",\"pointer\":");
    match &fault.pointer {
        Some(pointer) => write_string(pointer, &mut out),
        None => out.extend_from_slice(b"null"),
    }
    let index = index_of(record)?;
    out.extend_from_slice(format!(",\"count\":{count},\"example\":{{\"index\":{index}").as_bytes());
    for (name, value) in
        [("line", line), ("value", fault.value.unwrap_or(b"null")), ("detail", fault.detail)]
    {
        out.extend_from_slice(format!(",\"{name}\":").as_bytes());
        out.extend_from_slice(value);
    }
    out.extend_from_slice(b"}}");
    Ok(out)
}
