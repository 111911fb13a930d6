//! The stored form of a block: a version byte, the number of entries, the position and length of
//! each entry as variable-length integers, then all bytes in one run. A block with base URLs has
//! another version, and their number, lengths and texts after it. A block with rows of a file or
//! notes has a third one: base URLs as before, after the entries the number of rows and each one's
//! entry, line and length, then the same for notes without lines; the bytes of rows and notes
//! follow those of the entries. Decoding reuses the given buffer and lets everything point into it.
//! Positions ascend and may have gaps, because a retry contains only the failed entries of a task
//! at their original positions.

use std::ops::Range;

use super::{Block, Entry, Side};

/// The first byte of a stored block. A change of the form increments it.
const VERSION: u8 = 1;
/// The first byte of a stored block with base URLs.
const VERSION_WITH_URLS: u8 = 2;
/// The first byte of a stored block with rows of a file or notes, perhaps with base URLs.
const VERSION_WITH_SIDES: u8 = 3;
/// The most base URLs of a block, and the longest one. A server has a few short ones.
const BASE_URLS_MAX: u64 = 16;
const BASE_URL_BYTES_MAX: u64 = 4 << 10;
/// Fewest bytes of an entry in the head: index, line and length.
const ENTRY_HEAD_BYTES_MIN: usize = 3;
/// Fewest bytes of a row or of notes in the head: the entry and the length.
const SIDE_HEAD_BYTES_MIN: usize = 2;

/// A stored block cannot be read: the store is damaged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("a stored block of payload entries is damaged: {0}")]
pub struct CorruptBlock(&'static str);

impl Block {
    /// The stored form of the block. Bytes outside of all entries are left out, and rows and notes
    /// of entries that the block no longer has.
    pub fn encode(&self) -> Vec<u8> {
        let rows = present(&self.rows, &self.entries);
        let notes = present(&self.notes, &self.entries);
        let has_sides = !rows.is_empty() || !notes.is_empty();
        let sides = || rows.iter().chain(&notes).map(|side| side.range.clone());
        let ranges = || self.entries.iter().map(|entry| entry.range.clone()).chain(sides());
        let bytes: usize = ranges().map(|range| range.len()).sum();
        let mut out = Vec::with_capacity(bytes + 8 * self.entries.len() + 8);
        out.push(match () {
            () if has_sides => VERSION_WITH_SIDES,
            () if self.base_urls.is_empty() => VERSION,
            () => VERSION_WITH_URLS,
        });
        if out[0] != VERSION {
            write_varint(self.base_urls.len() as u64, &mut out);
            for url in &self.base_urls {
                write_varint(url.len() as u64, &mut out);
                out.extend_from_slice(url.as_bytes());
            }
        }
        self.encode_entries(&mut out);
        if has_sides {
            encode_sides(&rows, true, &mut out);
            encode_sides(&notes, false, &mut out);
        }
        for range in ranges() {
            out.extend_from_slice(&self.bytes[range]);
        }
        out
    }

    fn encode_entries(&self, out: &mut Vec<u8>) {
        write_varint(self.entries.len() as u64, out);
        let (mut next_index, mut next_line) = (0, 0);
        for entry in &self.entries {
            let (index, line) = (u64::from(entry.index), u64::from(entry.line));
            assert!(index >= next_index && line >= next_line, "the positions of entries ascend");
            write_varint(index - next_index, out);
            write_varint(line - next_line, out);
            let is_oversize = u64::from(entry.oversize.is_some());
            write_varint((entry.range.len() as u64) << 1 | is_oversize, out);
            if let Some(len) = entry.oversize {
                write_varint(len, out);
            }
            (next_index, next_line) = (index + 1, line + 1);
        }
    }

    /// The block that [`Block::encode`] wrote. Its bytes are the given ones, including the head.
    pub fn decode(bytes: Vec<u8>) -> Result<Self, CorruptBlock> {
        let mut head = Head { bytes: &bytes, at: 0, end: 0 };
        let version = head.byte()?;
        let base_urls = match version {
            VERSION => Vec::new(),
            VERSION_WITH_URLS | VERSION_WITH_SIDES => head.base_urls()?,
            _ => return Err(CorruptBlock("its version is unknown")),
        };
        let mut entries = head.entries()?;
        let (mut rows, mut notes) = (Vec::new(), Vec::new());
        if version == VERSION_WITH_SIDES {
            rows = head.sides(&entries, true)?;
            notes = head.sides(&entries, false)?;
            mark_rows(&rows, &mut entries);
        }
        let base = head.at;
        if bytes.len() - base != head.end {
            return Err(CorruptBlock("its length differs from that of its entries"));
        }
        let entry_ranges = entries.iter_mut().map(|entry| &mut entry.range);
        let side_ranges = rows.iter_mut().chain(&mut notes).map(|side: &mut Side| &mut side.range);
        for range in entry_ranges.chain(side_ranges) {
            range.start += base;
            range.end += base;
        }
        Ok(Self { bytes, entries, rows, notes, base_urls })
    }
}

/// The sides of those entries.
fn present<'s>(sides: &'s [Side], entries: &[Entry]) -> Vec<&'s Side> {
    let mut left = entries;
    let is_present = |side: &&Side| {
        left = &left[left.partition_point(|entry| entry.index < side.index)..];
        left.first().is_some_and(|entry| entry.index == side.index)
    };
    sides.iter().filter(is_present).collect()
}

