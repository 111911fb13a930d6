//! Splits a payload that is one JSON array, as it arrives. Elements go into blocks as they end.
//! Only the grammar is checked: each element is an entry, even if it is not a map, and an element
//! of any size passes without being held. A fault of the array is reported at once, and the caller
//! then drops all blocks. Of two faults the first in the text is reported, wherever the pieces are
//! cut.

use memchr::{memchr_iter, memrchr};

use super::block_builder::{BlockBuilder, Source};
use super::{ARRAY_DEPTH_MAX, Block, PayloadFault, is_space};
use crate::error_code::ErrorCode;
use crate::json::{ScanFault, Scanner};

const NO_COMMA: &str = "a comma or the closing bracket of the array was expected";
const NO_END: &str = "the array has ended, nothing may follow it (a payload that begins with `[` \
                      is one JSON array, not JSON lines)";
const NOT_UTF8: &str = "the bytes are not UTF-8 from there on";

/// A position in the payload as it was sent, for error messages.
#[derive(Debug, Clone, Copy)]
pub(super) struct PayloadPosition {
    /// Number of bytes before it.
    pub(super) offset: usize,
    /// 1-based.
    pub(super) line: u32,
    /// 1-based, in characters.
    pub(super) column: usize,
}

impl PayloadPosition {
    /// The position after `bytes`, which begin here.
    pub(super) fn after(self, bytes: &[u8]) -> Self {
        let lines = memchr_iter(b'\n', bytes).count() as u32;
        let (from, column) = match memrchr(b'\n', bytes) {
            Some(at) => (at + 1, 1),
            None => (0, self.column),
        };
        let characters = bytes[from..].iter().filter(|&&byte| byte & 0xc0 != 0x80).count();
        Self {
            offset: self.offset + bytes.len(),
            line: self.line.saturating_add(lines),
            column: column + characters,
        }
    }

    /// The position `bytes` earlier; all of them are ASCII and in the same line.
    const fn before(self, bytes: usize) -> Self {
        Self { offset: self.offset - bytes, column: self.column - bytes, ..self }
    }
}

/// An array that is arriving, from its opening bracket on.
#[derive(Debug)]
pub(super) struct ArraySplitter {
    state: State,
    /// The number of the current or next element.
    element: u32,
    /// The position of the next byte.
    position: PayloadPosition,
    /// The first bytes of a character whose rest has not arrived.
    cut: Vec<u8>,
    pub(super) builder: BlockBuilder,
}

#[derive(Debug)]
enum State {
    Opening,
    /// After the opening bracket: an element or the closing bracket.
    First,
    /// In an element or in the white space before it.
    Element {
        scanner: Scanner,
        begun: bool,
    },
    /// After an element.
    Between,
    End,
}

impl ArraySplitter {
    /// The opening bracket is at `position` and arrives first.
    pub(super) const fn new(builder: BlockBuilder, position: PayloadPosition) -> Self {
        Self { state: State::Opening, element: 0, position, cut: Vec::new(), builder }
    }

    pub(super) fn push(
        &mut self,
        mut bytes: &[u8],
        blocks: &mut Vec<Block>,
    ) -> Result<(), PayloadFault> {
        while !self.cut.is_empty() {
            let Some((&next, rest)) = bytes.split_first() else { return Ok(()) };
            self.cut.push(next);
            match std::str::from_utf8(&self.cut) {
                Ok(_) => {
                    let whole = std::mem::take(&mut self.cut);
                    self.characters(&whole, blocks)?;
                }
                Err(error) if error.error_len().is_none() => {}
                Err(_) => return Err(self.not_utf8(self.cut[0])),
            }
            bytes = rest;
        }
        let Err(error) = std::str::from_utf8(bytes) else { return self.characters(bytes, blocks) };
        let (valid, rest) = bytes.split_at(error.valid_up_to());
        self.characters(valid, blocks)?;
        if error.error_len().is_some() {
            return Err(self.not_utf8(rest[0]));
        }
        self.cut.extend_from_slice(rest);
        Ok(())
    }

