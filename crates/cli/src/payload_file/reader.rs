//! Reads the parts of a file on a thread of its own, one part ahead of the caller: a read of
//! standard input may wait for ever, and a signal must still end the command.

use std::io::{self, BufRead, Cursor, Read};

use caseload_files::{Format, HEAD_BYTES, detect, has_mark};
use tokio::task::{JoinHandle, spawn_blocking};

use super::array::ArraySplitter;
use super::csv::{CsvSplitter, TableForm};
use super::decoded::Decoded;
use super::input::Input;
use super::lines::LineSplitter;
use super::part::{Part, PartLimits, SplitError};
use super::renames::rename_in_lines;

type Source = Box<dyn BufRead + Send>;
type ReadPart = (Splitter, Result<Option<Part>, SplitError>);

/// The parts of a file.
pub(crate) struct PartReader {
    /// The part that is being read; `None` after the last one.
    reading: Option<JoinHandle<ReadPart>>,
}

/// The forms that a file may have.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Forms {
    LinesOrArray,
    /// JSON lines, one JSON array, or a table.
    Profiles(TableForm),
}

/// A file in one of its forms, or before its form is known.
enum Splitter {
    Unknown { source: Source, limits: PartLimits, forms: Forms },
    Lines(LineSplitter<Source>),
    RenamedLines(LineSplitter<Source>, Vec<(String, String)>),
    Array(ArraySplitter<Source>),
    Table(Box<CsvSplitter<Source>>),
}

impl PartReader {
    /// Starts to read.
    pub(crate) fn start(input: Input, limits: PartLimits, forms: Forms) -> Self {
        let splitter = Splitter::Unknown { source: input.reader, limits, forms };
        Self { reading: Some(spawn_blocking(|| splitter.read())) }
    }

    /// The next part; `None` at the end of the file.
    pub(crate) async fn next(&mut self) -> Result<Option<Part>, SplitError> {
        let Some(reading) = self.reading.take() else { return Ok(None) };
        let (splitter, part) =
            reading.await.unwrap_or_else(|stopped| std::panic::resume_unwind(stopped.into_panic()));
        if matches!(part, Ok(Some(_))) {
            self.reading = Some(spawn_blocking(|| splitter.read()));
        }
        part
    }
}

impl Splitter {
    fn read(mut self) -> ReadPart {
        let part = self.next();
        (self, part)
    }

    fn next(&mut self) -> Result<Option<Part>, SplitError> {
        loop {
            match self {
                Self::Lines(lines) => return lines.next(),
                Self::RenamedLines(lines, renames) => {
                    let part = lines.next()?;
                    return Ok(part.map(|part| Part {
                        bytes: rename_in_lines(&part.bytes, renames),
                        ..part
                    }));
                }
                Self::Array(array) => return array.next(),
                Self::Table(table) => return table.next(),
                Self::Unknown { source, limits, forms } => {
                    let source = std::mem::replace(source, Box::new(io::empty()));
                    *self = Self::of_form(source, *limits, forms)?;
                }
            }
        }
    }

    /// Finds out the form of a file by its first bytes.
    fn of_form(mut source: Source, limits: PartLimits, forms: &Forms) -> Result<Self, SplitError> {
        let table = match forms {
            Forms::Profiles(form) => Some(form),
            Forms::LinesOrArray => None,
        };
        let encoding = table.and_then(|form| form.options.encoding);
        let mut head = Vec::new();
        source.by_ref().take(HEAD_BYTES as u64).read_to_end(&mut head)?;
        let format = detect(&head, encoding)?;
        let is_plain = encoding.is_none() && !has_mark(&head);
        let mut whole: Source = Box::new(Cursor::new(head).chain(source));
        if let (Format::Table, Some(form)) = (format, table) {
            return Ok(Self::Table(Box::new(CsvSplitter::new(whole, form, limits))));
        }
        if !is_plain {
            whole = Box::new(Decoded::new(whole, encoding));
        }
        let renames = table.map(|form| form.renames.clone()).filter(|renames| !renames.is_empty());
        match (format, renames) {
            (Format::Workbook, _) => Err(SplitError::Workbook),
            (Format::Array, Some(_)) => Err(SplitError::ArrayToRename),
            (Format::Array, None) => Ok(Self::Array(ArraySplitter::new(whole, limits))),
            // Of a table, the server refuses each line, because it is not JSON.
            (Format::Lines | Format::Table, None) => {
                Ok(Self::Lines(LineSplitter::new(whole, limits)))
            }
            (Format::Lines | Format::Table, Some(renames)) => {
                Ok(Self::RenamedLines(LineSplitter::new(whole, limits), renames))
            }
        }
    }
}
