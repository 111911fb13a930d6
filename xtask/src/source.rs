//! The Rust files of the repository. Each knows its crate, whether it is a test or a generated
//! table, and its text separated into code, comments and string literals.
//! Files are in the order of their paths, so that findings come in a stable order.

mod scrub;

use std::ops::Range;
use std::path::Path;

use anyhow::{Context as _, Result};

use scrub::{Scrubbed, scrub};

/// The folders that hold Rust sources, relative to the repository. Not all need to exist.
const FOLDERS: [&str; 7] = ["bench", "crates", "fuzz", "testdata", "teststore", "torture", "xtask"];

/// The line by which a generated file is known.
const GENERATED_MARK: &str = "//! Written by `cargo xtask ";

/// The purpose of a file. It decides which rules apply.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    Product,
    /// Tests, measurements and examples, which are not shipped.
    Test,
    Generated,
}

/// One `.rs` file.
pub(crate) struct Source {
    /// Relative to the repository, with `/` between its parts.
    pub(crate) path: String,
    pub(crate) kind: Kind,
    pub(crate) text: String,
    pub(crate) scrubbed: Scrubbed,
    /// Line indices (from 0) of items under `#[cfg(test)]` inside a file of the product.
    tests: Vec<Range<usize>>,
}

impl Source {
    pub(crate) fn new(path: &str, text: String) -> Self {
        let scrubbed = scrub(&text);
        let tests = test_ranges(&scrubbed.code);
        Self { path: path.to_owned(), kind: kind(path, &text), text, scrubbed, tests }
    }

    /// The folder name of the crate: `model` of `crates/model/src/lib.rs`.
    pub(crate) fn crate_folder(&self) -> &str {
        let inside = self.path.strip_prefix("crates/").unwrap_or(&self.path);
        inside.split('/').next().unwrap_or(inside)
    }

    /// Whether the line (counted from 0) is a test's and not the product's.
    pub(crate) fn is_test_line(&self, index: usize) -> bool {
        self.kind == Kind::Test || self.tests.iter().any(|range| range.contains(&index))
    }

    /// The lines of the product: all, without the test items.
    pub(crate) fn product_lines(&self) -> usize {
        (0..self.text.lines().count()).filter(|index| !self.is_test_line(*index)).count()
    }
}

/// Reads every Rust file of the repository.
pub(crate) fn load_all(root: &Path) -> Result<Vec<Source>> {
    let mut sources = Vec::new();
    for folder in FOLDERS.into_iter().filter(|folder| root.join(folder).is_dir()) {
        load(root, folder, &mut sources)?;
    }
    sources.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(sources)
}

fn load(root: &Path, folder: &str, sources: &mut Vec<Source>) -> Result<()> {
    let entries = root.join(folder).read_dir().with_context(|| format!("cannot list {folder}"))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot list {folder}"))?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let path = format!("{folder}/{name}");
        if entry.file_type().with_context(|| format!("cannot look at {path}"))?.is_dir() {
            if name != "target" {
                load(root, &path, sources)?;
            }
        } else if Path::new(name).extension().is_some_and(|extension| extension == "rs") {
            let text = std::fs::read_to_string(root.join(&path))
                .with_context(|| format!("cannot read {path}"))?;
            sources.push(Source::new(&path, text));
        }
    }
    Ok(())
}

fn kind(path: &str, text: &str) -> Kind {
    let (folders, name) = path.rsplit_once('/').unwrap_or(("", path));
    let beside = |part: &str| matches!(part, "tests" | "benches" | "examples");
    if folders.split('/').any(beside) || name == "tests.rs" || name.ends_with("_tests.rs") {
        Kind::Test
    } else if text.lines().take(10).any(|line| line.starts_with(GENERATED_MARK)) {
        Kind::Generated
    } else {
        Kind::Product
    }
}

/// The lines of the items marked `#[cfg(test)]`, in code as rustfmt lays it out.
fn test_ranges(code: &str) -> Vec<Range<usize>> {
    let lines: Vec<&str> = code.lines().collect();
    let mut ranges = Vec::new();
    for (start, line) in lines.iter().enumerate() {
        if line.trim() == "#[cfg(test)]" {
            let opens = |at: &usize| lines[*at].trim_end().ends_with(['{', '}', ';']);
            let head = (start + 1..lines.len()).find(opens).unwrap_or(start);
            let end = if lines[head].trim_end().ends_with('{') {
                closing_line(&lines, head, indent(line)).unwrap_or(head)
            } else {
                head
            };
            ranges.push(start..end + 1);
        }
    }
    ranges
}

/// The line that closes the block opened at `head`: the next `}` at the item's own indent.
pub(crate) fn closing_line(lines: &[&str], head: usize, own_indent: usize) -> Option<usize> {
    let closes = |at: &usize| indent(lines[*at]) == own_indent && lines[*at].trim() == "}";
    (head + 1..lines.len()).find(closes)
}

pub(crate) fn indent(line: &str) -> usize {
    line.len() - line.trim_start().len()
}
