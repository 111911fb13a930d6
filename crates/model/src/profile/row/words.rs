//! The words that spreadsheets and other desks write over a column, and the field that each one
//! means. Only words that mean one thing are here: `ID` or `Status` could be two fields.

use super::super::field::{APP, CORE, Table};

/// A field, and other words for it.
type Words = (&'static str, &'static [&'static str]);

const EMAIL: Words = ("email", &["Mail", "E-mail address", "Mail address"]);
const PHONE: Words = (
    "phone_number",
    &[
        "Phone",
        "Phone no",
        "Telephone",
        "Telephone number",
        "Tel",
        "Mobile",
        "Mobile number",
        "Mobile phone",
        "Cell",
        "Cell phone",
    ],
);
const PERSONA: Words = ("user_persona", &["Persona"]);
const VIP: Words = ("user_vip_segment", &["VIP segment"]);
const SUPPORT: Words = ("user_support_status", &["Support status"]);
const TERMS: Words = ("accepted_t_and_c", &["Terms accepted", "Accepted terms"]);
const VALUE: Words = ("lifetime_value", &["LTV", "CLV", "Customer lifetime value"]);

const CORE_WORDS: &[Words] = &[
    EMAIL,
    PHONE,
    ("uid", &["Customer ID", "User ID", "External ID", "Client ID"]),
    ("first_name", &["Given name", "Forename"]),
    ("last_name", &["Surname", "Family name"]),
    ("full_name", &["Name"]),
    ("tags", &["Tag", "Labels", "Label"]),
    ("last_country", &["Country"]),
    ("last_city", &["City", "Town"]),
    ("preferred_language", &["Language", "Locale"]),
    ("last_active_date", &["Last active", "Last active at", "Last seen", "Last seen at"]),
    PERSONA,
    ("user_vip_segment", &["VIP segment", "Segment"]),
    SUPPORT,
    TERMS,
    VALUE,
];

const APP_WORDS: &[Words] = &[
    ("city", &["Town"]),
    ("language", &["Locale"]),
    ("user_level", &["Level"]),
    ("app_rating", &["Rating"]),
    ("user_paying_segment", &["Paying segment"]),
    PERSONA,
    VIP,
    SUPPORT,
    TERMS,
    VALUE,
];

/// The other words of each field of core profiles, as a page lists them. They count in any case,
/// and with blanks, hyphens or underscores anywhere.
pub fn header_words() -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    CORE_WORDS.iter().copied()
}

/// The field that a word means; `word` is [`plain`].
pub(super) fn field_of(table: &Table, word: &str) -> Option<&'static str> {
    let words = if table.id_field == APP.id_field { APP_WORDS } else { CORE_WORDS };
    let means = |known: &[&str]| known.iter().any(|known| plain(known) == word);
    words.iter().find(|(_, known)| means(known)).map(|(field, _)| *field)
}

/// Whether a table is that of core profiles.
pub(super) fn is_core(table: &Table) -> bool {
    table.id_field == CORE.id_field
}

/// A name as names are compared: lower case, without blanks, hyphens and underscores.
pub(super) fn plain(name: &str) -> String {
    let shown = name.chars().filter(|c| !c.is_whitespace() && !matches!(c, '-' | '_' | '\u{2010}'));
    shown.flat_map(char::to_lowercase).collect()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::super::super::check::NAME_COMPONENTS;
    use super::super::super::identity::IdentityType;
    use super::*;

    #[test]
    fn each_word_means_one_known_field_and_none_is_a_name_of_another() {
        for (table, words) in [(&CORE, CORE_WORDS), (&APP, APP_WORDS)] {
            let fields = table.fields.iter().map(|field| field.name);
            let inside = IdentityType::ALL.iter().map(|kind| kind.as_str());
            let inside = inside.chain(NAME_COMPONENTS.iter().copied());
            let names: Vec<&str> = fields.chain(inside.filter(|_| is_core(table))).collect();
            let mut seen: HashSet<String> = names.iter().map(|name| plain(name)).collect();
            for (field, known) in words {
                assert!(names.contains(field), "{field}");
                for word in *known {
                    assert!(seen.insert(plain(word)), "{word} is used twice");
                }
            }
        }
    }
}
