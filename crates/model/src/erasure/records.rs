//! Finds and erases lines of stored results and errors. Index and line of a record stay, and a
//! member that says what an erased one has: no errors, or the outcome `erased`. A whole profile, as
//! get actions return it, has none of these. Invariant: the number of lines stays, and of all
//! other lines every byte.

use std::collections::BTreeSet;

use super::traces::Traces;
use crate::json::members_at;
use crate::task::Action;

/// Replaces a profile that a get action returned.
const ERASED: &[u8] = b"{\"erased\":true}\n";

/// Lines of records after an erasure that changed them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ErasedRecords {
    pub lines: Vec<u8>,
    /// The number of lines that were erased.
    pub erased: u64,
}

impl Traces<'_> {
    /// Adds the indexes of the records that hold the person. Profiles that a get action returned
    /// have no index.
    pub fn find_records(&self, action: Action, lines: &[u8], found: &mut BTreeSet<u32>) {
        let (may_name, may_be_issue) =
            (self.texts.may_be_in(lines), self.texts.may_have_issue(lines));
        if !may_name && !may_be_issue {
            return;
        }
        let holds =
            |line| may_name && self.are_in(line) || may_be_issue && self.are_issue_of(action, line);
        let indexed = lines_of(lines).filter_map(|line| Some((position(line)?.0, line)));
        found.extend(indexed.filter(|(_, line)| holds(line)).map(|(index, _)| index));
    }

    /// The lines without the records of these indexes and without profiles of the person; `None` if
    /// there are none. `indexes` has those that [`Traces::find_records`] adds.
    pub fn erase_records(&self, lines: &[u8], indexes: &BTreeSet<u32>) -> Option<ErasedRecords> {
        let may_name = self.texts.may_be_in(lines);
        if indexes.is_empty() && !may_name {
            return None;
        }
        let mut out = ErasedRecords { lines: Vec::with_capacity(lines.len()), erased: 0 };
        for line in lines_of(lines) {
            let erased = match position(line) {
                Some((index, end)) if indexes.contains(&index) => {
                    Some([&line[..end], b",\"erased\":true,", rest_of_erased(line)].concat())
                }
                None if may_name && self.are_in(line) => Some(ERASED.to_vec()),
                _ => None,
            };
            let new = erased.as_deref().unwrap_or(line);
            out.erased += u64::from(new != line);
            out.lines.extend_from_slice(new);
        }
        (out.erased > 0).then_some(out)
    }
}

/// The end of an erased record: the member that each record of its list has.
fn rest_of_erased(line: &[u8]) -> &'static [u8] {
    if members_at(line, 0).any(|(key, _)| key == b"errors") {
        b"\"errors\":[]}\n"
    } else {
        b"\"outcome\":\"erased\"}\n"
    }
}

/// Each line with its line break.
fn lines_of(lines: &[u8]) -> impl Iterator<Item = &[u8]> {
    lines.split_inclusive(|byte| *byte == b'\n')
}

/// The index of a record and the end of its line number, after which its other members follow.
fn position(line: &[u8]) -> Option<(u32, usize)> {
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let rest = line.strip_prefix(b"{\"index\":")?;
    let (index, rest) = rest.split_at(digits(rest));
    let rest = rest.strip_prefix(b",\"line\":")?;
    let index = std::str::from_utf8(index).ok()?.parse().ok()?;
    Some((index, line.len() - rest.len() + digits(rest)))
}
