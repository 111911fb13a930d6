//! The results or errors of a completed task or import as one file, read block by block as the
//! store holds them. JSON lines are sent unchanged. For an array, only the newlines between
//! records become commas, as no record contains a newline. A table is written in runs of lines.
//! Invariant: the bytes of a file are the same wherever reading begins, and a file that lost
//! records ends in an error and never looks complete.

use std::io;
use std::sync::Arc;

use axum::body::Bytes;
use caseload_model::ids::DomainId;
use caseload_model::issue_query::ErrorFilter;
use caseload_store::{RecordKind, StoreError, Submit};
use futures_util::{Stream, stream};

use super::csv::Table;
use super::error_record;
use super::result_record::without_changes;
use super::subject::Parts;
use crate::http::csv::DamagedRecord;
use crate::http::format::{Chosen, Format};
use crate::http::memory::{Memory, MemoryBudget};

/// Blocks of most files are shorter than this.
const BLOCK_BYTES: usize = 1 << 20;
/// The memory of a download: of the block that is open, of a part in another form, and of one that
/// is being sent.
pub(super) const DOWNLOAD_BYTES: usize = 3 * BLOCK_BYTES;
/// How many bytes of lines become rows at a time.
const RUN_BYTES: usize = 64 << 10;

/// A file of records.
#[derive(Clone)]
pub(super) struct RecordFile {
    pub(super) store: Arc<dyn Submit>,
    pub(super) domain: DomainId,
    /// Of the task or import, for the log.
    pub(super) id: String,
    pub(super) parts: Parts,
    pub(super) kind: RecordKind,
    pub(super) chosen: Chosen,
    pub(super) table: Table,
    pub(super) view: RecordView,
    /// The number of records, by the counts of the task or import.
    pub(super) records: u32,
    pub(super) memory: Arc<MemoryBudget>,
}

/// The records that a file has, and how it shows them. The default is all of them, unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct RecordView {
    pub(super) filter: ErrorFilter,
    pub(super) without_entry: bool,
    /// Of results that have changes: whether to leave these out.
    pub(super) without_changes: bool,
}

impl RecordView {
    /// Whether the file has every record as the store has it.
    pub(super) const fn is_whole(&self) -> bool {
        self.filter.is_empty() && !self.without_entry && !self.without_changes
    }

    /// The lines that the file shows of these.
    fn of(&self, lines: Bytes) -> Result<Bytes, DamagedRecord> {
        if self.is_whole() {
            return Ok(lines);
        }
        if self.without_changes {
            return Ok(without_changes(&lines).into());
        }
        let mut shown = Vec::new();
        for record in error_record::records(&lines) {
            if error_record::is_selected(&self.filter, record)? {
                error_record::write(record, self.without_entry, &mut shown)?;
                shown.push(b'\n');
            }
        }
        Ok(shown.into())
    }
}

/// The offsets of the blocks in a file, and its length.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Layout {
    blocks: Vec<BlockStart>,
    pub(super) total: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BlockStart {
    /// The index to read the block from the store with.
    from_index: u32,
    /// The offset of the block in the file.
    offset: u64,
}

impl Layout {
    fn add(&mut self, from_index: u32, bytes: u64) {
        if self.blocks.last().is_none_or(|block| block.from_index != from_index) {
            self.blocks.push(BlockStart { from_index, offset: self.total });
        }
        self.total += bytes;
    }

    /// The last block that begins at or before `byte`; `None` in a file without blocks.
    fn block_of(&self, byte: u64) -> Option<BlockStart> {
        let next = self.blocks.partition_point(|block| block.offset <= byte);
        self.blocks[..next].last().copied()
    }
}

impl RecordFile {
    /// The layout of the file if it is known without writing the file; that of a table is not.
    pub(super) async fn known_layout(&self) -> Result<Option<Layout>, StoreError> {
        let mut layout = Layout::default();
        if self.chosen.format == Format::Csv || !self.view.is_whole() {
            return Ok(None);
        }
        for block in self.parts.record_sizes(&*self.store, self.domain, self.kind).await? {
            // In an array, a bracket or comma precedes each block, and the last newline is left
            // out.
            layout.add(block.first_index, block.bytes);
        }
        if self.chosen.format == Format::Json {
            layout.total += if layout.blocks.is_empty() { 2 } else { 1 };
        }
        Ok(Some(layout))
    }

