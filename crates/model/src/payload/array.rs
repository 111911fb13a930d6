//! A payload that is one JSON array. It is held as a whole (the body limit bounds it), because a
//! broken array is refused as a whole: no entry of it may be accepted before its end was seen.
//! Only the grammar is checked here; each element is an entry, also one that is no map.

use memchr::{memchr_iter, memrchr};

use super::gather::Gather;
use super::{ARRAY_DEPTH_MAX, Block, PayloadFault, is_space};
use crate::error_code::ErrorCode;
use crate::json;

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
}

/// The bytes of an array from its opening bracket on.
#[derive(Debug)]
pub(super) struct ArrayBuffer {
    bytes: Vec<u8>,
    /// Where the opening bracket stands.
    place: Place,
}

impl ArrayBuffer {
    pub(super) fn new(place: Place) -> Self {
        Self { bytes: Vec::new(), place }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        self.bytes.extend_from_slice(bytes);
    }

    /// Splits the array into blocks; the number of entries.
    pub(super) fn finish(
        self,
        entry_bytes_max: usize,
        blocks: &mut Vec<Block>,
    ) -> Result<u32, PayloadFault> {
        if let Err(e) = std::str::from_utf8(&self.bytes) {
            return Err(self.fault(e.valid_up_to(), 0, "the bytes are no UTF-8 from there on"));
        }
        let mut gather = Gather::new(entry_bytes_max);
        let mut element = 0_u32;
        let mut at = self.space(1);
        if self.bytes.get(at) != Some(&b']') {
            loop {
                at = self.space(at);
                element = element.saturating_add(1);
                let end = json::skip_value(&self.bytes[at..], ARRAY_DEPTH_MAX - 1)
                    .map(|len| at + len)
                    .map_err(|(offset, why)| self.fault(at + offset, element, why))?;
                gather.append(&self.bytes[at..end]);
                gather.close(element, blocks);
                at = self.space(end);
                match self.bytes.get(at) {
                    Some(b',') => at += 1,
                    Some(b']') => break,
                    _ => {
                        let why = "a comma or the closing bracket of the array was expected";
                        return Err(self.fault(at, element, why));
                    }
                }
            }
        }
        at = self.space(at + 1);
        if at < self.bytes.len() {
            let why = "the array has ended, nothing may follow it (a payload that begins with `[` \
                       is one JSON array, not JSON lines)";
            return Err(self.fault(at, 0, why));
        }
        gather.finish(blocks)
    }

    fn space(&self, mut at: usize) -> usize {
        while self.bytes.get(at).copied().is_some_and(is_space) {
            at += 1;
        }
        at
    }

    /// The fault at `at`, in the given element or, with 0, in none.
    fn fault(&self, at: usize, element: u32, why: &str) -> PayloadFault {
        let place = self.place.after(&self.bytes[..at]);
        let found = match self.bytes.get(at) {
            None => "the end of the payload".to_owned(),
            Some(byte) if byte.is_ascii_graphic() => format!("`{}`", char::from(*byte)),
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
}
