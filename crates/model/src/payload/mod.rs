//! The payload of a bulk request: entries, each with its place, and how they travel to the store.
//! A payload arrives as JSON lines or as one JSON array; either way it becomes blocks of entries
//! whose bytes are exactly what was sent. What an entry means is not looked at here: a line that
//! is no JSON is an entry like any other and is judged when its task runs ([`crate::entry`]).

mod array;
mod frame;
mod gather;
mod jsonl;
mod reader;

use std::ops::Range;

pub use frame::CorruptBlock;
pub use jsonl::JsonlSplitter;
pub use reader::PayloadReader;

use crate::error_code::ErrorCode;

/// A block is handed on as soon as it holds this many bytes of entries. It may exceed that by
/// one entry. Blocks are packed, read and validated one by one while others are written: smaller
/// ones begin sooner, larger ones pack better.
pub const BLOCK_BYTES: usize = 256 << 10;
/// The same for entries: many short ones are checked side by side, too.
pub const BLOCK_ENTRIES: usize = 2_000;
/// Bytes that are kept of an entry that is over its limit, for its error record.
pub const OVERSIZE_PREFIX_BYTES: usize = 2 << 10;
/// Levels that a payload array may nest, itself included. Far beyond what an entry may
/// ([`crate::json::DEPTH_MAX`]), so that one deep entry does not refuse the others.
pub const ARRAY_DEPTH_MAX: usize = 10_000;

const _: () = assert!(ARRAY_DEPTH_MAX > 2 * crate::json::DEPTH_MAX);

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
    /// The bytes of `entry`, which is one of this block's.
    pub fn bytes_of(&self, entry: &Entry) -> &[u8] {
        &self.bytes[entry.range.clone()]
    }
}

/// Why a payload as a whole was refused.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct PayloadFault {
    pub code: ErrorCode,
    /// What is wrong and what would be right, for the caller.
    pub detail: String,
    /// The 1-based line of the file where it is wrong.
    pub line: Option<u32>,
}

/// White space as JSON has it.
const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

#[cfg(test)]
mod tests;
