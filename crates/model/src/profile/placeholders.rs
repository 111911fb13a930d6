//! Placeholders: words that forms and exports hold if a person has no address. As an identity, one
//! of them would join strangers in one profile.

use super::identity::{IdentityType, is_separator};
use crate::spelling::trimmed;

/// The words of a domain that has no list of its own.
const USUAL: &str = "n/a,na,null,none,nil,unknown,undefined,-,--,.,?,0,test,noreply@,no-reply@,\
                     donotreply@";

/// The words that identify no person.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placeholders(Vec<String>);

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
        Self(words.filter(|word| !word.is_empty()).collect())
    }

    /// Whether a cleaned value of an identity is one of the words.
    pub fn have(&self, kind: IdentityType, value: &str) -> bool {
        self.0.iter().any(|word| match word.as_str() {
            "0" => is_zeros(kind, value),
            prefix if prefix.ends_with('@') => {
                value.get(..prefix.len()).is_some_and(|start| is_same(start, prefix))
            }
            word => is_same(value, word),
        })
    }
}

/// Whether a value is a word of the list, which is lower case.
fn is_same(value: &str, word: &str) -> bool {
    value.eq_ignore_ascii_case(word) || (!word.is_ascii() && value.to_lowercase() == word)
}

/// Whether a value is nothing but zeros; between those of a phone number, separators may be.
fn is_zeros(kind: IdentityType, value: &str) -> bool {
    let is_phone = kind == IdentityType::PhoneNumber;
    value.contains('0') && value.chars().all(|c| c == '0' || (is_phone && is_separator(c)))
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
