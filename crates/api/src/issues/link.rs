//! The `Link` header of a list (RFC 8288): `first`, `prev`, `next`, `last` with the caller's own
//! parameters, as references without a host, because none that a request names can be trusted. It
//! never names a page that would answer an error. Where numbered pages end, a list by creation
//! time, oldest first, goes on by time: `created_at` is unique in a domain, so that the list from
//! just after the last issue is exactly the rest.

use caseload_model::issue_query::{ListRequest, PAGE_DEPTH_MAX, Paging, SortKey, SortOrder};
use caseload_store::IssuePage;
use http::HeaderValue;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use super::envelope::total_pages;
use crate::query::same_name;

/// Everything but the unreserved characters of RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The header for a page of issues at `path`.
pub(super) fn header(
    path: &str,
    pairs: &[(String, String)],
    request: &ListRequest,
    page: &IssuePage,
) -> Option<HeaderValue> {
    numbered(path, pairs, request.paging, page.total_hits, || rest(path, pairs, request, page))
}

/// The header for a numbered page of any list; `rest` is where it goes on beyond the last one.
pub(crate) fn numbered(
    path: &str,
    pairs: &[(String, String)],
    paging: Paging,
    total_hits: u64,
    rest: impl FnOnce() -> Option<String>,
) -> Option<HeaderValue> {
    let (number, size) = (paging.page, paging.page_size);
    let last = total_pages(size, total_hits);
    let reachable = |page: u64| page.saturating_mul(size) <= PAGE_DEPTH_MAX;
    let numbered = |page: u64| {
        Some(page)
            .filter(|page| reachable(*page))
            .map(|page| target(path, pairs, &[("page", Some(page.to_string()))]))
    };
    let next = (number < last).then(|| numbered(number + 1).or_else(rest));
    let links = [
        ("first", numbered(1)),
        ("prev", (number > 1).then(|| numbered((number - 1).min(last))).flatten()),
        ("next", next.flatten()),
        ("last", numbered(last)),
    ];
    let links = links
        .into_iter()
        .filter_map(|(rel, target)| target.map(|target| format!("<{target}>; rel=\"{rel}\"")));
    HeaderValue::try_from(links.collect::<Vec<_>>().join(", ")).ok()
}

/// What comes after this page, by time.
fn rest(
    path: &str,
    pairs: &[(String, String)],
    request: &ListRequest,
    page: &IssuePage,
) -> Option<String> {
    let sort = request.query.sort;
    if (sort.key, sort.order) != (SortKey::CreationTime, SortOrder::Ascending) {
        return None;
    }
    let since = page.last_created_at?.checked_add(1)?;
    Some(target(path, pairs, &[("page", None), ("created_since", Some(since.to_string()))]))
}

/// The path with the caller's parameters, some of them replaced or, with `None`, left out.
fn target(path: &str, pairs: &[(String, String)], changes: &[(&str, Option<String>)]) -> String {
    let mut open: Vec<_> = changes.iter().collect();
    let mut query: Vec<(&str, &str)> = Vec::new();
    for (name, value) in pairs {
        let Some((known, change)) = changes.iter().find(|(known, _)| same_name(known, name)) else {
            query.push((name, value));
            continue;
        };
        let Some(at) = open.iter().position(|(other, _)| other == known) else { continue };
        open.remove(at);
        query.extend(change.as_deref().map(|value| (name.as_str(), value)));
    }
    query.extend(open.iter().filter_map(|(name, value)| Some((*name, value.as_deref()?))));
    let encode = |text| utf8_percent_encode(text, RESERVED);
    let query: Vec<_> =
        query.iter().map(|(name, value)| format!("{}={}", encode(name), encode(value))).collect();
    format!("{path}?{}", query.join("&"))
}

#[cfg(test)]
#[path = "link_tests.rs"]
mod tests;
