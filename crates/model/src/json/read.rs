//! The reader: one pass over the bytes that borrows every string without escapes. UTF-8 is checked
//! once for the whole text. Broken grammar ends the reading; faults of content (a repeated key, a
//! lone surrogate) are collected and reading continues.

use std::borrow::Cow;
use std::collections::HashSet;

use super::{DEPTH_MAX, FAULTS_MAX, Json, Member, SEARCHED_KEYS_MAX, pointer_push, skip};

/// Characters of a key that a fault quotes. Together with [`FAULTS_MAX`] and [`POINTER_BYTES_MAX`]
/// this bounds the size of all faults of a text.
const KEY_CHARS_SHOWN: usize = 100;
/// Bytes of the longest pointer that a fault carries.
const POINTER_BYTES_MAX: usize = 4096;

/// The kind of a fault in a text that should be JSON.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FaultKind {
    /// The bytes are not UTF-8.
    Utf8,
    /// The grammar is broken, or a rule about keys, surrogates or depth is.
    Json,
}

/// One fault and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    pub kind: FaultKind,
    /// RFC 6901 pointer to the value, if the text could be read that far and the pointer is at most
    /// 4 KiB long.
    pub pointer: Option<String>,
    /// Byte offset in the text.
    pub offset: usize,
    /// A sentence for the author of the text.
    pub detail: String,
}

/// Reads one JSON text. Returns all faults of content at once.
pub fn parse(bytes: &[u8]) -> Result<Json<'_>, Vec<Fault>> {
    let text = std::str::from_utf8(bytes).map_err(|e| {
        vec![Fault {
            kind: FaultKind::Utf8,
            pointer: None,
            offset: e.valid_up_to(),
            detail: format!(
                "the bytes are not UTF-8 from byte {} on; send the file as UTF-8",
                e.valid_up_to()
            ),
        }]
    })?;
    let mut reader = Reader { text, bytes, at: 0, path: Vec::new(), faults: Vec::new() };
    match reader.document() {
        Ok(json) if reader.faults.is_empty() => Ok(json),
        Ok(_) => Err(reader.faults),
        Err(broken) => {
            reader.faults.truncate(FAULTS_MAX - 1);
            reader.faults.push(*broken);
            Err(reader.faults)
        }
    }
}

/// The length of the JSON value at the start of `bytes`, by grammar alone: UTF-8, keys and
/// surrogates are not checked, and nesting is bounded by `depth_max` only.
pub fn skip_value(bytes: &[u8], depth_max: usize) -> Result<usize, (usize, &'static str)> {
    skip::value(bytes, depth_max)
}

/// A step of the path to the value that is being read.
enum Step<'a> {
    Key(Cow<'a, str>),
    Item(usize),
}

/// The fault that ends the reading.
type Stop = Box<Fault>;

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    path: Vec<Step<'a>>,
    faults: Vec<Fault>,
}

