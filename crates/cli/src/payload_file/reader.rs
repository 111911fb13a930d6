//! Reads the parts of a file on a thread of its own, one part ahead of the caller: a read of
//! standard input may wait for ever, and a signal must still end the command.

use std::io::{self, BufRead, Cursor, Read};

use tokio::task::{JoinHandle, spawn_blocking};

use super::array::ArraySplitter;
use super::csv::{AfterFirst, CsvSplitter, TableForm};
use super::input::Input;
use super::lines::LineSplitter;
use super::part::{Part, PartLimits, SplitError};
use super::renames::rename_in_lines;

const BOM: &[u8] = b"\xef\xbb\xbf";

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
    Table(Box<CsvSplitter<AfterFirst<Source>>>),
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

    /// Finds out the form of a file by its first byte that is not blank.
    fn of_form(mut source: Source, limits: PartLimits, forms: &Forms) -> Result<Self, SplitError> {
        let (start, first) = blank_start(&mut source)?;
        if first == Some(b'[') {
            return match forms {
                Forms::Profiles(form) if !form.renames.is_empty() => Err(SplitError::ArrayToRename),
                _ => Ok(Self::Array(ArraySplitter::new(source, limits))),
            };
        }
        if let (Forms::Profiles(form), Some(first)) = (forms, first)
            && first != b'{'
        {
            let start = start.strip_prefix(BOM).unwrap_or(&start).to_vec();
            let whole: Source = Box::new(Cursor::new(start).chain(source));
            return Ok(Self::Table(Box::new(CsvSplitter::start(whole, form, limits)?)));
        }
        let whole: Source = Box::new(Cursor::new(start).chain(source));
        let lines = LineSplitter::new(whole, limits);
        Ok(match forms {
            Forms::Profiles(form) if !form.renames.is_empty() => {
                Self::RenamedLines(lines, form.renames.clone())
            }
            _ => Self::Lines(lines),
        })
    }
}

/// Takes the byte order mark and the white space at the start of a file, and returns the byte that
/// follows them.
fn blank_start(source: &mut Source) -> io::Result<(Vec<u8>, Option<u8>)> {
    let mut start = Vec::new();
    loop {
        let Some(&byte) = source.fill_buf()?.first() else { return Ok((start, None)) };
        let is_bom = start.len() < BOM.len() && BOM.starts_with(&start) && byte == BOM[start.len()];
        if !is_bom && !byte.is_ascii_whitespace() {
            return Ok((start, Some(byte)));
        }
        start.push(byte);
        source.consume(1);
    }
}
