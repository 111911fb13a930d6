//! Finds the end of a request's head, and the bytes of its query that have to be escaped. Some
//! clients send JSON in a query as it is, and hyper refuses a target with a raw `"`, `<` or `>`
//! (other raw characters of JSON it accepts). The lines of a head end with LF or CRLF, and an empty
//! line ends it. A parser that accepts a head at all finds the same end, because it takes LF
//! nowhere else; a test compares this with the parser that hyper uses.

use memchr::memchr;

/// A reader of one head, in pieces of any size.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct HeadReader {
    place: Place,
}

/// Where in a head the next byte is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum Place {
    /// Before the first line; empty lines there are skipped.
    #[default]
    Before,
    /// In the request line after this many spaces.
    Line {
        spaces: u8,
        in_query: bool,
    },
    /// After the request line; `empty` is true until a line has a byte other than CR.
    Headers {
        empty: bool,
    },
    Ended,
}

impl HeadReader {
    /// Reads the next bytes up to the end of the head. Returns how many belong to the head, and
    /// adds to `escapes` the positions of those that have to be escaped.
    pub(super) fn read(&mut self, bytes: &[u8], escapes: &mut Vec<usize>) -> usize {
        let mut at = 0;
        while let Some(&byte) = bytes.get(at) {
            match (self.place, byte) {
                (Place::Ended, _) => break,
                (Place::Before, b'\r' | b'\n') | (Place::Headers { empty: true }, b'\r') => at += 1,
                (Place::Before, _) => self.place = Place::Line { spaces: 0, in_query: false },
                (Place::Line { spaces, in_query }, _) => {
                    self.place = read_line_byte(byte, spaces, in_query);
                    if in_query && spaces == 1 && matches!(byte, b'"' | b'<' | b'>') {
                        escapes.push(at);
                    }
                    at += 1;
                }
                (Place::Headers { empty: true }, b'\n') => {
                    self.place = Place::Ended;
                    at += 1;
                }
                (Place::Headers { .. }, _) => {
                    let line_end = memchr(b'\n', &bytes[at..]);
                    self.place = Place::Headers { empty: line_end.is_some() };
                    at = line_end.map_or(bytes.len(), |n| at + n + 1);
                }
            }
        }
        at
    }

    /// Whether no byte of the head has been read.
    pub(super) fn is_new(self) -> bool {
        self.place == Place::Before
    }

    /// Whether the head has been read to its end.
    pub(super) fn has_ended(self) -> bool {
        self.place == Place::Ended
    }
}

fn read_line_byte(byte: u8, spaces: u8, in_query: bool) -> Place {
    match byte {
        b'\n' => Place::Headers { empty: true },
        b' ' => Place::Line { spaces: spaces.saturating_add(1), in_query },
        b'?' if spaces == 1 => Place::Line { spaces, in_query: true },
        _ => Place::Line { spaces, in_query },
    }
}

/// `bytes` with those at the positions `escapes`, which ascend, percent-encoded.
pub(super) fn escaped(bytes: &[u8], escapes: &[usize]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len() + 2 * escapes.len());
    let mut from = 0;
    for &at in escapes {
        out.extend_from_slice(&bytes[from..at]);
        out.extend_from_slice(percent_encoding::percent_encode_byte(bytes[at]).as_bytes());
        from = at + 1;
    }
    out.extend_from_slice(&bytes[from..]);
    out
}