impl<'a> Reader<'a> {
    fn document(&mut self) -> Result<Json<'a>, Stop> {
        self.space();
        let json = self.value()?;
        self.space();
        if self.at < self.bytes.len() {
            return Err(self.broken("text follows the end of the JSON value"));
        }
        Ok(json)
    }

    fn value(&mut self) -> Result<Json<'a>, Stop> {
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

    fn object(&mut self) -> Result<Json<'a>, Stop> {
        self.enter()?;
        let mut hashed = None;
        self.space();
        if self.peek() == Some(b'}') {
            self.at += 1;
            return Ok(Json::Object(Vec::new()));
        }
        // A whole record has several members, a map within it has few.
        let members_likely = if self.path.is_empty() { 16 } else { 4 };
        let mut members: Vec<Member<'a>> = Vec::with_capacity(members_likely);
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(self.broken("a key in double quotes was expected"));
            }
            let (key_at, faults) = (self.at, self.faults.len());
            let key = self.string()?;
            // A key with half a surrogate pair cannot be compared.
            let is_whole = self.faults.len() == faults;
            self.space();
            self.expect(b':', "a colon was expected after the key")?;
            self.space();
            self.path.push(Step::Key(key.clone()));
            if is_repeated(&members, &mut hashed, &key) && is_whole {
                let shown: String = key.chars().take(KEY_CHARS_SHOWN).collect();
                let dots = if shown.len() < key.len() { "…" } else { "" };
                self.fault(
                    key_at,
                    format!("the key {shown:?}{dots} occurs twice in one map; keep one of them"),
                )?;
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

    fn array(&mut self) -> Result<Json<'a>, Stop> {
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

    /// Consumes an opening bracket or brace.
    fn enter(&mut self) -> Result<(), Stop> {
        if self.path.len() >= DEPTH_MAX {
            return Err(self.broken(&format!("values nest deeper than {DEPTH_MAX} levels")));
        }
        self.at += 1;
        Ok(())
    }

    fn number(&mut self) -> Result<Json<'a>, Stop> {
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

    fn word(&mut self, word: &str, json: Json<'a>) -> Result<Json<'a>, Stop> {
        if self.bytes[self.at..].starts_with(word.as_bytes()) {
            self.at += word.len();
            return Ok(json);
        }
        Err(self.broken("a JSON value was expected"))
    }

    fn string(&mut self) -> Result<Cow<'a, str>, Stop> {
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
                Some(_) => return Err(self.broken("a string contains a control character")),
                None => return Err(self.broken("the text ends inside a string")),
            }
            let run = self.at;
            self.at = skip::plain(self.bytes, run);
            owned.push_str(&self.text[run..self.at]);
        }
        self.at += 1;
        Ok(Cow::Owned(owned))
    }

    fn escape(&mut self, out: &mut String) -> Result<(), Stop> {
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
            _ => return Err(self.broken("a string contains an unknown escape")),
        };
        self.at += 1;
        out.push(c);
        Ok(())
    }

    fn unicode_escape(&mut self, start: usize, out: &mut String) -> Result<(), Stop> {
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
            let detail = format!(
                "the escape \\u{first:04x} is half of a surrogate pair; give both halves, or the \
                 character itself"
            );
            return self.fault(start, detail);
        }
        Ok(())
    }

    fn hex4(&mut self) -> Result<u32, Stop> {
        let digits = self.bytes.get(self.at..self.at + 4).unwrap_or_default();
        if digits.len() < 4 || !digits.iter().all(u8::is_ascii_hexdigit) {
            return Err(self.broken("four hexadecimal digits were expected after \\u"));
        }
        let value = u32::from_str_radix(&self.text[self.at..self.at + 4], 16).unwrap_or_default();
        self.at += 4;
        Ok(value)
    }

    fn expect(&mut self, byte: u8, why: &str) -> Result<(), Stop> {
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

    #[expect(clippy::unnecessary_box_returns, reason = "it is always an `Err`, kept small")]
    fn broken(&self, why: &str) -> Stop {
        let at_end = self.at >= self.bytes.len() && !why.contains("ends");
        let end = if at_end { ", where the text ends" } else { "" };
        Box::new(Fault {
            kind: FaultKind::Json,
            pointer: None,
            offset: self.at,
            detail: format!("{why} at byte {}{end}", self.at),
        })
    }

    fn fault(&mut self, offset: usize, detail: String) -> Result<(), Stop> {
        if self.faults.len() == FAULTS_MAX {
            return Err(self.broken("there are more faults than can be listed, reading ended"));
        }
        let pointer = self.pointer();
        self.faults.push(Fault { kind: FaultKind::Json, pointer, offset, detail });
        Ok(())
    }

    /// The reader's position as a pointer, unless the pointer would be too long.
    fn pointer(&self) -> Option<String> {
        let mut pointer = String::new();
        for step in &self.path {
            pointer = match step {
                Step::Key(key) if key.len() > POINTER_BYTES_MAX => return None,
                Step::Key(key) => pointer_push(&pointer, key),
                Step::Item(index) => format!("{pointer}/{index}"),
            };
            if pointer.len() > POINTER_BYTES_MAX {
                return None;
            }
        }
        Some(pointer)
    }
}

/// Whether `key` is already in `members`. Small maps are searched linearly; for larger ones
/// `hashed` then holds their keys.
#[expect(clippy::ptr_arg, reason = "borrowed keys are cloned for nothing")]
fn is_repeated<'a>(
    members: &[Member<'a>],
    hashed: &mut Option<HashSet<Cow<'a, str>>>,
    key: &Cow<'a, str>,
) -> bool {
    if members.len() < SEARCHED_KEYS_MAX {
        let (first, length) = (key.as_bytes().first(), key.len());
        let alike = |k: &str| k.len() == length && k.as_bytes().first() == first && k == key;
        return members.iter().any(|(k, _)| alike(k));
    }
    let hashed = hashed.get_or_insert_with(|| members.iter().map(|(k, _)| k.clone()).collect());
    !hashed.insert(key.clone())
}
