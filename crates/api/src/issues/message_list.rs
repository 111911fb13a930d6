//! `GET /v1/{domain}/issues/{issue_id}/messages` and `…/private-notes`: the messages or the notes
//! of an issue, oldest first, by page or by cursor. They are for issues that are too long to be
//! read whole.

use axum::extract::State;
use axum::response::Response;
use caseload_model::issue::attachment_url::find_in_messages;
use caseload_model::issue::{PlacedRecord, TimestampFormat, oldest_first, with_iso_times};
use caseload_model::issue_query::{
    IssueView, ListPosition, ListScope, MessageListRequest, Paging, parse_message_list,
};
use caseload_model::json::elements_at;
use caseload_model::time::UnixMillis;
use caseload_store::{GetIssue, RenderedIssue};
use http::{HeaderMap, HeaderValue, Uri, header};

use super::id::{InvalidIssueId, IssueId, unknown_issue};
use crate::http::auth::Caller;
use crate::http::base_url::BaseUrl;
use crate::http::etag;
use crate::http::format::{Chosen, Format};
use crate::http::memory::{Memory, WAIT};
use crate::http::problem::{Fault, Problem};
use crate::http::query::{QueryPairs, refused};
use crate::lists::deadline::read_into_memory;
use crate::lists::envelope;
use crate::lists::place::Place;
use crate::lists::steps::PAGE_BYTES_AHEAD;
use crate::state::AppState;

/// An issue of more bytes is taken apart on another thread.
const INLINE_BYTES_MAX: usize = 256 << 10;

/// One of the two lists of an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum List {
    Messages,
    PrivateNotes,
}

impl List {
    /// The member of the issue, and the key of the envelope.
    const fn key(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::PrivateNotes => "private_notes",
        }
    }

    const fn records(self) -> &'static str {
        match self {
            Self::Messages => "messages",
            Self::PrivateNotes => "notes",
        }
    }

    /// The columns of the list as a table.
    const fn columns(self) -> &'static [&'static str] {
        match self {
            Self::Messages => &[
                "id",
                "created_at",
                "origin",
                "author.id",
                "author.name",
                "author.emails",
                "body",
                "attachments",
                "type",
                "intent_labels",
                "sentiment",
            ],
            Self::PrivateNotes => {
                &["created_at", "author.id", "author.name", "author.emails", "body", "attachments"]
            }
        }
    }

    /// As little as possible in addition to the list, with times that can be compared.
    fn view(self) -> IssueView {
        let private_notes = self == Self::PrivateNotes;
        IssueView { private_notes, exclude_messages: private_notes, ..IssueView::default() }
    }
}

/// The parts of a request that choose the answer.
#[derive(Debug)]
pub(crate) struct PartCall {
    base: BaseUrl,
    uri: Uri,
    headers: HeaderMap,
    query: QueryPairs,
}

/// `GET /v1/{domain}/issues/{issue_id}/messages`
pub(crate) async fn list_messages(
    State(state): State<AppState>,
    caller: Caller,
    id: Result<IssueId, InvalidIssueId>,
    base: BaseUrl,
    uri: Uri,
    headers: HeaderMap,
    query: QueryPairs,
) -> Result<Response, Problem> {
    let call = PartCall { base, uri, headers, query };
    call.answer(&state, &caller, id, List::Messages).await
}

/// `GET /v1/{domain}/issues/{issue_id}/private-notes`
pub(crate) async fn list_notes(
    State(state): State<AppState>,
    caller: Caller,
    id: Result<IssueId, InvalidIssueId>,
    base: BaseUrl,
    uri: Uri,
    headers: HeaderMap,
    query: QueryPairs,
) -> Result<Response, Problem> {
    let call = PartCall { base, uri, headers, query };
    call.answer(&state, &caller, id, List::PrivateNotes).await
}

