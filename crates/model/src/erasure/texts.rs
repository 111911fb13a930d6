//! Finds the texts of a person in bytes of any form: JSON with escapes, rows of a file, lines that
//! cannot be read. Searching whole blocks for a few texts is much faster than parsing them, and
//! nearly no block has one. Invariant: if a string of some JSON, or a string of JSON within a
//! string, is an identity or an id of the person, then [`Texts::may_be_in`] is true of the bytes.

use std::borrow::Cow;

use memchr::memmem::{self, Finder};

use super::person::Person;
use crate::fold::{fold_text, fold_text_into};
use crate::ids::IdentityKey;
use crate::profile::{IdentityType, is_separator};

const ANY_ESCAPE: &str = "\\";
/// With more texts, parsing a block takes less time than searching it for each of them.
const SEARCHED_MAX: usize = 32;
/// How often escapes are resolved: an error record has unreadable JSON as a JSON string.
const ESCAPED_MAX: usize = 2;
/// A phone number of fewer digits is likely to be a part of another number.
const PHONE_DIGITS_MIN: usize = 6;
/// Joins parts of a name or an address, so that `ada` is not found in `ada-2`.
const JOINTS: [char; 5] = ['.', '_', '-', '+', '@'];

/// The texts of one person, folded.
#[derive(Debug)]
pub(super) struct Texts {
    /// Identities and pids.
    words: Vec<Finder<'static>>,
    /// Phone numbers without separators and without a plus sign.
    phones: Vec<Finder<'static>>,
    /// Core profile ids, which are too short to be looked for in lines that cannot be read.
    numbers: Vec<Finder<'static>>,
    /// The ids of the person's issues.
    issues: Vec<Finder<'static>>,
    /// Whether no text has a character that JSON may escape with a single letter or sign.
    plain: bool,
}

impl Texts {
    pub(super) fn of(person: &Person) -> Self {
        let finder = |text: &str| Finder::new(fold_text(text).as_bytes()).into_owned();
        let (mut words, mut phones) = (Vec::new(), Vec::new());
        for key in &person.identities {
            let value = beginning(key);
            let digits = value.strip_prefix('+').unwrap_or(value);
            let is_phone = key.is(IdentityType::PhoneNumber);
            if is_phone {
                phones.push(finder(digits));
            }
            if !is_phone || digits.len() < PHONE_DIGITS_MIN {
                words.push(finder(value));
            }
        }
        words.extend(person.pids.iter().filter(|pid| !pid.is_empty()).map(|pid| finder(pid)));
        let numbers = person.core_profile_ids.iter().map(|id| finder(&id.to_string())).collect();
        let searched = person.issue_ids.iter().take(SEARCHED_MAX + 1);
        let issues = searched.map(|id| finder(&id.to_string())).collect();
        let is_plain = |byte: &u8| !byte.is_ascii_control() && !b"\"\\/".contains(byte);
        let mut bytes = words.iter().flat_map(Finder::needle);
        // Separators of a phone number may be escaped, too.
        let plain = phones.is_empty() && bytes.all(is_plain);
        Self { words, phones, numbers, issues, plain }
    }

    /// Whether the bytes may have the id of an issue of the person in any place.
    pub(super) fn may_have_issue(&self, bytes: &[u8]) -> bool {
        self.issues.len() > SEARCHED_MAX
            || self.issues.iter().any(|issue| issue.find(bytes).is_some())
    }

    /// Whether the bytes may hold the person in any place; false if they surely do not.
    pub(super) fn may_be_in(&self, bytes: &[u8]) -> bool {
        let Self { words, phones, numbers, .. } = self;
        let is_in = |text: &str| {
            let mut plain = words.iter().chain(numbers);
            plain.any(|word| word.find(text.as_bytes()).is_some()) || self.has_phone(text, 0)
        };
        let escapes = if self.plain { "\\u" } else { ANY_ESCAPE };
        words.len() + phones.len() + numbers.len() > SEARCHED_MAX
            || any_reading(bytes, escapes, is_in)
    }

