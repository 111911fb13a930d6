//! Tables: bytes in pieces become rows. The first 64 KiB of text wait until the delimiter is known.

mod delimiter;
mod record;
mod rows;

pub use record::{Record, Row, RowFault};
pub use rows::{COLUMNS_MAX, OPEN_QUOTE, ROW_BYTES_MAX, TOO_LARGE};

use crate::encoding::{Encoding, TextDecoder, TextFault};
use rows::Rows;

/// Bytes of text in which the delimiter is looked for.
const SAMPLE_BYTES: usize = 64 << 10;

/// How a table is read.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TableOptions {
    /// The byte between two cells, an ASCII character; `None` if the first rows show it.
    pub delimiter: Option<u8>,
    /// The encoding of a file without a byte order mark; `None` for UTF-8.
    pub encoding: Option<Encoding>,
}

/// Reads a table. After a fault of the text, nothing more may be fed.
#[derive(Debug)]
pub struct TableReader {
    decoder: TextDecoder,
    given: Option<u8>,
    /// Text that has been decoded and not been read: a piece, or the sample.
    text: String,
    rows: Option<Rows>,
    delimiter: Option<u8>,
}

impl TableReader {
    pub fn new(options: TableOptions) -> Self {
        let TableOptions { delimiter: given, encoding } = options;
        let decoder = TextDecoder::new(encoding);
        Self { decoder, given, text: String::new(), rows: None, delimiter: None }
    }

    /// Takes the next piece of the file, and gives the rows that end in it.
    pub fn feed(
        &mut self,
        piece: &[u8],
        each: &mut dyn FnMut(Record<'_>),
    ) -> Result<(), TextFault> {
        self.decoder.feed(piece, &mut self.text)?;
        if self.rows.is_none() && self.text.len() >= SAMPLE_BYTES {
            self.start();
        }
        self.read(each);
        Ok(())
    }

    /// Ends the file, and gives its last row.
    pub fn finish(&mut self, each: &mut dyn FnMut(Record<'_>)) -> Result<(), TextFault> {
        self.decoder.finish(&mut self.text)?;
        if self.rows.is_none() {
            self.start();
        }
        self.read(each);
        if let Some(rows) = &mut self.rows {
            rows.finish(each);
        }
        Ok(())
    }

    /// The byte between two cells, when it is known.
    pub const fn delimiter(&self) -> Option<u8> {
        self.delimiter
    }

    /// The encoding of the file, when it is known.
    pub fn encoding(&self) -> Encoding {
        self.decoder.encoding()
    }

    /// How many bytes of text the search for rows passed so far: at most twice those of the file.
    pub fn bytes_passed(&self) -> u64 {
        self.rows.as_ref().map_or(0, Rows::passed)
    }

    fn read(&mut self, each: &mut dyn FnMut(Record<'_>)) {
        if let Some(rows) = &mut self.rows {
            rows.feed(&self.text, each);
            self.text.clear();
        }
    }

    /// Finds the delimiter in the sample, which is the same however the file was cut.
    fn start(&mut self) {
        let sample = &self.text[..self.text.floor_char_boundary(SAMPLE_BYTES)];
        let named = delimiter::named(sample);
        let (found, length) = match named {
            Some((delimiter, length)) => (Some(delimiter), length),
            None => (None, 0),
        };
        let delimiter = self.given.or(found).unwrap_or_else(|| delimiter::found(sample));
        self.text.drain(..length);
        self.delimiter = Some(delimiter);
        self.rows = Some(Rows::new(delimiter, 1 + u64::from(length > 0)));
    }
}
