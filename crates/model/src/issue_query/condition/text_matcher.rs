//! Matches a condition on texts against the stored fragments of very many issues. A fragment is
//! folded once and searched as it is; its texts are parsed only if a word occurs, because the word
//! may also be part of a name, an address or an escape. Invariant: the result is the same as that
//! of [`IssueQuery::matches`](crate::issue_query::IssueQuery::matches), which reads the fragment
//! naively.

use memchr::memmem::Finder;

use super::Condition;
use crate::fold::fold_into;
use crate::issue_query::fragment_reader::TextSource;
use crate::json::{self, Json, write_string};

/// What a word is to the condition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    And,
    Or,
    Nor,
}

/// A text that is looked for.
#[derive(Debug, Clone)]
struct Word {
    role: Role,
    plain: Finder<'static>,
    /// As it stands in a fragment.
    escaped: Finder<'static>,
    /// Whether it stands anywhere in the fragment, which a text that has it makes sure of.
    is_near: bool,
    /// Whether a text has it.
    is_found: bool,
}

impl Word {
    fn new(role: Role, text: &str) -> Self {
        let mut quoted = Vec::new();
        write_string(text, &mut quoted);
        let escaped = Finder::new(&quoted[1..quoted.len() - 1]).into_owned();
        let plain = Finder::new(text.as_bytes()).into_owned();
        Self { role, plain, escaped, is_near: false, is_found: false }
    }
}

/// Holds a condition on texts against fragments. Its buffer is kept from one to the next.
#[derive(Debug, Clone)]
pub struct TextMatcher {
    place: TextSource,
    exists: Option<bool>,
    has_or: bool,
    words: Vec<Word>,
    /// The fragment, folded.
    folded: Vec<u8>,
}

impl TextMatcher {
    /// `condition` has folded texts, as a query's has.
    pub fn new(place: TextSource, condition: &Condition) -> Self {
        let any = condition.or.as_deref();
        let roles = [
            (Role::And, &*condition.and),
            (Role::Nor, &*condition.nor),
            (Role::Or, any.unwrap_or(&[])),
        ];
        let words =
            roles.iter().flat_map(|(role, texts)| texts.iter().map(|t| Word::new(*role, t)));
        Self {
            place,
            exists: condition.exists,
            has_or: any.is_some(),
            words: words.collect(),
            folded: Vec::new(),
        }
    }

    /// Whether the condition holds for an issue that has this fragment in the place.
    pub fn holds(&mut self, fragment: Option<&[u8]>) -> bool {
        let fragment = fragment.unwrap_or_default();
        if let Some(wanted) = self.exists {
            let mut exists = false;
            self.place.visit(fragment, &mut |_| {
                exists = true;
                false
            });
            if exists != wanted {
                return false;
            }
        }
        if self.words.is_empty() {
            return !self.has_or;
        }
        fold_fragment(fragment, &mut self.folded);
        for word in &mut self.words {
            word.is_near = word.escaped.find(&self.folded).is_some();
            word.is_found = false;
            if !word.is_near && word.role == Role::And {
                return false;
            }
        }
        let is_near = |role| self.words.iter().any(|word| word.role == role && word.is_near);
        if self.has_or && !is_near(Role::Or) {
            return false;
        }
        if self.words.iter().any(|word| word.is_near) {
            self.find_words();
        }
        let mut any = !self.has_or;
        for word in &self.words {
            match word.role {
                Role::And if !word.is_found => return false,
                Role::Nor if word.is_found => return false,
                Role::Or => any |= word.is_found,
                Role::And | Role::Nor => {}
            }
        }
        any
    }

    /// Finds out which of the words that are near stand in a text.
    fn find_words(&mut self) {
        let Self { place, words, folded, .. } = self;
        place.visit(folded, &mut |text| {
            let unescaped = memchr::memchr(b'\\', text).map(|_| unescaped(text));
            let mut is_open = false;
            for word in words.iter_mut().filter(|word| word.is_near && !word.is_found) {
                word.is_found = match &unescaped {
                    None => word.escaped.find(text).is_some(),
                    Some(text) => word.plain.find(text).is_some(),
                };
                is_open |= !word.is_found;
            }
            is_open
        });
    }
}

/// The fragment with every code point folded. JSON stays what it is: its keys and escapes are
/// written in small letters anyway.
fn fold_fragment(fragment: &[u8], folded: &mut Vec<u8>) {
    folded.clear();
    if fragment.is_ascii() {
        folded.extend_from_slice(fragment);
        folded.make_ascii_lowercase();
    } else if let Ok(text) = std::str::from_utf8(fragment) {
        fold_into(text, folded);
    }
}

/// A text without its escapes.
fn unescaped(text: &[u8]) -> Vec<u8> {
    let quoted = [b"\"", text, b"\""].concat();
    match json::parse(&quoted) {
        Ok(Json::String(text)) => text.into_owned().into_bytes(),
        _ => Vec::new(),
    }
}
