//! Takes a payload in pieces and finds out which form it has: what begins with `[`, white space
//! and a byte order mark aside, is one JSON array, everything else is JSON lines. The form field
//! of a request is always an array; a payload file may be either.

use super::array::{ArraySplitter, Place};
use super::jsonl::BOM;
use super::{Block, JsonlSplitter, PayloadFault, is_space};
use crate::error_code::ErrorCode;

/// Reads one payload, in pieces cut anywhere, into blocks of entries.
#[derive(Debug)]
pub struct PayloadReader {
    entry_bytes_max: usize,
    /// Whether only an array will do.
    array_only: bool,
    /// What was seen of the start; `None` once the form is known.
    start: Option<Start>,
    /// Takes everything up to the first byte of an array, or to the end.
    lines: JsonlSplitter,
    array: Option<ArraySplitter>,
}

impl PayloadReader {
    /// Reads a payload file: JSON lines or one array.
    pub fn new(entry_bytes_max: usize) -> Self {
        Self {
            entry_bytes_max,
            array_only: false,
            start: Some(Start { bom: 0, place: Place { offset: 0, line: 1, column: 1 } }),
            lines: JsonlSplitter::new(entry_bytes_max),
            array: None,
        }
    }

    /// Reads a payload that has to be one JSON array.
    pub fn array(entry_bytes_max: usize) -> Self {
        Self { array_only: true, ..Self::new(entry_bytes_max) }
    }

    /// Takes the next piece. Blocks are added to `blocks` as they fill. After a fault the reader
    /// and all blocks, those of earlier pieces too, are to be dropped.
    pub fn push(&mut self, bytes: &[u8], blocks: &mut Vec<Block>) -> Result<(), PayloadFault> {
        if let Some(array) = &mut self.array {
            return array.push(bytes, blocks);
        }
        if let Some(start) = &mut self.start
            && let Some(at) = start.first_content(bytes)
        {
            let place = start.place;
            let is_array = !start.is_cut_bom() && bytes[at] == b'[';
            self.start = None;
            if is_array {
                let array = ArraySplitter::new(self.entry_bytes_max, place);
                return self.array.insert(array).push(&bytes[at..], blocks);
            }
            if self.array_only {
                return Err(no_array(place, bytes[at]));
            }
        }
        self.lines.push(bytes, blocks);
        Ok(())
    }

    /// Ends the payload; the number of entries. What is left is added to `blocks`.
    pub fn finish(self, blocks: &mut Vec<Block>) -> Result<u32, PayloadFault> {
        match (self.array, self.start) {
            (Some(array), _) => array.finish(blocks),
            (None, Some(start)) if self.array_only && start.is_cut_bom() => {
                Err(no_array(start.place, BOM[0]))
            }
            _ => self.lines.finish(blocks),
        }
    }
}

/// The blank start of a payload, before its form is known.
#[derive(Debug, Clone, Copy)]
struct Start {
    /// Bytes of the byte order mark seen.
    bom: usize,
    /// The place after it.
    place: Place,
}

impl Start {
    /// Whether only a part of a byte order mark was seen: that is content.
    const fn is_cut_bom(self) -> bool {
        self.bom > 0 && self.bom < BOM.len()
    }

    /// Where in `bytes`, the next piece, the first byte stands that is content; the place moves
    /// there.
    fn first_content(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        while at < bytes.len() && self.place.offset + at < BOM.len() {
            if self.bom != self.place.offset + at || bytes[at] != BOM[self.bom] {
                break;
            }
            self.bom += 1;
            at += 1;
        }
        self.place.offset += at;
        let end = if self.is_cut_bom() {
            Some(at).filter(|&at| at < bytes.len())
        } else {
            bytes[at..].iter().position(|&byte| !is_space(byte)).map(|n| at + n)
        };
        self.place = self.place.after(&bytes[at..end.unwrap_or(bytes.len())]);
        end
    }
}

fn no_array(place: Place, found: u8) -> PayloadFault {
    let found = if found.is_ascii_graphic() {
        format!("`{}`", char::from(found))
    } else {
        format!("the byte 0x{found:02x}")
    };
    let detail = format!(
        "the payload is no JSON array: it begins with {found} at byte {} (line {}, column {}); \
         send the entries as one array, [{{…}}, {{…}}]",
        place.offset, place.line, place.column
    );
    PayloadFault { code: ErrorCode::InvalidPayload, detail, line: Some(place.line) }
}
