//! The stored form of a block: a version byte, the number of entries, the position and length of
//! each entry as variable-length integers, then all bytes in one run. A block with base URLs has
//! another version, and their number, lengths and texts after it. Decoding reuses the given
//! buffer and lets the entries point into it. Positions ascend and may have gaps, because a retry
//! contains only the failed entries of a task at their original positions.

use super::{Block, Entry};

/// The first byte of a stored block. A change of the form increments it.
const VERSION: u8 = 1;
/// The first byte of a stored block with base URLs.
const VERSION_WITH_URLS: u8 = 2;
/// The most base URLs of a block, and the longest one. A server has a few short ones.
const BASE_URLS_MAX: u64 = 16;
const BASE_URL_BYTES_MAX: u64 = 4 << 10;
/// Fewest bytes of an entry in the head: index, line and length.
const ENTRY_HEAD_BYTES_MIN: usize = 3;

/// A stored block cannot be read: the store is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a stored block of payload entries is damaged: {0}")]
pub struct CorruptBlock(&'static str);

impl Block {
    /// The stored form of the block. Bytes outside of all entries are left out.
    pub fn encode(&self) -> Vec<u8> {
        let bytes: usize = self.entries.iter().map(|entry| entry.range.len()).sum();
        let mut out = Vec::with_capacity(bytes + 8 * self.entries.len() + 8);
        if self.base_urls.is_empty() {
            out.push(VERSION);
        } else {
            out.push(VERSION_WITH_URLS);
            write_varint(self.base_urls.len() as u64, &mut out);
            for url in &self.base_urls {
                write_varint(url.len() as u64, &mut out);
                out.extend_from_slice(url.as_bytes());
            }
        }
        write_varint(self.entries.len() as u64, &mut out);
        let (mut next_index, mut next_line) = (0, 0);
        for entry in &self.entries {
            let (index, line) = (u64::from(entry.index), u64::from(entry.line));
            assert!(index >= next_index && line >= next_line, "the positions of entries ascend");
            write_varint(index - next_index, &mut out);
            write_varint(line - next_line, &mut out);
            let is_oversize = u64::from(entry.oversize.is_some());
            write_varint((entry.range.len() as u64) << 1 | is_oversize, &mut out);
            if let Some(len) = entry.oversize {
                write_varint(len, &mut out);
            }
            (next_index, next_line) = (index + 1, line + 1);
        }
        for entry in &self.entries {
            out.extend_from_slice(self.bytes_of(entry));
        }
        out
    }

    /// The block that [`Block::encode`] wrote. Its bytes are the given ones, including the head.
    pub fn decode(bytes: Vec<u8>) -> Result<Self, CorruptBlock> {
        let mut head = Head { bytes: &bytes, at: 0 };
        let base_urls = match head.byte()? {
            VERSION => Vec::new(),
            VERSION_WITH_URLS => head.base_urls()?,
            _ => return Err(CorruptBlock("its version is unknown")),
        };
        let count = head.varint()?;
        if count > (bytes.len() / ENTRY_HEAD_BYTES_MIN) as u64 {
            return Err(CorruptBlock("it is shorter than its entries"));
        }
        let mut entries = Vec::with_capacity(count as usize);
        let (mut next_index, mut next_line, mut end) = (0, 0, 0_usize);
        for _ in 0..count {
            let index = head.position(next_index)?;
            let line = head.position(next_line)?;
            let len_and_flag = head.varint()?;
            let oversize = if len_and_flag & 1 == 1 { Some(head.varint()?) } else { None };
            let start = end;
            end = usize::try_from(len_and_flag >> 1)
                .ok()
                .and_then(|len| start.checked_add(len))
                .ok_or(CorruptBlock("an entry is too long"))?;
            entries.push(Entry { index, line, range: start..end, oversize });
            (next_index, next_line) = (u64::from(index) + 1, u64::from(line) + 1);
        }
        let base = head.at;
        if bytes.len() - base != end {
            return Err(CorruptBlock("its length differs from that of its entries"));
        }
        for entry in &mut entries {
            entry.range.start += base;
            entry.range.end += base;
        }
        Ok(Self { bytes, entries, base_urls })
    }
}

/// Reads the head of a stored block.
struct Head<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Head<'_> {
    fn byte(&mut self) -> Result<u8, CorruptBlock> {
        let byte = *self.bytes.get(self.at).ok_or(CorruptBlock("it ends within its head"))?;
        self.at += 1;
        Ok(byte)
    }

    /// Seven bits per byte, low bits first; the high bit means that more bytes follow.
    fn varint(&mut self) -> Result<u64, CorruptBlock> {
        let mut value = 0_u64;
        for shift in (0..u64::BITS).step_by(7) {
            let byte = self.byte()?;
            let bits = u64::from(byte & 0x7f);
            if bits << shift >> shift != bits {
                break;
            }
            value |= bits << shift;
            if byte & 0x80 == 0 {
                return Ok(value);
            }
        }
        Err(CorruptBlock("a number in its head is too large"))
    }

    fn base_urls(&mut self) -> Result<Vec<String>, CorruptBlock> {
        let count = self.varint()?;
        if count > BASE_URLS_MAX {
            return Err(CorruptBlock("it has too many base URLs"));
        }
        (0..count).map(|_| self.base_url()).collect()
    }

    fn base_url(&mut self) -> Result<String, CorruptBlock> {
        let length = self.varint()?;
        if length > BASE_URL_BYTES_MAX {
            return Err(CorruptBlock("a base URL is too long"));
        }
        let end = self.at + length as usize;
        let text = self.bytes.get(self.at..end).and_then(|url| std::str::from_utf8(url).ok());
        self.at = end;
        text.map(str::to_owned).ok_or(CorruptBlock("a base URL cannot be read"))
    }

    /// A position, stored as its distance from the lowest possible one.
    fn position(&mut self, least: u64) -> Result<u32, CorruptBlock> {
        self.varint()?
            .checked_add(least)
            .and_then(|position| u32::try_from(position).ok())
            .ok_or(CorruptBlock("the position of an entry is too large"))
    }
}

fn write_varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push((value & 0x7f) as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
