//! An incremental decoder of a request body that is one JSON object. It takes the body in pieces
//! cut at any byte and passes each member on as it arrives: texts without quotes and escapes, every
//! other value with the bytes that were sent. So a payload of any size is never in memory as a
//! whole. A null member counts as absent. Broken grammar ends the decoding.

use caseload_model::json::{ScanFault, Scanner};
use caseload_model::payload::ARRAY_DEPTH_MAX;
use memchr::memchr2;

/// How many bytes of a member's name the decoder reads; no known name is longer.
const NAME_BYTES_MAX: usize = 256;
const BOM: &[u8] = b"\xef\xbb\xbf";
/// Bytes of the longest word: `false`.
const WORD_BYTES_MAX: usize = 5;

const NO_OBJECT: &str = "a JSON object was expected, such as {\"title\":\"x\"}";
const NO_KEY: &str = "a key in double quotes was expected";
const NO_COLON: &str = "a colon was expected after the key";
const NO_CLOSE: &str = "a comma or a closing brace was expected";
const TEXT_FOLLOWS: &str = "text follows the end of the object";
const CONTROL: &str = "a string contains a control character";
const BAD_ESCAPE: &str = "a string contains an unknown escape";
const NO_HEX: &str = "four hexadecimal digits were expected after \\u";
const HALF_PAIR: &str =
    "an escape is half of a surrogate pair; give both halves, or the character itself";
const ENDS_EARLY: &str = "the body ends before the object does";
const EMPTY: &str = "the body is empty";

/// The type of a member's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum ValueKind {
    Text,
    Number,
    Boolean,
    Array,
    Object,
}

/// Receives the members of an object in their order.
pub(crate) trait MemberSink {
    /// The next member begins.
    fn begin(&mut self, name: &str, kind: ValueKind);
    /// The next bytes of its value: of a text the decoded ones, otherwise those of the body.
    fn data(&mut self, bytes: &[u8]);
    /// The value is complete.
    fn end(&mut self);
}

/// Broken grammar at this byte of the body.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct BrokenJson {
    pub(crate) at: u64,
    pub(crate) why: &'static str,
}

#[derive(Debug)]
pub(crate) struct ObjectDecoder {
    state: State,
    /// Bytes of the body before the next piece.
    offset: u64,
    /// Bytes of the byte order mark so far; `None` after the start.
    bom: Option<usize>,
    name: Vec<u8>,
    escape: Escape,
    /// The first half of a surrogate pair, whose second half has to follow.
    high: Option<u16>,
    /// `true`, `false` or `null`, while it arrives.
    word: Vec<u8>,
}

#[derive(Debug)]
enum State {
    Start,
    /// After the opening bracket of an empty array, which some clients send for an empty object.
    EmptyArray,
    KeyOrEnd,
    Key,
    Name,
    Colon,
    Value,
    Text,
    Raw(Scanner),
    Word(Scanner),
    Next,
    End,
}

/// The part of an escape that the decoder has seen.
#[derive(Debug, Clone, Copy)]
enum Escape {
    None,
    Backslash,
    Unicode { digits: u8, code: u16 },
}

impl Default for ObjectDecoder {
    fn default() -> Self {
        Self {
            state: State::Start,
            offset: 0,
            bom: Some(0),
            name: Vec::new(),
            escape: Escape::None,
            high: None,
            word: Vec::new(),
        }
    }
}

impl ObjectDecoder {
    pub(crate) fn push(
        &mut self,
        bytes: &[u8],
        sink: &mut impl MemberSink,
    ) -> Result<(), BrokenJson> {
        let mut at = 0;
        while at < bytes.len() {
            at += match self.state {
                State::Name | State::Text => self.text(&bytes[at..], at, sink)?,
                State::Raw(_) | State::Word(_) => self.raw(&bytes[at..], at, sink)?,
                _ => self.structure(bytes[at], at, sink)?,
            };
        }
        self.offset += bytes.len() as u64;
        Ok(())
    }

