//! The size of a workbook, before the library reads it: each part is unpacked once and dropped.

use std::io::{Cursor, Read as _};

use memchr::memmem::find_iter;
use zip::ZipArchive;

use super::fault::{BROKEN, WORKBOOK_BYTES_MAX, WorkbookFault};

/// A workbook that unpacks to more times its size is refused if it is not small.
const RATIO_MAX: u64 = 200;
/// Unpacked bytes that no ratio is asked of.
const SMALL_BYTES: u64 = 4 << 20;
/// Parts of a workbook of thousands of sheets.
const PARTS_MAX: usize = 10_000;
/// Bytes that an empty text of the table of texts takes in memory for each of its own.
const TEXT_FACTOR: u64 = 6;

/// The size of a workbook by its directory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WorkbookSize {
    pub unpacked: u64,
}

impl WorkbookSize {
    /// Reads the directory of a workbook that is held whole.
    pub fn of(workbook: &[u8]) -> Result<Self, WorkbookFault> {
        let mut archive = open(workbook)?;
        let mut unpacked = 0_u64;
        for at in 0..archive.len() {
            let part = archive.by_index_raw(at).map_err(|_| BROKEN)?;
            if part.encrypted() {
                return Err(WorkbookFault::Encrypted);
            }
            unpacked = unpacked.saturating_add(part.size());
        }
        check_size(unpacked, workbook.len())?;
        Ok(Self { unpacked })
    }

    /// The most memory that reading the workbook takes, the workbook itself aside: its table of
    /// texts, a part while it is measured, and the texts of the sheet.
    pub const fn memory_bytes(self) -> u64 {
        self.unpacked * TEXT_FACTOR + WORKBOOK_BYTES_MAX
    }
}

/// Unpacks each part, and drops it.
pub(super) fn check(workbook: &[u8]) -> Result<(), WorkbookFault> {
    WorkbookSize::of(workbook)?;
    let mut archive = open(workbook)?;
    let (mut unpacked, mut bytes) = (0, Vec::new());
    for at in 0..archive.len() {
        let part = archive.by_index(at).map_err(|_| BROKEN)?;
        bytes.clear();
        let room = WORKBOOK_BYTES_MAX.saturating_sub(unpacked) + 1;
        part.take(room).read_to_end(&mut bytes).map_err(|_| BROKEN)?;
        unpacked += bytes.len() as u64;
        check_size(unpacked, workbook.len())?;
        check_counts(&bytes)?;
    }
    Ok(())
}

fn open(workbook: &[u8]) -> Result<ZipArchive<Cursor<&[u8]>>, WorkbookFault> {
    let archive = ZipArchive::new(Cursor::new(workbook)).map_err(|_| BROKEN)?;
    if archive.len() > PARTS_MAX {
        return Err(WorkbookFault::TooLarge(format!("more than {PARTS_MAX} parts")));
    }
    Ok(archive)
}

fn check_size(unpacked: u64, packed: usize) -> Result<(), WorkbookFault> {
    if unpacked > WORKBOOK_BYTES_MAX {
        let detail = format!("more than {WORKBOOK_BYTES_MAX} bytes unpacked");
        return Err(WorkbookFault::TooLarge(detail));
    }
    if unpacked > SMALL_BYTES && unpacked / RATIO_MAX > packed as u64 {
        let detail = format!("more than {RATIO_MAX} times its size unpacked");
        return Err(WorkbookFault::TooLarge(detail));
    }
    Ok(())
}

/// Checks the numbers of texts that a part announces. The library makes room for as many at once.
fn check_counts(part: &[u8]) -> Result<(), WorkbookFault> {
    const NAME: &[u8] = b"uniqueCount";
    let lies = find_iter(part, NAME).any(|at| {
        let rest = part[at + NAME.len()..].iter();
        let digits = rest.skip_while(|byte| !byte.is_ascii_digit() && **byte != b'>');
        let digits = digits.take_while(|byte| byte.is_ascii_digit());
        let number = digits.fold(0_usize, |number, digit| {
            number.saturating_mul(10).saturating_add(usize::from(digit - b'0'))
        });
        number > part.len()
    });
    // A part in UTF-16 could hide such a number.
    let is_wide =
        [&b"\xff\xfe"[..], b"\xfe\xff", b"<\0", b"\0<"].iter().any(|s| part.starts_with(s));
    if lies || is_wide {
        let why = "a part has other texts than it says, or is in UTF-16";
        return Err(WorkbookFault::Damaged(why));
    }
    Ok(())
}