    /// The layout of the file. If need be, the file is written and thrown away to measure it.
    pub(super) async fn layout(&self) -> io::Result<Layout> {
        if let Some(layout) = self.known_layout().await.map_err(|error| self.unreadable(&error))? {
            return Ok(layout);
        }
        let mut layout = Layout::default();
        let mut reader = RecordReader::new(self.clone());
        while let Some(piece) = reader.piece().await? {
            match reader.piece_of {
                Some(from_index) => layout.add(from_index, piece.len() as u64),
                None => layout.total += piece.len() as u64,
            }
        }
        Ok(layout)
    }

    /// The whole file. The first block is read at once, so that an error of the store then is an
    /// error answer and not a cut body. `memory` is that of the whole download.
    pub(super) async fn whole(
        self,
        memory: Memory,
    ) -> Result<impl Stream<Item = io::Result<Bytes>> + Send, StoreError> {
        let mut reader = RecordReader::new(self);
        reader.memory = Some(memory);
        reader.open_block().await?;
        Ok(pieces(reader))
    }

    /// The bytes from `first` to `last`, both included, of a file with this layout.
    pub(super) fn range(
        self,
        layout: &Layout,
        (first, last): (u64, u64),
        memory: Memory,
    ) -> impl Stream<Item = io::Result<Bytes>> + Send + use<> {
        let mut reader = RecordReader::new(self);
        reader.memory = Some(memory);
        let mut at = 0;
        if let Some(block) = layout.block_of(first)
            && block.offset > 0
        {
            reader.begin_at(block.from_index);
            at = block.offset;
        }
        let range = FileRange { reader, at, first, end: last + 1 };
        stream::try_unfold(range, |mut range| async {
            Ok(range.piece().await?.map(|piece| (piece, range)))
        })
    }

    /// A part of the file. Most parts are within the memory of the download; a longer one, which
    /// has large entries, holds its own. It does not wait for it, because the download that waits
    /// would go on holding the part before.
    fn held(&self, bytes: Vec<u8>) -> Bytes {
        if bytes.len() <= BLOCK_BYTES {
            return bytes.into();
        }
        self.memory.overdraw(Some(self.domain), bytes.len()).hold(bytes)
    }

    fn unreadable(&self, error: &StoreError) -> io::Error {
        tracing::error!(%error, id = self.id, "the remaining records cannot be read");
        io::Error::other("the remaining records cannot be read")
    }
}

fn pieces(reader: RecordReader) -> impl Stream<Item = io::Result<Bytes>> + Send {
    stream::try_unfold(reader, |mut reader| async {
        Ok(reader.piece().await?.map(|piece| (piece, reader)))
    })
}

/// Reads a file from its beginning, or from one of its blocks.
struct RecordReader {
    file: RecordFile,
    open: Option<OpenBlock>,
    /// The block of the last piece; `None` if the piece follows the last block.
    piece_of: Option<u32>,
    /// The index to read the next block with; `None` after the last block.
    next: Option<u32>,
    /// Whether the opening bracket or the header has been written.
    begun: bool,
    /// Whether the tail of the file has been written.
    ended: bool,
    /// Lines so far, if reading began at the first line.
    lines: Option<u64>,
    /// Of the download, for as long as it is read.
    memory: Option<Memory>,
}

struct OpenBlock {
    from_index: u32,
    lines: Bytes,
}

impl RecordReader {
    fn new(file: RecordFile) -> Self {
        Self {
            file,
            open: None,
            piece_of: None,
            next: Some(0),
            begun: false,
            ended: false,
            lines: Some(0),
            memory: None,
        }
    }

    fn begin_at(&mut self, from_index: u32) {
        (self.next, self.begun, self.lines) = (Some(from_index), true, None);
    }

    /// Reads the next block, if there is one.
    async fn open_block(&mut self) -> Result<(), StoreError> {
        self.open = None;
        let Some(from_index) = self.next else { return Ok(()) };
        let file = &self.file;
        let block = file.parts.record_block(&*file.store, file.domain, file.kind, from_index);
        let block = block.await?;
        self.next = block.as_ref().map(|block| block.next_index);
        self.open = block.map(|block| OpenBlock { from_index, lines: file.held(block.lines) });
        Ok(())
    }

    /// The next piece of the file. The reader finds out whether it is the last one before it is
    /// sent: a client that has received all bytes reads no further, and would miss an error after
    /// them.
    async fn piece(&mut self) -> io::Result<Option<Bytes>> {
        loop {
            let Some(lines) = self.lines().await? else { return self.end() };
            let shown = self.file.view.of(lines).map_err(|_| self.damaged())?;
            if !shown.is_empty() {
                return self.write(shown).map(Some);
            }
        }
    }