    /// Whether a text that cannot be read contains an identity or a pid as a word of its own.
    pub(super) fn are_in(&self, bytes: &[u8]) -> bool {
        any_reading(bytes, ANY_ESCAPE, |text| {
            let is_word = |word: &Finder<'_>| {
                let mut found = word.find_iter(text.as_bytes());
                found.any(|at| is_alone(text, at, at + word.needle().len()))
            };
            self.words.iter().any(is_word) || self.has_phone(text, PHONE_DIGITS_MIN)
        })
    }

    /// Whether the text has a phone number of at least so many digits, however it is grouped.
    fn has_phone(&self, text: &str, digits_min: usize) -> bool {
        let mut phones =
            self.phones.iter().filter(|phone| phone.needle().len() >= digits_min).peekable();
        if phones.peek().is_none() {
            return false;
        }
        let joined: String = text.chars().filter(|c| !is_separator(*c)).collect();
        phones.any(|phone| phone.find(joined.as_bytes()).is_some())
    }
}

/// The value of an identity; of a long one, its beginning.
fn beginning(key: &IdentityKey) -> &str {
    let value = key.value();
    match std::str::from_utf8(value) {
        Ok(text) => text,
        Err(fault) => std::str::from_utf8(&value[..fault.valid_up_to()]).unwrap_or_default(),
    }
}

/// Whether `test` is true of the folded bytes as they are, or without one or more levels of
/// escapes, if they have escapes of this kind.
fn any_reading(bytes: &[u8], escapes: &str, test: impl Fn(&str) -> bool) -> bool {
    // The second takes much longer, even for bytes that the first can read.
    let sound = std::str::from_utf8(bytes).map(Cow::Borrowed);
    let mut text = sound.unwrap_or_else(|_| String::from_utf8_lossy(bytes));
    for _ in 0..=ESCAPED_MAX {
        if test(&folded(&text)) {
            return true;
        }
        if memmem::find(text.as_bytes(), escapes.as_bytes()).is_none() {
            return false;
        }
        text = Cow::Owned(unescaped(&text));
    }
    false
}

fn folded(text: &str) -> String {
    let mut out = Vec::new();
    fold_text_into(text, &mut out);
    String::from_utf8(out).unwrap_or_default()
}

/// The text with its escapes resolved, wherever they are. Anything that is none stays.
fn unescaped(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = memchr::memchr(b'\\', rest.as_bytes()) {
        out.push_str(&rest[..at]);
        let after = &rest[at + 1..];
        let short = match after.as_bytes().first() {
            Some(&byte @ (b'"' | b'\\' | b'/')) => Some(char::from(byte)),
            Some(b'n') => Some('\n'),
            Some(b'r') => Some('\r'),
            Some(b't') => Some('\t'),
            Some(b'b') => Some('\u{8}'),
            Some(b'f') => Some('\u{c}'),
            _ => None,
        };
        let (c, length) = match (short, unit(after)) {
            (Some(c), _) => (c, 1),
            (None, Some(first)) => {
                let second = after[5..].strip_prefix('\\').and_then(unit);
                let units = [Some(first), second].into_iter().flatten();
                match char::decode_utf16(units).next() {
                    Some(Ok(c)) => (c, if c.len_utf16() == 2 { 11 } else { 5 }),
                    _ => (char::REPLACEMENT_CHARACTER, 5),
                }
            }
            (None, None) => ('\\', 0),
        };
        out.push(c);
        rest = &after[length..];
    }
    out.push_str(rest);
    out
}

/// The code unit that `u` and four hexadecimal digits write.
fn unit(text: &str) -> Option<u16> {
    let hex = text.strip_prefix('u')?.get(..4)?;
    let is_hex = hex.bytes().all(|byte| byte.is_ascii_hexdigit());
    u16::from_str_radix(hex, 16).ok().filter(|_| is_hex)
}

/// Whether the part of a text is not a part of a longer word, name or address.
fn is_alone(text: &str, start: usize, end: usize) -> bool {
    !continues(text[..start].chars().rev()) && !continues(text[end..].chars())
}

fn continues(mut chars: impl Iterator<Item = char>) -> bool {
    match chars.next() {
        Some(c) if JOINTS.contains(&c) => chars.next().is_some_and(char::is_alphanumeric),
        next => next.is_some_and(char::is_alphanumeric),
    }
}
