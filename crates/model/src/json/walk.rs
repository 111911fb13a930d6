//! Steps over the members of a map and the elements of an array in place, by grammar alone, for
//! callers that look for a few values in stored JSON. Damaged JSON ends the walk.

use std::ops::Range;

use super::{DEPTH_MAX, skip};

/// Levels to which a stored value may nest: those of an entry and of the answer around it.
const WALK_DEPTH_MAX: usize = DEPTH_MAX + 10;

/// The members of the map that begins at `at`: each key as it is written, without its quotes, and
/// the place of its value in `text`.
pub fn members_at(text: &[u8], at: usize) -> impl Iterator<Item = (&[u8], Range<usize>)> {
    let mut next = first(text, at, b'{');
    std::iter::from_fn(move || {
        let key_at = next?;
        let key_end = end(text, key_at)?;
        let key = text.get(key_at..key_end)?.strip_prefix(b"\"")?.strip_suffix(b"\"")?;
        let colon = skip::space(text, key_end);
        if text.get(colon) != Some(&b':') {
            return None;
        }
        let value_at = skip::space(text, colon + 1);
        let value = value_at..end(text, value_at)?;
        next = after_comma(text, value.end);
        Some((key, value))
    })
}

/// The places in `text` of the elements of the array that begins at `at`.
pub fn elements_at(text: &[u8], at: usize) -> impl Iterator<Item = Range<usize>> {
    let mut next = first(text, at, b'[');
    std::iter::from_fn(move || {
        let element = next?..end(text, next?)?;
        next = after_comma(text, element.end);
        Some(element)
    })
}

/// The place of the first part of a map or array; `None` if it is empty or something else.
fn first(text: &[u8], at: usize, opening: u8) -> Option<usize> {
    if text.get(at) != Some(&opening) {
        return None;
    }
    let at = skip::space(text, at + 1);
    text.get(at).filter(|byte| !matches!(byte, b'}' | b']')).map(|_| at)
}

/// The place after a comma; `None` if none follows.
fn after_comma(text: &[u8], at: usize) -> Option<usize> {
    let at = skip::space(text, at);
    (text.get(at) == Some(&b',')).then(|| skip::space(text, at + 1))
}

/// The end of the value that begins at `at`.
fn end(text: &[u8], at: usize) -> Option<usize> {
    skip::value(text.get(at..)?, WALK_DEPTH_MAX).ok().map(|length| at + length)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_map(text: &str) -> Vec<(&str, &str)> {
        let text_of = |bytes| std::str::from_utf8(bytes).expect("a text");
        let found = members_at(text.as_bytes(), text.find('{').unwrap_or_default());
        found.map(|(key, value)| (text_of(key), &text[value])).collect()
    }

    #[test]
    fn members_and_elements_are_found_with_their_places() {
        assert_eq!(
            of_map(r#" { "a" : [1, {"b":2}] , "c\"":"}","":{} }"#),
            [("a", r#"[1, {"b":2}]"#), (r#"c\""#, r#""}""#), ("", "{}")]
        );
        let text = r#"[ 1 ,[2,3], "]" ]"#;
        let found: Vec<&str> = elements_at(text.as_bytes(), 0).map(|place| &text[place]).collect();
        assert_eq!(found, ["1", "[2,3]", r#""]""#]);
    }

    #[test]
    fn empty_and_other_values_have_no_parts_and_damage_ends_the_walk() {
        for text in ["{}", "{ }", "[]", "[1]", "\"{\"", "7", "", "{\"a\"", "{\"a\":", "{a:1}"] {
            assert_eq!(members_at(text.as_bytes(), 0).count(), 0, "{text}");
        }
        for text in ["[]", "[ ]", "{\"a\":1}", "7", "", "[", "[x"] {
            assert_eq!(elements_at(text.as_bytes(), 0).count(), 0, "{text}");
        }
        assert_eq!(of_map(r#"{"a":1,"b":}"#), [("a", "1")]);
        assert_eq!(elements_at(b"[1,", 0).count(), 1);
    }
}
