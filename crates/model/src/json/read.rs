//! The reader: one pass over the bytes, borrowing every string without escapes. UTF-8 is checked
//! once for the whole text. Reading stops at broken grammar; faults of content (a key twice, a
//! lone surrogate) are gathered and reading goes on.

use std::borrow::Cow;

use super::{DEPTH_MAX, Json, pointer_push};

/// What is wrong with a text that was to be JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// The bytes are no UTF-8.
    Utf8,
    /// The grammar is broken, or a rule on content (keys, surrogates, depth) is.
    Json,
}

/// One fault, with the place where it stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub kind: FaultKind,
    /// RFC 6901 pointer to the value, where the text could be read that far.
    pub pointer: Option<String>,
    /// Byte offset in the text.
    pub offset: usize,
    /// A sentence for the person who wrote the text.
    pub detail: String,
}

/// Reads one JSON text. All faults of content are returned at once.
pub fn parse(bytes: &[u8]) -> Result<Json<'_>, Vec<Fault>> {
    let text = std::str::from_utf8(bytes).map_err(|e| {
        vec![Fault {
            kind: FaultKind::Utf8,
            pointer: None,
            offset: e.valid_up_to(),
            detail: format!("the bytes are no UTF-8 from byte {} on", e.valid_up_to()),
        }]
    })?;
    let mut reader = Reader { text, bytes, at: 0, path: Vec::new(), faults: Vec::new() };
    match reader.document() {
        Ok(json) if reader.faults.is_empty() => Ok(json),
        Ok(_) => Err(reader.faults),
        Err(broken) => {
            reader.faults.push(broken);
            Err(reader.faults)
        }
    }
}

/// The length of the JSON value at the start of `bytes`, by grammar alone: neither UTF-8, nor
/// keys, nor surrogates are looked at, and nesting is bounded by `depth_max` only.
pub fn skip_value(bytes: &[u8], depth_max: usize) -> Result<usize, (usize, &'static str)> {
    skip::value(bytes, depth_max)
}

mod skip;

/// A step on the way to the value being read.
enum Step<'a> {
    Key(Cow<'a, str>),
    Item(usize),
}

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    path: Vec<Step<'a>>,
    faults: Vec<Fault>,
}

