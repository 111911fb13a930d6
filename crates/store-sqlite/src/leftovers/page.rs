//! Clears the unused bytes of one page: those that belong to no cell, which may still hold rows
//! that were deleted or moved. The form of a page is that of
//! <https://sqlite.org/fileformat2.html>.
//! Invariant: no used byte changes, so that the page means the same as before.

use std::ops::Range;

/// Bytes of the file's header, before the header of the first page.
const FILE_HEADER_BYTES: usize = 100;
/// The smallest cell and the header of a free block.
const CELL_BYTES_MIN: usize = 4;

/// The rest of a long payload, in pages of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Overflow {
    pub(super) first_page: u32,
    pub(super) bytes: usize,
}

/// The four kinds of pages of a tree.
#[derive(Debug, Clone, Copy)]
struct Kind {
    is_leaf: bool,
    is_index: bool,
}

/// A cell: its length in the page, and the rest of its payload.
struct Cell {
    len: usize,
    overflow: Option<Overflow>,
}

/// Clears the unused bytes of a page of a tree. Returns whether a byte changed, and the payloads
/// that continue elsewhere; `None` if this is not a page of a tree, and then nothing changed. Other
/// pages begin with the number of a page: up to 256 GiB its first byte is none that a tree has, and
/// beyond, the bytes after it do not describe cells.
pub(super) fn clear_tree_page(page: &mut [u8], is_first: bool) -> Option<(bool, Vec<Overflow>)> {
    let header = if is_first { FILE_HEADER_BYTES } else { 0 };
    let kind = Kind::of(*page.get(header)?)?;
    let cells = short(page, header + 3)?;
    let content = match short(page, header + 5)? {
        0 => 1 << 16,
        at => at,
    };
    let pointers = header + if kind.is_leaf { 8 } else { 12 };
    let gap = pointers + 2 * cells;
    if gap > content || content > page.len() {
        return None;
    }
    let mut overflows = Vec::new();
    let mut used = free_block_headers(page, header, content)?;
    for n in 0..cells {
        let at = short(page, pointers + 2 * n)?;
        let cell = kind.cell(page, at)?;
        if at < content || at + cell.len > page.len() {
            return None;
        }
        used.push(at..at + cell.len);
        overflows.extend(cell.overflow);
    }
    used.sort_unstable_by_key(|range| range.start);
    if used.windows(2).any(|pair| pair[0].end > pair[1].start) {
        return None;
    }
    let (mut changed, mut from) = (false, gap);
    for range in used {
        changed |= clear(&mut page[from..range.start]);
        from = range.end;
    }
    changed |= clear(&mut page[from..]);
    Some((changed, overflows))
}

/// The headers of the free blocks, which lie between the cells.
fn free_block_headers(page: &[u8], header: usize, content: usize) -> Option<Vec<Range<usize>>> {
    let mut headers = Vec::new();
    let mut at = short(page, header + 1)?;
    while at != 0 {
        let (next, len) = (short(page, at)?, short(page, at + 2)?);
        let is_sound = at >= content
            && len >= CELL_BYTES_MIN
            && at + len <= page.len()
            && (next == 0 || next > at);
        if !is_sound {
            return None;
        }
        headers.push(at..at + CELL_BYTES_MIN);
        at = next;
    }
    Some(headers)
}

/// Fills bytes with zeros; whether one of them changed.
pub(super) fn clear(bytes: &mut [u8]) -> bool {
    let changed = bytes.iter().any(|byte| *byte != 0);
    if changed {
        bytes.fill(0);
    }
    changed
}

impl Kind {
    const fn of(code: u8) -> Option<Self> {
        match code {
            2 => Some(Self { is_leaf: false, is_index: true }),
            5 => Some(Self { is_leaf: false, is_index: false }),
            10 => Some(Self { is_leaf: true, is_index: true }),
            13 => Some(Self { is_leaf: true, is_index: false }),
            _ => None,
        }
    }

    fn cell(self, page: &[u8], at: usize) -> Option<Cell> {
        let mut next = at + if self.is_leaf { 0 } else { 4 };
        let has_payload = self.is_leaf || self.is_index;
        let payload = if has_payload { varint(page, &mut next)? as usize } else { 0 };
        if !self.is_index {
            varint(page, &mut next)?;
        }
        let local = self.local_bytes(payload, page.len());
        let end = next + local;
        let (len, overflow) = if local == payload {
            (end - at, None)
        } else {
            let first_page = long(page, end)?;
            (end + 4 - at, Some(Overflow { first_page, bytes: payload - local }))
        };
        Some(Cell { len: len.max(CELL_BYTES_MIN), overflow })
    }