    /// The next lines as they are stored; `None` after the last block.
    async fn lines(&mut self) -> io::Result<Option<Bytes>> {
        if self.open.is_none() {
            self.open_block().await.map_err(|error| self.file.unreadable(&error))?;
        }
        self.piece_of = self.open.as_ref().map(|open| open.from_index);
        let Some(open) = &mut self.open else { return Ok(None) };
        let run = match self.file.chosen.format {
            Format::Csv => run_of_lines(&open.lines),
            Format::Json | Format::Jsonl => open.lines.len(),
        };
        let run = open.lines.split_to(run);
        self.lines = self.lines.map(|n| n + memchr::memchr_iter(b'\n', &run).count() as u64);
        if open.lines.is_empty() {
            self.open_block().await.map_err(|error| self.file.unreadable(&error))?;
            if self.open.is_none() {
                self.check_complete()?;
            }
        }
        Ok(Some(run))
    }

    /// The piece after the last block.
    fn end(&mut self) -> io::Result<Option<Bytes>> {
        if std::mem::replace(&mut self.ended, true) {
            return Ok(None);
        }
        self.check_complete()?;
        let tail = self.tail();
        Ok((!tail.is_empty()).then(|| tail.into()))
    }

    fn damaged(&self) -> io::Error {
        self.file.unreadable(&StoreError::Corrupt("a record is not a map".to_owned()))
    }

    fn write(&mut self, lines: Bytes) -> io::Result<Bytes> {
        let begun = std::mem::replace(&mut self.begun, true);
        match self.file.chosen.format {
            Format::Jsonl => Ok(lines),
            Format::Json => {
                let mut array = Vec::with_capacity(lines.len() + 1);
                array.push(if begun { b',' } else { b'[' });
                let lines = lines.strip_suffix(b"\n").unwrap_or(&lines);
                array.extend(lines.iter().map(|byte| if *byte == b'\n' { b',' } else { *byte }));
                Ok(self.file.held(array))
            }
            Format::Csv => {
                let mut rows = Vec::with_capacity(lines.len());
                if !begun {
                    self.file.table.write_header(self.file.chosen.style, &mut rows);
                }
                let style = self.file.chosen.style;
                let written = self.file.table.write_rows(&lines, style, &mut rows);
                written.map_err(|_| self.damaged())?;
                Ok(self.file.held(rows))
            }
        }
    }

    /// The bytes after the last block.
    fn tail(&self) -> Vec<u8> {
        match (self.file.chosen.format, self.begun) {
            (Format::Json, true) => b"]".to_vec(),
            (Format::Json, false) => b"[]".to_vec(),
            (Format::Csv, false) => {
                let mut header = Vec::new();
                self.file.table.write_header(self.file.chosen.style, &mut header);
                header
            }
            (Format::Csv, true) | (Format::Jsonl, _) => Vec::new(),
        }
    }

    /// Records may be purged while they are read; the body must not look complete then.
    fn check_complete(&self) -> io::Result<()> {
        if self.lines.is_none_or(|lines| lines == u64::from(self.file.records)) {
            return Ok(());
        }
        let found = self.lines.unwrap_or_default();
        let error = StoreError::Corrupt(format!("{found} records, not {}", self.file.records));
        Err(self.file.unreadable(&error))
    }
}

/// The length of the next complete lines, about [`RUN_BYTES`], at least one line.
fn run_of_lines(lines: &[u8]) -> usize {
    let from = lines.len().min(RUN_BYTES) - 1;
    memchr::memchr(b'\n', &lines[from..]).map_or(lines.len(), |at| from + at + 1)
}

/// A range of the bytes of a file.
struct FileRange {
    reader: RecordReader,
    /// The offset of the next piece in the file.
    at: u64,
    first: u64,
    end: u64,
}

impl FileRange {
    async fn piece(&mut self) -> io::Result<Option<Bytes>> {
        while self.at < self.end {
            let Some(piece) = self.reader.piece().await? else { return Ok(None) };
            let (start, length) = (self.at, piece.len() as u64);
            self.at += length;
            if self.at > self.first {
                let skip = self.first.saturating_sub(start);
                let end = (self.end - start).min(length);
                return Ok(Some(piece.slice(skip as usize..end as usize)));
            }
        }
        Ok(None)
    }
}
