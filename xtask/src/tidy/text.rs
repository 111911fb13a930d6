//! The prose of the repository: comments, string literals and long function names of Rust files,
//! the text of pages, and the comments of scripts, SQL and configuration.
//! Code spans and fenced code of pages are not prose, nor are generated tables. Migrations are left
//! out: every store holds their checksums, so that not even a comment of them can change.

use std::path::Path;

use anyhow::{Context as _, Result};

use crate::source::{Kind, Source};

/// The prose of one file.
pub(super) struct Text {
    /// Relative to the repository, with `/` between its parts.
    pub(super) path: String,
    pub(super) blocks: Vec<Block>,
}

/// Lines that belong together: one comment, one literal, one paragraph.
pub(super) struct Block {
    /// Line numbers, from 1, and the words there.
    pub(super) lines: Vec<(usize, String)>,
}

/// Folders that hold no prose of ours.
const LEFT_OUT: [&str; 6] =
    ["target", "corpus", "results", "snapshots", "migrations", "proptest-regressions"];

/// Hidden folders that are part of the repository.
const HIDDEN: [&str; 3] = [".cargo", ".config", ".github"];

/// Files that are not prose of their own: the glossary names the words that are not used, the
/// reference repeats literals of the code, and the tests of the prose check need bad examples.
const NOT_PROSE: [&str; 3] =
    ["docs/glossary.md", "docs/reference.md", "xtask/src/tidy/prose_tests.rs"];

/// A name with fewer words is a name and not a sentence.
const NAME_WORDS_MIN: usize = 4;

/// A page or another file that is not Rust, as it was read.
pub(super) struct Page {
    pub(super) path: String,
    pub(super) text: String,
}

/// Reads every page, script and configuration file below `root`.
pub(super) fn load_pages(root: &Path) -> Result<Vec<Page>> {
    let mut pages = Vec::new();
    load(root, "", &mut pages)?;
    pages.sort_by(|a, b| a.path.cmp(&b.path));
    Ok(pages)
}

fn load(root: &Path, folder: &str, pages: &mut Vec<Page>) -> Result<()> {
    let entries = root.join(folder).read_dir().with_context(|| format!("cannot list {folder}"))?;
    for entry in entries {
        let entry = entry.with_context(|| format!("cannot list {folder}"))?;
        let name = entry.file_name();
        let Some(name) = name.to_str() else { continue };
        let path = if folder.is_empty() { name.to_owned() } else { format!("{folder}/{name}") };
        let kind = entry.file_type().with_context(|| format!("cannot look at {path}"))?;
        let is_ours = !name.starts_with('.') || HIDDEN.contains(&name);
        if kind.is_dir() && is_ours && !LEFT_OUT.contains(&name) {
            load(root, &path, pages)?;
        } else if kind.is_file() && is_ours && has_prose(&path) {
            let text = std::fs::read_to_string(root.join(&path))
                .with_context(|| format!("cannot read {path}"))?;
            pages.push(Page { path, text });
        }
    }
    Ok(())
}

fn has_prose(path: &str) -> bool {
    let extension = Path::new(path).extension().and_then(|extension| extension.to_str());
    match extension {
        Some(extension) => matches!(extension, "md" | "sql" | "toml" | "py" | "sh"),
        None => path.starts_with("scripts/"),
    }
}

/// The prose of a Rust file.
pub(super) fn of_source(source: &Source) -> Text {
    let mut blocks = paragraphs(source.scrubbed.comments.lines().map(comment));
    for literal in &source.scrubbed.literals {
        let lines = literal.text.lines().enumerate();
        let lines: Vec<(usize, String)> =
            lines.map(|(index, line)| (literal.line + index, line.to_owned())).collect();
        if literal.text.trim().contains(' ') && !is_sql(&literal.text) {
            blocks.push(Block { lines });
        }
    }
    for (index, line) in source.scrubbed.code.lines().enumerate() {
        let Some(name) = super::shape::function_name(line) else { continue };
        if name.split('_').count() >= NAME_WORDS_MIN {
            blocks.push(Block { lines: vec![(index + 1, name.replace('_', " "))] });
        }
    }
    if source.kind == Kind::Generated || NOT_PROSE.contains(&source.path.as_str()) {
        blocks.clear();
    }
    Text { path: source.path.clone(), blocks }
}

/// Whether a literal is a statement for a database: its words are the language's, not ours.
fn is_sql(text: &str) -> bool {
    let first = text.split_whitespace().next().unwrap_or_default();
    matches!(
        first,
        "SELECT" | "INSERT" | "UPDATE" | "DELETE" | "CREATE" | "WITH" | "COPY" | "FROM" | "WHERE"
    )
}

fn comment(line: &str) -> String {
    let text = line.trim().trim_start_matches('/').trim_start_matches('!');
    without_spans(text)
}

/// The prose of a page, a script or a configuration file.
pub(super) fn of_page(page: &Page) -> Text {
    let path = page.path.clone();
    let blocks = if NOT_PROSE.contains(&path.as_str()) {
        Vec::new()
    } else if page.is_markdown() {
        let prose = page.lines().map(|line| match line.kind {
            LineKind::Text | LineKind::Table => without_spans(line.text),
            LineKind::Code => String::new(),
        });
        paragraphs(prose)
    } else {
        let mark = if has_extension(&path, "sql") { "--" } else { "#" };
        paragraphs(page.text.lines().map(|line| {
            let comment = line.find(mark).filter(|at| *at == 0 || line[..*at].ends_with(' '));
            comment.map(|at| without_spans(&line[at + mark.len()..])).unwrap_or_default()
        }))
    };
    Text { path, blocks }
}

fn has_extension(path: &str, extension: &str) -> bool {
    Path::new(path).extension().is_some_and(|found| found == extension)
}

/// Groups lines that follow each other without an empty one between them.
fn paragraphs(lines: impl Iterator<Item = String>) -> Vec<Block> {
    let mut blocks = Vec::new();
    let mut open = Vec::new();
    for (index, line) in lines.enumerate() {
        if line.trim().is_empty() {
            blocks.push(Block { lines: std::mem::take(&mut open) });
        } else {
            open.push((index + 1, line));
        }
    }
    blocks.push(Block { lines: open });
    blocks.retain(|block| !block.lines.is_empty());
    blocks
}

/// The line with each code span replaced by a mark that no habit matches.
fn without_spans(line: &str) -> String {
    let mut prose = String::with_capacity(line.len());
    for (index, part) in line.split('`').enumerate() {
        prose.push_str(if index % 2 == 0 { part } else { "`" });
    }
    prose
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum LineKind {
    Text,
    Table,
    Code,
}

/// One line of a page.
pub(super) struct Line<'a> {
    /// Counted from 1.
    pub(super) number: usize,
    pub(super) text: &'a str,
    pub(super) kind: LineKind,
}

impl Page {
    pub(super) fn is_markdown(&self) -> bool {
        has_extension(&self.path, "md")
    }

    /// The lines of a page in Markdown, with the kind of each.
    pub(super) fn lines(&self) -> impl Iterator<Item = Line<'_>> {
        let mut fenced = false;
        self.text.lines().enumerate().map(move |(index, text)| {
            let is_fence = text.trim_start().starts_with("```");
            fenced ^= is_fence;
            let kind = if fenced || is_fence {
                LineKind::Code
            } else if text.trim_start().starts_with('|') {
                LineKind::Table
            } else {
                LineKind::Text
            };
            Line { number: index + 1, text, kind }
        })
    }
}