/// Writes the entries and lengths of sides; of rows the lines, too.
fn encode_sides(sides: &[&Side], with_lines: bool, out: &mut Vec<u8>) {
    write_varint(sides.len() as u64, out);
    let (mut index, mut line) = (0, 0);
    for side in sides {
        assert!(side.index >= index && side.line >= line, "the positions of rows ascend");
        write_varint(u64::from(side.index - index), out);
        if with_lines {
            write_varint(u64::from(side.line - line), out);
        }
        write_varint(side.range.len() as u64, out);
        (index, line) = (side.index, side.line);
    }
}

/// Marks the entries that have rows; both are in order.
fn mark_rows(rows: &[Side], entries: &mut [Entry]) {
    let mut rows = rows.iter().peekable();
    for entry in entries {
        while rows.next_if(|row| row.index == entry.index).is_some() {
            entry.of_row = true;
        }
    }
}

/// Reads the head of a stored block.
struct Head<'a> {
    bytes: &'a [u8],
    at: usize,
    /// The end of the entry, row or notes read last, counted from the end of the head.
    end: usize,
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

    fn entries(&mut self) -> Result<Vec<Entry>, CorruptBlock> {
        let count = self.count(ENTRY_HEAD_BYTES_MIN)?;
        let mut entries = Vec::with_capacity(count);
        let (mut next_index, mut next_line) = (0, 0);
        for _ in 0..count {
            let index = self.position(next_index)?;
            let line = self.position(next_line)?;
            let len_and_flag = self.varint()?;
            let oversize = if len_and_flag & 1 == 1 { Some(self.varint()?) } else { None };
            let range = self.range(len_and_flag >> 1)?;
            entries.push(Entry { index, line, range, oversize, of_row: false });
            (next_index, next_line) = (u64::from(index) + 1, u64::from(line) + 1);
        }
        Ok(entries)
    }

    /// The rows of entries, or their notes, which have no lines of their own.
    fn sides(&mut self, entries: &[Entry], with_lines: bool) -> Result<Vec<Side>, CorruptBlock> {
        let count = self.count(SIDE_HEAD_BYTES_MIN)?;
        let mut sides: Vec<Side> = Vec::with_capacity(count);
        let mut left = entries;
        for _ in 0..count {
            let (last_index, last_line) =
                sides.last().map_or((0, 0), |last| (last.index, last.line));
            let index = self.position(u64::from(last_index))?;
            left = &left[left.partition_point(|entry| entry.index < index)..];
            let Some(entry) = left.first().filter(|entry| entry.index == index) else {
                return Err(CorruptBlock("a row belongs to no entry"));
            };
            let line = if with_lines { self.position(u64::from(last_line))? } else { entry.line };
            let length = self.varint()?;
            let range = self.range(length)?;
            sides.push(Side { index, line, range });
        }
        Ok(sides)
    }

    /// A number of things that take at least so many bytes each.
    fn count(&mut self, bytes_min: usize) -> Result<usize, CorruptBlock> {
        let count = self.varint()?;
        if count > (self.bytes.len() / bytes_min) as u64 {
            return Err(CorruptBlock("it is shorter than its entries"));
        }
        Ok(count as usize)
    }

    /// The place of the next bytes, so many of them.
    fn range(&mut self, length: u64) -> Result<Range<usize>, CorruptBlock> {
        let start = self.end;
        self.end = usize::try_from(length)
            .ok()
            .and_then(|length| start.checked_add(length))
            .ok_or(CorruptBlock("an entry is too long"))?;
        Ok(start..self.end)
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
