//! The field tables of core and app profiles: name and rule of every field, in the order in which
//! records store and show them. These tables are the only list of fields; validation, storage and
//! error messages use them. `check` applies the rules.

use crate::json::Json;
use crate::tags::{ADD_TAGS, REMOVE_TAGS};
use crate::task::{Action, Family};

/// Longest text value, in code points.
pub const TEXT_CHARS_MAX: usize = 100_000;
/// Longest key of a custom field or of an identity's metadata, in code points.
pub const KEY_CHARS_MAX: usize = 255;
/// Longest tag, in code points.
pub const TAG_CHARS_MAX: usize = 100;
/// Most elements of one collection of a profile.
pub const COLLECTION_ELEMENTS_MAX: usize = 100;
/// Highest age, in years.
pub const AGE_YEARS_MAX: &str = "150";
/// The last millisecond of the year 9999, in Unix milliseconds.
pub const LAST_ACTIVE_MILLIS_MAX: &str = "253402300799999";
/// Highest id of a core profile; stores use signed 64-bit integers.
pub const CORE_PROFILE_ID_MAX: u64 = i64::MAX as u64;
/// Most bytes of a whole profile without id and times: those of one entry.
pub const PROFILE_BYTES_MAX: usize = Family::Identity.entry_bytes_max();

/// Members of an entry of `action` that do not count toward its limit: those that a get action adds
/// to the fields of a profile.
pub const fn uncounted_members(action: Action) -> &'static [&'static str] {
    match action {
        Action::UpdateAppProfiles => {
            &["pid", "app_id", "name", "emails", "created_at", "updated_at"]
        }
        _ if action.patches() => &["core-profile-id", "created_at", "updated_at"],
        _ => &[],
    }
}

/// Room for the fields of either table.
pub(super) const FIELDS_MAX: usize = 16;

/// The rule of a field's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Rule {
    Identities,
    Names,
    Tags,
    CustomFields,
    Boolean,
    Text,
    Country,
    Language,
    Number,
    Age,
    UnixMillis,
}

/// One field of a profile.
#[derive(Debug)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) rule: Rule,
}

/// The fields of one kind of profile.
#[derive(Debug)]
pub(crate) struct Table {
    /// The name of such a record in error messages.
    pub(crate) noun: &'static str,
    pub(crate) id_field: &'static str,
    pub(crate) fields: &'static [Field],
    /// Members that only get actions return. An update ignores them, whatever their values.
    pub(crate) read_only: &'static [&'static str],
    /// Members of an update that change tags without naming all of them. They are not stored.
    pub(crate) tag_changes: &'static [Field],
}

impl Table {
    /// The fields of the profiles that an action is about.
    pub(crate) fn of(action: Action) -> &'static Self {
        if action.id_field() == APP.id_field { &APP } else { &CORE }
    }

    /// The noun with its article.
    pub(crate) fn a_noun(&self) -> String {
        let article = if self.noun.starts_with('a') { "an" } else { "a" };
        format!("{article} {}", self.noun)
    }
}

const fn field(name: &'static str, rule: Rule) -> Field {
    Field { name, rule }
}

pub(crate) static CORE: Table = Table {
    noun: "core profile",
    id_field: "core-profile-id",
    fields: &[
        field("identities", Rule::Identities),
        field("names", Rule::Names),
        field("tags", Rule::Tags),
        field("custom_fields", Rule::CustomFields),
        field("full_privacy_enabled", Rule::Boolean),
        field("last_country", Rule::Country),
        field("last_city", Rule::Text),
        field("age", Rule::Age),
        field("lifetime_value", Rule::Number),
        field("user_persona", Rule::Text),
        field("user_vip_segment", Rule::Text),
        field("user_support_status", Rule::Text),
        field("accepted_t_and_c", Rule::Boolean),
        field("preferred_language", Rule::Language),
        field("last_active_date", Rule::UnixMillis),
    ],
    read_only: &["created_at", "updated_at"],
    tag_changes: &[field(ADD_TAGS, Rule::Tags), field(REMOVE_TAGS, Rule::Tags)],
};

pub(crate) static APP: Table = Table {
    noun: "app profile",
    id_field: "pid",
    fields: &[
        field("custom_fields", Rule::CustomFields),
        field("user_persona", Rule::Text),
        field("user_paying_segment", Rule::Text),
        field("user_vip_segment", Rule::Text),
        field("user_level", Rule::Number),
        field("accepted_t_and_c", Rule::Boolean),
        field("app_status", Rule::Text),
        field("user_support_status", Rule::Text),
        field("country", Rule::Country),
        field("city", Rule::Text),
        field("language", Rule::Language),
        field("app_rating", Rule::Number),
        field("lifetime_value", Rule::Number),
    ],
    read_only: &["app_id", "name", "emails", "created_at", "updated_at"],
    tag_changes: &[],
};

/// The fields of a core profile, in the order of its record, without id and times.
pub fn core_field_names() -> impl Iterator<Item = &'static str> {
    CORE.fields.iter().map(|field| field.name)
}

/// The fields of an app profile that an update may set, in the order of its record.
pub fn app_field_names() -> impl Iterator<Item = &'static str> {
    APP.fields.iter().map(|field| field.name)
}

/// The members of a record, each at the index of its field.
pub(super) type Slots<'j, 'a> = [Option<&'j Json<'a>>; FIELDS_MAX];

impl Table {
    /// The index of a field. `guess` is tried first, because most entries keep the order of the
    /// table.
    pub(super) fn position(&self, guess: usize, name: &str) -> Option<usize> {
        if self.fields.get(guess).is_some_and(|field| field.name == name) {
            return Some(guess);
        }
        self.fields.iter().position(|field| field.name == name)
    }

    /// The members of `record` in the order of the table; unknown members are left out. An empty
    /// array counts as an empty map in a field that is a map.
    pub(super) fn slots<'j, 'a>(&self, record: &'j Json<'a>) -> Slots<'j, 'a> {
        let mut slots: Slots<'j, 'a> = [None; FIELDS_MAX];
        if let Json::Object(members) = record {
            let mut guess = 0;
            for (key, value) in members {
                if let Some(at) = self.position(guess, key) {
                    let is_map = self.fields[at].rule.merges();
                    slots[at] = Some(if is_map { value.as_map_sent() } else { value });
                    guess = at + 1;
                }
            }
        }
        slots
    }
}

impl Rule {
    /// Whether the value is a map, which an update merges by key instead of replacing it.
    pub(super) const fn merges(self) -> bool {
        matches!(self, Self::Names | Self::CustomFields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_tables_fit_into_slots_and_name_each_field_once() {
        for table in [&CORE, &APP] {
            assert!(table.fields.len() <= FIELDS_MAX);
            for (at, field) in table.fields.iter().enumerate() {
                assert_eq!(table.position(0, field.name), Some(at), "{}", field.name);
                assert!(!table.read_only.contains(&field.name) && field.name != table.id_field);
            }
        }
    }
}
