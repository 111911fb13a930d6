//! The shape of source files: module headers, the length of files, functions and lines, and how
//! often a visibility names a path. Tests may be long, because a table of cases is best read in
//! one place. Generated tables may be long, because no person reads them.

use super::finding::Finding;
use crate::source::{Kind, Source, closing_line, indent};

/// A file of the product is never longer.
const FILE_LINES_MAX: usize = 500;
/// Nine of ten files are no longer.
const FILE_LINES_USUAL: usize = 350;
/// Half of the product's files are no longer.
const FILE_LINES_MEDIAN_MAX: usize = 120;
/// `pub(in path)` occurs fewer times. A module that needs it often is a crate of its own.
const PUB_IN_LIMIT: usize = 20;
/// A function of the product is shorter.
const FUNCTION_LINES_LIMIT: usize = 70;
/// The widest line.
const LINE_COLUMNS_MAX: usize = 100;
/// A header of one sentence must at least be this long.
const HEADER_CHARS_MIN: usize = 60;

const _: () = assert!(FILE_LINES_USUAL < FILE_LINES_MAX);

/// Judges one file by itself.
pub(super) fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    check_header(source, &mut findings);
    if source.kind != Kind::Generated {
        check_columns(source, &mut findings);
    }
    if source.kind == Kind::Product {
        check_length(source, &mut findings);
        check_functions(source, &mut findings);
    }
    findings
}

fn check_header(source: &Source, findings: &mut Vec<Finding>) {
    let lines = source.text.lines().map_while(|line| line.strip_prefix("//!"));
    let header = lines.map(str::trim).collect::<Vec<_>>().join(" ");
    let following = header.chars().skip(1).chain([' ']);
    let ends = |pair: &(char, char)| matches!(pair.0, '.' | '!' | '?') && pair.1 == ' ';
    let sentences = header.chars().zip(following).filter(ends).count();
    if sentences < 2 && header.chars().count() < HEADER_CHARS_MIN {
        let message = "the module header (`//!`) is missing or too short: in two to ten sentences, \
                       give its purpose, its limits and its invariant";
        findings.push(Finding::new(source, 1, message));
    }
}

fn check_columns(source: &Source, findings: &mut Vec<Finding>) {
    for (index, line) in source.text.lines().enumerate() {
        let columns = line.chars().count();
        if columns > LINE_COLUMNS_MAX && !line.contains("://") {
            let message = format!("{columns} columns; break the line at {LINE_COLUMNS_MAX}");
            findings.push(Finding::new(source, index + 1, message));
        }
    }
}

fn check_length(source: &Source, findings: &mut Vec<Finding>) {
    let lines = source.product_lines();
    if lines > FILE_LINES_MAX {
        let message = format!(
            "{lines} lines without tests; the limit is {FILE_LINES_MAX}: split it by subject"
        );
        findings.push(Finding::new(source, 0, message));
    }
}

fn check_functions(source: &Source, findings: &mut Vec<Finding>) {
    let lines: Vec<&str> = source.scrubbed.code.lines().collect();
    for (start, line) in lines.iter().enumerate() {
        let Some(name) = function_name(line) else { continue };
        if source.is_test_line(start) {
            continue;
        }
        let length = function_end(&lines, start) - start + 1;
        if length >= FUNCTION_LINES_LIMIT {
            let message = format!(
                "the function `{name}` has {length} lines; keep it under {FUNCTION_LINES_LIMIT}: \
                 give its steps names of their own"
            );
            findings.push(Finding::new(source, start + 1, message));
        }
    }
}

/// The name of the function whose first line this is.
pub(crate) fn function_name(line: &str) -> Option<&str> {
    let (before, after) = line.split_once("fn ")?;
    let is_qualifier = |word: &str| {
        matches!(word, "pub" | "const" | "async" | "unsafe" | "extern" | "default")
            || word.starts_with(['"'])
            || word.starts_with("pub(")
            || word.ends_with(')')
    };
    let starts_a_word = before.is_empty() || before.ends_with(char::is_whitespace);
    if !starts_a_word || !before.split_whitespace().all(is_qualifier) {
        return None;
    }
    let end = after.find(|char: char| !char.is_alphanumeric() && char != '_')?;
    (end > 0).then_some(&after[..end])
}