impl<'a> Reader<'a> {
    fn document(&mut self) -> Result<Json<'a>, Fault> {
        self.space();
        let json = self.value()?;
        self.space();
        if self.at < self.bytes.len() {
            return Err(self.broken("text follows the end of the JSON value"));
        }
        Ok(json)
    }

    fn value(&mut self) -> Result<Json<'a>, Fault> {
        match self.peek() {
            Some(b'{') => self.object(),
            Some(b'[') => self.array(),
            Some(b'"') => Ok(Json::String(self.string()?)),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') => self.word("null", Json::Null),
            Some(_) => Err(self.broken("a JSON value was expected")),
            None => Err(self.broken("the text ends where a JSON value was expected")),
        }
    }

    fn object(&mut self) -> Result<Json<'a>, Fault> {
        self.enter()?;
        let mut members: Vec<(Cow<'a, str>, Json<'a>)> = Vec::new();
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Json::Object(members));
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(self.broken("a key in double quotes was expected"));
            }
            let key_at = self.at;
            let key = self.string()?;
            self.space();
            self.expect(b':', "a colon was expected after the key")?;
            self.space();
            self.path.push(Step::Key(key.clone()));
            if has_key(&members, &key) {
                self.fault(key_at, format!("the key {key:?} stands twice in one map"));
            }
            let value = self.value()?;
            self.path.pop();
            members.push((key, value));
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b'}') => break,
                _ => return Err(self.broken("a comma or a closing brace was expected")),
            }
        }
        self.at += 1;
        Ok(Json::Object(members))
    }

    fn array(&mut self) -> Result<Json<'a>, Fault> {
        self.enter()?;
        let mut items = Vec::new();
        self.space();
        if self.peek() == Some(b']') {
            self.at += 1;
            return Ok(Json::Array(items));
        }
        loop {
            self.space();
            self.path.push(Step::Item(items.len()));
            items.push(self.value()?);
            self.path.pop();
            self.space();
            match self.peek() {
                Some(b',') => self.at += 1,
                Some(b']') => break,
                _ => return Err(self.broken("a comma or a closing bracket was expected")),
            }
        }
        self.at += 1;
        Ok(Json::Array(items))
    }

    /// Steps over an opening bracket or brace.
    fn enter(&mut self) -> Result<(), Fault> {
        if self.path.len() >= DEPTH_MAX {
            return Err(self.broken(&format!("values nest deeper than {DEPTH_MAX} levels")));
        }
        self.at += 1;
        Ok(())
    }

    fn number(&mut self) -> Result<Json<'a>, Fault> {
        let start = self.at;
        match skip::number(self.bytes, start) {
            Ok(end) => {
                self.at = end;
                Ok(Json::Number(&self.text[start..end]))
            }
            Err((at, why)) => {
                self.at = at;
                Err(self.broken(why))
            }
        }
    }

    fn word(&mut self, word: &str, json: Json<'a>) -> Result<Json<'a>, Fault> {
        if self.bytes[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            return Ok(json);
        }
        Err(self.broken("a JSON value was expected"))
    }

    fn string(&mut self) -> Result<Cow<'a, str>, Fault> {
        let start = self.at + 1;
        let end = skip::plain(self.bytes, start);
        if self.bytes.get(end) == Some(&b'"') {
            self.at = end + 1;
            return Ok(Cow::Borrowed(&self.text[start..end]));
        }
        let mut owned = self.text[start..end].to_owned();
        self.at = end;
        loop {
            match self.peek() {
                Some(b'"') => break,
                Some(b'\\') => self.escape(&mut owned)?,
                Some(_) => return Err(self.broken("a control character stands in a string")),
                None => return Err(self.broken("the text ends inside a string")),
            }
            let run = self.at;
            self.at = skip::plain(self.bytes, run);
            owned.push_str(&self.text[run..self.at]);
        }
        self.at += 1;
        Ok(Cow::Owned(owned))
    }

    fn escape(&mut self, out: &mut String) -> Result<(), Fault> {
        let start = self.at;
        self.at += 1;
        let c = match self.peek() {
            Some(b @ (b'"' | b'\\' | b'/')) => char::from(b),
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'u') => return self.unicode_escape(start, out),
            _ => return Err(self.broken("an unknown escape stands in a string")),
        };
        self.at += 1;
        out.push(c);
        Ok(())
    }

    fn unicode_escape(&mut self, start: usize, out: &mut String) -> Result<(), Fault> {
        self.at += 1;
        let first = self.hex4()?;
        let code = if (0xd800..0xdc00).contains(&first) && self.bytes[self.at..].starts_with(b"\\u")
        {
            let back = self.at;
            self.at += 2;
            let second = self.hex4()?;
            if (0xdc00..0xe000).contains(&second) {
                0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00)
            } else {
                self.at = back;
                first
            }
        } else {
            first
        };
        if let Some(c) = char::from_u32(code) {
            out.push(c);
        } else {
            self.fault(start, format!("the escape \\u{first:04x} is half of a surrogate pair"));
        }
        Ok(())
    }

    fn hex4(&mut self) -> Result<u32, Fault> {
        let digits = self.bytes.get(self.at..self.at + 4).unwrap_or_default();
        if digits.len() < 4 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(self.broken("four hexadecimal digits were expected after \\u"));
        }
        let value = u32::from_str_radix(&self.text[self.at..self.at + 4], 16).unwrap_or_default();
        self.at += 4;
        Ok(value)
    }

    fn expect(&mut self, byte: u8, why: &str) -> Result<(), Fault> {
        if self.peek() != Some(byte) {
            return Err(self.broken(why));
        }
        self.at += 1;
        Ok(())
    }

    fn space(&mut self) {
        self.at = skip::space(self.bytes, self.at);
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn broken(&self, why: &str) -> Fault {
        Fault {
            kind: FaultKind::Json,
            pointer: None,
            offset: self.at,
            detail: format!("{why} at byte {}", self.at),
        }
    }

    fn fault(&mut self, offset: usize, detail: String) {
        let mut pointer = String::new();
        for step in &self.path {
            pointer = match step {
                Step::Key(key) => pointer_push(&pointer, key),
                Step::Item(index) => format!("{pointer}/{index}"),
            };
        }
        self.faults.push(Fault { kind: FaultKind::Json, pointer: Some(pointer), offset, detail });
    }
}

/// Whether `key` is among `members`. Small maps are searched as they stand.
fn has_key(members: &[(Cow<'_, str>, Json<'_>)], key: &str) -> bool {
    members.iter().any(|(k, _)| k == key)
}
