//! Tests of the reader of files: kinds of files that people send, the same bytes cut anywhere,
//! hostile ones, and rejects that are read back.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

mod amendments;
mod hostile;
mod issues;
mod kinds;
mod rejected;
mod workbooks;

use std::io::Write as _;

use caseload_model::ids::DomainName;
use caseload_model::issue::DeskAddresses;
use caseload_model::payload::{Block, Entry};
use caseload_model::profile::{OtherColumns, Placeholders};
use caseload_model::task::Action;
use caseload_store::{ChunkWork, EntryContext};

use super::super::file_form::FileForm;
use super::*;

fn options(action: Action) -> ReadOptions {
    let context = EntryContext {
        domain: DomainName::parse("shop").unwrap(),
        addresses: DeskAddresses::default(),
        placeholders: Placeholders::default(),
    };
    ReadOptions {
        action,
        columns: Vec::new(),
        others: OtherColumns::Refuse,
        leave_out: false,
        separator: "|".to_owned(),
        delimiter: None,
        encoding: None,
        timezone: None,
        null: None,
        sheet: None,
        context,
        bytes_max: 64 << 20,
        is_preview: false,
    }
}

fn upsert() -> ReadOptions {
    options(Action::UpsertCoreProfiles)
}

type Read = Result<(Vec<Block>, FileRead), FileFault>;

fn read_pieces<'p>(options: &ReadOptions, pieces: impl IntoIterator<Item = &'p [u8]>) -> Read {
    let mut reader = FileReader::new(options.clone());
    let mut blocks = Vec::new();
    for piece in pieces {
        blocks.extend(reader.push(piece)?);
        while reader.has_more() {
            blocks.extend(reader.push(&[])?);
        }
    }
    let (last, read) = reader.finish()?;
    blocks.extend(last);
    Ok((blocks, read))
}

fn read(options: &ReadOptions, bytes: impl AsRef<[u8]>) -> Read {
    read_pieces(options, [bytes.as_ref()])
}

fn refused(options: &ReadOptions, bytes: impl AsRef<[u8]>) -> FileFault {
    read(options, bytes).unwrap_err()
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

fn each_entry(blocks: &[Block]) -> impl Iterator<Item = (&Block, &Entry)> {
    blocks.iter().flat_map(|block| block.entries.iter().map(move |entry| (block, entry)))
}

/// Index, line and entry of each.
fn entries(blocks: &[Block]) -> Vec<(u32, u32, String)> {
    each_entry(blocks)
        .map(|(block, entry)| (entry.index, entry.line, text(block.bytes_of(entry))))
        .collect()
}

/// The result of validation for each entry: its line, and the codes of its faults.
fn outcomes(options: &ReadOptions, blocks: &[Block]) -> Vec<(u32, Vec<&'static str>)> {
    let mut outcomes = Vec::new();
    for block in blocks {
        let work = ChunkWork::prepare(options.action, &options.context, block);
        outcomes.extend((0..work.len()).map(|at| {
            let faults = work.findings(at).0.map_or(&[][..], |found| &found.faults);
            (work.entry(at).line, faults.iter().map(|fault| fault.code.as_str()).collect())
        }));
    }
    outcomes
}

/// The JSON text of the notes of each entry that has some.
fn notes(blocks: &[Block]) -> Vec<String> {
    each_entry(blocks).filter_map(|(block, entry)| block.notes_of(entry).map(text)).collect()
}

fn gzip(plain: &[u8]) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(plain).unwrap();
    encoder.finish().unwrap()
}

fn zstd(plain: &[u8]) -> Vec<u8> {
    zstd::encode_all(plain, 1).unwrap()
}

fn utf_16(text: &str, big: bool) -> Vec<u8> {
    let unit = |unit: u16| if big { unit.to_be_bytes() } else { unit.to_le_bytes() };
    "\u{feff}".encode_utf16().chain(text.encode_utf16()).flat_map(unit).collect()
}
