//! Bytes become text, piece by piece. A byte order mark decides about the encoding, else the caller
//! does, else it is UTF-8. Bytes that are not text refuse the file, because the text after
//! them cannot be trusted either: the fault has the line and a guess about the encoding.

use std::str::FromStr;

use encoding_rs::{DecoderResult, UTF_8, WINDOWS_1252};
use memchr::memchr_iter;

/// Bytes, from the fault on, that the guess about their encoding is made from.
const SAMPLE_BYTES: usize = 256;

/// An encoding by its label, one of those that browsers know.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Encoding(&'static encoding_rs::Encoding);

/// A label without an encoding.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "no encoding is called {0:?}; well-known ones are utf-8, utf-16le, windows-1252, iso-8859-15, \
     windows-1251, macintosh, shift_jis and gbk"
)]
pub struct UnknownEncoding(String);

impl Encoding {
    /// The name of the encoding in lower case.
    pub fn name(self) -> String {
        self.0.name().to_ascii_lowercase()
    }
}

impl FromStr for Encoding {
    type Err = UnknownEncoding;

    fn from_str(label: &str) -> Result<Self, UnknownEncoding> {
        let encoding = encoding_rs::Encoding::for_label_no_replacement(label.as_bytes());
        encoding.map(Self).ok_or_else(|| UnknownEncoding(label.to_owned()))
    }
}

/// Bytes that are not text in the encoding of the file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {}", self.detail())]
pub struct TextFault {
    pub line: u64,
    encoding: Encoding,
    guess: Guess,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Guess {
    Windows1252,
    Unknown,
    /// The file ends in the middle of a character.
    Cut,
}

impl TextFault {
    /// The likely encoding, and the way to read the file.
    pub fn detail(&self) -> String {
        let name = self.encoding.0.name();
        match self.guess {
            Guess::Windows1252 => format!(
                "these bytes are not {name} and look like windows-1252: name this encoding, or \
                 save the file as UTF-8"
            ),
            Guess::Unknown => {
                format!("these bytes are not {name}: save the file as UTF-8, or name its encoding")
            }
            Guess::Cut => {
                format!("the file ends in the middle of a character of {name}: a part is missing")
            }
        }
    }
}

/// Decodes a file. After a fault, nothing more may be fed.
pub struct TextDecoder {
    decoder: encoding_rs::Decoder,
    line: u64,
    /// The last character was a carriage return.
    after_return: bool,
    /// Some text was not ASCII, so the encoding is known.
    is_wide: bool,
    is_finished: bool,
    /// The bytes after a fault, from its first byte on.
    faulty: Option<Vec<u8>>,
    /// The last bytes of the last piece: a character may begin in one piece and end in another.
    tail: Vec<u8>,
}

impl std::fmt::Debug for TextDecoder {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("TextDecoder").field("line", &self.line).finish_non_exhaustive()
    }
}

impl TextDecoder {
    pub fn new(encoding: Option<Encoding>) -> Self {
        let decoder = encoding.map_or(UTF_8, |encoding| encoding.0).new_decoder();
        let (faulty, tail) = (None, Vec::new());
        let (after_return, is_wide, is_finished) = (false, false, false);
        Self { decoder, line: 1, after_return, is_wide, is_finished, faulty, tail }
    }

    /// The encoding of the file, after its first bytes that of its byte order mark.
    pub fn encoding(&self) -> Encoding {
        Encoding(self.decoder.encoding())
    }

    /// Appends the text of the next piece. Returns a fault when enough bytes after it are known.
    pub fn feed(&mut self, piece: &[u8], text: &mut String) -> Result<(), TextFault> {
        self.decode(piece, text, false);
        match &self.faulty {
            Some(bytes) if bytes.len() >= SAMPLE_BYTES => Err(self.fault(bytes)),
            _ => Ok(()),
        }
    }

    /// Ends the file. Once is enough, and more does no harm.
    pub fn finish(&mut self, text: &mut String) -> Result<(), TextFault> {
        if !self.is_finished {
            self.decode(&[], text, true);
        }
        self.is_finished = true;
        self.faulty.as_ref().map_or(Ok(()), |bytes| Err(self.fault(bytes)))
    }

    fn decode(&mut self, piece: &[u8], text: &mut String, is_last: bool) {
        if let Some(bytes) = &mut self.faulty {
            let room = SAMPLE_BYTES.saturating_sub(bytes.len());
            return bytes.extend_from_slice(&piece[..room.min(piece.len())]);
        }
        let before = text.len();
        let most = self.decoder.max_utf8_buffer_length_without_replacement(piece.len());
        text.reserve(most.unwrap_or(piece.len()));
        let (result, read) =
            self.decoder.decode_to_string_without_replacement(piece, text, is_last);
        self.count_lines(before, text);
        if let DecoderResult::Malformed(length, after) = result {
            let malformed = usize::from(length) + usize::from(after);
            let known = [&self.tail, &piece[..read]].concat();
            let mut bytes = known[known.len().saturating_sub(malformed)..].to_vec();
            let room = SAMPLE_BYTES.saturating_sub(bytes.len());
            bytes.extend_from_slice(&piece[read..piece.len().min(read + room)]);
            self.faulty = Some(bytes);
        }
        self.tail.extend_from_slice(&piece[piece.len().saturating_sub(8)..]);
        self.tail.drain(..self.tail.len().saturating_sub(8));
    }

    fn count_lines(&mut self, before: usize, text: &str) {
        let added = &text.as_bytes()[before..];
        let Some(&last) = added.last() else { return };
        let count = |byte| memchr_iter(byte, added).count();
        let (feeds, returns) = (count(b'\n'), count(b'\r'));
        let pairs = match returns {
            0 => 0,
            _ => added.windows(2).filter(|pair| pair == b"\r\n").count(),
        } + usize::from(self.after_return && added[0] == b'\n');
        self.line += (feeds + returns - pairs) as u64;
        self.after_return = last == b'\r';
        self.is_wide |= !added.is_ascii();
    }

    /// The fault, from its bytes and those after it.
    fn fault(&self, bytes: &[u8]) -> TextFault {
        let encoding = self.encoding();
        let guess = match bytes {
            _ if encoding.0 == UTF_8 && !self.is_wide && looks_western(bytes) => Guess::Windows1252,
            _ if bytes.len() < 4 => Guess::Cut,
            _ => Guess::Unknown,
        };
        TextFault { line: self.line, encoding, guess }
    }
}

/// Whether the bytes look like a western language in windows-1252: at most two letters with accents
/// follow one another, and most often one is between ASCII letters.
fn looks_western(bytes: &[u8]) -> bool {
    let runs = bytes.split(u8::is_ascii).map(<[u8]>::len).filter(|length| *length > 0);
    let letters = WINDOWS_1252.decode_without_bom_handling(bytes).0;
    runs.clone().all(|length| length <= 2)
        && runs.clone().filter(|length| *length == 1).count() * 2 >= runs.count()
        && !letters.chars().any(|letter| ('\u{80}'..'\u{a0}').contains(&letter))
}