    pub(crate) fn finish(self) -> Result<(), BrokenJson> {
        let why = match self.state {
            State::End => return Ok(()),
            State::Start => EMPTY,
            _ => ENDS_EARLY,
        };
        Err(BrokenJson { at: self.offset, why })
    }

    fn broken<T>(&self, at: usize, why: &'static str) -> Result<T, BrokenJson> {
        Err(BrokenJson { at: self.offset + at as u64, why })
    }

    /// A byte between names and values; returns how many bytes were read.
    fn structure(
        &mut self,
        byte: u8,
        at: usize,
        sink: &mut impl MemberSink,
    ) -> Result<usize, BrokenJson> {
        if let Some(seen) = self.bom {
            if byte == BOM[seen] {
                self.bom = Some(seen + 1).filter(|seen| *seen < BOM.len());
                return Ok(1);
            }
            if seen > 0 {
                return self.broken(at, NO_OBJECT);
            }
            self.bom = None;
        }
        if matches!(byte, b' ' | b'\n' | b'\r' | b'\t') {
            return Ok(1);
        }
        self.state = match (&self.state, byte) {
            (State::Start, b'{') => State::KeyOrEnd,
            (State::Start, b'[') => State::EmptyArray,
            (State::EmptyArray, b']') | (State::KeyOrEnd | State::Next, b'}') => State::End,
            (State::Start | State::EmptyArray, _) => return self.broken(at, NO_OBJECT),
            (State::KeyOrEnd | State::Key, b'"') => {
                self.name.clear();
                State::Name
            }
            (State::KeyOrEnd | State::Key, _) => return self.broken(at, NO_KEY),
            (State::Colon, b':') => State::Value,
            (State::Colon, _) => return self.broken(at, NO_COLON),
            (State::Value, _) => return Ok(self.begin(byte, sink)),
            (State::Next, b',') => State::Key,
            (State::Next, _) => return self.broken(at, NO_CLOSE),
            _ => return self.broken(at, TEXT_FOLLOWS),
        };
        Ok(1)
    }

    /// Begins the value whose first byte this is; returns how many bytes were read.
    fn begin(&mut self, byte: u8, sink: &mut impl MemberSink) -> usize {
        let name = String::from_utf8_lossy(&self.name);
        let scanner = Scanner::new(ARRAY_DEPTH_MAX);
        let kind = match byte {
            b'"' => {
                sink.begin(&name, ValueKind::Text);
                self.state = State::Text;
                return 1;
            }
            b't' | b'f' | b'n' => {
                self.word.clear();
                self.state = State::Word(scanner);
                return 0;
            }
            b'[' => ValueKind::Array,
            b'{' => ValueKind::Object,
            _ => ValueKind::Number,
        };
        sink.begin(&name, kind);
        self.state = State::Raw(scanner);
        0
    }

    /// Bytes of a value that is not a text; returns how many were read.
    fn raw(
        &mut self,
        bytes: &[u8],
        at: usize,
        sink: &mut impl MemberSink,
    ) -> Result<usize, BrokenJson> {
        let (State::Raw(scanner) | State::Word(scanner)) = &mut self.state else { return Ok(0) };
        let scanned = scanner.push(bytes);
        let is_word = matches!(self.state, State::Word(_));
        let part = match scanned {
            Ok(end) => &bytes[..end.unwrap_or(bytes.len())],
            Err(ScanFault { at: noticed, begins, why }) => {
                // The receiver may know more about the fault.
                if !is_word {
                    sink.data(&bytes[..=noticed.min(bytes.len() - 1)]);
                }
                let back = begins.map_or(0, |(back, _)| back as u64);
                let at = self.offset + (at + noticed) as u64;
                return Err(BrokenJson { at: at.saturating_sub(back), why });
            }
        };
        if is_word {
            let room = WORD_BYTES_MAX - self.word.len().min(WORD_BYTES_MAX);
            self.word.extend_from_slice(&part[..part.len().min(room)]);
        } else {
            sink.data(part);
        }
        if let Ok(Some(_)) = scanned {
            self.state = State::Next;
            if !is_word {
                sink.end();
            } else if self.word != b"null" {
                sink.begin(&String::from_utf8_lossy(&self.name), ValueKind::Boolean);
                sink.data(&self.word);
                sink.end();
            }
        }
        Ok(part.len())
    }

