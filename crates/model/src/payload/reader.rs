//! Reads a payload in pieces and detects its form. A payload whose first byte is `[`, after white
//! space and a byte order mark, is one JSON array; any other is JSON lines. The form field of a
//! request must be an array; a payload file may be either.

use super::array::{ArraySplitter, PayloadPosition};
use super::jsonl::BOM;
use super::{Block, BlockBuilder, JsonlSplitter, PayloadFault, is_space};
use crate::error_code::ErrorCode;
use crate::import::IMPORT_ENTRIES_MAX;
use crate::task::PAYLOAD_ENTRIES_MAX;

/// Reads one payload, in pieces of any size, into blocks of entries.
#[derive(Debug)]
pub struct PayloadReader {
    entry_bytes_max: usize,
    entries_max: usize,
    /// Whether the payload must be an array.
    array_only: bool,
    /// The start of the payload; `None` once the form is known.
    start: Option<Start>,
    /// Takes everything before an array, or the whole payload if it is JSON lines.
    lines: JsonlSplitter,
    array: Option<ArraySplitter>,
}

impl PayloadReader {
    /// Reads a payload file: JSON lines or one array.
    pub fn new(entry_bytes_max: usize) -> Self {
        Self::of(entry_bytes_max, PAYLOAD_ENTRIES_MAX)
    }

    /// Reads a file of an import, which has the entries of many tasks.
    pub fn import(entry_bytes_max: usize) -> Self {
        Self::of(entry_bytes_max, IMPORT_ENTRIES_MAX as usize)
    }

    fn of(entry_bytes_max: usize, entries_max: usize) -> Self {
        Self {
            entry_bytes_max,
            entries_max,
            array_only: false,
            start: Some(Start {
                bom: 0,
                position: PayloadPosition { offset: 0, line: 1, column: 1 },
            }),
            lines: JsonlSplitter::building(BlockBuilder::new(entry_bytes_max, entries_max)),
            array: None,
        }
    }

    /// Reads a payload that must be one JSON array.
    pub fn array(entry_bytes_max: usize) -> Self {
        Self { array_only: true, ..Self::new(entry_bytes_max) }
    }

    /// Takes the next piece. Full blocks are added to `blocks`. After a fault the caller must drop
    /// the reader and all blocks, including those of earlier pieces.
    pub fn push(&mut self, bytes: &[u8], blocks: &mut Vec<Block>) -> Result<(), PayloadFault> {
        if let Some(array) = &mut self.array {
            return array.push(bytes, blocks);
        }
        if let Some(start) = &mut self.start
            && let Some(at) = start.first_content(bytes)
        {
            let position = start.position;
            let is_array = !start.is_cut_bom() && bytes[at] == b'[';
            self.start = None;
            if is_array {
                let builder = BlockBuilder::new(self.entry_bytes_max, self.entries_max);
                let array = ArraySplitter::new(builder, position);
                return self.array.insert(array).push(&bytes[at..], blocks);
            }
            if self.array_only {
                return Err(not_an_array(position, bytes[at]));
            }
        }
        self.lines.push(bytes, blocks);
        Ok(())
    }

    /// Entries ended so far.
    pub fn count(&self) -> u64 {
        self.array.as_ref().map_or_else(|| self.lines.count(), ArraySplitter::count)
    }

    /// Ends the reading in the middle of a file, without the entry that is open.
    pub fn finish_cut(self, blocks: &mut Vec<Block>) -> u32 {
        let builder = self.array.map_or_else(|| self.lines.builder, |array| array.builder);
        builder.finish_cut(blocks)
    }

    /// Ends the payload and returns the number of entries. The last block is added to `blocks`.
    pub fn finish(self, blocks: &mut Vec<Block>) -> Result<u32, PayloadFault> {
        match (self.array, self.start) {
            (Some(array), _) => array.finish(blocks),
            (None, Some(start)) if self.array_only && start.is_cut_bom() => {
                Err(not_an_array(start.position, BOM[0]))
            }
            _ => self.lines.finish(blocks),
        }
    }
}

/// The blank start of a payload, before its form is known.
#[derive(Debug, Clone, Copy)]
struct Start {
    /// Bytes of the byte order mark so far.
    bom: usize,
    /// The position after them.
    position: PayloadPosition,
}

impl Start {
    /// Whether only a part of a byte order mark arrived, which then is content.
    const fn is_cut_bom(self) -> bool {
        self.bom > 0 && self.bom < BOM.len()
    }

    /// The index in `bytes`, the next piece, of the first byte of content; the position moves
    /// there.
    fn first_content(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while at < bytes.len() && self.position.offset + at < BOM.len() {
            if self.bom != self.position.offset + at || bytes[at] != BOM[self.bom] {
                break;
            }
            self.bom += 1;
            at += 1;
        }
        self.position.offset += at;
        let end = if self.is_cut_bom() {
            Some(at).filter(|&at| at < bytes.len())
        } else {
            bytes[at..].iter().position(|&byte| !is_space(byte)).map(|n| at + n)
        };
        self.position = self.position.after(&bytes[at..end.unwrap_or(bytes.len())]);
        end
    }
}

fn not_an_array(position: PayloadPosition, found: u8) -> PayloadFault {
    let found = if found.is_ascii_graphic() {
        format!("`{}`", char::from(found))
    } else {
        format!("the byte 0x{found:02x}")
    };
    let detail = format!(
        "the payload is not a JSON array: it begins with {found} at byte {} (line {}, column {}); \
         send the entries as one array, [{{…}}, {{…}}]",
        position.offset, position.line, position.column
    );
    PayloadFault { code: ErrorCode::InvalidPayload, detail, line: Some(position.line) }
}
