//! The words that spreadsheets and other desks write over a column, and the field that each one
//! means. Only words that mean one thing are here: `ID` or `Status` could be two fields.

use crate::profile::{APP, CORE, Table};
use crate::task::Family;

/// A field, and other words for it.
type Words = (&'static str, &'static [&'static str]);

const EMAIL: Words = (
    "email",
    &[
        "Mail",
        "E-mail address",
        "Mail address",
        "Primary email",
        "Work email",
        "Contact email",
        "Customer email",
        "User email",
    ],
);
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
        "Mobile phone number",
        "Mobile no",
        "Cell",
        "Cell phone",
        "Cell number",
        "Work phone",
        "Home phone",
        "Business phone",
        "Primary phone",
        "Contact number",
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
    (
        "uid",
        &[
            "Customer ID",
            "Customer number",
            "Customer no",
            "User ID",
            "Contact ID",
            "External ID",
            "Client ID",
            "Client number",
        ],
    ),
    ("first_name", &["Given name", "Forename"]),
    ("last_name", &["Surname", "Family name"]),
    ("full_name", &["Name", "Customer name", "Contact name"]),
    ("display_name", &["Nickname"]),
    ("tags", &["Tag", "Labels", "Label"]),
    ("last_country", &["Country", "Country/Region"]),
    ("last_city", &["City", "Town", "Town/City", "City/Town"]),
    ("preferred_language", &["Language", "Locale"]),
    (
        "last_active_date",
        &["Last active", "Last active at", "Last activity", "Last seen", "Last seen at"],
    ),
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

const ISSUE_WORDS: &[Words] = &[
    (
        "id",
        &[
            "Ticket ID",
            "Ticket number",
            "Ticket no",
            "Ticket #",
            "Issue ID",
            "Issue number",
            "Case ID",
            "Case number",
            "Conversation ID",
        ],
    ),
    ("title", &["Subject", "Summary", "Ticket subject", "Ticket title", "Case subject"]),
    (
        "message",
        &[
            "Description",
            "Body",
            "Message body",
            "First message",
            "Comment",
            "Comment body",
            "Content",
            "Question",
        ],
    ),
    (
        "created_at",
        &[
            "Created",
            "Created on",
            "Created time",
            "Created date",
            "Creation date",
            "Date created",
            "Date/time opened",
            "Opened",
            "Opened at",
        ],
    ),
    (
        "updated_at",
        &[
            "Updated",
            "Updated on",
            "Updated time",
            "Last updated",
            "Last update",
            "Last updated at",
            "Modified",
            "Modified at",
            "Last modified",
        ],
    ),
    (
        "author_email",
        &[
            "Requester",
            "Requester email",
            "Requester's email",
            "Email",
            "Email address",
            "Mail",
            "From",
            "From email",
            "Sender",
            "Sender email",
            "Customer email",
            "Contact email",
            "User email",
            "Reporter email",
        ],
    ),
    (
        "author_name",
        &[
            "Requester name",
            "Requester's name",
            "Customer",
            "Customer name",
            "Contact",
            "Contact name",
            "Full name",
            "Name",
            "From name",
            "Sender name",
            "Reporter",
            "Reporter name",
        ],
    ),
    ("state", &["Status", "Ticket status", "Issue status", "Case status"]),
    ("tags", &["Tag", "Labels", "Label"]),
    (
        "assignee_email",
        &["Assignee", "Assigned to", "Agent", "Agent email", "Owner", "Owner email", "Case owner"],
    ),
    ("assignee_name", &["Agent name", "Owner name"]),
    ("language", &["Locale"]),
    ("platform_type", &["Channel", "Via", "Platform"]),
    ("cc", &["CCs", "Cc emails"]),
    ("feedback_rating", &["Rating"]),
];

/// The other words of each field of a family's records, as a page lists them. They count in any
/// case, and with blanks, hyphens or underscores anywhere.
pub fn header_words(
    family: Family,
) -> impl Iterator<Item = (&'static str, &'static [&'static str])> {
    let words = if family == Family::Issues { ISSUE_WORDS } else { CORE_WORDS };
    words.iter().copied()
}

/// The field of an issue that a word means; `word` is [`plain`].
pub(super) fn field_of_issue(word: &str) -> Option<&'static str> {
    meant(ISSUE_WORDS, word)
}

/// The field that a word means; `word` is [`plain`].
pub(super) fn field_of(table: &Table, word: &str) -> Option<&'static str> {
    meant(if table.id_field == APP.id_field { APP_WORDS } else { CORE_WORDS }, word)
}

fn meant(words: &[Words], word: &str) -> Option<&'static str> {
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

    use super::super::issues::field_names;
    use super::*;
    use crate::profile::{IdentityType, NAME_COMPONENTS};

    #[test]
    fn each_word_means_one_known_field_and_none_is_a_name_of_another() {
        for (table, words) in [(&CORE, CORE_WORDS), (&APP, APP_WORDS)] {
            let fields = table.fields.iter().map(|field| field.name);
            let inside = IdentityType::ALL.iter().map(|kind| kind.as_str());
            let inside = inside.chain(NAME_COMPONENTS.iter().copied());
            let names: Vec<&str> = fields.chain(inside.filter(|_| is_core(table))).collect();
            check(&names, words);
        }
        check(&field_names().collect::<Vec<_>>(), ISSUE_WORDS);
    }

    fn check(names: &[&str], words: &[Words]) {
        let mut seen: HashSet<String> = names.iter().map(|name| plain(name)).collect();
        for (field, known) in words {
            assert!(names.contains(field), "{field}");
            for word in *known {
                assert!(seen.insert(plain(word)), "{word} is used twice");
            }
        }
    }
}
