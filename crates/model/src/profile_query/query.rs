//! A query: which profiles a list holds, and in which order. A query that is made by
//! [`ProfileQuery::of`] matches every profile of its kind, newest first; each filter narrows it,
//! and all filters must hold together.

use crate::ids::IdentityKey;
use crate::issue_query::{Condition, FieldGroups, Sort, TimeRange};
use crate::task::words;

words! {
    /// The kind of profiles that a list holds.
    ProfileKind {
        Core = 1 "core_profiles",
        App = 2 "app_profiles",
    }
}

words! {
    /// The type of a custom field of a profile: that of its JSON value.
    ProfileFieldType {
        Text = 1 "text",
        Number = 2 "number",
    }
}

/// The conditions on all custom fields of one type.
pub type ProfileFieldFilter = FieldGroups<ProfileFieldType>;

/// Members that are added to each profile if the caller asks for them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ProfileView {
    /// `core-profile-id` of an app profile.
    pub core_profile: bool,
    /// `app_profile_pids` of a core profile.
    pub app_profiles: bool,
}

impl ProfileView {
    /// With the member that can be added to profiles of this kind, or without.
    pub fn adding(kind: ProfileKind, added: bool) -> Self {
        Self {
            core_profile: added && kind == ProfileKind::App,
            app_profiles: added && kind == ProfileKind::Core,
        }
    }

    /// Whether a member is added.
    pub const fn adds(self) -> bool {
        self.core_profile || self.app_profiles
    }
}

/// Which profiles of one kind, in which order. A list of alternatives that is given but empty
/// matches nothing. Lists are ascending and without repeats.
///
/// Cursors hold a digest of the `Debug` form: renaming a type or a field here voids those in use.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileQuery {
    pub kind: ProfileKind,
    /// On `created_at`.
    pub created: TimeRange,
    /// On `updated_at`.
    pub updated: TimeRange,
    /// The profile has one of these.
    pub identities: Option<Vec<IdentityKey>>,
    /// Of core profiles.
    pub ids: Option<Vec<u64>>,
    /// Of app profiles.
    pub pids: Option<Vec<String>>,
    /// Of app profiles.
    pub app_ids: Option<Vec<String>>,
    /// Of core profiles.
    pub tags: Condition,
    /// Alpha-2 codes; a profile is compared by the country that its text names.
    pub countries: Option<Vec<String>>,
    /// Codes in lower case.
    pub languages: Option<Vec<String>>,
    pub vip_segments: Option<Vec<String>>,
    pub personas: Option<Vec<String>>,
    pub support_statuses: Option<Vec<String>>,
    /// At most one for each type; all of them must hold.
    pub custom_fields: Vec<ProfileFieldFilter>,
    /// Folded; part of a component of the name.
    pub name: Option<String>,
    pub sort: Sort,
}

impl ProfileQuery {
    /// All profiles of this kind, newest first.
    pub fn of(kind: ProfileKind) -> Self {
        Self {
            kind,
            created: TimeRange::default(),
            updated: TimeRange::default(),
            identities: None,
            ids: None,
            pids: None,
            app_ids: None,
            tags: Condition::default(),
            countries: None,
            languages: None,
            vip_segments: None,
            personas: None,
            support_statuses: None,
            custom_fields: Vec::new(),
            name: None,
            sort: Sort::default(),
        }
    }

    /// Whether the query has a filter on the stored fields of profiles, which only
    /// [`ProfileQuery::matches`] decides.
    pub fn reads_fields(&self) -> bool {
        self.identities.is_some()
            || !self.tags.is_unbounded()
            || [
                &self.countries,
                &self.languages,
                &self.vip_segments,
                &self.personas,
                &self.support_statuses,
            ]
            .into_iter()
            .any(Option::is_some)
            || !self.custom_fields.is_empty()
            || self.name.is_some()
    }

    /// Whether a list of alternatives is empty or a range ends before it begins.
    pub fn contradicts_itself(&self) -> bool {
        let texts = [
            &self.pids,
            &self.app_ids,
            &self.countries,
            &self.languages,
            &self.vip_segments,
            &self.personas,
            &self.support_statuses,
        ];
        self.created.is_empty()
            || self.updated.is_empty()
            || texts.into_iter().flatten().any(Vec::is_empty)
            || self.ids.as_ref().is_some_and(Vec::is_empty)
            || self.identities.as_ref().is_some_and(Vec::is_empty)
            || self.tags.or.as_ref().is_some_and(Vec::is_empty)
    }
}
