//! How callers spell names and words, and characters that no text shows. Hyphens equal underscores,
//! a name with brackets is one value of a list, booleans have several spellings, and an unknown
//! name gets the nearest known one as a hint. Countries and languages have searches of their own,
//! because their names are texts.

use crate::encoded_word::decoded_words;

/// Characters of a word that are compared, which bounds the cost. Known words are shorter than
/// this.
const CHARS_COMPARED: usize = 64;
/// How often a name is decoded whose decoded form has encoded words, which bounds the cost.
const NAME_ROUNDS_MAX: usize = 8;

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
/// Files and forms bring these along; nobody means them.
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

/// The one of `known` that needs the fewest edits to become `word`, the first of equal ones; none
/// if `known` is empty. Known words are lower case; the case of `word` does not count.
pub fn nearest_word<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    nearest(word, known).map(|(_, near)| near)
}

/// The nearest word, if at most `changes_max` edits turn it into `word`.
pub(crate) fn close_word<'k>(
    word: &str,
    known: impl IntoIterator<Item = &'k str>,
    changes_max: usize,
) -> Option<&'k str> {
    nearest(word, known).filter(|(changes, _)| *changes <= changes_max).map(|(_, near)| near)
}

/// The beginning of `word` as words are compared: lower case, with underscores.
pub(crate) fn normalised(word: &str) -> String {
    let start = word.chars().take(CHARS_COMPARED).flat_map(char::to_lowercase);
    start.map(|char| if char == '-' { '_' } else { char }).collect()
}

fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<(usize, &'k str)> {
    let start = normalised(word);
    let changes = |near: &str| strsim::osa_distance(&start, &near.replace('-', "_"));
    known.into_iter().map(|near| (changes(near), near)).min_by_key(|(changes, _)| *changes)
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
            ("country", "last_country"),
            ("custom-feilds", "custom_fields"),
            ("core_profile_id", "core-profile-id"),
            ("acton", "action"),
            ("Action", "action"),
            ("", "age"),
        ] {
            assert_eq!(nearest_word(word, known), Some(near), "{word}");
        }
        assert_eq!(nearest_word("age", []), None);
    }

    #[test]
    fn a_close_word_needs_at_most_the_given_number_of_edits() {
        for (word, near) in [("emial", Some("email")), ("emali_", Some("email")), ("mile", None)] {
            assert_eq!(close_word(word, ["email", "uid"], 2), near, "{word}");
        }
    }
}
