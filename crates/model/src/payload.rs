//! The payload of a bulk request: entries, each with its place, and how they travel to the store.
//! A payload arrives as JSON lines or as one JSON array; either way it becomes blocks of entries
//! whose bytes are exactly what was sent. What an entry means is not looked at here.

use std::ops::Range;

/// One entry: its place in the payload and where its bytes are in the block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// 0-based among the entries.
    pub index: u32,
    /// 1-based line of the file; in an array the number of the element.
    pub line: u32,
    /// The entry's bytes in [`Block::bytes`].
    pub range: Range<usize>,
    /// The entry's length as sent, where that was over its limit and the bytes are only its
    /// beginning.
    pub oversize: Option<u64>,
}

/// A run of entries and the bytes they point into.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Block {
    pub bytes: Vec<u8>,
    pub entries: Vec<Entry>,
}

impl Block {
    /// Placeholder until the framing lands.
    pub fn encode(&self) -> Vec<u8> {
        self.bytes.clone()
    }
}
