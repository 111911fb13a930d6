//! The envelope around issues: members in a fixed order, the issues as the store rendered them. A
//! list by page has its totals; one by cursor has the next cursor instead, and the totals when they
//! were asked for.

use std::array;
use std::convert::Infallible;
use std::io::Write as _;
use std::pin::Pin;
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::response::{IntoResponse, Response};
use caseload_model::issue_query::Paging;
use http::header;
use hyper::body::{Frame, SizeHint};

use crate::link::total_pages;

/// What stands in an envelope.
#[derive(Debug, Clone)]
pub(super) struct Envelope<'a> {
    pub(super) paging: Paging,
    /// Issues with commas between them.
    pub(super) issues: Bytes,
    pub(super) total_hits: Option<u64>,
    pub(super) next: Next<'a>,
}

/// What an envelope says of what follows it.
#[derive(Debug, Clone, Copy)]
pub(super) enum Next<'a> {
    /// Nothing: the list goes by page.
    Unsaid,
    /// The cursor.
    Cursor(&'a str),
    /// That a list by cursor is at its end.
    End,
}

pub(super) fn respond(envelope: Envelope<'_>) -> Response {
    let Paging { page: number, page_size } = envelope.paging;
    let before = format!("{{\"page\":{number},\"page-size\":{page_size},\"issues\":[");
    let mut behind = b"]".to_vec();
    // Writing to memory cannot fail.
    if let Some(hits) = envelope.total_hits {
        let pages = total_pages(page_size, hits);
        let _ = write!(behind, ",\"total-hits\":{hits},\"total-pages\":{pages}");
    }
    let _ = match envelope.next {
        // A token needs no escapes.
        Next::Cursor(token) => write!(behind, ",\"next-cursor\":\"{token}\""),
        Next::End => write!(behind, ",\"next-cursor\":null"),
        Next::Unsaid => Ok(()),
    };
    behind.push(b'}');
    let parts = Parts([before.into(), envelope.issues, behind.into()].into_iter());
    ([(header::CONTENT_TYPE, "application/json")], Body::new(parts)).into_response()
}

/// A body of known length in a few pieces.
struct Parts(array::IntoIter<Bytes, 3>);

impl HttpBody for Parts {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        _: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Poll::Ready(self.0.next().map(|part| Ok(Frame::data(part))))
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
