//! Skips one JSON value that arrives in pieces, by grammar alone. It stores only the open brackets,
//! so a value of any size can pass through. The caller ensures that the text is UTF-8. Law: the
//! scanner finds the same end and the same first fault as [`super::skip_value`] does in the whole
//! text.

use super::skip::plain;

/// The messages of `super::skip_value` for the same texts.
const NO_VALUE: &str = "a JSON value was expected";
const NO_VALUE_AT_END: &str = "the text ends where a JSON value was expected";
const NO_KEY: &str = "a key in double quotes was expected";
const NO_COLON: &str = "a colon was expected after the key";
const NO_CLOSE: &str = "a comma or a closing bracket was expected";
const NO_DIGIT: &str = "a digit was expected";
const NO_HEX: &str = "four hexadecimal digits were expected after \\u";
const BAD_ESCAPE: &str = "a string contains an unknown escape";
const CONTROL: &str = "a string contains a control character";
const ENDS_IN_STRING: &str = "the text ends inside a string";
const ZERO: &str = "a number begins with a superfluous zero";
const TOO_DEEP: &str = "values nest too deep";

/// Broken grammar.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScanFault {
    /// The position of the fault in the piece.
    pub at: usize,
    /// How many bytes earlier the fault begins, and the byte there: a word or an escape is wrong as
    /// a whole. All of those bytes are ASCII, and none ends a line.
    pub begins: Option<(usize, u8)>,
    pub why: &'static str,
}

/// Scans one value. White space before it is skipped.
#[derive(Debug)]
pub struct Scanner {
    state: State,
    /// The closing brackets that are still expected.
    open: Vec<u8>,
    depth_max: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    Value,
    ValueOrClose,
    Key,
    KeyOrClose,
    Colon,
    /// After a value within another one.
    After,
    Text {
        is_key: bool,
    },
    /// The bytes of an escape so far, including its backslash.
    Escape {
        is_key: bool,
        seen: usize,
    },
    Number(Number),
    Word {
        word: &'static [u8],
        seen: usize,
    },
    Done,
}

/// The part of a number that the last byte belongs to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Number {
    Minus,
    Zero,
    Whole,
    Point,
    Fraction,
    E,
    Sign,
    Exponent,
}

impl Number {
    /// The state after one more byte; `None` if the byte does not belong to the number.
    const fn with(self, byte: u8) -> Option<Self> {
        match (self, byte) {
            (Self::Minus, b'0') => Some(Self::Zero),
            (Self::Minus, b'1'..=b'9') | (Self::Whole, b'0'..=b'9') => Some(Self::Whole),
            (Self::Zero | Self::Whole, b'.') => Some(Self::Point),
            (Self::Point | Self::Fraction, b'0'..=b'9') => Some(Self::Fraction),
            (Self::Zero | Self::Whole | Self::Fraction, b'e' | b'E') => Some(Self::E),
            (Self::E, b'+' | b'-') => Some(Self::Sign),
            (Self::E | Self::Sign | Self::Exponent, b'0'..=b'9') => Some(Self::Exponent),
            _ => None,
        }
    }

    const fn is_whole(self) -> bool {
        matches!(self, Self::Zero | Self::Whole | Self::Fraction | Self::Exponent)
    }
}

impl Scanner {
    /// A scanner of one value that may nest to `depth_max` levels.
    pub const fn new(depth_max: usize) -> Self {
        Self { state: State::Value, open: Vec::new(), depth_max }
    }

    /// Takes the next piece. Returns the position of the end of the value, if it ended in this
    /// piece; the rest does not belong to the value.
    pub fn push(&mut self, bytes: &[u8]) -> Result<Option<usize>, ScanFault> {
        let mut at = 0;
        while at < bytes.len() && self.state != State::Done {
            at = match self.state {
                State::Text { is_key } => self.text(bytes, at, is_key)?,
                State::Escape { is_key, seen } => self.escape(bytes[at], at, is_key, seen)?,
                State::Number(number) => self.number(bytes[at], at, number)?,
                State::Word { word, seen } => self.word(bytes[at], at, word, seen)?,
                _ if matches!(bytes[at], b' ' | b'\n' | b'\r' | b'\t') => at + 1,
                _ => self.structure(bytes[at], at)?,
            };
        }
        Ok((self.state == State::Done).then_some(at))
    }

    /// Ends the text after the last piece.
    pub fn finish(self) -> Result<(), ScanFault> {
        let why = match self.state {
            State::Done => return Ok(()),
            State::Number(number) if number.is_whole() && self.open.is_empty() => return Ok(()),
            State::Number(number) if number.is_whole() => NO_CLOSE,
            State::Number(_) => NO_DIGIT,
            State::Value | State::ValueOrClose => NO_VALUE_AT_END,
            State::Key | State::KeyOrClose => NO_KEY,
            State::Colon => NO_COLON,
            State::After => NO_CLOSE,
            State::Text { .. } => ENDS_IN_STRING,
            State::Escape { seen, .. } => return Err(broken_escape(0, seen)),
            State::Word { word, seen } => {
                return Err(ScanFault { at: 0, begins: Some((seen, word[0])), why: NO_VALUE });
            }
        };
        Err(fault(0, why))
    }

