//! Languages: recognises the two-letter codes of ISO 639-1, in any case. A field does not accept
//! names, three-letter codes and locale tags, but people send them by mistake, so the hint of an
//! error message recognises them. The text of a field is stored as sent.

mod table;

use table::LANGUAGES;

use crate::country::{distance_max, folded};

/// Longer texts get no hint: no language name comes near this length.
const HINT_TEXT_BYTES_MAX: usize = 64;

/// Whether `text` is a code of ISO 639-1, in any case.
///
/// ```
/// use caseload_model::language::is_language;
///
/// assert!(is_language("en") && is_language("DE"));
/// assert!(!is_language("eng") && !is_language("en-GB") && !is_language(""));
/// ```
pub fn is_language(text: &str) -> bool {
    code(text).is_some()
}

/// The code that `text` probably means, if it is a locale tag, a three-letter code or an English
/// name. For hints in error messages, never for data.
///
/// ```
/// use caseload_model::language::nearest_language;
///
/// assert_eq!(nearest_language("pt_BR"), Some("pt"));
/// assert_eq!(nearest_language("german"), Some("de"));
/// ```
pub fn nearest_language(text: &str) -> Option<&'static str> {
    if text.len() > HINT_TEXT_BYTES_MAX {
        return None;
    }
    let text = text.trim();
    let tag = text.split(['-', '_']).next().unwrap_or(text);
    code(tag).or_else(|| long_code(tag)).or_else(|| nearest_name(plain(text)))
}

fn code(text: &str) -> Option<&'static str> {
    if text.len() != 2 {
        return None;
    }
    let wanted = text.bytes().map(|byte| byte.to_ascii_lowercase());
    let found = LANGUAGES.binary_search_by(|[code, ..]| code.bytes().cmp(wanted.clone()));
    found.ok().map(|at| LANGUAGES[at][0])
}

fn long_code(text: &str) -> Option<&'static str> {
    let mut rows = LANGUAGES.iter();
    let same = |code: &&str| !code.is_empty() && code.eq_ignore_ascii_case(text);
    rows.find(|[_, alpha_3, bibliographic, _]| [alpha_3, bibliographic].into_iter().any(same))
        .map(|[code, ..]| *code)
}

fn nearest_name(text: &str) -> Option<&'static str> {
    let wanted: String = folded(text).collect();
    let wanted_chars = wanted.chars().count();
    let distance_max = distance_max(wanted_chars).unwrap_or(0);
    LANGUAGES
        .iter()
        .flat_map(|[code, _, _, names]| names.split(';').map(move |name| (*code, plain(name))))
        .filter(|(_, name)| name.chars().count().abs_diff(wanted_chars) <= distance_max)
        .map(|(code, name)| {
            let name: String = folded(name).collect();
            (strsim::osa_distance(&name, &wanted), code)
        })
        .filter(|(distance, _)| *distance <= distance_max)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, code)| code)
}

/// The source has "Greek, Modern (1453-)"; people write "Greek".
fn plain(name: &str) -> &str {
    name.split([',', '(']).next().unwrap_or(name).trim()
}

#[cfg(test)]
mod tests;
