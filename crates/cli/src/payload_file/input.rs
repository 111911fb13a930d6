//! Opens a file of entries, or standard input. Contents that begin like a gzip or zstd file are
//! decompressed, under any file name. The number of bytes read so far is that of the
//! compressed file, so that it can be compared with the file's length.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Cursor, Read, stdin};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use caseload_files::{Packing, packing};
use flate2::bufread::MultiGzDecoder;

use crate::failure::Failure;

/// Bytes that show whether a file is compressed.
const MAGIC_BYTES: u64 = 4;
/// Bytes that are read at a time.
const BUFFER_BYTES: usize = 1 << 20;

/// An opened file.
pub(crate) struct Input {
    pub(super) reader: Box<dyn BufRead + Send>,
    /// Length of the file, if it is one.
    pub(crate) length: Option<u64>,
    /// Bytes of the file read so far.
    pub(crate) read: Arc<AtomicU64>,
}

impl Input {
    /// Opens the file; `-` means standard input.
    pub(crate) fn open(path: &Path) -> Result<Self, Failure> {
        let unreadable = |error: io::Error| Failure::file("read", path, &error);
        if path == Path::new("-") {
            return Self::of(stdin(), None).map_err(unreadable);
        }
        let opened = File::open(path).map_err(unreadable)?;
        let metadata = opened.metadata().map_err(unreadable)?;
        if metadata.is_dir() {
            return Err(Failure::usage(format!("cannot read {}: it is a folder", path.display())));
        }
        let length = metadata.is_file().then_some(metadata.len());
        Self::of(opened, length).map_err(unreadable)
    }

    /// Reads from any source.
    pub(super) fn of(source: impl Read + Send + 'static, length: Option<u64>) -> io::Result<Self> {
        let read = Arc::new(AtomicU64::new(0));
        let mut source = Counting { source, read: Arc::clone(&read) };
        let mut head = Vec::new();
        source.by_ref().take(MAGIC_BYTES).read_to_end(&mut head)?;
        let packing = packing(&head);
        let whole = BufReader::with_capacity(BUFFER_BYTES, Cursor::new(head).chain(source));
        let reader: Box<dyn BufRead + Send> = match packing {
            Some(Packing::Gzip) => {
                Box::new(BufReader::with_capacity(BUFFER_BYTES, MultiGzDecoder::new(whole)))
            }
            Some(Packing::Zstd) => {
                let decoder = zstd::stream::read::Decoder::with_buffer(whole)?;
                Box::new(BufReader::with_capacity(BUFFER_BYTES, decoder))
            }
            None => Box::new(whole),
        };
        Ok(Self { reader, length, read })
    }
}

/// A source that counts the bytes read from it.
struct Counting<R> {
    source: R,
    read: Arc<AtomicU64>,
}

impl<R: Read> Read for Counting<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.source.read(buffer)?;
        self.read.fetch_add(read as u64, Ordering::Relaxed);
        Ok(read)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::io::Write;

    use flate2::write::GzEncoder;

    use super::*;

    fn text(bytes: Vec<u8>) -> io::Result<String> {
        let length = bytes.len() as u64;
        let mut input = Input::of(Cursor::new(bytes), Some(length))?;
        let mut text = String::new();
        input.reader.read_to_string(&mut text)?;
        assert_eq!(input.read.load(Ordering::Relaxed), length);
        Ok(text)
    }

    fn gzip(text: &str) -> Vec<u8> {
        let mut encoder = GzEncoder::new(Vec::new(), flate2::Compression::fast());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    }

    #[test]
    fn a_file_is_decompressed_by_its_first_bytes() {
        let lines = "{\"a\":1}\n".repeat(1000);
        let zstd = |text: &str| zstd::encode_all(text.as_bytes(), 1).unwrap();
        for packed in [
            lines.clone().into_bytes(),
            gzip(&lines),
            zstd(&lines),
            [gzip(&lines[..8]), gzip(&lines[8..])].concat(),
            [zstd(&lines[..8]), zstd(&lines[8..])].concat(),
        ] {
            assert!(text(packed).unwrap() == lines);
        }
        for short in ["", "{", "{}\n"] {
            assert_eq!(text(short.into()).unwrap(), short);
        }
        assert_eq!(text(gzip("")).unwrap(), "");
    }

    #[test]
    fn a_compressed_file_that_is_cut_is_an_error_and_not_an_end() {
        let lines = "{\"a\":1}\n".repeat(1000);
        let zstd = zstd::encode_all(lines.as_bytes(), 1).unwrap();
        for whole in [gzip(&lines), zstd] {
            let half = whole[..whole.len() / 2].to_vec();
            let mut input = Input::of(Cursor::new(half), None).unwrap();
            assert!(input.reader.read_to_string(&mut String::new()).is_err());
        }
    }
}
