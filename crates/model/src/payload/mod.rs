//! The payload of a bulk request. A payload arrives as JSON lines or as one JSON array and becomes
//! blocks of entries. Each entry has its position and exactly the bytes that were sent. Entries
//! are not interpreted here: a line that is not JSON is an entry too, and fails when its task runs
//! ([`crate::entry`]).

mod array;
mod block_builder;
mod frame;
mod jsonl;
mod reader;

use std::ops::Range;

pub use block_builder::{BlockBuilder, Source};
pub use frame::CorruptBlock;
pub use jsonl::JsonlSplitter;
pub use reader::PayloadReader;

use crate::error_code::ErrorCode;
use crate::json::Numbers;

/// A block is full once it holds this many bytes of entries; the last entry may exceed it. Blocks
/// are packed, read and validated one at a time while others are written: smaller blocks start
/// sooner, larger ones compress better.
pub const BLOCK_BYTES: usize = 256 << 10;
/// A block is also full at this many entries, so that many short entries are validated in parallel,
/// too.
pub const BLOCK_ENTRIES: usize = 2_000;
/// The first bytes of an entry over its limit that are stored for its error record.
pub const OVERSIZE_PREFIX_BYTES: usize = 2 << 10;
/// Levels to which a payload array may nest, itself included. Far more than an entry may
/// ([`crate::json::DEPTH_MAX`]), so one deep entry does not reject the others.
pub const ARRAY_DEPTH_MAX: usize = 10_000;

const _: () = assert!(ARRAY_DEPTH_MAX > 2 * crate::json::DEPTH_MAX);

/// One entry: its position in the payload, and its bytes in the block.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Entry {
    /// 0-based among the entries.
    pub index: u32,
    /// 1-based line of the file, or number of the element if the payload is an array.
    pub line: u32,
    /// The entry's bytes in [`Block::bytes`].
    pub range: Range<usize>,
    /// The length of the entry as sent, if that is over the limit and only the beginning is stored.
    pub oversize: Option<u64>,
    /// Whether it was made of rows of a file, which are compared with stored records more loosely:
    /// spreadsheets change the digits of numbers, and an empty cell is also that of an empty value.
    pub of_row: bool,
}

/// Bytes of the file that an entry was made of, or the reader's notes about it. They are in
/// [`Block::bytes`], apart from the entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Side {
    /// The index of the entry.
    pub index: u32,
    /// Of a row: its line in the file. Of notes: that of the entry.
    pub line: u32,
    pub range: Range<usize>,
}

/// Consecutive entries and the bytes that they point into.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Block {
    pub bytes: Vec<u8>,
    pub entries: Vec<Entry>,
    /// The rows of the file that entries were made of, in order. An entry of a table of issues has
    /// several.
    pub rows: Vec<Side>,
    /// Faults and warnings that the reader of a file found, in order; at most one for an entry.
    pub notes: Vec<Side>,
    /// Base URLs of the server that accepted the payload, if entries may contain them. An import
    /// takes them off the URLs of attachments.
    pub base_urls: Vec<String>,
}

impl Entry {
    /// How the numbers of the entry are compared with stored ones.
    pub(crate) const fn numbers(&self) -> Numbers {
        if self.of_row { Numbers::ByValue } else { Numbers::ByDigits }
    }
}

impl Block {
    /// The bytes of `entry`, which must belong to this block.
    pub fn bytes_of(&self, entry: &Entry) -> &[u8] {
        &self.bytes[entry.range.clone()]
    }

    /// The rows of the file that `entry` was made of, each with its line; none if the entry itself
    /// is a part of the file.
    pub fn rows_of(&self, entry: &Entry) -> impl Iterator<Item = (u32, &[u8])> {
        let from = self.rows.partition_point(|row| row.index < entry.index);
        let rows = self.rows[from..].iter().take_while(|row| row.index == entry.index);
        rows.map(|row| (row.line, &self.bytes[row.range.clone()]))
    }

    /// The notes of the reader of the file about `entry`, as [`crate::notes::Notes`] wrote it.
    pub fn notes_of(&self, entry: &Entry) -> Option<&[u8]> {
        let found = self.notes.binary_search_by_key(&entry.index, |notes| notes.index);
        found.ok().map(|at| &self.bytes[self.notes[at].range.clone()])
    }

    /// Appends an entry as a line. An element of an array may span several lines; between two
    /// tokens a blank means the same as a newline.
    pub fn write_line(&self, entry: &Entry, out: &mut Vec<u8>) {
        let entry = self.bytes_of(entry);
        out.extend(entry.iter().map(|byte| if *byte == b'\n' { b' ' } else { *byte }));
        out.push(b'\n');
    }
}

/// Why a whole payload was rejected.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{detail}")]
pub struct PayloadFault {
    pub code: ErrorCode,
    /// The fault and its correction, as a sentence for the caller.
    pub detail: String,
    /// The 1-based line of the file with the fault.
    pub line: Option<u32>,
}

/// White space as JSON has it.
const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

#[cfg(test)]
mod tests;
