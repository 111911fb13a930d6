//! Finds and erases entries of stored payloads. Invariant: index, line and the number of rows of an
//! erased entry stay, and of all other entries every byte.

use std::collections::BTreeSet;

use super::traces::Traces;
use crate::payload::{Block, Entry, Side};
use crate::task::Action;

/// Replaces an entry.
const ERASED: &[u8] = b"{\"erased\":true}";

impl Traces<'_> {
    /// Adds the indexes of the entries of a block that hold the person.
    pub fn find_entries(&self, action: Action, block: &Block, found: &mut BTreeSet<u32>) {
        let may_name = self.texts.may_be_in(&block.bytes);
        let may_be_issue = self.texts.may_have_issue(&block.bytes);
        let holds = |entry: &&Entry| {
            may_name && self.are_in_entry(block, entry)
                || may_be_issue && self.are_issue_of(action, block.bytes_of(entry))
                || self.are_in_erasure(action, block.bytes_of(entry))
        };
        found.extend(block.entries.iter().filter(holds).map(|entry| entry.index));
    }

    fn are_in_entry(&self, block: &Block, entry: &Entry) -> bool {
        // A value that the reader of the file left out is only in the row and in the notes.
        let left_out = || {
            let Some(notes) = block.notes_of(entry) else { return false };
            let mut rows = block.rows_of(entry).map(|(_, row)| row);
            self.texts.are_in(notes) || rows.any(|row| self.texts.are_in(row))
        };
        self.are_in(block.bytes_of(entry)) || left_out()
    }
}

/// The block without the entries of these indexes; `None` if it has none of them.
pub fn erase_entries(block: &Block, indexes: &BTreeSet<u32>) -> Option<Block> {
    let is_erased = |index: u32| indexes.contains(&index);
    let (first, last) = (block.entries.first()?.index, block.entries.last()?.index);
    let to_do = |entry: &Entry| is_erased(entry.index) && !is_done(block, entry);
    if indexes.range(first..=last).next().is_none() || !block.entries.iter().any(to_do) {
        return None;
    }
    let mut new = Block { base_urls: block.base_urls.clone(), ..Block::default() };
    let mut add = |bytes: &[u8]| {
        let start = new.bytes.len();
        new.bytes.extend_from_slice(bytes);
        start..new.bytes.len()
    };
    for entry in &block.entries {
        let erased = is_erased(entry.index);
        let range = add(if erased { ERASED } else { block.bytes_of(entry) });
        let oversize = entry.oversize.filter(|_| !erased);
        new.entries.push(Entry { range, oversize, ..entry.clone() });
    }
    for row in &block.rows {
        let bytes = if is_erased(row.index) { &[] } else { &block.bytes[row.range.clone()] };
        new.rows.push(Side { range: add(bytes), ..row.clone() });
    }
    for notes in block.notes.iter().filter(|notes| !is_erased(notes.index)) {
        new.notes.push(Side { range: add(&block.bytes[notes.range.clone()]), ..notes.clone() });
    }
    Some(new)
}

/// Whether the entry is erased already.
fn is_done(block: &Block, entry: &Entry) -> bool {
    block.bytes_of(entry) == ERASED
        && block.notes_of(entry).is_none()
        && block.rows_of(entry).all(|(_, row)| row.is_empty())
}
