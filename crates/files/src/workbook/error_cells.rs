//! Cells with an error of the spreadsheet as cells with its text. The library knows seven errors,
//! and it refuses a workbook with another one, such as `#SPILL!`.

use std::io::{Cursor, Read as _, Write};

use memchr::memchr;
use memchr::memmem::find;
use zip::write::SimpleFileOptions;
use zip::{CompressionMethod, ZipArchive, ZipWriter};

/// The type of a cell with an error, and of one with the text of a formula.
const ERROR_TYPE: [&[u8]; 2] = [b" t=\"e\"", b" t='e'"];
const TEXT_TYPE: &[u8] = b" t=\"str\"";

/// A copy of a workbook whose parts have been measured.
pub(super) fn as_texts(workbook: &[u8]) -> zip::result::ZipResult<Vec<u8>> {
    let mut archive = ZipArchive::new(Cursor::new(workbook))?;
    let mut copy = ZipWriter::new(Cursor::new(Vec::new()));
    let plain = SimpleFileOptions::default().compression_method(CompressionMethod::Stored);
    let mut bytes = Vec::new();
    for at in 0..archive.len() {
        let mut part = archive.by_index(at)?;
        bytes.clear();
        part.read_to_end(&mut bytes)?;
        copy.start_file(part.name()?, plain)?;
        write_part(&bytes, &mut copy)?;
    }
    Ok(copy.finish()?.into_inner())
}

fn write_part(part: &[u8], out: &mut impl Write) -> std::io::Result<()> {
    let mut rest = part;
    while let Some(start) = memchr(b'<', rest) {
        let end = memchr(b'>', &rest[start..]).map_or(rest.len(), |end| start + end);
        let tag = &rest[start..end];
        let error =
            ERROR_TYPE.iter().find_map(|error| find(tag, error).map(|at| (at, error.len())));
        match error.filter(|_| is_cell(tag)) {
            Some((at, len)) => {
                out.write_all(&rest[..start + at])?;
                out.write_all(TEXT_TYPE)?;
                out.write_all(&tag[at + len..])?;
            }
            None => out.write_all(&rest[..end])?,
        }
        rest = &rest[end..];
    }
    out.write_all(rest)
}

/// Whether a tag begins a cell, perhaps with the prefix of a namespace.
fn is_cell(tag: &[u8]) -> bool {
    let name = tag[1..].split(u8::is_ascii_whitespace).next().unwrap_or_default();
    name == b"c" || name.ends_with(b":c")
}