    /// Ends the array and returns the number of entries.
    pub(super) fn finish(self, blocks: &mut Vec<Block>) -> Result<u32, PayloadFault> {
        if let Some(&byte) = self.cut.first() {
            return Err(self.not_utf8(byte));
        }
        let (element, scanned) = match self.state {
            State::End => return self.builder.finish(blocks),
            State::Opening | State::First => (1, Scanner::new(ARRAY_DEPTH_MAX).finish()),
            State::Element { scanner, .. } => (self.element, scanner.finish()),
            State::Between => (self.element, Ok(())),
        };
        let position = self.position;
        let Err(ScanFault { begins, why, .. }) = scanned else {
            return Err(broken(position, None, element, NO_COMMA));
        };
        Err(match begins {
            Some((back, byte)) => broken(position.before(back), Some(byte), element, why),
            None => broken(position, None, element, why),
        })
    }

    pub(super) const fn count(&self) -> u64 {
        self.builder.count()
    }

    #[cfg(test)]
    pub(super) fn bytes_held(&self) -> usize {
        self.builder.bytes_held()
    }

    /// Takes whole characters.
    fn characters(&mut self, bytes: &[u8], blocks: &mut Vec<Block>) -> Result<(), PayloadFault> {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let fault = |at: usize, element: u32, why: &str| {
                Err(broken(self.position.after(&bytes[..at]), Some(bytes[at]), element, why))
            };
            match &mut self.state {
                State::Opening => (self.state, at) = (State::First, at + 1),
                State::Element { begun: true, scanner } => {
                    let end = match scanner.push(&bytes[at..]) {
                        Ok(end) => end,
                        Err(ScanFault { at: noticed, begins: None, why }) => {
                            return fault(at + noticed, self.element, why);
                        }
                        Err(ScanFault { at: noticed, begins: Some((back, byte)), why }) => {
                            let position = self.position.after(&bytes[..at + noticed]).before(back);
                            return Err(broken(position, Some(byte), self.element, why));
                        }
                    };
                    let part = &bytes[at..end.map_or(bytes.len(), |end| at + end)];
                    self.builder.append(part);
                    at += part.len();
                    if end.is_some() {
                        self.builder.close(self.element, Source::default(), blocks);
                        self.state = State::Between;
                    }
                }
                _ if is_space(byte) => at += 1,
                State::First if byte == b']' => (self.state, at) = (State::End, at + 1),
                State::First => self.next_element(),
                State::Element { begun, .. } => *begun = true,
                State::Between if byte == b',' => {
                    self.next_element();
                    at += 1;
                }
                State::Between if byte == b']' => (self.state, at) = (State::End, at + 1),
                State::Between => return fault(at, self.element, NO_COMMA),
                State::End => return fault(at, 0, NO_END),
            }
        }
        self.position = self.position.after(bytes);
        Ok(())
    }

    fn next_element(&mut self) {
        self.element = self.element.saturating_add(1);
        let scanner = Scanner::new(ARRAY_DEPTH_MAX - 1);
        self.state = State::Element { scanner, begun: false };
    }

    /// The next bytes are not UTF-8; the first of them is `byte`.
    fn not_utf8(&self, byte: u8) -> PayloadFault {
        broken(self.position, Some(byte), 0, NOT_UTF8)
    }
}

/// The fault at `position`, where `found` or the end is; in an element, or in none if that is 0.
fn broken(position: PayloadPosition, found: Option<u8>, element: u32, why: &str) -> PayloadFault {
    let found = match found {
        None => "end of the payload".to_owned(),
        Some(byte) if byte.is_ascii_graphic() => format!("`{}`", char::from(byte)),
        Some(byte) => format!("byte 0x{byte:02x}"),
    };
    let element = if element == 0 { String::new() } else { format!(", element {element}") };
    let detail = format!(
        "the payload is a broken JSON array: unexpected {found} at byte {} (line {}, \
         column {}{element}): {why}; no entry was accepted",
        position.offset, position.line, position.column
    );
    PayloadFault { code: ErrorCode::InvalidPayload, detail, line: Some(position.line) }
}