/// The last line of the function that starts at `start`, in code as rustfmt lays it out.
fn function_end(lines: &[&str], start: usize) -> usize {
    let own_indent = indent(lines[start]);
    let ends_signature = |at: &usize| {
        let line = lines[*at].trim_end();
        indent(line) == own_indent && line.ends_with(['{', '}', ';'])
    };
    match (start..lines.len()).find(ends_signature) {
        Some(head) if lines[head].trim_end().ends_with('{') => {
            closing_line(lines, head, own_indent).unwrap_or(lines.len() - 1)
        }
        Some(head) => head,
        None => start,
    }
}

/// Judges the files together.
pub(super) fn check_tree(sources: &[Source]) -> Vec<Finding> {
    let mut findings = check_spread(sources);
    findings.extend(check_median(sources, FILE_LINES_MEDIAN_MAX));
    findings.extend(check_pub_in(sources, PUB_IN_LIMIT));
    findings
}

/// Half of the product's files stay under `lines_max`.
pub(super) fn check_median(sources: &[Source], lines_max: usize) -> Option<Finding> {
    let mut files: Vec<&Source> =
        product(sources).filter(|source| source.path.starts_with("crates/")).collect();
    files.sort_by_key(|source| source.product_lines());
    let median = files.get(files.len() / 2).filter(|file| file.product_lines() > lines_max)?;
    let message = format!(
        "half of the product's files have {} lines or more; the median is to be at most \
         {lines_max}: split long files by subject",
        median.product_lines()
    );
    Some(Finding::new(median, 0, message))
}

/// Lists every `pub(in …)` if there are `limit` of them or more.
pub(super) fn check_pub_in(sources: &[Source], limit: usize) -> Vec<Finding> {
    let mut findings = Vec::new();
    for source in sources {
        for (index, line) in source.scrubbed.code.lines().enumerate() {
            if line.contains("pub(in ") {
                let message = format!(
                    "`pub(in …)`, and the tree has {limit} or more: use `pub(super)`, \
                     `pub(crate)` or a crate of its own"
                );
                findings.push(Finding::new(source, index + 1, message));
            }
        }
    }
    if findings.len() < limit { Vec::new() } else { findings }
}

/// Nine of ten files of the product stay under the usual length.
pub(super) fn check_spread(sources: &[Source]) -> Vec<Finding> {
    let long: Vec<&Source> =
        product(sources).filter(|source| source.product_lines() > FILE_LINES_USUAL).collect();
    if long.len() * 10 <= product(sources).count() {
        return Vec::new();
    }
    let message = |source: &Source| {
        format!(
            "{} lines without tests, and more than a tenth of all files are over \
             {FILE_LINES_USUAL}: split some of them",
            source.product_lines()
        )
    };
    long.iter().map(|source| Finding::new(source, 0, message(source))).collect()
}

/// One line for people: how many files there are and how long.
pub(super) fn summary(sources: &[Source]) -> String {
    let mut lengths: Vec<usize> = product(sources).map(Source::product_lines).collect();
    lengths.sort_unstable();
    let Some(longest) = lengths.last() else {
        return "no source files".to_owned();
    };
    let usual = lengths.iter().filter(|length| **length <= FILE_LINES_USUAL).count();
    format!(
        "{} files, {} of them product: median {} lines, {} % up to {FILE_LINES_USUAL}, longest {}",
        sources.len(),
        lengths.len(),
        lengths[lengths.len() / 2],
        usual * 100 / lengths.len(),
        longest,
    )
}

fn product(sources: &[Source]) -> impl Iterator<Item = &Source> {
    sources.iter().filter(|source| source.kind == Kind::Product)
}
