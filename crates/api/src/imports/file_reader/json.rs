//! JSON lines, or one JSON array, in any encoding. UTF-8 reaches the reader of payloads as it is,
//! so that a line that is not UTF-8 fails alone; any other encoding is decoded first.

use caseload_files::{Format, TextDecoder};
use caseload_model::payload::{Block, PayloadReader};
use caseload_model::sketch::Sketch;

use super::fault::{FileFault, check_count};
use super::options::{FileFormat, FileRead, FileType, ReadOptions};

/// The byte order marks of UTF-16.
const UTF_16_MARKS: [&[u8]; 2] = [b"\xff\xfe", b"\xfe\xff"];

pub(super) struct JsonSource {
    file_type: FileType,
    decoder: Option<TextDecoder>,
    text: String,
    reader: PayloadReader,
}

impl JsonSource {
    /// The source of a file that begins with `head`.
    pub(super) fn new(options: &ReadOptions, format: Format, head: &[u8]) -> Self {
        let is_other = options.encoding.is_some_and(|encoding| encoding.name() != "utf-8")
            || UTF_16_MARKS.iter().any(|mark| head.starts_with(mark));
        let family = options.action.family();
        Self {
            file_type: if format == Format::Array { FileType::Json } else { FileType::Jsonl },
            decoder: is_other.then(|| TextDecoder::new(options.encoding)),
            text: String::new(),
            reader: PayloadReader::import(family.entry_bytes_read_max()),
        }
    }

    pub(super) fn push(&mut self, bytes: &[u8], blocks: &mut Vec<Block>) -> Result<(), FileFault> {
        match &mut self.decoder {
            None => self.reader.push(bytes, blocks)?,
            Some(decoder) => {
                decoder.feed(bytes, &mut self.text)?;
                self.reader.push(self.text.as_bytes(), blocks)?;
                self.text.clear();
            }
        }
        check_count(self.reader.count())
    }

    /// With `is_cut`, an entry that has not ended is not read.
    pub(super) fn finish(
        &mut self,
        is_cut: bool,
        blocks: &mut Vec<Block>,
    ) -> Result<FileRead, FileFault> {
        if let Some(decoder) = &mut self.decoder {
            if !is_cut {
                decoder.finish(&mut self.text)?;
            }
            self.reader.push(self.text.as_bytes(), blocks)?;
        }
        let encoding = self.decoder.as_ref().map(|decoder| decoder.encoding().name());
        let format = FileFormat {
            file_type: self.file_type,
            encoding: encoding.unwrap_or_else(|| "utf-8".to_owned()),
            delimiter: None,
            sheet: None,
        };
        let reader = std::mem::replace(&mut self.reader, PayloadReader::import(0));
        let entries = if is_cut { reader.finish_cut(blocks) } else { reader.finish(blocks)? };
        check_count(u64::from(entries))?;
        let (content_length, digest) = (0, [0; 32]);
        Ok(FileRead {
            entries,
            content_length,
            digest,
            sketch: Sketch::default(),
            format,
            columns: Vec::new(),
            header: None,
            previews: Vec::new(),
            header_faults: Vec::new(),
        })
    }
}
