//! Languages: reads the two-letter codes of ISO 639-1, and what people write in place of them: the
//! tag of a locale, a three-letter code, an English name. Each of these is reduced to the
//! two-letter code, so `pt-BR` and `pt` are one language. A text that two languages share, such as
//! `Ndebele`, is none.

mod table;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use table::{LANGUAGES, NAMES};

use crate::spelling::{name_key, nearest, trimmed};

/// Codes that the standard has replaced. Java and Android wrote the first three for decades.
const REPLACED: [[&str; 2]; 5] =
    [["iw", "he"], ["in", "id"], ["ji", "yi"], ["jw", "jv"], ["mo", "ro"]];

/// The languages by their names in the form that is compared.
static BY_KEY: LazyLock<BTreeMap<String, &str>> = LazyLock::new(|| {
    NAMES.iter().filter_map(|[name, code]| Some((name_key(name)?, *code))).collect()
});

/// A language that a text names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Language {
    /// Of ISO 639-1, in lower case.
    pub code: &'static str,
    /// Whether the text says more than the code, or says it in another way.
    pub reduced: bool,
}

/// The language that `text` names: by a code of ISO 639-1 or 639-2, a tag of BCP 47 or an English
/// name, in any case.
///
/// ```
/// use caseload_model::language::{Language, read};
///
/// assert_eq!(read("DE"), Some(Language { code: "de", reduced: false }));
/// assert_eq!(read("pt_BR"), Some(Language { code: "pt", reduced: true }));
/// assert_eq!(read("German").map(|read| read.code), Some("de"));
/// assert_eq!(read("Klingon"), None);
/// ```
pub fn read(text: &str) -> Option<Language> {
    let text = trimmed(text);
    if let Some(code) = short_code(text) {
        return Some(Language { code, reduced: false });
    }
    let code = of_tag(text).or_else(|| of_name(text))?;
    Some(Language { code, reduced: true })
}

/// Whether `text` is a code of ISO 639-1, in any case.
///
/// ```
/// use caseload_model::language::is_language;
///
/// assert!(is_language("en") && is_language("DE"));
/// assert!(!is_language("eng") && !is_language("en-GB") && !is_language(""));
/// ```
pub fn is_language(text: &str) -> bool {
    short_code(text).is_some()
}

/// The code of the language that `text` names or probably means. For hints in error messages,
/// never for data.
pub fn nearest_language(text: &str) -> Option<&'static str> {
    let near = |key: String| nearest(&key, BY_KEY.iter().map(|(known, code)| (known, *code)));
    read(text).map(|read| read.code).or_else(|| name_key(text).and_then(near))
}

fn short_code(text: &str) -> Option<&'static str> {
    if text.len() != 2 {
        return None;
    }
    let wanted = text.to_ascii_lowercase();
    let found = LANGUAGES.binary_search_by(|[code, ..]| (*code).cmp(&wanted));
    found.ok().map(|at| LANGUAGES[at][0])
}

/// The language of a tag such as `zh-Hans-CN`, or of a three-letter code.
fn of_tag(text: &str) -> Option<&'static str> {
    let mut parts = text.split(['-', '_']);
    let language = parts.next()?;
    let is_part = |part: &str| {
        (1..=8).contains(&part.len()) && part.bytes().all(|b| b.is_ascii_alphanumeric())
    };
    if !parts.all(is_part) {
        return None;
    }
    let replaced = || REPLACED.iter().find(|[code, _]| code.eq_ignore_ascii_case(language));
    let same = |code: &&str| !code.is_empty() && code.eq_ignore_ascii_case(language);
    short_code(language).or_else(|| replaced().map(|[_, code]| *code)).or_else(|| {
        let found = LANGUAGES.iter().find(|[_, long @ ..]| long.iter().any(same));
        found.map(|[code, ..]| *code)
    })
}

/// The language of an English name. A region or a script may follow in parentheses.
fn of_name(text: &str) -> Option<&'static str> {
    let of = |name: &str| BY_KEY.get(&name_key(name)?).copied();
    of(text).or_else(|| of(text.split_once('(')?.0))
}

#[cfg(test)]
mod tests;
