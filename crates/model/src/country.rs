//! Country names: recognises alpha-2 and alpha-3 codes of ISO 3166-1 and the English names that
//! iso-codes and CLDR give its 249 countries, in any case. Kosovo, which the standard does not
//! list, is a country with the codes that everyone uses, `XK` and `XKX`. Texts are not trimmed,
//! translated or corrected; a field keeps the text that was sent. Lookups do not allocate, because
//! a task makes up to 10,000 of them; hints for people may cost more.

mod table;

use table::{ALPHA_2, ALPHA_3, NAMES};

use crate::fold::fold_char;

/// Longer texts get no hint: no country name comes near this length.
const HINT_TEXT_BYTES_MAX: usize = 128;

/// Whether `text` is a country: alpha-2 code, alpha-3 code or name, in any case.
///
/// The apostrophe of a name may be straight or curved, and the capital dotted `İ` counts as an
/// `I`, because that is how a Turkish keyboard writes Türkiye in capitals.
///
/// ```
/// use caseload_model::country::is_country;
///
/// assert!(is_country("jp") && is_country("JPN") && is_country("Japan"));
/// assert!(!is_country(" JP") && !is_country("Atlantis"));
/// ```
pub fn is_country(text: &str) -> bool {
    code(text).is_some() || name(text).is_some()
}

/// The alpha-2 code of the country that `text` names: by code or by name, in any case.
///
/// ```
/// use caseload_model::country::alpha_2;
///
/// assert_eq!([alpha_2("DEU"), alpha_2("germany")], [Some("DE"), Some("DE")]);
/// ```
pub fn alpha_2(text: &str) -> Option<&'static str> {
    match text.len() {
        3 => found_alpha_3(text).map(|[_, country]| *country),
        _ => code(text),
    }
    .or_else(|| found_name(text).map(|[_, _, country]| *country))
}

/// The country that `text` probably means, if one is close: a code, or a name in its usual
/// spelling. For hints in error messages, never for data.
pub fn nearest_country(text: &str) -> Option<&'static str> {
    if text.len() > HINT_TEXT_BYTES_MAX {
        return None;
    }
    let wanted: String = folded(text.trim()).collect();
    // A code is suggested only if nothing but the blanks around it is wrong: three letters with one
    // changed are another country.
    if let Some(found) = code(&wanted).or_else(|| name(&wanted)) {
        return Some(found);
    }
    let distance_max = distance_max(wanted.chars().count())?;
    let letters = letter_set(&wanted);
    NAMES
        .iter()
        // An edit changes at most two letters of the set, so this skips nearly all names.
        .filter(|[key, ..]| (letter_set(key) ^ letters).count_ones() as usize <= 2 * distance_max)
        .map(|[key, name, _]| (strsim::osa_distance(key, &wanted), *name))
        .filter(|(distance, _)| *distance <= distance_max)
        .min_by_key(|(distance, _)| *distance)
        .map(|(_, name)| name)
}

/// The most edits that still count as close. Short words get no hint.
pub(crate) fn distance_max(chars: usize) -> Option<usize> {
    match chars {
        0..=3 => None,
        4..=7 => Some(1),
        8..=14 => Some(2),
        _ => Some(3),
    }
}

/// The basic letters that occur in `text`, one bit each.
fn letter_set(text: &str) -> u32 {
    let letters = text.bytes().filter(u8::is_ascii_lowercase);
    letters.fold(0, |set, letter| set | 1 << (letter - b'a'))
}

fn code(text: &str) -> Option<&'static str> {
    match text.len() {
        2 => {
            let found = ALPHA_2.binary_search_by(|code| code.bytes().cmp(capitals(text)));
            found.ok().map(|at| ALPHA_2[at])
        }
        3 => found_alpha_3(text).map(|[code, _]| *code),
        _ => None,
    }
}

fn found_alpha_3(text: &str) -> Option<&'static [&'static str; 2]> {
    let found = ALPHA_3.binary_search_by(|[code, _]| code.bytes().cmp(capitals(text)));
    found.ok().map(|at| &ALPHA_3[at])
}

fn capitals(text: &str) -> impl Iterator<Item = u8> + '_ {
    text.bytes().map(|byte| byte.to_ascii_uppercase())
}

fn name(text: &str) -> Option<&'static str> {
    found_name(text).map(|[_, name, _]| *name)
}

fn found_name(text: &str) -> Option<&'static [&'static str; 3]> {
    let found = NAMES.binary_search_by(|[key, ..]| key.chars().cmp(folded(text)));
    found.ok().map(|at| &NAMES[at])
}

/// The form in which names are compared: folded, with one kind of apostrophe and of capital I.
pub(crate) fn folded(text: &str) -> impl Iterator<Item = char> + '_ {
    text.chars().map(|char| match char {
        'İ' => 'i',
        '\u{2019}' => '\'',
        other => fold_char(other),
    })
}

#[cfg(test)]
mod tests;
