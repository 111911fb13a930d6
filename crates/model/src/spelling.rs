//! How callers spell the names of fields and parameters. Hyphens equal underscores, and an unknown
//! name gets the nearest known one as a hint. Countries and languages have searches of their own,
//! because their names are texts.

/// Characters of a word that are compared, which bounds the cost. Known words are shorter than
/// this.
const CHARS_COMPARED: usize = 64;

/// Whether a caller's spelling is the name `known`.
pub fn same_name(known: &str, given: &str) -> bool {
    known.bytes().map(plain).eq(given.bytes().map(plain))
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

fn nearest<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<(usize, &'k str)> {
    let start = word.chars().take(CHARS_COMPARED).flat_map(char::to_lowercase);
    let start: String = start.map(|char| if char == '-' { '_' } else { char }).collect();
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
