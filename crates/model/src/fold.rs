//! Comparison without case: Unicode simple folding, one code point to one code point. What is
//! compared (email addresses, text filters) is folded here, stored folded and compared as bytes,
//! so that every store backend agrees. No normalisation takes place.

/// `text` with every code point simply folded.
pub fn fold(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    text.chars().map(fold_char).collect()
}

/// The simple folding of one code point. Where the lower case takes several code points (as for
/// U+0130) the code point stays; the upper case is taken first, so that the variants of one letter
/// (sigma, final sigma) meet.
pub fn fold_char(c: char) -> char {
    if c.is_ascii() {
        return c.to_ascii_lowercase();
    }
    let upper = single(c.to_uppercase()).unwrap_or(c);
    single(upper.to_lowercase()).unwrap_or(c)
}

fn single(mut chars: impl Iterator<Item = char>) -> Option<char> {
    let first = chars.next()?;
    chars.next().is_none().then_some(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn letters_of_both_cases_meet() {
        for (a, b) in [("ABC", "abc"), ("ÄÖÜ", "äöü"), ("ΣΑΣ", "σας"), ("ПРИВЕТ", "привет")]
        {
            assert_eq!(fold(a), fold(b));
        }
    }

    #[test]
    fn no_letter_grows_or_is_normalised() {
        assert_eq!(fold("ß"), "ß");
        assert_eq!(fold("İ").chars().count(), 1);
        assert_ne!(fold("e\u{301}"), fold("é"));
    }
}
