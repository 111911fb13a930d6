//! The envelope around issues: five members in a fixed order, the issues as the store rendered
//! them.

use std::io::Write as _;

use axum::response::{IntoResponse, Response};
use caseload_model::issue_query::Paging;
use caseload_store::IssuePage;
use http::header;

/// Bytes that the envelope takes at most beside the issues.
const MEMBERS_BYTES_MAX: usize = 160;

/// Pages that a list has; an empty one has one.
pub(crate) fn total_pages(page_size: u64, total_hits: u64) -> u64 {
    total_hits.div_ceil(page_size).max(1)
}

pub(super) fn respond(paging: Paging, page: &IssuePage) -> Response {
    let mut body = Vec::with_capacity(page.body.len() + MEMBERS_BYTES_MAX);
    let Paging { page: number, page_size } = paging;
    let (hits, pages) = (page.total_hits, total_pages(page_size, page.total_hits));
    // Writing to memory cannot fail.
    let _ = write!(body, "{{\"page\":{number},\"page-size\":{page_size},\"issues\":[");
    body.extend_from_slice(&page.body);
    let _ = write!(body, "],\"total-hits\":{hits},\"total-pages\":{pages}}}");
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
