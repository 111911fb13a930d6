//! Builds blocks from entries. All forms of payload share this, so the same limits hold for all. A
//! block also ends at every multiple of the entries that a task may have, so that no block has
//! entries of two tasks of an import. Memory stays bounded for any input: an entry is stored only
//! up to the limit while it arrives, and entries beyond the allowed number are only counted.

use super::{BLOCK_BYTES, BLOCK_ENTRIES, Block, Entry, OVERSIZE_PREFIX_BYTES, PayloadFault, Side};
use crate::error_code::ErrorCode;
use crate::task::PAYLOAD_ENTRIES_MAX;

/// Room for the entry that exceeds the size of a block, so that most blocks never move.
const BLOCK_ROOM: usize = 8 << 10;

/// The source of an entry, if it is not itself a part of the file.
#[derive(Debug, Clone, Copy, Default)]
pub struct Source<'s> {
    /// The rows of the file, each with its line.
    pub rows: &'s [(u32, &'s [u8])],
    /// The notes of the reader, or nothing.
    pub notes: &'s [u8],
}

/// Entries that become blocks one after another.
#[derive(Debug)]
pub struct BlockBuilder {
    entry_bytes_max: usize,
    entries_max: u64,
    block: Block,
    /// Entries ended so far.
    count: u64,
    /// Start of the open entry in the block.
    start: usize,
    /// Length of the open entry so far, including bytes that were not stored.
    len: u64,
}

impl BlockBuilder {
    /// The builder of a payload of at most `entries_max` entries.
    pub fn new(entry_bytes_max: usize, entries_max: usize) -> Self {
        let entries_max = entries_max as u64;
        Self { entry_bytes_max, entries_max, block: Block::default(), count: 0, start: 0, len: 0 }
    }

    /// Entries ended so far.
    pub const fn count(&self) -> u64 {
        self.count
    }

    /// Adds `part` to the open entry.
    pub fn append(&mut self, part: &[u8]) {
        self.len += part.len() as u64;
        if self.count >= self.entries_max {
            return;
        }
        let stored = self.block.bytes.len() - self.start;
        let room = self.entry_bytes_max.max(OVERSIZE_PREFIX_BYTES) - stored;
        self.block.bytes.extend_from_slice(&part[..part.len().min(room)]);
    }

    /// Discards the open entry.
    pub(super) fn discard(&mut self) {
        self.block.bytes.truncate(self.start);
        self.len = 0;
    }

    /// Ends the open entry, which is on `line`, and adds the block to `blocks` if it is full.
    pub fn close(&mut self, line: u32, source: Source<'_>, blocks: &mut Vec<Block>) {
        if self.count < self.entries_max {
            let oversize = (self.len > self.entry_bytes_max as u64).then_some(self.len);
            if oversize.is_some() {
                self.block.bytes.truncate(self.start + OVERSIZE_PREFIX_BYTES);
            }
            let range = self.start..self.block.bytes.len();
            let (index, of_row) = (self.count as u32, !source.rows.is_empty());
            self.block.entries.push(Entry { index, line, range, oversize, of_row });
            self.add_source(line, source);
            let is_full = self.block.bytes.len() >= BLOCK_BYTES
                || self.block.entries.len() >= BLOCK_ENTRIES
                || (self.count + 1).is_multiple_of(PAYLOAD_ENTRIES_MAX as u64);
            if is_full {
                let (entries, bytes) = (self.block.entries.len(), self.block.bytes.len());
                blocks.push(std::mem::take(&mut self.block));
                // Most likely another block of this size follows.
                self.block.bytes.reserve(bytes.min(BLOCK_BYTES) + BLOCK_ROOM);
                self.block.entries.reserve(entries + entries / 8);
            }
            self.start = self.block.bytes.len();
        }
        self.count += 1;
        self.len = 0;
    }

    fn add_source(&mut self, line: u32, source: Source<'_>) {
        let index = self.count as u32;
        let bytes = &mut self.block.bytes;
        let mut side = |line, part: &[u8]| {
            let start = bytes.len();
            bytes.extend_from_slice(part);
            Side { index, line, range: start..bytes.len() }
        };
        for (line, row) in source.rows {
            self.block.rows.push(side(*line, row));
        }
        if !source.notes.is_empty() {
            self.block.notes.push(side(line, source.notes));
        }
    }

    #[cfg(test)]
    pub(super) fn bytes_held(&self) -> usize {
        self.block.bytes.capacity()
    }

    /// Adds the last block without the open entry, and returns the number of entries.
    pub(super) fn finish_cut(mut self, blocks: &mut Vec<Block>) -> u32 {
        self.discard();
        if !self.block.entries.is_empty() {
            blocks.push(self.block);
        }
        u32::try_from(self.count).unwrap_or(u32::MAX)
    }

    /// Adds the last block and returns the number of entries.
    pub fn finish(self, blocks: &mut Vec<Block>) -> Result<u32, PayloadFault> {
        let (code, detail) = if self.count == 0 {
            let detail = "the payload has no entries; send at least one".to_owned();
            (ErrorCode::EmptyPayload, detail)
        } else if self.count > self.entries_max {
            let detail = format!(
                "the payload has {} entries; at most {} are allowed, send the rest as further \
                 tasks",
                self.count, self.entries_max
            );
            (ErrorCode::TooManyEntries, detail)
        } else {
            if !self.block.entries.is_empty() {
                blocks.push(self.block);
            }
            return Ok(self.count as u32);
        };
        Err(PayloadFault { code, detail, line: None })
    }
}
