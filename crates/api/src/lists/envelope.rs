//! The envelope around the records of a list: members in a fixed order, the records as the
//! store rendered them. A list by page has its totals. A list by cursor has the next cursor, and
//! the totals if the caller asked for them.

use std::array;
use std::convert::Infallible;
use std::io::Write as _;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::response::{IntoResponse, Response};
use caseload_model::issue::ListVersion;
use caseload_model::issue_query::Paging;
use futures_util::{StreamExt, stream};
use http::{HeaderMap, HeaderValue, header};
use hyper::body::{Frame, SizeHint};

use crate::http::base_url::BaseUrl;
use crate::http::etag;
use crate::http::link::total_pages;

/// The key of issues.
pub(crate) const ISSUES: &str = "issues";

/// The values of an envelope.
#[derive(Debug)]
pub(crate) struct Envelope {
    pub(crate) paging: Paging,
    /// The key of the records.
    pub(crate) key: &'static str,
    /// Records with commas between them.
    pub(crate) records: Bytes,
    pub(crate) total_hits: Option<u64>,
    pub(crate) next: Next,
    /// Further records, each after a comma, that are rendered while they are sent.
    pub(crate) rest: Option<Body>,
}

/// How the list continues after an envelope.
#[derive(Debug, Clone)]
pub(crate) enum Next {
    /// It has numbered pages, which the totals and the links describe.
    ByPage,
    /// The list continues at this cursor.
    Cursor(String),
    /// The list by cursor ends here.
    End,
}

/// The envelope with its links and its tag, or 304 if the caller has it already. `about` names the
/// list and its view.
pub(crate) fn tagged(
    envelope: Envelope,
    (version, about): (&ListVersion, &str),
    base: &BaseUrl,
    asked: &HeaderMap,
    links: Vec<HeaderValue>,
) -> Response {
    let Envelope { paging, total_hits, next, rest, .. } = &envelope;
    // The rest is not known yet, so a page with a rest has no tag.
    let is_whole = rest.is_none();
    let shown = format!("{about} {paging:?} {total_hits:?} {next:?} {base}");
    let tag = etag::of_version(version, &shown);
    if is_whole && etag::has_already(asked, &tag) {
        return etag::unchanged(&format!("W/{tag}"));
    }
    let mut response = respond(envelope);
    let headers = response.headers_mut();
    headers.insert(header::VARY, HeaderValue::from_static("Accept"));
    if is_whole {
        headers.extend(HeaderValue::try_from(format!("W/{tag}")).map(|tag| (header::ETAG, tag)));
    }
    for link in links {
        headers.append(header::LINK, link);
    }
    response
}

pub(crate) fn respond(envelope: Envelope) -> Response {
    let Paging { page: number, page_size } = envelope.paging;
    let key = envelope.key;
    let head = format!("{{\"page\":{number},\"page-size\":{page_size},\"{key}\":[");
    let mut tail = b"]".to_vec();
    // Writing to memory cannot fail.
    if let Some(hits) = envelope.total_hits {
        let pages = total_pages(page_size, hits);
        let _ = write!(tail, ",\"total-hits\":{hits},\"total-pages\":{pages}");
    }
    let _ = match envelope.next {
        // A token needs no escapes.
        Next::Cursor(token) => write!(tail, ",\"next-cursor\":\"{token}\""),
        Next::End => write!(tail, ",\"next-cursor\":null"),
        Next::ByPage => Ok(()),
    };
    tail.push(b'}');
    let body = match envelope.rest {
        None => Body::new(EnvelopeBody([head.into(), envelope.records, tail.into()].into_iter())),
        Some(rest) => {
            let first = [Bytes::from(head), envelope.records].map(Ok::<_, axum::Error>);
            let end = [Ok(Bytes::from(tail))];
            let pieces = stream::iter(first).chain(rest.into_data_stream());
            Body::from_stream(pieces.chain(stream::iter(end)))
        }
    };
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
}

/// A body of known length in three pieces.
struct EnvelopeBody(array::IntoIter<Bytes, 3>);

impl HttpBody for EnvelopeBody {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.next().map(|piece| Ok(Frame::data(piece))))
    }

    fn is_end_stream(&self) -> bool {
        self.0.len() == 0
    }

    fn size_hint(&self) -> SizeHint {
        SizeHint::with_exact(self.0.as_slice().iter().map(|part| part.len() as u64).sum())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_has_at_least_one_page() {
        for (page_size, hits, pages) in [(100, 0, 1), (100, 100, 1), (100, 101, 2), (1, 7, 7)] {
            assert_eq!(total_pages(page_size, hits), pages);
        }
    }
}
