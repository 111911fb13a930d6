//! The `Link` header of a list (RFC 8288): `first`, `prev`, `next` and `last` with the caller's own
//! parameters. The caller of this module says where the list is, by its URL or by its path. No link
//! leads to an error: after the last numbered page, a list of issues continues by cursor.
//! Each link repeats the parameters, so a long header is sent as one field for each link: some HTTP
//! clients refuse fields beyond 8 KiB, most beyond 64 KiB.

use caseload_model::issue_query::{PAGE_DEPTH_MAX, Paging};
use caseload_model::spelling::same_name;
use http::HeaderValue;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

/// Everything but the unreserved characters of RFC 3986.
const RESERVED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');

/// The longest field that holds all the links.
const FIELD_BYTES_MAX: usize = 8_000;
/// The longest single link; the server can still read a request line with its target.
const LINK_BYTES_MAX: usize = 60_000;

/// How many pages a list has; an empty list has one.
pub(crate) fn total_pages(page_size: u64, total_hits: u64) -> u64 {
    total_hits.div_ceil(page_size).max(1)
}

/// The header for a page of issues at the URL `list`; `deeper` is the cursor after this page.
pub(crate) fn header(
    list: &str,
    pairs: &[(String, String)],
    paging: Paging,
    total_hits: u64,
    deeper: impl FnOnce() -> Option<String>,
) -> Vec<HeaderValue> {
    numbered(list, pairs, paging, total_hits, || {
        Some(target(list, pairs, &[("page", None), ("cursor", Some(deeper()?))]))
    })
}

/// The header for one step of a list by cursor.
pub(crate) fn stepped(
    list: &str,
    pairs: &[(String, String)],
    next: Option<&str>,
) -> Vec<HeaderValue> {
    let by =
        |cursor: &str| target(list, pairs, &[("after", None), ("cursor", Some(cursor.to_owned()))]);
    let links = [("first", Some(by(""))), ("next", next.map(by))];
    header_of(links)
}

/// The header for a numbered page of any list; `rest` is the target after the last numbered page.
pub(crate) fn numbered(
    list: &str,
    pairs: &[(String, String)],
    paging: Paging,
    total_hits: u64,
    rest: impl FnOnce() -> Option<String>,
) -> Vec<HeaderValue> {
    let (number, size) = (paging.page, paging.page_size);
    let last = total_pages(size, total_hits);
    let reachable = |page: u64| page.saturating_mul(size) <= PAGE_DEPTH_MAX;
    let numbered = |page: u64| {
        Some(page)
            .filter(|page| reachable(*page))
            .map(|page| target(list, pairs, &[("page", Some(page.to_string()))]))
    };
    let next = (number < last).then(|| numbered(number + 1).or_else(rest));
    let links = [
        ("first", numbered(1)),
        ("prev", (number > 1).then(|| numbered((number - 1).min(last))).flatten()),
        ("next", next.flatten()),
        ("last", numbered(last)),
    ];
    header_of(links)
}

/// One field with all links or, if that is too long, one field for each.
fn header_of<const N: usize>(links: [(&str, Option<String>); N]) -> Vec<HeaderValue> {
    let links: Vec<String> = links
        .into_iter()
        .filter_map(|(rel, target)| target.map(|target| format!("<{target}>; rel=\"{rel}\"")))
        .filter(|link| link.len() <= LINK_BYTES_MAX)
        .collect();
    let together = links.join(", ");
    let fields = if together.len() <= FIELD_BYTES_MAX { vec![together] } else { links };
    let fields = fields.into_iter().filter(|field| !field.is_empty());
    fields.filter_map(|field| HeaderValue::try_from(field).ok()).collect()
}

/// The URL with the caller's parameters, some of them replaced, or removed if `None`.
fn target(list: &str, pairs: &[(String, String)], changes: &[(&str, Option<String>)]) -> String {
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
    format!("{list}?{}", query.join("&"))
}

#[cfg(test)]
#[path = "link_tests.rs"]
mod tests;
