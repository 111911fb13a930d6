//! The format of a file, by its first bytes. The name of a file is never asked for: people name
//! files by habit. A file without records is refused with its likely kind and a way out.

use memchr::memchr_iter;
use memchr::memmem::{find, find_iter};

use crate::encoding::{Encoding, TextDecoder};

/// How many of the first bytes of a file show what it is.
pub const HEAD_BYTES: usize = 1 << 20;

/// A compression.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Packing {
    Gzip,
    Zstd,
}

/// A format that can be imported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Format {
    /// One JSON value a line; an empty file, too.
    Lines,
    /// One JSON array.
    Array,
    Table,
    /// A workbook of a spreadsheet, `.xlsx`.
    Workbook,
}

/// A file of another kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("it looks like {looks_like}: {advice}")]
pub struct FormatFault {
    pub looks_like: &'static str,
    pub advice: &'static str,
}

const SAVE: &str = "save it as CSV in UTF-8";
const UNPACK: &str = "unpack it, and take the file inside";
const EXPORT: &str = "export the records as CSV or as JSON lines";

const OLE: &[u8] = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1";
/// The name of the part of an OLE file that a password protects, in UTF-16.
const ENCRYPTED: &[u8] = b"E\0n\0c\0r\0y\0p\0t\0e\0d\0P\0a\0c\0k\0a\0g\0e\0";
const GZIP: &[u8] = b"\x1f\x8b";
const ZSTD: &[u8] = b"\x28\xb5\x2f\xfd";
/// The first bytes of files that hold no records.
const OTHERS: [(&[u8], &str, &str); 13] = [
    (OLE, "an old workbook (.xls), or one with a password", SAVE),
    (b"%PDF-", "a PDF document", EXPORT),
    (b"\x89PNG\r\n\x1a\n", "an image (PNG)", EXPORT),
    (b"\xff\xd8\xff", "an image (JPEG)", EXPORT),
    (b"GIF87a", "an image (GIF)", EXPORT),
    (b"GIF89a", "an image (GIF)", EXPORT),
    (b"{\\rtf", "a text document (RTF)", EXPORT),
    (GZIP, "a gzip file inside another one", UNPACK),
    (ZSTD, "a zstd file inside another one", UNPACK),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive", UNPACK),
    (b"Rar!\x1a\x07", "a RAR archive", UNPACK),
    (b"BZh", "a bzip2 file", UNPACK),
    (b"\xfd7zXZ\x00", "an xz file", UNPACK),
];
/// The name and the content of the first part.
const ODS: &[u8] = b"mimetypeapplication/vnd.oasis.opendocument.spreadsheet";
/// The byte order marks that are read.
const MARKS: [&[u8]; 3] = [b"\xef\xbb\xbf", b"\xff\xfe", b"\xfe\xff"];

/// The compression of a file; its first four bytes show it.
pub fn packing(head: &[u8]) -> Option<Packing> {
    if head.starts_with(GZIP) {
        return Some(Packing::Gzip);
    }
    head.starts_with(ZSTD).then_some(Packing::Zstd)
}

/// Whether a file begins with a byte order mark.
pub fn has_mark(head: &[u8]) -> bool {
    MARKS.iter().any(|mark| head.starts_with(mark))
}

/// The format of a file that is not compressed, by its first bytes: `HEAD_BYTES` of them, or all.
/// `encoding` is that of a file without a byte order mark; without it, it is UTF-8.
pub fn detect(head: &[u8], encoding: Option<Encoding>) -> Result<Format, FormatFault> {
    let fault = |looks_like, advice| Err(FormatFault { looks_like, advice });
    if head.starts_with(OLE) && find(head, ENCRYPTED).is_some() {
        return fault("a workbook with a password", "save it without one, or as CSV in UTF-8");
    }
    if let Some((_, looks_like, advice)) = OTHERS.iter().find(|other| head.starts_with(other.0)) {
        return fault(looks_like, advice);
    }
    if head.starts_with(b"PK\x03\x04") {
        return if holds_workbook(head) {
            Ok(Format::Workbook)
        } else if head.get(30..).is_some_and(|name| name.starts_with(ODS)) {
            fault("a spreadsheet of another kind (.ods)", SAVE)
        } else {
            fault("a zip file", UNPACK)
        };
    }
    let mut text = String::new();
    // A fault of the text is found again, with its line, when the file is read.
    let _ = TextDecoder::new(encoding).feed(head, &mut text);
    let content = text.trim_start();
    // A text of a record may have the character U+0000, a header has none.
    let has_zero_first = content.lines().next().is_some_and(|line| line.contains('\0'));
    match content.bytes().next() {
        None | Some(b'{') => Ok(Format::Lines),
        Some(b'[') if is_array(content) => Ok(Format::Array),
        Some(b'<') => fault("HTML or XML", SAVE),
        _ if text.contains('\0') && looks_like_utf_16(head) => fault(
            "UTF-16 without a byte order mark",
            "save it as UTF-8, or name its encoding, utf-16le or utf-16be",
        ),
        _ if has_zero_first => fault("a binary file", EXPORT),
        _ => Ok(Format::Table),
    }
}

/// Whether a zip file has the folder of a workbook. A local header names each file in it.
fn holds_workbook(head: &[u8]) -> bool {
    find_iter(head, b"PK\x03\x04")
        .any(|at| head.get(at + 30..).is_some_and(|name| name.starts_with(b"xl/")))
}

/// Whether a text that begins with a bracket is JSON, and not a header such as `[id];[name]`.
fn is_array(text: &str) -> bool {
    let inside = text[1..].trim_start();
    !inside.starts_with(|first: char| first.is_alphabetic() || first == '_')
        || ["true", "false", "null"].iter().any(|word| inside.starts_with(word))
}

/// Whether about every second byte of a text is zero, as in UTF-16 of a western language.
fn looks_like_utf_16(head: &[u8]) -> bool {
    let sample = &head[..head.len().min(512)];
    let zeros = memchr_iter(0, sample).count();
    zeros * 3 > sample.len() && !sample.windows(2).any(|pair| pair == [0, 0])
}
