//! Countries: recognises the codes of ISO 3166-1, the names that iso-codes and CLDR give its 249
//! countries in English and in their own languages, and the short forms that people write. Kosovo,
//! which the standard does not list, is a country with the codes that everyone uses, `XK` and
//! `XKX`. A field keeps the text that was sent; the text is read here each time.

mod table;

use std::sync::LazyLock;

use table::{ALPHA_2, ALPHA_3, NAMES};

use crate::spelling::{name_key, nearest, trimmed};

/// A name in the form that is compared, as its source spells it, and the country.
type Name = (String, &'static str, &'static str);

/// Sorted by the compared form.
static BY_KEY: LazyLock<Vec<Name>> = LazyLock::new(|| {
    let keyed = |[name, country]: &[&'static str; 2]| Some((name_key(name)?, *name, *country));
    let mut names: Vec<Name> = NAMES.iter().filter_map(keyed).collect();
    names.sort_by(|(a, ..), (b, ..)| a.cmp(b));
    names.dedup_by(|(a, ..), (b, ..)| a == b);
    names
});

/// The longest short form that is a code and no name, such as `UAE`.
const CODE_BYTES_MAX: usize = 3;

/// Whether `text` is a country.
///
/// ```
/// use caseload_model::country::is_country;
///
/// assert!(is_country("jp") && is_country("JPN") && is_country("Japan") && is_country(" Japan"));
/// assert!(!is_country("Atlantis") && !is_country("N/A"));
/// ```
pub fn is_country(text: &str) -> bool {
    alpha_2(text).is_some()
}

/// The alpha-2 code of the country that `text` names: by a code, in which only case and dots do not
/// count, or by a name as [`name_key`] compares names.
///
/// ```
/// use caseload_model::country::alpha_2;
///
/// assert_eq!([alpha_2("DEU"), alpha_2("germany")], [Some("DE"), Some("DE")]);
/// assert_eq!([alpha_2("U.S."), alpha_2("The Gambia")], [Some("US"), Some("GM")]);
/// ```
pub fn alpha_2(text: &str) -> Option<&'static str> {
    let text = trimmed(text);
    code(text).or_else(|| {
        let key = name_key(text).filter(|key| key.len() > CODE_BYTES_MAX)?;
        named(&key)
    })
}

/// The country that `text` probably means, if one is close: a name in its usual spelling. For hints
/// in error messages, never for data.
pub fn nearest_country(text: &str) -> Option<&'static str> {
    // Three letters with one changed are another country.
    let key = name_key(text).filter(|key| key.len() > CODE_BYTES_MAX)?;
    nearest(&key, BY_KEY.iter().map(|(known, name, _)| (known, *name)))
}

/// The country of a code. Signs other than dots stay, so that `N/A` is not Namibia.
fn code(text: &str) -> Option<&'static str> {
    let mut letters = [0; CODE_BYTES_MAX];
    let mut len = 0;
    for byte in text.bytes().filter(|byte| *byte != b'.') {
        *letters.get_mut(len)? = byte.to_ascii_uppercase();
        len += 1;
    }
    let code = std::str::from_utf8(&letters[..len]).ok()?;
    if let Ok(at) = ALPHA_2.binary_search(&code) {
        return Some(ALPHA_2[at]);
    }
    let long = ALPHA_3.binary_search_by(|[long, _]| long.cmp(&code));
    long.map_or_else(|_| named(&code.to_ascii_lowercase()), |at| Some(ALPHA_3[at][1]))
}

fn named(key: &str) -> Option<&'static str> {
    let found = BY_KEY.binary_search_by(|(known, ..)| known.as_str().cmp(key));
    found.ok().map(|at| BY_KEY[at].2)
}

#[cfg(test)]
mod tests;
