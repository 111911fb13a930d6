//! The records of a completed task as one file in some format, read block by block as they are
//! stored. JSON lines go out untouched; for an array only the newlines between records become
//! commas, as no record contains one; tables are written in runs of lines. The invariant: the bytes
//! of a file never change, wherever reading begins, and a file that lost records ends in an error
//! and never looks whole.

use std::io;
use std::sync::Arc;

use axum::body::Bytes;
use caseload_model::ids::DomainId;
use caseload_store::{RecordKind, StoreError, Submit};
use futures_util::{Stream, stream};

use super::csv::Table;
use super::format::Format;

/// Bytes of lines that become rows at a time.
const RUN_BYTES: usize = 64 << 10;

/// Which file it is.
#[derive(Clone)]
pub(super) struct RecordFile {
    pub(super) store: Arc<dyn Submit>,
    pub(super) domain: DomainId,
    pub(super) task_id: String,
    pub(super) kind: RecordKind,
    pub(super) format: Format,
    pub(super) table: Table,
    /// Records that there are, by the counts of the task.
    pub(super) records: u32,
}

/// Where the blocks of a file begin in it, and how long it is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(super) struct Layout {
    blocks: Vec<Place>,
    pub(super) total: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    /// Asked from here, the store gives the block.
    from_index: u32,
    start: u64,
}

impl Layout {
    fn add(&mut self, from_index: u32, bytes: u64) {
        if self.blocks.last().is_none_or(|place| place.from_index != from_index) {
            self.blocks.push(Place { from_index, start: self.total });
        }
        self.total += bytes;
    }

    /// The last block that begins at or before `byte`; `None` in a file without blocks.
    fn block_of(&self, byte: u64) -> Option<Place> {
        let behind = self.blocks.partition_point(|place| place.start <= byte);
        self.blocks[..behind].last().copied()
    }
}

impl RecordFile {
    /// How long the file is, where that is known without writing it: of tables it is not.
    pub(super) async fn known_layout(&self) -> Result<Option<Layout>, StoreError> {
        let mut layout = Layout::default();
        if self.format == Format::Csv {
            return Ok(None);
        }
        for block in self.store.record_sizes(self.domain, &self.task_id, self.kind).await? {
            // A bracket or comma comes before each block of an array, its last newline goes.
            layout.add(block.first_index, block.bytes);
        }
        if self.format == Format::Json {
            layout.total += if layout.blocks.is_empty() { 2 } else { 1 };
        }
        Ok(Some(layout))
    }

    /// How long the file is, written to nowhere where that is the only way to know.
    pub(super) async fn layout(&self) -> io::Result<Layout> {
        if let Some(layout) = self.known_layout().await.map_err(|error| self.unreadable(&error))? {
            return Ok(layout);
        }
        let mut layout = Layout::default();
        let mut reader = Reader::new(self.clone());
        while let Some(piece) = reader.piece().await? {
            match reader.piece_of {
                Some(from_index) => layout.add(from_index, piece.len() as u64),
                None => layout.total += piece.len() as u64,
            }
        }
        Ok(layout)
    }

    /// The whole file, its first block read already, so that a store that fails then is an error
    /// and not a cut body.
    pub(super) async fn whole(
        self,
    ) -> Result<impl Stream<Item = io::Result<Bytes>> + Send, StoreError> {
        let mut reader = Reader::new(self);
        reader.open_block().await?;
        Ok(pieces(reader))
    }

    /// The bytes from `first` to `last`, both included, of a file laid out like this.
    pub(super) fn part(
        self,
        layout: &Layout,
        (first, last): (u64, u64),
    ) -> impl Stream<Item = io::Result<Bytes>> + Send + use<> {
        let mut reader = Reader::new(self);
        let mut at = 0;
        if let Some(place) = layout.block_of(first)
            && place.start > 0
        {
            reader.begin_at(place.from_index);
            at = place.start;
        }
        let part = Part { reader, at, first, end: last + 1 };
        stream::try_unfold(part, |mut part| async { Ok(part.piece().await?.map(|p| (p, part))) })
    }

    fn unreadable(&self, error: &StoreError) -> io::Error {
        tracing::error!(%error, task = self.task_id, "records cannot be read further");
        io::Error::other("the records cannot be read further")
    }
}

fn pieces(reader: Reader) -> impl Stream<Item = io::Result<Bytes>> + Send {
    stream::try_unfold(reader, |mut reader| async {
        Ok(reader.piece().await?.map(|piece| (piece, reader)))
    })
}

/// Reads a file from its beginning, or from one of its blocks.
struct Reader {
    file: RecordFile,
    open: Option<OpenBlock>,
    /// The block that the last piece came from; `None` where it came from behind the last one.
    piece_of: Option<u32>,
    /// Where the next block is asked for; `None` behind the last one.
    next: Option<u32>,
    /// Whether something was written before: no bracket or header comes any more.
    begun: bool,
    /// Whether what comes behind the last block was written.
    ended: bool,
    /// Lines so far, where reading began with the first.
    lines: Option<u64>,
}

