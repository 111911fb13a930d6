//! The shape of pages: lines that fit a terminal and a side-by-side diff, and links that lead
//! somewhere. Tables, code and lines with a link may be as wide as they must. `prose` judges the
//! sentences.

use super::finding::Finding;
use super::text::{LineKind, Page};

/// The widest line of a page.
const PAGE_COLUMNS_MAX: usize = 100;

/// A decision has no more words: its reader wants the reason and not the story.
const DECISION_WORDS_MAX: usize = 200;
/// The map of the code has no more words.
const MAP_WORDS_MAX: usize = 1500;
/// The guide to the API has no more words; the reference has the rest.
const GUIDE_WORDS_MAX: usize = 6000;
/// The folder of the decisions; each has a number and a line in the index.
const DECISIONS: &str = "docs/decisions/";

/// Judges the length of a page. The index has to name a decision, and its number is its own.
fn check_length(page: &Page, pages: &[Page]) -> Vec<Finding> {
    let finding = |message| Finding { path: page.path.clone(), line: 0, message };
    let name = page.path.strip_prefix(DECISIONS).filter(|name| *name != "README.md");
    let words_max = match name {
        Some(_) => DECISION_WORDS_MAX,
        None if page.path == "ARCHITECTURE.md" => MAP_WORDS_MAX,
        None if page.path == "docs/api.md" => GUIDE_WORDS_MAX,
        None => return Vec::new(),
    };
    let mut findings = Vec::new();
    let words = page.text.split_whitespace().count();
    if words > words_max {
        findings.push(finding(format!("{words} words; the limit is {words_max}")));
    }
    let index = pages.iter().find(|other| other.path == format!("{DECISIONS}README.md"));
    let is_listed =
        |name: &str| index.is_some_and(|index| index.text.contains(&format!("]({name})")));
    if name.is_some_and(|name| !is_listed(name)) {
        findings.push(finding("the index of decisions does not name this page".to_owned()));
    }
    findings.extend(name.and_then(|name| number_fault(name, pages)).map(finding));
    findings
}

/// The fault of a decision whose number is also that of another one.
fn number_fault(name: &str, pages: &[Page]) -> Option<String> {
    let (number, _) = name.split_once('-')?;
    let numbered = format!("{DECISIONS}{number}-");
    let own = format!("{DECISIONS}{name}");
    let other = pages.iter().find(|page| page.path.starts_with(&numbered) && page.path != own)?;
    Some(format!("{} has the same number", other.path))
}

/// Judges one page. `pages` are all pages; a link may lead to their headings.
pub(super) fn check(page: &Page, pages: &[Page], exists: impl Fn(&str) -> bool) -> Vec<Finding> {
    if !page.is_markdown() {
        return Vec::new();
    }
    let mut findings = check_length(page, pages);
    let mut find = |line: usize, message: String| {
        findings.push(Finding { path: page.path.clone(), line, message });
    };
    for line in page.lines().filter(|line| line.kind != LineKind::Code) {
        let columns = line.text.chars().count();
        let has_link = line.text.contains("](") || line.text.contains("://");
        if columns > PAGE_COLUMNS_MAX && !has_link && line.kind == LineKind::Text {
            find(
                line.number,
                format!("{columns} columns; wrap the paragraph at {PAGE_COLUMNS_MAX}"),
            );
        }
        for target in links(line.text).filter(|target| !leads(page, pages, target, &exists)) {
            find(line.number, format!("the link `{target}` leads to no file or heading"));
        }
    }
    findings
}

/// The targets of the links in a line, those of other sites left out.
fn links(line: &str) -> impl Iterator<Item = &str> {
    let targets = line.split("](").skip(1).filter_map(|rest| rest.split(')').next());
    targets.filter(|target| !target.contains("://"))
}

fn leads(page: &Page, pages: &[Page], target: &str, exists: impl Fn(&str) -> bool) -> bool {
    let (file, anchor) = target.split_once('#').unwrap_or((target, ""));
    let path = if file.is_empty() { page.path.clone() } else { resolved(&page.path, file) };
    match pages.iter().find(|other| other.path == path) {
        Some(other) => anchor.is_empty() || headings(other).any(|heading| heading == anchor),
        None => anchor.is_empty() && exists(&path),
    }
}

/// The path of `file` as a link in the page at `from` means it.
fn resolved(from: &str, file: &str) -> String {
    let mut parts: Vec<&str> = from.split('/').collect();
    parts.pop();
    for part in file.split('/') {
        match part {
            ".." => drop(parts.pop()),
            "." | "" => {}
            _ => parts.push(part),
        }
    }
    parts.join("/")
}

/// The anchors of a page's headings: lower case, hyphens for blanks, no punctuation.
fn headings(page: &Page) -> impl Iterator<Item = String> {
    let headings = page.lines().filter(|line| line.kind == LineKind::Text);
    headings.filter_map(|line| {
        let heading = line.text.strip_prefix('#')?.trim_start_matches('#').trim();
        let anchor = heading.to_lowercase().replace(' ', "-");
        let is_part = |char: &char| char.is_alphanumeric() || matches!(char, '-' | '_');
        Some(anchor.chars().filter(is_part).collect())
    })
}
