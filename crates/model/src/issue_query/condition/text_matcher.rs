//! Matches a condition on texts against the stored fragments of very many issues. A fragment is
//! folded once, as far as the words need it, and searched with its escapes. Its texts are looked
//! for only if a word occurs, because the word may also be part of a name, an address or an escape.
//! Invariant: the result is the same as that of
//! [`IssueQuery::matches`](crate::issue_query::IssueQuery::matches), which reads the fragment
//! naively.

use memchr::memmem::Finder;

use super::Condition;
use crate::fold::{FOLDED_TO_ASCII, fold_json_into};
use crate::issue_query::fragment_reader::TextSource;
use crate::json::write_string;

/// Bytes of an escape such as `\u001f`.
const UNICODE_ESCAPE: usize = 6;

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
    /// The text as a fragment has it, with JSON escapes.
    escaped: Finder<'static>,
    /// Its first place in the fragment. If a text contains it, the fragment does.
    first: Option<usize>,
    /// Whether a text contains it.
    in_text: bool,
}

impl Word {
    fn new(role: Role, text: &str) -> Self {
        let mut quoted = Vec::new();
        write_string(text, &mut quoted);
        let escaped = Finder::new(&quoted[1..quoted.len() - 1]).into_owned();
        Self { role, escaped, first: None, in_text: false }
    }

    /// Whether it occurs in a text that has the escapes of a fragment.
    fn occurs_in(&self, text: &[u8]) -> bool {
        let mut from = 0;
        while let Some(found) = self.escaped.find(&text[from..]) {
            if !is_within_escape(text, from + found) {
                return true;
            }
            from += found + 1;
        }
        false
    }
}

/// Matches one condition against many fragments. Its buffer is reused.
#[derive(Debug, Clone)]
pub struct TextMatcher {
    source: TextSource,
    exists: Option<bool>,
    has_or: bool,
    words: Vec<Word>,
    /// The beginnings of the characters beyond ASCII that a word may match; `None` if a word has
    /// such characters itself.
    beyond: Option<Vec<Finder<'static>>>,
    /// The fragment, folded as far as the words need it.
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
        let words: Vec<Word> = words.collect();
        Self {
            source,
            exists: condition.exists,
            has_or: any.is_some(),
            beyond: beginnings_beyond_ascii(&words),
            words,
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
        self.fold(fragment);
        for word in &mut self.words {
            word.first = word.escaped.find(&self.folded);
            word.in_text = false;
            if word.first.is_none() && word.role == Role::And {
                return false;
            }
        }
        let in_fragment =
            |role| self.words.iter().any(|word| word.role == role && word.first.is_some());
        if self.has_or && !in_fragment(Role::Or) {
            return false;
        }
        if self.words.iter().any(|word| word.first.is_some()) {
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

    /// Folds the fragment. The JSON stays valid: its keys and escapes are lower case already. Words
    /// of ASCII are found in few other characters, so the others need not be folded.
    fn fold(&mut self, fragment: &[u8]) {
        let Self { beyond, folded, .. } = self;
        folded.clear();
        let has_none = |starts: &Vec<Finder<'_>>| starts.iter().all(|s| s.find(fragment).is_none());
        let is_ascii_enough = fragment.is_ascii() || beyond.as_ref().is_some_and(has_none);
        if is_ascii_enough {
            folded.extend(fragment.iter().map(u8::to_ascii_lowercase));
        } else if let Ok(text) = std::str::from_utf8(fragment) {
            fold_json_into(text, folded);
        }
    }

    /// Finds the words that occur in a text, among those that occur in the fragment.
    fn find_words(&mut self) {
        let Self { source, words, folded, .. } = self;
        source.visit(folded, &mut |text| {
            let end = text.as_ptr().addr() + text.len() - folded.as_ptr().addr();
            let mut is_open = false;
            for word in words.iter_mut().filter(|word| !word.in_text) {
                let Some(first) = word.first else { continue };
                word.in_text = first < end && word.occurs_in(text);
                is_open |= !word.in_text;
            }
            is_open
        });
    }
}

/// Whether the byte at `at` belongs to an escape that begins before it. The text has the escapes
/// that this program writes: two bytes, or `\u` and four digits.
fn is_within_escape(text: &[u8], at: usize) -> bool {
    // A backslash begins an escape unless it is the second byte of one.
    let begins_escape = |at: usize| {
        let backslashes = text[..=at].iter().rev().take_while(|byte| **byte == b'\\');
        backslashes.count() % 2 == 1
    };
    (at.saturating_sub(UNICODE_ESCAPE - 1)..at).any(|begin| {
        let length = if text.get(begin + 1) == Some(&b'u') { UNICODE_ESCAPE } else { 2 };
        text[begin] == b'\\' && begin + length > at && begins_escape(begin)
    })
}

/// The beginnings of the characters beyond ASCII that fold into characters of the words; `None` if
/// a word has such characters itself.
fn beginnings_beyond_ascii(words: &[Word]) -> Option<Vec<Finder<'static>>> {
    let has = |letter: u8| words.iter().any(|word| word.escaped.needle().contains(&letter));
    let are_ascii = words.iter().all(|word| word.escaped.needle().is_ascii());
    are_ascii.then(|| {
        let found = FOLDED_TO_ASCII.iter().filter(|(_, folded)| has(*folded));
        let mut starts: Vec<&[u8]> = found.map(|(start, _)| *start).collect();
        starts.dedup();
        starts.into_iter().map(Finder::new).collect()
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fold::fold_text;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn words_are_found_in_letters_of_both_cases_and_beyond_ascii(
            texts in proptest::collection::vec("[sSkK\u{17f}\u{212a}äÄ€ ‘’“„\u{a0}\"']{0,7}", 0..4),
            words in proptest::collection::vec("[sSkK\u{17f}\u{212a}äÄ ’”\u{202f}\"']{1,2}", 1..3),
        ) {
            let bodies = texts.iter().map(|text| {
                let mut body = b"{\"body\":".to_vec();
                write_string(text, &mut body);
                String::from_utf8_lossy(&body).into_owned() + "}"
            });
            let fragment = format!("[{}]", bodies.collect::<Vec<_>>().join(","));
            let and: Vec<String> = words.iter().map(|word| fold_text(word)).collect();
            let expected =
                and.iter().all(|word| texts.iter().any(|text| fold_text(text).contains(word)));
            let condition = Condition { and, ..Condition::default() };
            let mut matcher = TextMatcher::new(TextSource::Messages, &condition);
            prop_assert_eq!(matcher.holds(Some(fragment.as_bytes())), expected);
        }

        #[test]
        fn a_word_occurs_in_a_text_with_escapes_if_it_occurs_in_the_text(
            text in proptest::collection::vec("[nu01f\\\\\"]|\n|\u{1f}|x", 0..12),
            word in "[nu01f\\\\\"\n\u{1f}]{1,4}",
        ) {
            let text = text.concat();
            let mut quoted = Vec::new();
            write_string(&text, &mut quoted);
            let occurs = Word::new(Role::And, &word).occurs_in(&quoted[1..quoted.len() - 1]);
            prop_assert_eq!(occurs, text.contains(&word), "{:?} {:?}", text, word);
        }
    }
}
