//! A payload that is one JSON array, split while it arrives. Its elements are handed on as they
//! fill blocks; what is wrong with the array is told as soon as it is seen, and then nothing of it
//! counts: the caller drops what it was handed. Only the grammar is checked here; each element is
//! an entry, also one that is no map, and one of any size passes without being held. Of two faults
//! the first in the text is told, wherever the pieces were cut.

use memchr::{memchr_iter, memrchr};

use super::gather::Gather;
use super::{ARRAY_DEPTH_MAX, Block, PayloadFault, is_space};
use crate::error_code::ErrorCode;
use crate::json::{ScanFault, Scanner};

const NO_COMMA: &str = "a comma or the closing bracket of the array was expected";
const NO_END: &str = "the array has ended, nothing may follow it (a payload that begins with `[` \
                      is one JSON array, not JSON lines)";
const NO_UTF8: &str = "the bytes are no UTF-8 from there on";

/// A place in the payload as it was sent, for people.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// Bytes before it.
    pub(super) offset: usize,
    /// 1-based.
    pub(super) line: u32,
    /// 1-based, in characters.
    pub(super) column: usize,
}

impl Place {
    /// The place after `bytes`, which begin here.
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

    /// The place some ASCII bytes earlier in the same line.
    const fn before(self, bytes: usize) -> Self {
        Self { offset: self.offset - bytes, column: self.column - bytes, ..self }
    }
}

/// An array on its way in, from its opening bracket on.
#[derive(Debug)]
pub(super) struct ArraySplitter {
    part: Part,
    /// The number of the element that comes or is there.
    element: u32,
    /// Where the bytes that come next stand.
    place: Place,
    /// The beginning of a character whose rest has not come.
    cut: Vec<u8>,
    gather: Gather,
}

#[derive(Debug)]
enum Part {
    Opening,
    /// Behind the opening bracket: an element or the closing bracket.
    First,
    /// In an element or in the white space before it.
    Element {
        scanner: Scanner,
        begun: bool,
    },
    /// Behind an element.
    Between,
    End,
}

impl ArraySplitter {
    /// The opening bracket stands at `place` and comes first.
    pub(super) fn new(entry_bytes_max: usize, place: Place) -> Self {
        let gather = Gather::new(entry_bytes_max);
        Self { part: Part::Opening, element: 0, place, cut: Vec::new(), gather }
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
                Err(_) => return Err(self.no_utf8(self.cut[0])),
            }
            bytes = rest;
        }
        let Err(error) = std::str::from_utf8(bytes) else { return self.characters(bytes, blocks) };
        let (valid, rest) = bytes.split_at(error.valid_up_to());
        self.characters(valid, blocks)?;
        if error.error_len().is_some() {
            return Err(self.no_utf8(rest[0]));
        }
        self.cut.extend_from_slice(rest);
        Ok(())
    }

    /// Ends the array; the number of entries.
    pub(super) fn finish(self, blocks: &mut Vec<Block>) -> Result<u32, PayloadFault> {
        if let Some(&byte) = self.cut.first() {
            return Err(self.no_utf8(byte));
        }
        let (element, scanned) = match self.part {
            Part::End => return self.gather.finish(blocks),
            Part::Opening | Part::First => (1, Scanner::new(ARRAY_DEPTH_MAX).finish()),
            Part::Element { scanner, .. } => (self.element, scanner.finish()),
            Part::Between => (self.element, Ok(())),
        };
        let place = self.place;
        let Err(ScanFault { begins, why, .. }) = scanned else {
            return Err(broken(place, None, element, NO_COMMA));
        };
        Err(match begins {
            Some((back, byte)) => broken(place.before(back), Some(byte), element, why),
            None => broken(place, None, element, why),
        })
    }

    #[cfg(test)]
    pub(super) fn bytes_held(&self) -> usize {
        self.gather.bytes_held()
    }

    /// Takes whole characters.
    fn characters(&mut self, bytes: &[u8], blocks: &mut Vec<Block>) -> Result<(), PayloadFault> {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            let fault = |at: usize, element: u32, why: &str| {
                Err(broken(self.place.after(&bytes[..at]), Some(bytes[at]), element, why))
            };
            match &mut self.part {
                Part::Opening => (self.part, at) = (Part::First, at + 1),
                Part::Element { begun: true, scanner } => {
                    let end = match scanner.push(&bytes[at..]) {
                        Ok(end) => end,
                        Err(ScanFault { at: noticed, begins: None, why }) => {
                            return fault(at + noticed, self.element, why);
                        }
                        Err(ScanFault { at: noticed, begins: Some((back, byte)), why }) => {
                            let place = self.place.after(&bytes[..at + noticed]).before(back);
                            return Err(broken(place, Some(byte), self.element, why));
                        }
                    };
                    let part = &bytes[at..end.map_or(bytes.len(), |end| at + end)];
                    self.gather.append(part);
                    at += part.len();
                    if end.is_some() {
                        self.gather.close(self.element, blocks);
                        self.part = Part::Between;
                    }
                }
                _ if is_space(byte) => at += 1,
                Part::First if byte == b']' => (self.part, at) = (Part::End, at + 1),
                Part::First => self.next_element(),
                Part::Element { begun, .. } => *begun = true,
                Part::Between if byte == b',' => {
                    self.next_element();
                    at += 1;
                }
                Part::Between if byte == b']' => (self.part, at) = (Part::End, at + 1),
                Part::Between => return fault(at, self.element, NO_COMMA),
                Part::End => return fault(at, 0, NO_END),
            }
        }
        self.place = self.place.after(bytes);
        Ok(())
    }

    fn next_element(&mut self) {
        self.element = self.element.saturating_add(1);
        let scanner = Scanner::new(ARRAY_DEPTH_MAX - 1);
        self.part = Part::Element { scanner, begun: false };
    }

    /// The bytes that come next are no UTF-8; the first of them is `byte`.
    fn no_utf8(&self, byte: u8) -> PayloadFault {
        broken(self.place, Some(byte), 0, NO_UTF8)
    }
}

/// The fault at `place`, where `found` or the end stands, in an element or, with 0, in none.
fn broken(place: Place, found: Option<u8>, element: u32, why: &str) -> PayloadFault {
    let found = match found {
        None => "the end of the payload".to_owned(),
        Some(byte) if byte.is_ascii_graphic() => format!("`{}`", char::from(byte)),
        Some(byte) => format!("the byte 0x{byte:02x}"),
    };
    let element = if element == 0 { String::new() } else { format!(", element {element}") };
    let detail = format!(
        "the payload is a broken JSON array: at byte {} (line {}, column {}{element}) stands \
         {found}: {why}; no entry was accepted",
        place.offset, place.line, place.column
    );
    PayloadFault { code: ErrorCode::InvalidPayload, detail, line: Some(place.line) }
}
