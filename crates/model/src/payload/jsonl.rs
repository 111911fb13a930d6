//! Splits JSON lines into entries while they arrive. Pieces may be cut anywhere. Each line that
//! is not blank is an entry, whatever bytes it holds. Tolerated are a byte order mark at the
//! start, CRLF, blank lines (counted as lines, not as entries) and a missing final newline; a
//! lone CR ends no line. The outcome never depends on where the pieces were cut.

use memchr::memchr;

use super::gather::Gather;
use super::{Block, PayloadFault, is_space};

/// The byte order mark of UTF-8.
pub(super) const BOM: &[u8] = b"\xef\xbb\xbf";

/// The splitter; memory is bounded by the block size and the entry limit.
#[derive(Debug)]
pub struct JsonlSplitter {
    gather: Gather,
    /// Bytes of the byte order mark seen so far; `None` once the start is behind.
    bom: Option<usize>,
    /// Lines ended so far.
    line: u32,
    /// Whether the open line is white space only, so far.
    blank: bool,
    /// Whether the open line ends in a CR, so far; it is held back as the line may end here.
    cr: bool,
}

impl JsonlSplitter {
    pub fn new(entry_bytes_max: usize) -> Self {
        let gather = Gather::new(entry_bytes_max);
        Self { gather, bom: Some(0), line: 0, blank: true, cr: false }
    }

    /// Takes the next piece; full blocks are added to `blocks`.
    pub fn push(&mut self, mut bytes: &[u8], blocks: &mut Vec<Block>) {
        while let (Some(seen), Some(&first)) = (self.bom, bytes.first()) {
            if first == BOM[seen] {
                bytes = &bytes[1..];
                self.bom = Some(seen + 1).filter(|&seen| seen < BOM.len());
            } else {
                self.no_bom();
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

    /// Ends the payload; the number of entries. What is left is added to `blocks`.
    pub fn finish(mut self, blocks: &mut Vec<Block>) -> Result<u32, PayloadFault> {
        self.no_bom();
        if self.cr {
            self.keep(b"\r");
        }
        self.end_line(blocks);
        self.gather.finish(blocks)
    }

    #[cfg(test)]
    pub(super) fn bytes_held(&self) -> usize {
        self.gather.bytes_held()
    }

    /// The start was no byte order mark after all: what looked like one is content.
    fn no_bom(&mut self) {
        if let Some(seen) = self.bom.take() {
            self.extend(&BOM[..seen]);
        }
    }

    fn extend(&mut self, part: &[u8]) {
        let Some((&last, head)) = part.split_last() else { return };
        if self.cr {
            self.keep(b"\r");
        }
        self.cr = last == b'\r';
        self.keep(if self.cr { head } else { part });
    }

    fn keep(&mut self, part: &[u8]) {
        self.blank = self.blank && part.iter().copied().all(is_space);
        self.gather.append(part);
    }

    fn end_line(&mut self, blocks: &mut Vec<Block>) {
        self.line = self.line.saturating_add(1);
        if self.blank {
            self.gather.discard();
        } else {
            self.gather.close(self.line, blocks);
        }
        self.blank = true;
    }
}
