//! The envelope around issues: members in a fixed order, the issues as the store rendered them. A
//! list by page has its totals; one by cursor has the next cursor instead, and the totals when they
//! were asked for.

use std::io::Write as _;

use axum::response::{IntoResponse, Response};
use caseload_model::issue_query::Paging;
use http::header;

/// Bytes that the envelope takes at most beside the issues.
const MEMBERS_BYTES_MAX: usize = 240;

/// What stands in an envelope.
#[derive(Debug, Clone)]
pub(super) struct Envelope<'a> {
    pub(super) paging: Paging,
    /// Issues with commas between them.
    pub(super) issues: &'a [u8],
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

/// Pages that a list has; an empty one has one.
pub(crate) fn total_pages(page_size: u64, total_hits: u64) -> u64 {
    total_hits.div_ceil(page_size).max(1)
}

pub(super) fn respond(envelope: &Envelope<'_>) -> Response {
    let mut body = Vec::with_capacity(envelope.issues.len() + MEMBERS_BYTES_MAX);
    let Paging { page: number, page_size } = envelope.paging;
    // Writing to memory cannot fail.
    let _ = write!(body, "{{\"page\":{number},\"page-size\":{page_size},\"issues\":[");
    body.extend_from_slice(envelope.issues);
    body.push(b']');
    if let Some(hits) = envelope.total_hits {
        let pages = total_pages(page_size, hits);
        let _ = write!(body, ",\"total-hits\":{hits},\"total-pages\":{pages}");
    }
    let _ = match envelope.next {
        // A token needs no escapes.
        Next::Cursor(token) => write!(body, ",\"next-cursor\":\"{token}\""),
        Next::End => write!(body, ",\"next-cursor\":null"),
        Next::Unsaid => Ok(()),
    };
    body.push(b'}');
    ([(header::CONTENT_TYPE, "application/json")], body).into_response()
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
