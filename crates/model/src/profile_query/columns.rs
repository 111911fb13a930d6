//! The columns of profiles as a table. The field tables of the profiles decide which members there
//! are; a test compares.

use super::position::ProfileListRequest;
use super::query::{ProfileKind, ProfileView};
use crate::issue_query::{ColumnSet, Inside};

/// The columns of a table of core profiles whose caller names none.
pub const CORE_PROFILE_COLUMNS_DEFAULT: [&str; 21] = [
    "core-profile-id",
    "identities",
    "names.first_name",
    "names.last_name",
    "names.full_name",
    "names.display_name",
    "tags",
    "custom_fields",
    "full_privacy_enabled",
    "last_country",
    "last_city",
    "age",
    "lifetime_value",
    "user_persona",
    "user_vip_segment",
    "user_support_status",
    "accepted_t_and_c",
    "preferred_language",
    "last_active_date",
    "created_at",
    "updated_at",
];
/// The columns of a table of app profiles whose caller names none.
pub const APP_PROFILE_COLUMNS_DEFAULT: [&str; 19] = [
    "pid",
    "app_id",
    "name",
    "emails",
    "custom_fields",
    "user_persona",
    "user_paying_segment",
    "user_vip_segment",
    "user_level",
    "accepted_t_and_c",
    "app_status",
    "user_support_status",
    "country",
    "city",
    "language",
    "app_rating",
    "lifetime_value",
    "created_at",
    "updated_at",
];

static CORE: ColumnSet = ColumnSet {
    noun: "a core profile",
    members: &[
        ("core-profile-id", Inside::Nothing),
        ("identities", Inside::Nothing),
        ("names", Inside::Keys(&["first_name", "last_name", "full_name", "display_name"])),
        ("tags", Inside::Nothing),
        ("custom_fields", Inside::AnyKeys),
        ("full_privacy_enabled", Inside::Nothing),
        ("last_country", Inside::Nothing),
        ("last_city", Inside::Nothing),
        ("age", Inside::Nothing),
        ("lifetime_value", Inside::Nothing),
        ("user_persona", Inside::Nothing),
        ("user_vip_segment", Inside::Nothing),
        ("user_support_status", Inside::Nothing),
        ("accepted_t_and_c", Inside::Nothing),
        ("preferred_language", Inside::Nothing),
        ("last_active_date", Inside::Nothing),
        ("created_at", Inside::Nothing),
        ("updated_at", Inside::Nothing),
        (ADDED_TO_CORE, Inside::Nothing),
    ],
    examples: "names.first_name and custom_fields.plan",
};
static APP: ColumnSet = ColumnSet {
    noun: "an app profile",
    members: &[
        ("pid", Inside::Nothing),
        ("app_id", Inside::Nothing),
        ("name", Inside::Nothing),
        ("emails", Inside::Nothing),
        ("custom_fields", Inside::AnyKeys),
        ("user_persona", Inside::Nothing),
        ("user_paying_segment", Inside::Nothing),
        ("user_vip_segment", Inside::Nothing),
        ("user_level", Inside::Nothing),
        ("accepted_t_and_c", Inside::Nothing),
        ("app_status", Inside::Nothing),
        ("user_support_status", Inside::Nothing),
        ("country", Inside::Nothing),
        ("city", Inside::Nothing),
        ("language", Inside::Nothing),
        ("app_rating", Inside::Nothing),
        ("lifetime_value", Inside::Nothing),
        ("created_at", Inside::Nothing),
        ("updated_at", Inside::Nothing),
        (ADDED_TO_APP, Inside::Nothing),
    ],
    examples: "custom_fields.plan",
};

/// The members that a view adds.
const ADDED_TO_APP: &str = "core-profile-id";
const ADDED_TO_CORE: &str = "app_profile_pids";

const fn added_to(kind: ProfileKind) -> &'static str {
    match kind {
        ProfileKind::Core => ADDED_TO_CORE,
        ProfileKind::App => ADDED_TO_APP,
    }
}

pub(super) const fn of(kind: ProfileKind) -> &'static ColumnSet {
    match kind {
        ProfileKind::Core => &CORE,
        ProfileKind::App => &APP,
    }
}

/// A regular expression of the columns that a profile of this kind can have.
pub fn profile_columns_pattern(kind: ProfileKind) -> String {
    of(kind).pattern()
}

impl ProfileListRequest {
    /// The columns of the list as a table, and the view that has the members for them.
    pub fn table(&self) -> (Vec<String>, ProfileView) {
        let columns = self.columns.clone().unwrap_or_else(|| self.default_columns());
        let kind = self.query.kind;
        let added = columns.iter().any(|column| column == added_to(kind));
        (columns, ProfileView::adding(kind, added))
    }

    fn default_columns(&self) -> Vec<String> {
        let columns = match self.query.kind {
            ProfileKind::Core => &CORE_PROFILE_COLUMNS_DEFAULT[..],
            ProfileKind::App => &APP_PROFILE_COLUMNS_DEFAULT[..],
        };
        let added = self.view.adds().then_some(added_to(self.query.kind));
        columns.iter().copied().chain(added).map(str::to_owned).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::profile::{app_field_names, core_field_names};

    #[test]
    fn every_field_is_a_column_by_default() {
        let members = |set: &'static ColumnSet| set.members.iter().map(|(member, _)| *member);
        assert!(core_field_names().all(|field| members(&CORE).any(|member| member == field)));
        assert!(app_field_names().all(|field| members(&APP).any(|member| member == field)));
        let has = |set, column: &str| {
            let member = column.split('.').next().unwrap_or_default();
            members(set).any(|known| known == member)
        };
        // The last member is the one that a view adds.
        let stored = |set: &'static ColumnSet| members(set).take(set.members.len() - 1);
        for (set, columns) in
            [(&CORE, &CORE_PROFILE_COLUMNS_DEFAULT[..]), (&APP, &APP_PROFILE_COLUMNS_DEFAULT[..])]
        {
            assert!(columns.iter().all(|column| has(set, column)));
            let mut shown: Vec<&str> =
                columns.iter().filter_map(|column| column.split('.').next()).collect();
            shown.dedup();
            assert!(shown.into_iter().eq(stored(set)), "{columns:?}");
        }
    }
}