    fn text(&mut self, bytes: &[u8], at: usize, is_key: bool) -> Result<usize, ScanFault> {
        let at = plain(bytes, at);
        match bytes.get(at) {
            None => return Ok(at),
            Some(b'"') if is_key => self.state = State::Colon,
            Some(b'"') => self.ended(),
            Some(b'\\') => self.state = State::Escape { is_key, seen: 1 },
            Some(_) => return Err(fault(at, CONTROL)),
        }
        Ok(at + 1)
    }

    fn escape(
        &mut self,
        byte: u8,
        at: usize,
        is_key: bool,
        seen: usize,
    ) -> Result<usize, ScanFault> {
        /// Backslash, `u` and four digits.
        const LONG: usize = 6;
        self.state = match (seen, byte) {
            (1, b'"' | b'\\' | b'/' | b'n' | b'r' | b't' | b'b' | b'f') => State::Text { is_key },
            (1, b'u') => State::Escape { is_key, seen: 2 },
            (2.., _) if byte.is_ascii_hexdigit() && seen + 1 == LONG => State::Text { is_key },
            (2.., _) if byte.is_ascii_hexdigit() => State::Escape { is_key, seen: seen + 1 },
            _ => return Err(broken_escape(at, seen)),
        };
        Ok(at + 1)
    }

    /// A byte that does not belong to the number ends it and is processed again.
    fn number(&mut self, byte: u8, at: usize, number: Number) -> Result<usize, ScanFault> {
        if let Some(number) = number.with(byte) {
            self.state = State::Number(number);
            return Ok(at + 1);
        }
        if !number.is_whole() {
            return Err(fault(at, NO_DIGIT));
        }
        if number == Number::Zero && byte.is_ascii_digit() {
            return Err(fault(at, ZERO));
        }
        self.ended();
        Ok(at)
    }

    fn word(
        &mut self,
        byte: u8,
        at: usize,
        word: &'static [u8],
        seen: usize,
    ) -> Result<usize, ScanFault> {
        if byte != word[seen] {
            return Err(ScanFault { at, begins: Some((seen, word[0])), why: NO_VALUE });
        }
        if seen + 1 == word.len() {
            self.ended();
        } else {
            self.state = State::Word { word, seen: seen + 1 };
        }
        Ok(at + 1)
    }

    /// A byte between texts, numbers and words.
    fn structure(&mut self, byte: u8, at: usize) -> Result<usize, ScanFault> {
        let closing = self.open.last().copied();
        let closes = matches!(self.state, State::ValueOrClose | State::KeyOrClose | State::After);
        if closes && Some(byte) == closing {
            self.open.pop();
            self.ended();
            return Ok(at + 1);
        }
        let word = |word| State::Word { word, seen: 1 };
        self.state = match (self.state, byte) {
            (State::Value | State::ValueOrClose, _) => match byte {
                b'{' | b'[' if self.open.len() >= self.depth_max => {
                    return Err(fault(at, TOO_DEEP));
                }
                b'{' => {
                    self.open.push(b'}');
                    State::KeyOrClose
                }
                b'[' => {
                    self.open.push(b']');
                    State::ValueOrClose
                }
                b'"' => State::Text { is_key: false },
                b'-' => State::Number(Number::Minus),
                b'0' => State::Number(Number::Zero),
                b'1'..=b'9' => State::Number(Number::Whole),
                b't' => word(b"true"),
                b'f' => word(b"false"),
                b'n' => word(b"null"),
                _ => return Err(fault(at, NO_VALUE)),
            },
            (State::Key | State::KeyOrClose, b'"') => State::Text { is_key: true },
            (State::Key | State::KeyOrClose, _) => return Err(fault(at, NO_KEY)),
            (State::Colon, b':') => State::Value,
            (State::Colon, _) => return Err(fault(at, NO_COLON)),
            (State::After, b',') if closing == Some(b'}') => State::Key,
            (State::After, b',') => State::Value,
            _ => return Err(fault(at, NO_CLOSE)),
        };
        Ok(at + 1)
    }

    /// A value has ended: the scanned one, or one within it.
    fn ended(&mut self) {
        self.state = if self.open.is_empty() { State::Done } else { State::After };
    }
}

const fn fault(at: usize, why: &'static str) -> ScanFault {
    ScanFault { at, begins: None, why }
}

const fn broken_escape(at: usize, seen: usize) -> ScanFault {
    let why = if seen == 1 { BAD_ESCAPE } else { NO_HEX };
    ScanFault { at, begins: Some((seen, b'\\')), why }
}
