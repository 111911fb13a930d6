//! The shape of pages: lines that fit a terminal and a side-by-side difference.
//! Tables, code and lines with a link may be as wide as they must. Prose is judged in `prose`.

use super::finding::Finding;
use super::text::{LineKind, Page};

/// A line of a page is no wider.
const PAGE_COLUMNS_MAX: usize = 200;

/// Judges one page.
pub(super) fn check(page: &Page) -> Vec<Finding> {
    if !page.is_markdown() {
        return Vec::new();
    }
    let mut findings = Vec::new();
    for line in page.lines().filter(|line| line.kind == LineKind::Text) {
        let columns = line.text.chars().count();
        let has_link = line.text.contains("](") || line.text.contains("://");
        if columns > PAGE_COLUMNS_MAX && !has_link {
            let message = format!("{columns} columns; wrap the paragraph at {PAGE_COLUMNS_MAX}");
            findings.push(Finding { path: page.path.clone(), line: line.number, message });
        }
    }
    findings
}
