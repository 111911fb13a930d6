//! The one reader of files: bytes as they arrive become blocks of entries. It unpacks a file that
//! is itself gzip or zstd, finds out its format by content, and reads JSON (`json`), tables
//! (`table`) and workbooks (`workbook`). `amend` changes entries as the caller asked for.
//! `rejects` writes failed entries in the form of the file. It needs no more memory than a piece
//! and the blocks that it returns, except for a workbook, which is held
//! ([`FileReader::memory_bytes`]).
//!
//! The faults of one row are noted with its entry, and validation merges the notes when the
//! task runs. Only faults of the whole file refuse it.

mod amend;
mod fault;
mod json;
mod open_issue;
mod options;
mod rejects;
mod rows;
mod table;
#[cfg(test)]
mod tests;
mod unpacking;
mod workbook;

use caseload_files::{Format, HEAD_BYTES, detect};
use caseload_model::error_code::ErrorCode;
use caseload_model::payload::{BLOCK_BYTES, Block};
use caseload_model::sketch::Sketch;
use sha2::{Digest, Sha256};

use amend::Amendment;
pub(crate) use fault::FileFault;
use json::JsonSource;
pub(crate) use options::{FileFormat, FileRead, ReadOptions};
pub(crate) use rejects::Rejects;
use rows::BLOCKS_AT_ONCE;
use table::TableSource;
use unpacking::Unpacking;
use workbook::WorkbookSource;

/// Reads one file. After a fault, the caller drops it and all blocks.
pub(crate) struct FileReader {
    options: ReadOptions,
    unpacking: Unpacking,
    content_length: u64,
    hash: Sha256,
    source: Source,
    amendment: Option<Amendment>,
    sketch: Sketch,
}

enum Source {
    /// The first bytes, until they show the format.
    Unknown(Vec<u8>),
    Json(Box<JsonSource>),
    Table(Box<TableSource>),
    Workbook(Box<WorkbookSource>),
}

impl FileReader {
    pub(crate) fn new(options: ReadOptions) -> Self {
        let (unpacking, hash) = (Unpacking::default(), Sha256::new());
        let source = Source::Unknown(Vec::new());
        let (amendment, sketch) = (None, Sketch::default());
        Self { options, unpacking, content_length: 0, hash, source, amendment, sketch }
    }

    /// Takes the next bytes of the file as they arrived, and returns the blocks that are full. A
    /// packed piece may be much longer unpacked: while [`Self::has_more`], call this again with
    /// nothing.
    pub(crate) fn push(&mut self, piece: &[u8]) -> Result<Vec<Block>, FileFault> {
        self.unpacking.push(piece);
        let mut blocks = Vec::new();
        while !self.has_enough()
            && let Some(plain) = self.unpacking.next()?
        {
            self.read(&plain, &mut blocks)?;
            if blocks.len() >= BLOCKS_AT_ONCE {
                return Ok(self.amended(blocks));
            }
        }
        if let Source::Workbook(workbook) = &mut self.source {
            workbook.step(&mut blocks)?;
        }
        Ok(self.amended(blocks))
    }

    /// Whether bytes that were pushed wait to be read. Those beyond a preview are not read at all.
    pub(crate) fn has_more(&self) -> bool {
        let is_workbook_waiting = match &self.source {
            Source::Workbook(workbook) => workbook.has_more(),
            _ => false,
        };
        !self.has_enough() && (self.unpacking.has_more() || is_workbook_waiting)
    }

    /// Whether a preview needs no more bytes. A workbook has its rows at its end.
    pub(crate) const fn has_enough(&self) -> bool {
        self.options.is_preview
            && self.content_length >= self.options.bytes_max
            && !matches!(self.source, Source::Workbook(_))
    }

    /// The memory of the reader, apart from the blocks that it has returned. A workbook takes more
    /// after [`Self::end`].
    pub(crate) fn memory_bytes(&self) -> usize {
        let entry_bytes = self.options.action.family().entry_bytes_read_max();
        let workbook = match &self.source {
            Source::Workbook(workbook) => workbook.memory_bytes(),
            _ => 0,
        };
        entry_bytes + BLOCK_BYTES + HEAD_BYTES + usize::try_from(workbook).unwrap_or(usize::MAX)
    }

