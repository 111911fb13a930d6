//! Reads the parts of a file on a thread of its own, one part ahead of the caller: a read of
//! standard input may wait for ever, and a signal must still end the command.

use std::io::{self, BufRead, Cursor, Read};

use tokio::task::{JoinHandle, spawn_blocking};

use super::array::ArraySplitter;
use super::input::Input;
use super::lines::LineSplitter;
use super::part::{Part, PartLimits, SplitError};

const BOM: &[u8] = b"\xef\xbb\xbf";

type Source = Box<dyn BufRead + Send>;
type ReadPart = (Splitter, Result<Option<Part>, SplitError>);

/// The parts of a file.
pub(crate) struct PartReader {
    /// The part that is being read; `None` after the last one.
    reading: Option<JoinHandle<ReadPart>>,
}

/// A file in one of its two forms, or before its form is known.
enum Splitter {
    Unknown { source: Source, limits: PartLimits, arrays: bool },
    Lines(LineSplitter<Source>),
    Array(ArraySplitter<Source>),
}

impl PartReader {
    /// Starts to read. If `arrays`, the file may also be one JSON array.
    pub(crate) fn start(input: Input, limits: PartLimits, arrays: bool) -> Self {
        let splitter = Splitter::Unknown { source: input.reader, limits, arrays };
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
                Self::Array(array) => return array.next(),
                Self::Unknown { source, limits, arrays } => {
                    let limits = *limits;
                    let begun: Source = Box::new(io::empty());
                    let (start, is_array) = blank_start(source)?;
                    if is_array && !*arrays {
                        return Err(SplitError::Array);
                    }
                    let rest = std::mem::replace(source, begun);
                    *self = if is_array {
                        Self::Array(ArraySplitter::new(rest, limits))
                    } else {
                        let whole: Source = Box::new(Cursor::new(start).chain(rest));
                        Self::Lines(LineSplitter::new(whole, limits))
                    };
                }
            }
        }
    }
}

/// Takes the byte order mark and the white space at the start of a file, and returns whether an
/// opening bracket follows them.
fn blank_start(source: &mut Source) -> io::Result<(Vec<u8>, bool)> {
    let mut start = Vec::new();
    loop {
        let Some(&byte) = source.fill_buf()?.first() else { return Ok((start, false)) };
        let is_bom = start.len() < BOM.len() && BOM.starts_with(&start) && byte == BOM[start.len()];
        if !is_bom && !byte.is_ascii_whitespace() {
            return Ok((start, byte == b'['));
        }
        start.push(byte);
        source.consume(1);
    }
}
