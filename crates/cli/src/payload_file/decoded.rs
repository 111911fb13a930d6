//! A source of bytes in any encoding, read as one of UTF-8 without a byte order mark. A fault of
//! the text is an error of reading.

use std::io::{self, BufRead, Read};

use caseload_files::{Encoding, TextDecoder};

/// Bytes that are decoded at a time.
const PIECE_BYTES: usize = 64 << 10;

/// A decoded source.
pub(super) struct Decoded<R> {
    source: R,
    decoder: TextDecoder,
    /// Decoded text, of which the first bytes have been read.
    text: String,
    read: usize,
}

impl<R> Decoded<R> {
    pub(super) fn new(source: R, encoding: Option<Encoding>) -> Self {
        Self { source, decoder: TextDecoder::new(encoding), text: String::new(), read: 0 }
    }
}

impl<R: BufRead> BufRead for Decoded<R> {
    fn fill_buf(&mut self) -> io::Result<&[u8]> {
        while self.read == self.text.len() {
            self.text.clear();
            self.read = 0;
            let bytes = self.source.fill_buf()?;
            let taken = bytes.len().min(PIECE_BYTES);
            if taken == 0 {
                self.decoder.finish(&mut self.text).map_err(io::Error::other)?;
                break;
            }
            self.decoder.feed(&bytes[..taken], &mut self.text).map_err(io::Error::other)?;
            self.source.consume(taken);
        }
        Ok(&self.text.as_bytes()[self.read..])
    }

    fn consume(&mut self, bytes: usize) {
        self.read += bytes;
    }
}

impl<R: BufRead> Read for Decoded<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.fill_buf()?.read(buffer)?;
        self.consume(read);
        Ok(read)
    }
}
