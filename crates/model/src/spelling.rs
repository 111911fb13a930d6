//! How callers spell names and words, and characters that no text shows. Hyphens equal underscores,
//! a name with brackets is one value of a list, booleans have several spellings, and an unknown
//! name gets a known one that is near as a hint. Names of countries and languages are texts, which
//! have a form of their own in which they are compared.

use unicode_normalization::char::decompose_canonical;

use crate::encoded_word::decoded_words;
use crate::fold::{fold, fold_char};

/// Characters of a word that are compared, which bounds the cost. Known words are shorter than
/// this.
const CHARS_COMPARED: usize = 64;
/// How often a name is decoded whose decoded form has encoded words, which bounds the cost.
const NAME_ROUNDS_MAX: usize = 8;
/// Names of countries and languages are shorter.
const NAME_BYTES_MAX: usize = 128;

/// Whether a caller's spelling is the name `known`.
pub fn same_name(known: &str, given: &str) -> bool {
    known.bytes().map(plain).eq(given.bytes().map(plain))
}

/// The name of a list without the brackets of one of its values, and whether there were any:
/// `tags[]` and, as PHP numbers them, `tags[0]` are values of `tags`.
pub fn unbracketed(given: &str) -> (&str, bool) {
    let inside = given.strip_suffix(']').and_then(|rest| rest.rsplit_once('['));
    match inside {
        Some((name, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => (name, true),
        _ => (given, false),
    }
}

/// A boolean as clients write it: `true` or `false` in any case, `1` or `0`.
pub fn boolean_word(word: &str) -> Option<bool> {
    let is = |digit: &str, name: &str| word == digit || word.eq_ignore_ascii_case(name);
    match (is("1", "true"), is("0", "false")) {
        (true, _) => Some(true),
        (_, true) => Some(false),
        _ => None,
    }
}

/// `text` without the blanks of Unicode, byte order marks and zero-width characters at both ends.
/// Files and forms bring these along, and no caller means them.
///
/// ```
/// use caseload_model::spelling::trimmed;
///
/// assert_eq!(trimmed("\u{feff}\u{a0} ada@example.com\u{200b}\r\n"), "ada@example.com");
/// ```
pub fn trimmed(text: &str) -> &str {
    let is_zero_width = |c: char| matches!(c, '\u{200b}'..='\u{200d}' | '\u{2060}' | '\u{feff}');
    text.trim_matches(|c: char| c.is_whitespace() || is_zero_width(c))
}

/// An e-mail address as it is compared: folded, without blanks around it.
pub fn folded_address(text: &str) -> String {
    fold(trimmed(text))
}

/// Whether a character is not shown itself: a control character, or one that changes the direction
/// of others, so that `gpj.exe` is read as `exe.jpg`.
pub fn is_hidden(c: char) -> bool {
    c.is_control()
        || matches!(c, '\u{61c}' | '\u{200e}'..='\u{200f}' | '\u{202a}'..='\u{202e}')
        || matches!(c, '\u{2066}'..='\u{2069}')
}

/// The name of a file with its encoded words decoded, without the folders before it and without
/// hidden characters; empty if no name is left. The name of such a name is itself.
pub fn bare_file_name(given: &str) -> String {
    let mut name = given.to_owned();
    for _ in 0..NAME_ROUNDS_MAX {
        let decoded = decoded_words(&name);
        let shown = decoded.as_ref().unwrap_or(&name).chars().filter(|c| !is_hidden(*c));
        let shown: String = shown.collect();
        let last = shown.rsplit(['/', '\\']).next().unwrap_or_default();
        let next = if matches!(last, "." | "..") { "" } else { last };
        if next == name {
            break;
        }
        next.clone_into(&mut name);
    }
    name
}

const fn plain(byte: u8) -> u8 {
    if byte == b'-' { b'_' } else { byte }
}

/// The one of `known` that is probably meant by `word`: it needs the fewest edits, and at most one
/// for three characters of the word. The first of equal ones. Neither case nor the kind of hyphen
/// counts.
pub fn nearest_word<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    nearest(&normalised(word), known.into_iter().map(|near| (normalised(near), near)))
}

/// The second part of the nearest of `known`. Its first part and `word` have the form that is
/// compared. No other code decides which words are near.
pub(crate) fn nearest<K: AsRef<str>, T>(
    word: &str,
    known: impl IntoIterator<Item = (K, T)>,
) -> Option<T> {
    let edits_max = word.chars().count() / 3;
    let letters = letter_set(word);
    known
        .into_iter()
        // An edit changes at most two letters of the set, so this skips nearly all of many names.
        .filter(|(near, _)| {
            (letter_set(near.as_ref()) ^ letters).count_ones() as usize <= 2 * edits_max
        })
        .map(|(near, of)| (strsim::osa_distance(word, near.as_ref()), of))
        .filter(|(edits, _)| *edits <= edits_max)
        .min_by_key(|(edits, _)| *edits)
        .map(|(_, of)| of)
}

/// The basic letters that occur in `text`, one bit each.
fn letter_set(text: &str) -> u32 {
    let letters = text.bytes().filter(u8::is_ascii_lowercase);
    letters.fold(0, |set, letter| set | 1 << (letter - b'a'))
}

/// The beginning of `word` as words are compared: lower case, with underscores.
pub(crate) fn normalised(word: &str) -> String {
    let start = word.chars().take(CHARS_COMPARED).flat_map(char::to_lowercase);
    start.map(|char| if char == '-' { '_' } else { char }).collect()
}

/// The form in which names of countries and languages are compared; none if the text is too long
/// for a name or has control characters. Letters lose case and accents. Articles, "and",
/// punctuation and blanks do not count, and `St` is `Saint`. `Korea, Republic of` and
/// `Korea (the Republic of)` are `Republic of Korea`.
///
/// ```
/// use caseload_model::spelling::name_key;
///
/// assert_eq!(name_key("Bosnia & Herzegovina"), name_key("BOSNIA AND HERZEGOVINA"));
/// assert_eq!(name_key("The Côte d’Ivoire"), name_key("Cote d'Ivoire"));
/// ```
pub fn name_key(text: &str) -> Option<String> {
    let text = trimmed(text);
    if text.len() > NAME_BYTES_MAX || text.chars().any(char::is_control) {
        return None;
    }
    let (name, rest) = text.split_at(text.find([',', '(']).unwrap_or(text.len()));
    let mut key = String::with_capacity(text.len());
    push_words(name, &mut key);
    let name_len = key.len();
    if push_words(rest, &mut key) {
        key = key.split_off(name_len) + &key;
    }
    Some(key)
}

/// Appends the words of a name to `key`; whether the last one is "of".
fn push_words(text: &str, key: &mut String) -> bool {
    let mut is_of = false;
    for word in text.split(|c: char| !c.is_alphanumeric()).filter(|word| !word.is_empty()) {
        let start = key.len();
        for c in word.chars() {
            decompose_canonical(c, |part| match part {
                'ø' | 'Ø' => key.push('o'),
                'ł' | 'Ł' => key.push('l'),
                'đ' | 'Đ' => key.push('d'),
                'ı' => key.push('i'),
                _ if part.is_alphanumeric() => key.push(fold_char(part)),
                _ => {}
            });
        }
        match &key[start..] {
            "the" | "and" => key.truncate(start),
            "st" => key.replace_range(start.., "saint"),
            word => is_of = word == "of",
        }
    }
    is_of
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hyphens_and_underscores_are_one_spelling() {
        assert!(same_name("page-size", "page_size") && same_name("queue_id", "queue-id"));
        assert!(!same_name("page-size", "pagesize") && !same_name("page-size", "Page-Size"));
    }

    #[test]
    fn brackets_mark_one_value_of_a_list() {
        for (given, name, marked) in [
            ("tags[]", "tags", true),
            ("tags[0]", "tags", true),
            ("app-ids[12]", "app-ids", true),
            ("tags", "tags", false),
            ("tags[or]", "tags[or]", false),
            ("tags[or][]", "tags[or]", true),
            ("tags]", "tags]", false),
            ("[]", "", true),
        ] {
            assert_eq!(unbracketed(given), (name, marked), "{given}");
        }
    }

    #[test]
    fn blanks_and_characters_without_width_are_trimmed_at_the_ends_alone() {
        for blank in [
            ' ', '\t', '\n', '\r', '\u{b}', '\u{85}', '\u{a0}', '\u{2007}', '\u{202f}', '\u{3000}',
            '\u{200b}', '\u{200c}', '\u{200d}', '\u{2060}', '\u{feff}',
        ] {
            let text = format!("{blank} {blank}a{blank}b{blank} ");
            assert_eq!(trimmed(&text), format!("a{blank}b"), "{blank:?}");
            assert_eq!(trimmed(&blank.to_string()), "", "{blank:?}");
        }
        // Marks of direction are not blanks.
        assert_eq!(trimmed("\u{200e}a\u{200f}"), "\u{200e}a\u{200f}");
        assert_eq!(trimmed(""), "");
    }

    #[test]
    fn booleans_are_words_in_any_case_or_digits() {
        for word in ["true", "True", "TRUE", "1"] {
            assert_eq!(boolean_word(word), Some(true), "{word}");
        }
        for word in ["false", "False", "FALSE", "0"] {
            assert_eq!(boolean_word(word), Some(false), "{word}");
        }
        for word in ["", "yes", "on", "t", "2", "01", " true", "null"] {
            assert_eq!(boolean_word(word), None, "{word}");
        }
    }

    #[test]
    fn the_nearest_word_needs_the_fewest_edits() {
        let known = ["age", "last_country", "custom_fields", "core-profile-id", "action"];
        for (word, near) in [
            ("agee", "age"),
            ("Last-Country", "last_country"),
            ("lastcountry", "last_country"),
            ("custom-feilds", "custom_fields"),
            ("core_profile_id", "core-profile-id"),
            ("acton", "action"),
            ("Action", "action"),
        ] {
            assert_eq!(nearest_word(word, known), Some(near), "{word}");
        }
        assert_eq!(
            nearest_word("EuropeBerln", ["Africa/Cairo", "Europe/Berlin"]),
            Some("Europe/Berlin")
        );
    }

    #[test]
    fn a_word_is_near_if_it_needs_at_most_one_edit_for_three_of_its_characters() {
        for (word, near) in [
            ("", None),
            ("em", None),
            ("ema", None),
            ("emal", Some("email")),
            ("emial", Some("email")),
            ("emali_", Some("email")),
            ("emaxx", None),
            ("mile", None),
            ("ui", None),
            ("uis", Some("uid")),
            ("ñid", Some("uid")),
            ("ñi", None),
        ] {
            assert_eq!(nearest_word(word, ["email", "uid"]), near, "{word}");
        }
        assert_eq!(nearest_word("age", []), None);
    }

    #[test]
    fn names_are_compared_by_their_letters_and_words() {
        for (a, b) in [
            ("St. Kitts & Nevis", "saint kitts and nevis"),
            ("The  Côte d’Ivoire ", "COTE D'IVOIRE"),
            ("Co\u{302}te d'Ivoire", "Côte d'Ivoire"),
            ("Korea, Republic of", "Republic of Korea"),
            ("Congo (the Democratic Republic of the)", "Democratic Republic of the Congo"),
            ("ΕΛΛΆΣ", "Ελλάς"),
            ("Łódź Đà Ø Iıİ", "lodz da o iii"),
        ] {
            assert_eq!(name_key(a), name_key(b), "{a} {b}");
        }
        for (a, b) in [("Sta. Lucia", "Santa Lucia"), ("Theland", "land"), ("Android", "roid")] {
            assert_ne!(name_key(a), name_key(b), "{a} {b}");
        }
        assert_eq!(name_key("Isle of Man, Republic").as_deref(), Some("isleofmanrepublic"));
        assert_eq!([name_key("a\0b"), name_key(&"a".repeat(129))], [None, None]);
        assert_eq!(name_key(" (the) ").as_deref(), Some(""));
    }
}
