//! Comparison without case: Unicode simple folding, which maps one code point to one code point.
//! Email addresses and text filters are folded here, stored folded and compared as bytes, so every
//! store backend agrees. Texts that are searched have plain blanks and quotes as well, because
//! word processors and web pages write others; an address stays as it is. Texts are not normalised.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

/// `text` with every code point simply folded.
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars().map(fold_char).collect()
}

/// A text that is searched or searched for, folded.
pub fn fold_text(text: &str) -> String {
    text.chars().map(fold_text_char).collect()
}

/// The beginnings in UTF-8 of the characters beyond ASCII that a text has folded to ASCII: long s,
/// the sign of Kelvin, and blanks and quotes, which share theirs with other punctuation.
pub(crate) const FOLDED_TO_ASCII: [(&[u8], u8); 6] = [
    (b"\xc5\xbf", b's'),
    (b"\xe2\x84\xaa", b'k'),
    (b"\xc2\xa0", b' '),
    (b"\xe2\x80", b' '),
    (b"\xe2\x80", b'\''),
    (b"\xe2\x80", b'"'),
];
/// Bytes that [`fold_text_into`] folds at once if they are ASCII.
const STRIDE: usize = 16;
/// The UTF-8 of a code point. If it has fewer than four bytes, the last byte holds their number.
type Packed = [u8; 4];

/// Appends `text`, folded. Faster than [`fold_text`] for many long texts.
pub fn fold_text_into(text: &str, out: &mut Vec<u8>) {
    fold_by(&FOLDED, text, out);
}

/// Appends the texts in rendered JSON, folded. It stays JSON: a quote within a text is escaped.
pub fn fold_json_into(json: &str, out: &mut Vec<u8>) {
    fold_by(&FOLDED_IN_JSON, json, out);
}

fn fold_by(table: &[Packed], text: &str, out: &mut Vec<u8>) {
    let mut rest = text;
    let mut at = out.len();
    // Two bytes may become three, and no other length grows. The surplus is cut off at the end.
    out.resize(at + text.len() / 2 * 3 + STRIDE, 0);
    while !rest.is_empty() {
        if let Some(plain) = rest.as_bytes().first_chunk::<STRIDE>()
            && plain.is_ascii()
        {
            let folded = &mut out[at..at + STRIDE];
            folded.copy_from_slice(plain);
            folded.make_ascii_lowercase();
            at += STRIDE;
            rest = &rest[STRIDE..];
            continue;
        }
        let mut chars = rest.chars();
        while rest.len() - chars.as_str().len() < STRIDE
            && let Some(c) = chars.next()
        {
            let folded =
                table.get(c as usize).copied().unwrap_or_else(|| packed(fold_text_char(c)));
            out[at..at + 4].copy_from_slice(&folded);
            // A value over 4 is not a length: it is the last of four bytes.
            at += usize::from(folded[3].min(4));
        }
        rest = chars.as_str();
    }
    out.truncate(at);
}

/// The folded code points below U+10000, in UTF-8. Nearly all text consists of these.
static FOLDED: LazyLock<Vec<Packed>> = LazyLock::new(|| {
    let folded = |code| fold_text_char(char::from_u32(code).unwrap_or_default());
    (0..0x1_0000).map(|code| packed(folded(code))).collect()
});

/// The same in JSON.
static FOLDED_IN_JSON: LazyLock<Vec<Packed>> = LazyLock::new(|| {
    let mut table = FOLDED.clone();
    for quote in DOUBLE_QUOTES {
        table[quote as usize] = [b'\\', b'"', 0, 2];
    }
    table
});

const DOUBLE_QUOTES: RangeInclusive<char> = '\u{201c}'..='\u{201f}';

/// A code point of a text that is searched, folded.
fn fold_text_char(c: char) -> char {
    match c {
        '\u{a0}' | '\u{2007}' | '\u{202f}' => ' ',
        '\u{2018}'..='\u{201b}' => '\'',
        _ if DOUBLE_QUOTES.contains(&c) => '"',
        _ => fold_char(c),
    }
}

fn packed(c: char) -> Packed {
    let mut packed = [0; 4];
    c.encode_utf8(&mut packed);
    if c.len_utf8() < 4 {
        packed[3] = c.len_utf8() as u8;
    }
    packed
}

