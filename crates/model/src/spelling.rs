//! How callers spell names that are known: of a field, a parameter, a form field. Hyphens equal
//! underscores, and a name that is not known is answered with the one it was most likely meant as.
//! Which names there are is each caller's business; countries and languages, whose names are
//! texts, have searches of their own.

/// Characters of a word that are compared. Known words are shorter; the beginning decides, at a
/// bounded cost.
const CHARS_COMPARED: usize = 64;

/// Whether a caller's spelling is the name `known`.
pub fn same_name(known: &str, given: &str) -> bool {
    known.bytes().map(plain).eq(given.bytes().map(plain))
}

const fn plain(byte: u8) -> u8 {
    if byte == b'-' { b'_' } else { byte }
}

/// The one of `known` that takes the fewest changes to become `word`, the first of equal ones;
/// none where nothing is known. Known words are lower case; that of `word` does not count.
pub fn nearest_word<'k>(word: &str, known: impl IntoIterator<Item = &'k str>) -> Option<&'k str> {
    nearest(word, known).map(|(_, near)| near)
}

/// The nearest word, where at most `changes_max` changes make it `word`.
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
    fn the_nearest_word_is_the_one_with_the_fewest_slips() {
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
    fn a_close_word_is_at_most_so_many_slips_away() {
        for (word, near) in [("emial", Some("email")), ("emali_", Some("email")), ("mile", None)] {
            assert_eq!(close_word(word, ["email", "uid"], 2), near, "{word}");
        }
    }
}