struct OpenBlock {
    from_index: u32,
    lines: Bytes,
}

impl Reader {
    const fn new(file: RecordFile) -> Self {
        Self {
            file,
            open: None,
            piece_of: None,
            next: Some(0),
            begun: false,
            ended: false,
            lines: Some(0),
        }
    }

    fn begin_at(&mut self, from_index: u32) {
        (self.next, self.begun, self.lines) = (Some(from_index), true, None);
    }

    /// Reads the next block, where there is one.
    async fn open_block(&mut self) -> Result<(), StoreError> {
        self.open = None;
        let Some(from_index) = self.next else { return Ok(()) };
        let file = &self.file;
        let block = file.store.record_block(file.domain, &file.task_id, file.kind, from_index);
        let block = block.await?;
        self.next = block.as_ref().map(|block| block.next_index);
        self.open = block.map(|block| OpenBlock { from_index, lines: block.lines.into() });
        Ok(())
    }

    /// The next piece of the file. Whether it is the last one is found out before it goes out: a
    /// client that has counted all bytes asks for no more, and would miss the fault behind them.
    async fn piece(&mut self) -> io::Result<Option<Bytes>> {
        if self.open.is_none() {
            self.open_block().await.map_err(|error| self.file.unreadable(&error))?;
        }
        self.piece_of = self.open.as_ref().map(|open| open.from_index);
        let Some(open) = &mut self.open else {
            if std::mem::replace(&mut self.ended, true) {
                return Ok(None);
            }
            self.is_whole()?;
            let tail = self.tail();
            return Ok((!tail.is_empty()).then(|| tail.into()));
        };
        let run = match self.file.format {
            Format::Csv => run_of_lines(&open.lines),
            Format::Json | Format::Jsonl => open.lines.len(),
        };
        let run = open.lines.split_to(run);
        self.lines = self.lines.map(|n| n + memchr::memchr_iter(b'\n', &run).count() as u64);
        if open.lines.is_empty() {
            self.open_block().await.map_err(|error| self.file.unreadable(&error))?;
            if self.open.is_none() {
                self.is_whole()?;
            }
        }
        self.write(run).map(Some)
    }

    fn write(&mut self, lines: Bytes) -> io::Result<Bytes> {
        let begun = std::mem::replace(&mut self.begun, true);
        match self.file.format {
            Format::Jsonl => Ok(lines),
            Format::Json => {
                let mut array = Vec::with_capacity(lines.len() + 1);
                array.push(if begun { b',' } else { b'[' });
                let lines = lines.strip_suffix(b"\n").unwrap_or(&lines);
                array.extend(lines.iter().map(|byte| if *byte == b'\n' { b',' } else { *byte }));
                Ok(array.into())
            }
            Format::Csv => {
                let mut rows = Vec::with_capacity(lines.len());
                if !begun {
                    self.file.table.write_header(&mut rows);
                }
                self.file.table.write_rows(&lines, &mut rows).map_err(|_| {
                    let error = StoreError::Corrupt("a record is no record".to_owned());
                    self.file.unreadable(&error)
                })?;
                Ok(rows.into())
            }
        }
    }

    /// What comes behind the last block.
    fn tail(&self) -> Vec<u8> {
        match (self.file.format, self.begun) {
            (Format::Json, true) => b"]".to_vec(),
            (Format::Json, false) => b"[]".to_vec(),
            (Format::Csv, false) => {
                let mut header = Vec::new();
                self.file.table.write_header(&mut header);
                header
            }
            (Format::Csv, true) | (Format::Jsonl, _) => Vec::new(),
        }
    }

    /// Records may be purged while they are read: then the body must not look whole.
    fn is_whole(&self) -> io::Result<()> {
        if self.lines.is_none_or(|lines| lines == u64::from(self.file.records)) {
            return Ok(());
        }
        let found = self.lines.unwrap_or_default();
        let error = StoreError::Corrupt(format!("{found} records, not {}", self.file.records));
        Err(self.file.unreadable(&error))
    }
}

/// The length of the next whole lines, about [`RUN_BYTES`], one line at least.
fn run_of_lines(lines: &[u8]) -> usize {
    let from = lines.len().min(RUN_BYTES) - 1;
    memchr::memchr(b'\n', &lines[from..]).map_or(lines.len(), |at| from + at + 1)
}

/// Some bytes of a file.
struct Part {
    reader: Reader,
    /// Where in the file the next piece begins.
    at: u64,
    first: u64,
    end: u64,
}

impl Part {
    async fn piece(&mut self) -> io::Result<Option<Bytes>> {
        while self.at < self.end {
            let Some(piece) = self.reader.piece().await? else { return Ok(None) };
            let (start, length) = (self.at, piece.len() as u64);
            self.at += length;
            if self.at > self.first {
                let skip = self.first.saturating_sub(start);
                let keep = (self.end - start).min(length);
                return Ok(Some(piece.slice(skip as usize..keep as usize)));
            }
        }
        Ok(None)
    }
}