/// The simple folding of one code point. A code point stays as it is if its lower case takes
/// several code points, as that of U+0130 does. The upper case is taken first, so that the variants
/// of one letter (sigma, final sigma) become equal. These mappings differ from the folding table
/// for four code points, which are listed; the dotless i folds to i in Turkic languages only.
pub fn fold_char(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_lowercase();
    }
    match c {
        '\u{131}' => c,
        '\u{1fd3}' => '\u{390}',
        '\u{1fe3}' => '\u{3b0}',
        '\u{fb05}' => '\u{fb06}',
        _ => {
            let upper = single(c.to_uppercase()).unwrap_or(c);
            single(upper.to_lowercase()).unwrap_or(c)
        }
    }
}

fn single(mut chars: impl Iterator<Item = char>) -> Option<char> {
    let first = chars.next()?;
    chars.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::json::write_string;
    use proptest::prelude::*;
    use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

    #[test]
    fn upper_and_lower_case_fold_to_the_same_text() {
        for (a, b) in [("ABC", "abc"), ("ÄÖÜ", "äöü"), ("ΣΑΣ", "σας"), ("ПРИВЕТ", "привет")]
        {
            assert_eq!(fold(a), fold(b));
        }
    }

    #[test]
    fn every_code_point_folds_as_the_simple_folding_of_unicode_defines() {
        // Letters that are newer than the table in `regex_syntax`.
        let is_new = |c: char| matches!(c, '\u{a7cb}'..='\u{a7dc}' | '\u{16ea0}'..='\u{16ed3}');
        for c in ('\0'..='\u{1ffff}').filter(|c| !is_new(*c)) {
            let range = ClassUnicodeRange::new(c, c);
            let mut class = ClassUnicode::new([range]);
            class.case_fold_simple();
            let variants = class.ranges().iter().flat_map(|range| range.start()..=range.end());
            let variants: Vec<char> = variants.collect();
            for variant in &variants {
                assert_eq!(fold_char(*variant), fold_char(c), "{variant:?} {c:?}");
            }
            assert!(variants.contains(&fold_char(c)), "{c:?} {:?}", fold_char(c));
        }
    }

    #[test]
    fn the_characters_that_fold_to_ascii_are_known_by_their_beginnings() {
        let beyond = ('\u{80}'..=char::MAX).map(|c| (c.to_string(), fold_text_char(c)));
        let folded: Vec<_> = beyond.filter(|(_, folded)| folded.is_ascii()).collect();
        let is_of = |(start, to): &(&[u8], u8), (c, folded): &(String, char)| {
            c.as_bytes().starts_with(start) && char::from(*to) == *folded
        };
        for c in &folded {
            assert!(FOLDED_TO_ASCII.iter().any(|known| is_of(known, c)), "{c:?}");
        }
        for known in &FOLDED_TO_ASCII {
            assert!(folded.iter().any(|c| is_of(known, c)), "{known:?}");
        }
    }

    #[test]
    fn texts_have_plain_blanks_and_quotes_and_addresses_stay() {
        let sent = "A\u{a0}b\u{2007}c\u{202f}d ‘e’ ‚f‛ “g” „h‟ «i» j\u{2003}k";
        let text = "a b c d 'e' 'f' \"g\" \"h\" «i» j\u{2003}k";
        assert_eq!(fold_text(sent), text);
        assert_eq!(fold(sent), sent.to_lowercase());
    }

    proptest! {
        #[test]
        fn the_fast_folding_appends_the_same_text(
            text in any::<String>(), cased in "[a-zA-ZäÄσςΣſKİı😀‘”„\u{a0}\u{202f}—\"\\\\]*",
        ) {
            for text in [text, cased] {
                let mut out = b"x".to_vec();
                fold_text_into(&text, &mut out);
                let expected = format!("x{}", fold_text(&text));
                prop_assert_eq!(String::from_utf8(out).ok(), Some(expected));
                let (mut json, mut folded, mut expected) = (Vec::new(), Vec::new(), Vec::new());
                write_string(&text, &mut json);
                fold_json_into(&String::from_utf8_lossy(&json), &mut folded);
                write_string(&fold_text(&text), &mut expected);
                prop_assert_eq!(folded, expected);
            }
        }
    }

    #[test]
    fn folding_neither_expands_nor_normalises_a_letter() {
        assert_eq!(fold("ß"), "ß");
        assert_eq!(fold("İ").chars().count(), 1);
        assert_ne!(fold("e\u{301}"), fold("é"));
    }
}