    /// Bytes of a name or text; returns how many were read.
    fn text(
        &mut self,
        bytes: &[u8],
        at: usize,
        sink: &mut impl MemberSink,
    ) -> Result<usize, BrokenJson> {
        let byte = bytes[0];
        match self.escape {
            Escape::Backslash => {
                self.escaped(byte, at, sink)?;
                return Ok(1);
            }
            Escape::Unicode { digits, code } => {
                let Some(digit) = char::from(byte).to_digit(16) else {
                    return self.broken(at, NO_HEX);
                };
                let code = code << 4 | digit as u16;
                self.escape = Escape::Unicode { digits: digits + 1, code };
                if digits == 3 {
                    self.escape = Escape::None;
                    self.code_unit(code, at, sink)?;
                }
                return Ok(1);
            }
            Escape::None => {}
        }
        if byte == b'\\' {
            self.escape = Escape::Backslash;
            return Ok(1);
        }
        if self.high.is_some() {
            return self.broken(at, HALF_PAIR);
        }
        if byte == b'"' {
            self.state = if matches!(self.state, State::Name) {
                State::Colon
            } else {
                sink.end();
                State::Next
            };
            return Ok(1);
        }
        let run = memchr2(b'"', b'\\', bytes).unwrap_or(bytes.len());
        if let Some(control) = bytes[..run].iter().position(|byte| *byte < 0x20) {
            self.put(&bytes[..control], sink);
            return self.broken(at + control, CONTROL);
        }
        self.put(&bytes[..run], sink);
        Ok(run)
    }

    /// The byte after a backslash.
    fn escaped(
        &mut self,
        byte: u8,
        at: usize,
        sink: &mut impl MemberSink,
    ) -> Result<(), BrokenJson> {
        self.escape = Escape::None;
        if byte == b'u' {
            self.escape = Escape::Unicode { digits: 0, code: 0 };
            return Ok(());
        }
        if self.high.is_some() {
            return self.broken(at, HALF_PAIR);
        }
        let plain = match byte {
            b'"' | b'\\' | b'/' => byte,
            b'n' => b'\n',
            b'r' => b'\r',
            b't' => b'\t',
            b'b' => 0x08,
            b'f' => 0x0c,
            _ => return self.broken(at, BAD_ESCAPE),
        };
        self.put(&[plain], sink);
        Ok(())
    }

    /// A unit of UTF-16, from an escape.
    fn code_unit(
        &mut self,
        unit: u16,
        at: usize,
        sink: &mut impl MemberSink,
    ) -> Result<(), BrokenJson> {
        let code = match (self.high.take(), unit) {
            (None, 0xd800..0xdc00) => {
                self.high = Some(unit);
                return Ok(());
            }
            (Some(high), 0xdc00..0xe000) => {
                0x1_0000 + (u32::from(high - 0xd800) << 10) + u32::from(unit - 0xdc00)
            }
            (None, unit) => u32::from(unit),
            (Some(_), _) => return self.broken(at, HALF_PAIR),
        };
        let Some(character) = char::from_u32(code) else { return self.broken(at, HALF_PAIR) };
        self.put(character.encode_utf8(&mut [0; 4]).as_bytes(), sink);
        Ok(())
    }

    fn put(&mut self, bytes: &[u8], sink: &mut impl MemberSink) {
        if matches!(self.state, State::Text) {
            sink.data(bytes);
            return;
        }
        let room = NAME_BYTES_MAX.saturating_sub(self.name.len());
        self.name.extend_from_slice(&bytes[..bytes.len().min(room)]);
    }
}

#[cfg(test)]
#[path = "json_object_tests.rs"]
mod tests;
