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

/// The list of the condition that a word is from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    And,
    Or,
    Nor,
}

/// A text to search for.
#[derive(Debug, Clone)]
struct Word {
    role: Role,
    plain: Finder<'static>,
    /// The text as a fragment has it, with JSON escapes.
    escaped: Finder<'static>,
    /// Whether it occurs anywhere in the fragment. If a text contains it, the fragment does.
    in_fragment: bool,
    /// Whether a text contains it.
    in_text: bool,
}

impl Word {
    fn new(role: Role, text: &str) -> Self {
        let mut quoted = Vec::new();
        write_string(text, &mut quoted);
        let escaped = Finder::new(&quoted[1..quoted.len() - 1]).into_owned();
        let plain = Finder::new(text.as_bytes()).into_owned();
        Self { role, plain, escaped, in_fragment: false, in_text: false }
    }
}

/// Matches one condition against many fragments. Its buffer is reused.
#[derive(Debug, Clone)]
pub struct TextMatcher {
    source: TextSource,
    exists: Option<bool>,
    has_or: bool,
    words: Vec<Word>,
    /// The fragment, folded.
    folded: Vec<u8>,
}

impl TextMatcher {
    /// The texts of `condition` must be folded, as those of a query are.
    pub fn new(source: TextSource, condition: &Condition) -> Self {
        let any = condition.or.as_deref();
        let roles = [
            (Role::And, &*condition.and),
            (Role::Nor, &*condition.nor),
            (Role::Or, any.unwrap_or(&[])),
        ];
        let words =
            roles.iter().flat_map(|(role, texts)| texts.iter().map(|t| Word::new(*role, t)));
        Self {
            source,
            exists: condition.exists,
            has_or: any.is_some(),
            words: words.collect(),
            folded: Vec::new(),
        }
    }

    /// Whether the condition holds for an issue with this fragment.
    pub fn holds(&mut self, fragment: Option<&[u8]>) -> bool {
        let fragment = fragment.unwrap_or_default();
        if let Some(wanted) = self.exists {
            let mut exists = false;
            self.source.visit(fragment, &mut |_| {
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
            word.in_fragment = word.escaped.find(&self.folded).is_some();
            word.in_text = false;
            if !word.in_fragment && word.role == Role::And {
                return false;
            }
        }
        let in_fragment =
            |role| self.words.iter().any(|word| word.role == role && word.in_fragment);
        if self.has_or && !in_fragment(Role::Or) {
            return false;
        }
        if self.words.iter().any(|word| word.in_fragment) {
            self.find_words();
        }
        let mut any = !self.has_or;
        for word in &self.words {
            match word.role {
                Role::And if !word.in_text => return false,
                Role::Nor if word.in_text => return false,
                Role::Or => any |= word.in_text,
                Role::And | Role::Nor => {}
            }
        }
        any
    }

    /// Finds the words that occur in a text, among those that occur in the fragment.
    fn find_words(&mut self) {
        let Self { source, words, folded, .. } = self;
        source.visit(folded, &mut |text| {
            let unescaped = memchr::memchr(b'\\', text).map(|_| unescaped(text));
            let mut is_open = false;
            for word in words.iter_mut().filter(|word| word.in_fragment && !word.in_text) {
                word.in_text = match &unescaped {
                    None => word.escaped.find(text).is_some(),
                    Some(text) => word.plain.find(text).is_some(),
                };
                is_open |= !word.in_text;
            }
            is_open
        });
    }
}

/// The fragment with every code point folded. The JSON stays valid: its keys and escapes are lower
/// case already.
fn fold_fragment(fragment: &[u8], folded: &mut Vec<u8>) {
    folded.clear();
    if fragment.is_ascii() {
        folded.extend(fragment.iter().map(u8::to_ascii_lowercase));
    } else if let Ok(text) = std::str::from_utf8(fragment) {
        fold_into(text, folded);
    }
}

/// A text without its escapes.
pub(crate) fn unescaped(text: &[u8]) -> Vec<u8> {
    let quoted = [b"\"", text, b"\""].concat();
    match json::parse(&quoted) {
        Ok(Json::String(text)) => text.into_owned().into_bytes(),
        _ => Vec::new(),
    }
}
