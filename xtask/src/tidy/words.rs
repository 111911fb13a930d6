//! Words and attributes that have no place in the tree: marks of unfinished work, and lints
//! silenced without a reason. A word inside a string is data and is left alone.

use super::finding::Finding;
use crate::source::Source;

/// Words of a comment that say "not done yet".
const MARKS: [&str; 3] = ["TODO", "FIXME", "XXX"];

/// Macros in the place of missing code.
const MACROS: [&str; 2] = ["todo!", "unimplemented!"];

/// Judges one file.
pub(super) fn check(source: &Source) -> Vec<Finding> {
    let mut findings = Vec::new();
    for (index, line) in source.scrubbed.comments.lines().enumerate() {
        for mark in MARKS.iter().filter(|mark| has_word(line, mark)) {
            let message =
                format!("`{mark}` in a comment: do it, or file an issue and drop the mark");
            findings.push(Finding::new(source, index + 1, message));
        }
    }
    for (index, line) in source.scrubbed.code.lines().enumerate() {
        for name in MACROS.iter().filter(|name| has_word(line, name)) {
            let message = format!("`{name}` in the place of code: write it, or leave the path out");
            findings.push(Finding::new(source, index + 1, message));
        }
    }
    check_attributes(source, &mut findings);
    findings
}

fn check_attributes(source: &Source, findings: &mut Vec<Finding>) {
    let code = &source.scrubbed.code;
    for (start, opening) in code.match_indices("#[").chain(code.match_indices("#![")) {
        let line = 1 + code[..start].matches('\n').count();
        let attribute = attribute(&code[start + opening.len()..]);
        if calls(attribute, "allow") {
            let message = "an `allow` attribute: use `#[expect(lint, reason = \"…\")]`, which \
                           says why and goes away with its cause";
            findings.push(Finding::new(source, line, message));
        }
        if calls(attribute, "expect") && !attribute.contains("reason =") {
            let message = "an `expect` attribute without a reason: add `reason = \"…\"`";
            findings.push(Finding::new(source, line, message));
        }
    }
}

/// The text between the brackets of an attribute; `rest` begins after the first.
fn attribute(rest: &str) -> &str {
    let mut depth = 1;
    let closes = |char| {
        match char {
            '[' => depth += 1,
            ']' => depth -= 1,
            _ => {}
        }
        depth == 0
    };
    &rest[..rest.find(closes).unwrap_or(rest.len())]
}

fn calls(attribute: &str, name: &str) -> bool {
    has_word(attribute, name) && attribute.contains(&format!("{name}("))
}

/// Whether `line` contains `word` with no letter, digit or underscore around it.
fn has_word(line: &str, word: &str) -> bool {
    let is_part = |char: char| char.is_alphanumeric() || char == '_';
    line.match_indices(word).any(|(at, _)| {
        let before = line[..at].chars().next_back();
        let after = line[at + word.len()..].chars().next();
        !before.is_some_and(is_part) && (word.ends_with('!') || !after.is_some_and(is_part))
    })
}
