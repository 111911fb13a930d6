//! Placeholders: words that forms and exports hold if a person has no address. As an identity, one
//! of them would join strangers in one profile.

use super::identity::{IdentityType, is_separator};
use crate::spelling::trimmed;

/// The words of a domain that has no list of its own.
const USUAL: &str = "n/a,na,null,none,nil,unknown,undefined,-,--,.,?,0,test,noreply@,no-reply@,\
                     donotreply@";

/// The words that identify no person, in lower case.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placeholders {
    words: Vec<String>,
    /// Beginnings of addresses; each ends in `@`.
    beginnings: Vec<String>,
    zeros: bool,
    /// No longer value is one of the words. Every identity is compared, and nearly all are longer.
    longest: usize,
}

impl Default for Placeholders {
    fn default() -> Self {
        Self::of_list(USUAL)
    }
}

impl Placeholders {
    /// The words of a comma list, in any case. A word that ends in `@` means all addresses
    /// that begin with it, and `0` for any number of zeros.
    pub fn of_list(list: &str) -> Self {
        let words = list.split(',').map(|word| trimmed(word).to_lowercase());
        let words = words.filter(|word| !word.is_empty() && word != "0");
        let (beginnings, words): (Vec<String>, Vec<String>) =
            words.partition(|word| word.ends_with('@'));
        // Lower case may have another length.
        let longest =
            words.iter().map(|word| if word.is_ascii() { word.len() } else { usize::MAX });
        Self {
            longest: longest.max().unwrap_or_default(),
            words,
            beginnings,
            zeros: list.split(',').any(|word| trimmed(word) == "0"),
        }
    }

    /// Whether a cleaned value of an identity is one of the words.
    pub fn have(&self, kind: IdentityType, value: &str) -> bool {
        let begins = |with: &String| {
            let at = with.len() - 1;
            value.as_bytes().get(at) == Some(&b'@')
                && value.get(..=at).is_some_and(|start| is_same(start, with))
        };
        value.len() <= self.longest && self.words.iter().any(|word| is_same(value, word))
            || self.beginnings.iter().any(begins)
            || self.zeros && is_zeros(kind, value)
    }
}

/// Whether a value is a word of the list, which is lower case.
fn is_same(value: &str, word: &str) -> bool {
    value.eq_ignore_ascii_case(word) || (!word.is_ascii() && value.to_lowercase() == word)
}

/// Whether a value is nothing but zeros; between those of a phone number, separators may be.
fn is_zeros(kind: IdentityType, value: &str) -> bool {
    let is_phone = kind == IdentityType::PhoneNumber;
    value.chars().all(|c| c == '0' || (is_phone && is_separator(c))) && value.contains('0')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_usual_words_are_found_in_any_case() {
        let usual = Placeholders::default();
        for word in ["N/A", "na", "Null", "-", "--", ".", "?", "0", "000", "TEST", "undefined"] {
            assert!(usual.have(IdentityType::Uid, word), "{word}");
        }
        for address in ["noreply@shop.example", "No-Reply@x", "DONOTREPLY@"] {
            assert!(usual.have(IdentityType::Email, address), "{address}");
        }
        assert!(usual.have(IdentityType::PhoneNumber, "000-000 00"));
        for value in ["test1", "nan", "00a", "ann.noreply@x", "noreply", "---", "000-000", ""] {
            assert!(!usual.have(IdentityType::Uid, value), "{value}");
        }
    }

    #[test]
    fn a_list_of_the_domain_replaces_the_usual_words() {
        let own = Placeholders::of_list(" Keine, ÄH ,,bot@");
        for word in ["keine", "KEINE", "äh", "ÄH"] {
            assert!(own.have(IdentityType::Uid, word), "{word}");
        }
        assert!(own.have(IdentityType::Email, "Bot@example.org"));
        assert!(!own.have(IdentityType::Uid, "n/a") && !own.have(IdentityType::Uid, "0"));
        assert!(!Placeholders::of_list("").have(IdentityType::Uid, ""));
    }
}