impl PartCall {
    async fn answer(
        self,
        state: &AppState,
        caller: &Caller,
        id: Result<IssueId, InvalidIssueId>,
        list: List,
    ) -> Result<Response, Problem> {
        let mut faults = Vec::new();
        let id = id.map_err(|invalid| faults.push(invalid.into()));
        let request = parse_message_list(&self.query.0, list.records())
            .map_err(|others| faults.extend(others.into_iter().map(Fault::from)));
        let chosen = Format::chosen(&self.query, &self.headers);
        let chosen = chosen.map_err(|wrong| faults.extend(wrong));
        Problem::check(faults)?;
        let (Ok(id), Ok(request), Ok(chosen)) = (id, request, chosen) else {
            return Err(unknown_issue());
        };
        let id = id.known()?;
        let domain = caller.domain_id;
        let scope = ListScope::of_issue(domain, id, list.key());
        let after = request.cursor.as_ref().map(|cursor| scope.position(cursor)).transpose();
        let after = after.map_err(|fault| refused(vec![fault]))?.flatten();
        // The issue, and the part of it that is shown.
        let limits = (2 * PAGE_BYTES_AHEAD, WAIT);
        let (issue, memory) = read_into_memory(state, domain, limits, |budget| {
            state.store.issue(GetIssue { domain, id, view: list.view(), budget })
        })
        .await?;
        let issue = issue.ok_or_else(unknown_issue)?;
        let base = &self.base;
        let shown = format!("{domain:?} {list:?} {request:?} {chosen:?} {base}");
        let tag = etag::of_version(&issue.version, &shown);
        if etag::has_already(&self.headers, &tag) {
            return Ok(etag::unchanged(&format!("W/{tag}")));
        }
        let MessageListRequest { paging, timestamps, .. } = request;
        let by_cursor = request.cursor.is_some();
        let reading = Reading { list, paging, after, by_cursor, timestamps };
        let part = if issue.body.len() <= INLINE_BYTES_MAX {
            reading.part_of(&issue)
        } else {
            state.cpu.run(move || reading.part_of(&issue)).await?
        };
        let mut response = self.respond(list, &request, scope, chosen, (part, memory));
        let tag = HeaderValue::try_from(format!("W/{tag}"));
        response.headers_mut().extend(tag.map(|tag| (header::ETAG, tag)));
        response.headers_mut().insert(header::VARY, HeaderValue::from_static("Accept"));
        Ok(response)
    }

    fn respond(
        &self,
        list: List,
        request: &MessageListRequest,
        scope: ListScope,
        chosen: Chosen,
        (part, memory): (Part, Memory),
    ) -> Response {
        let place = Place {
            url: self.base.of_path(self.uri.path()),
            pairs: &self.query.0,
            paging: request.paging,
            cursor: request.cursor.as_ref(),
        };
        let last = part.last.filter(|_| part.more);
        let next = last.map(|after| scope.cursor(after, place.number()));
        let records = self.base.inserted(part.body, &part.urls);
        let links = place.links(Some(part.total), next.as_deref());
        let mut response = if chosen.format == Format::Json {
            let records = memory.hold(records);
            envelope::respond(place.envelope(list.key(), records, Some(part.total), next))
        } else {
            chosen.answer_lines(memory, lines(&records), list.columns())
        };
        for link in links {
            response.headers_mut().append(header::LINK, link);
        }
        response
    }
}

/// Which part of a list is read, and how it is shown.
#[derive(Debug, Clone, Copy)]
struct Reading {
    list: List,
    paging: Paging,
    after: Option<ListPosition>,
    by_cursor: bool,
    timestamps: TimestampFormat,
}

/// A part of a list.
#[derive(Debug, Default)]
struct Part {
    /// The records with commas between them.
    body: Vec<u8>,
    /// The positions in it of the paths of attachments.
    urls: Vec<usize>,
    /// Of the last record.
    last: Option<ListPosition>,
    /// Whether records follow it.
    more: bool,
    /// The length of the list.
    total: u64,
}

impl Reading {
    fn part_of(&self, issue: &RenderedIssue) -> Part {
        let all = oldest_first(&issue.body, self.list.key());
        let from = match (self.by_cursor, self.after) {
            (false, _) => {
                usize::try_from(self.paging.offset()).unwrap_or(usize::MAX).min(all.len())
            }
            (true, None) => 0,
            (true, Some(after)) => all.partition_point(|one| place(one) <= (after.at, after.id)),
        };
        let size = usize::try_from(self.paging.page_size).unwrap_or(usize::MAX);
        let shown = &all[from..from.saturating_add(size).min(all.len())];
        let mut array = b"[".to_vec();
        for record in shown {
            if array.len() > 1 {
                array.push(b',');
            }
            array.extend_from_slice(&issue.body[record.bytes.clone()]);
        }
        array.push(b']');
        if self.timestamps == TimestampFormat::Iso8601 {
            array = with_iso_times(&array);
        }
        let mut urls = Vec::new();
        find_in_messages(&array, 0, &mut urls);
        // The envelope has brackets of its own.
        array.pop();
        array.remove(0);
        for at in &mut urls {
            *at -= 1;
        }
        Part {
            body: array,
            urls,
            last: shown.last().map(|one| ListPosition { at: one.created_at, id: one.index }),
            more: from + shown.len() < all.len(),
            total: all.len() as u64,
        }
    }
}

/// One record per line.
fn lines(records: &[u8]) -> Vec<u8> {
    let array = [b"[", records, b"]"].concat();
    let lines = elements_at(&array, 0).flat_map(|record| [&array[record], b"\n"]);
    lines.collect::<Vec<_>>().concat()
}

fn place(record: &PlacedRecord) -> (UnixMillis, u64) {
    (record.created_at, record.index)
}