    /// How many bytes of a payload are in the page itself.
    const fn local_bytes(self, payload: usize, usable: usize) -> usize {
        let most = if self.is_index { (usable - 12) * 64 / 255 - 23 } else { usable - 35 };
        let least = (usable - 12) * 32 / 255 - 23;
        if payload <= most {
            return payload;
        }
        let fitting = least + (payload - least) % (usable - 4);
        if fitting <= most { fitting } else { least }
    }
}

fn short(page: &[u8], at: usize) -> Option<usize> {
    let bytes = page.get(at..at + 2)?;
    Some(usize::from(u16::from_be_bytes([bytes[0], bytes[1]])))
}

/// The number of four bytes at a place.
pub(super) fn long(page: &[u8], at: usize) -> Option<u32> {
    page.get(at..at + 4)?.try_into().ok().map(u32::from_be_bytes)
}

/// A number of one to nine bytes, of which the last one alone may have eight bits.
fn varint(page: &[u8], at: &mut usize) -> Option<u64> {
    let mut number = 0_u64;
    for n in 0..9 {
        let byte = *page.get(*at)?;
        *at += 1;
        if n == 8 {
            return Some(number << 8 | u64::from(byte));
        }
        number = number << 7 | u64::from(byte & 0x7f);
        if byte < 0x80 {
            break;
        }
    }
    Some(number)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use super::*;

    /// A leaf of a table with one row of three bytes at its end, and `rest` as its other content.
    fn leaf(rest: u8) -> Vec<u8> {
        let mut page = vec![rest; 512];
        page[507..].copy_from_slice(&[3, 1, b'a', b'b', b'c']);
        page[..10].copy_from_slice(&[13, 0, 0, 0, 1, 1, 251, 0, 1, 251]);
        page
    }

    #[test]
    fn bytes_outside_of_cells_become_zero() {
        let mut page = leaf(b'x');
        assert_eq!(clear_tree_page(&mut page, false), Some((true, vec![])));
        assert_eq!(page, leaf(0));
        assert_eq!(clear_tree_page(&mut page, false), Some((false, vec![])));
    }

    #[test]
    fn of_a_free_block_the_header_alone_remains() {
        let mut page = leaf(0);
        // A block of 20 bytes before the row.
        page[487..507].copy_from_slice(b"\x00\x00\x00\x14deleted text ok!");
        page[1..3].copy_from_slice(&487_u16.to_be_bytes());
        page[5..7].copy_from_slice(&487_u16.to_be_bytes());
        let (changed, _) = clear_tree_page(&mut page, false).unwrap();
        assert!(changed);
        assert_eq!(page[487..491], [0, 0, 0, 20]);
        assert!(page[491..507].iter().all(|byte| *byte == 0));
        assert_eq!(page[507..], leaf(0)[507..]);
    }

    #[test]
    fn pages_of_another_form_stay_as_they_are() {
        for change in [(0, 0), (0, 7), (3, 200), (5, 9), (8, 9)] {
            let mut page = leaf(b'x');
            page[change.0] = change.1;
            let before = page.clone();
            assert_eq!(clear_tree_page(&mut page, false), None, "{change:?}");
            assert_eq!(page, before);
        }
    }

    #[test]
    fn a_long_payload_continues_elsewhere() {
        let mut page = leaf(0);
        let kind = Kind { is_leaf: true, is_index: false };
        let local = kind.local_bytes(2000, 512);
        let at = 512 - (3 + local + 4);
        page[at..at + 3].copy_from_slice(&[0x8f, 0x50, 1]);
        page[508..].copy_from_slice(&9_u32.to_be_bytes());
        for place in [5, 8] {
            page[place..place + 2].copy_from_slice(&(at as u16).to_be_bytes());
        }
        let (_, overflows) = clear_tree_page(&mut page, false).unwrap();
        assert_eq!(overflows, [Overflow { first_page: 9, bytes: 2000 - local }]);
    }
}