    /// Ends the bytes of the file. The rows of a workbook wait then: while [`Self::has_more`], call
    /// [`Self::push`] with nothing, and [`Self::finish`] at last.
    pub(crate) fn end(&mut self) -> Result<Vec<Block>, FileFault> {
        let mut blocks = Vec::new();
        self.unpacking.end();
        while !self.has_enough()
            && let Some(plain) = self.unpacking.next()?
        {
            self.read(&plain, &mut blocks)?;
        }
        if !self.has_enough() {
            self.unpacking.finish()?;
        }
        if let Source::Unknown(head) = &mut self.source {
            let head = std::mem::take(head);
            self.begin(&head, &mut blocks)?;
        }
        if let Source::Workbook(workbook) = &mut self.source {
            workbook.end()?;
        }
        Ok(self.amended(blocks))
    }

    /// Ends the file: the last blocks, and the findings.
    pub(crate) fn finish(mut self) -> Result<(Vec<Block>, FileRead), FileFault> {
        let mut ended = self.end()?;
        let is_cut = self.has_enough();
        let mut blocks = Vec::new();
        let found = match &mut self.source {
            Source::Unknown(_) => unreachable!("the format was found"),
            Source::Json(json) => json.finish(is_cut, &mut blocks)?,
            Source::Table(table) => table.finish(is_cut, &mut blocks)?,
            Source::Workbook(workbook) => workbook.finish(&mut blocks)?,
        };
        let (content_length, digest) = (self.content_length, self.hash.clone().finalize().into());
        ended.extend(self.amended(blocks));
        let sketch = self.sketch;
        Ok((ended, FileRead { content_length, digest, sketch, ..found }))
    }

    fn read(&mut self, plain: &[u8], blocks: &mut Vec<Block>) -> Result<(), FileFault> {
        let bytes_max = match (&self.source, self.options.is_preview) {
            (Source::Workbook(_), true) => u64::MAX,
            _ => self.options.bytes_max,
        };
        let room = usize::try_from(bytes_max - self.content_length).unwrap_or(usize::MAX);
        let plain = if self.options.is_preview { &plain[..plain.len().min(room)] } else { plain };
        self.content_length += plain.len() as u64;
        if self.content_length > bytes_max {
            let detail = format!(
                "the file has more than {} bytes, counted unpacked; split it into several files",
                self.options.bytes_max
            );
            return Err(FileFault::new(ErrorCode::TooLarge, detail));
        }
        self.hash.update(plain);
        match &mut self.source {
            Source::Unknown(head) => {
                head.extend_from_slice(plain);
                if head.len() >= HEAD_BYTES {
                    let head = std::mem::take(head);
                    self.begin(&head, blocks)?;
                }
                Ok(())
            }
            Source::Json(json) => json.push(plain, blocks),
            Source::Table(table) => table.push(plain, blocks),
            Source::Workbook(workbook) => workbook.push(plain),
        }
    }

    /// Chooses the format by the first bytes, and reads them.
    fn begin(&mut self, head: &[u8], blocks: &mut Vec<Block>) -> Result<(), FileFault> {
        if head.is_empty() {
            return Err(FileFault::new(ErrorCode::EmptyPayload, "the file is empty".to_owned()));
        }
        // However the file is cut, the same bytes decide.
        let sample = &head[..head.len().min(HEAD_BYTES)];
        let format = detect(sample, self.options.encoding).map_err(|fault| {
            FileFault::unreadable(format!("the file cannot be imported: {fault}"))
        })?;
        self.amendment = Amendment::of(&self.options, format);
        self.source = match format {
            Format::Lines | Format::Array => {
                Source::Json(Box::new(JsonSource::new(&self.options, format, head)))
            }
            Format::Table => Source::Table(Box::new(TableSource::new(&self.options))),
            Format::Workbook => Source::Workbook(Box::new(WorkbookSource::new(&self.options))),
        };
        match &mut self.source {
            Source::Unknown(_) => Ok(()),
            Source::Json(json) => json.push(head, blocks),
            Source::Table(table) => table.push(head, blocks),
            Source::Workbook(workbook) => workbook.push(head),
        }
    }

    /// The blocks as they are sent.
    fn amended(&mut self, mut blocks: Vec<Block>) -> Vec<Block> {
        if let Some(amendment) = &self.amendment {
            blocks = blocks.iter().map(|block| amendment.apply(block)).collect();
        }
        for block in &blocks {
            self.sketch.add(self.options.action, block);
        }
        blocks
    }
}
