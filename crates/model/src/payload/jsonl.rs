//! Splits JSON lines into entries as they arrive, in pieces of any size. Each line that is not
//! blank is an entry, whatever its bytes. A byte order mark at the start, CRLF, blank lines
//! (counted as lines, not as entries) and a missing final newline are accepted; a lone CR does not
//! end a line. Invariant: the result is the same however the payload is cut into pieces.

use memchr::memchr;

use super::block_builder::{BlockBuilder, Source};
use super::{Block, PayloadFault, is_space};
use crate::task::PAYLOAD_ENTRIES_MAX;

/// The byte order mark of UTF-8.
pub(super) const BOM: &[u8] = b"\xef\xbb\xbf";

/// The splitter. Its memory is bounded by the block size and the entry limit.
#[derive(Debug)]
pub struct JsonlSplitter {
    pub(super) builder: BlockBuilder,
    /// Bytes of the byte order mark so far; `None` after the start.
    bom: Option<usize>,
    /// Lines ended so far.
    line: u32,
    /// Whether the open line is blank so far.
    blank: bool,
    /// Whether the last byte is a CR, which is held back because the line may end here.
    cr: bool,
}

impl JsonlSplitter {
    pub fn new(entry_bytes_max: usize) -> Self {
        Self::building(BlockBuilder::new(entry_bytes_max, PAYLOAD_ENTRIES_MAX))
    }

    pub(super) const fn building(builder: BlockBuilder) -> Self {
        Self { builder, bom: Some(0), line: 0, blank: true, cr: false }
    }

    /// Takes the next piece; full blocks are added to `blocks`.
    pub fn push(&mut self, mut bytes: &[u8], blocks: &mut Vec<Block>) {
        while let (Some(seen), Some(&first)) = (self.bom, bytes.first()) {
            if first == BOM[seen] {
                bytes = &bytes[1..];
                self.bom = Some(seen + 1).filter(|&seen| seen < BOM.len());
            } else {
                self.not_a_bom();
            }
        }
        while let Some(end) = memchr(b'\n', bytes) {
            self.extend(&bytes[..end]);
            self.cr = false;
            self.end_line(blocks);
            bytes = &bytes[end + 1..];
        }
        self.extend(bytes);
    }

    /// Ends the payload and returns the number of entries. The last block is added to `blocks`.
    pub fn finish(mut self, blocks: &mut Vec<Block>) -> Result<u32, PayloadFault> {
        self.not_a_bom();
        if self.cr {
            self.append(b"\r");
        }
        self.end_line(blocks);
        self.builder.finish(blocks)
    }

    pub(super) const fn count(&self) -> u64 {
        self.builder.count()
    }

    #[cfg(test)]
    pub(super) fn bytes_held(&self) -> usize {
        self.builder.bytes_held()
    }

    /// The start was not a byte order mark: its bytes are content.
    fn not_a_bom(&mut self) {
        if let Some(seen) = self.bom.take() {
            self.extend(&BOM[..seen]);
        }
    }

    fn extend(&mut self, part: &[u8]) {
        let Some((&last, head)) = part.split_last() else { return };
        if self.cr {
            self.append(b"\r");
        }
        self.cr = last == b'\r';
        self.append(if self.cr { head } else { part });
    }

    fn append(&mut self, part: &[u8]) {
        self.blank = self.blank && part.iter().copied().all(is_space);
        self.builder.append(part);
    }

    fn end_line(&mut self, blocks: &mut Vec<Block>) {
        self.line = self.line.saturating_add(1);
        if self.blank {
            self.builder.discard();
        } else {
            self.builder.close(self.line, Source::default(), blocks);
        }
        self.blank = true;
    }
}
