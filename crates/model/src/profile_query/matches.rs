//! The meaning of a query, evaluated without any index: the fields of a profile are parsed as JSON
//! each time. If no index serves a filter, a store judges profiles by this. If one does, this is
//! the reference that the index is tested against.

use std::cmp::Ordering;

use super::position::{ProfileId, ProfilePosition};
use super::query::{ProfileFieldType, ProfileKind, ProfileQuery};
use crate::country::alpha_2;
use crate::fold::fold_text;
use crate::ids::{DomainName, IdentityKey, pid_of_uid};
use crate::issue_query::{Condition, Sort, SortOrder, holds_for};
use crate::json::{self, Json};
use crate::profile::{IdentityType, braced, identity_keys};
use crate::time::UnixMillis;

/// Everything of a profile that a query may look at.
#[derive(Debug, Clone, Copy)]
pub struct SearchableProfile<'a> {
    pub id: &'a ProfileId,
    pub created_at: UnixMillis,
    pub updated_at: UnixMillis,
    /// The fields text.
    pub fields: &'a [u8],
    /// Of an app profile; `None` of a core profile.
    pub app: Option<AppPart<'a>>,
}

/// The parts that only app profiles have.
#[derive(Debug, Clone, Copy)]
pub struct AppPart<'a> {
    pub app_id: &'a str,
    pub name: &'a str,
    /// A JSON array of strings.
    pub emails: &'a [u8],
    /// The name of the domain, from which pids are made.
    pub domain: &'a DomainName,
}

impl ProfileQuery {
    /// Whether the profile, which is of the kind of the query, matches.
    pub fn matches(&self, profile: &SearchableProfile<'_>) -> bool {
        self.matches_columns(profile) && (!self.reads_fields() || self.matches_fields(profile))
    }

    /// Whether the profile matches as far as its id, its times and its app show.
    pub fn matches_columns(&self, profile: &SearchableProfile<'_>) -> bool {
        let is_listed = match profile.id {
            ProfileId::Core(id) => self.ids.as_ref().is_none_or(|ids| ids.contains(&id.0)),
            ProfileId::App(pid) => self.pids.as_ref().is_none_or(|pids| pids.contains(pid)),
        };
        let app_id = profile.app.map(|app| app.app_id);
        is_listed
            && self.created.contains(profile.created_at)
            && self.updated.contains(profile.updated_at)
            && one_of(self.app_ids.as_deref(), app_id)
    }

    fn matches_fields(&self, profile: &SearchableProfile<'_>) -> bool {
        let text = braced(profile.fields);
        let fields = json::parse(&text).unwrap_or(Json::Null);
        let field = |name: &str| fields.get(name).and_then(Json::as_str);
        let (country, language) = match self.kind {
            ProfileKind::Core => ("last_country", "preferred_language"),
            ProfileKind::App => ("country", "language"),
        };
        let language = field(language).map(str::to_ascii_lowercase);
        one_of(self.countries.as_deref(), field(country).and_then(alpha_2))
            && one_of(self.languages.as_deref(), language.as_deref())
            && one_of(self.vip_segments.as_deref(), field("user_vip_segment"))
            && one_of(self.personas.as_deref(), field("user_persona"))
            && one_of(self.support_statuses.as_deref(), field("user_support_status"))
            && has_tags(&self.tags, fields.get("tags"))
            && self.custom_fields.iter().all(|filter| {
                let stored = fields.get("custom_fields");
                holds_for(&filter.and, filter.or.as_deref(), |key| {
                    let value = stored.and_then(|stored| stored.get(key))?;
                    let is_meant = match filter.field_type {
                        ProfileFieldType::Text => matches!(value, Json::String(_)),
                        ProfileFieldType::Number => matches!(value, Json::Number(_)),
                    };
                    is_meant.then_some(value)
                })
            })
            && self.name.as_ref().is_none_or(|name| has_name(name, profile, &fields))
            && self.identities.as_ref().is_none_or(|keys| has_identity(keys, profile))
    }
}

fn one_of(alternatives: Option<&[String]>, value: Option<&str>) -> bool {
    alternatives.is_none_or(|all| value.is_some_and(|value| all.iter().any(|a| a == value)))
}

fn has_tags(condition: &Condition, tags: Option<&Json<'_>>) -> bool {
    let tags = match tags {
        Some(Json::Array(tags)) => tags.as_slice(),
        _ => &[],
    };
    condition.holds(!tags.is_empty(), |wanted| tags.iter().any(|tag| tag.as_str() == Some(wanted)))
}

/// Whether the folded text is part of a component of the name.
fn has_name(wanted: &str, profile: &SearchableProfile<'_>, fields: &Json<'_>) -> bool {
    let has = |name: &str| fold_text(name).contains(wanted);
    match (profile.app, fields.get("names")) {
        (Some(app), _) => has(app.name),
        (None, Some(Json::Object(names))) => {
            names.iter().any(|(_, name)| name.as_str().is_some_and(has))
        }
        (None, _) => false,
    }
}

/// Whether the profile has one of these identities. Those of an app profile are its addresses, and
/// the identifier from which its pid was made.
fn has_identity(keys: &[IdentityKey], profile: &SearchableProfile<'_>) -> bool {
    let (ProfileId::App(pid), Some(app)) = (profile.id, profile.app) else {
        return identity_keys(profile.fields).iter().any(|key| keys.contains(key));
    };
    let emails = address_keys(app.emails);
    emails.iter().any(|key| keys.contains(key))
        || keys.iter().any(|key| {
            pids_of_uid(app.domain, [app.app_id, ""].into_iter(), key).any(|made| made == *pid)
        })
}

/// The identities that a JSON array of addresses gives.
pub fn address_keys(emails: &[u8]) -> Vec<IdentityKey> {
    let Ok(Json::Array(emails)) = json::parse(emails) else { return Vec::new() };
    let emails = emails.iter().filter_map(Json::as_str).filter(|email| !email.is_empty());
    emails.map(|email| IdentityKey::new(IdentityType::Email, email)).collect()
}

/// The pids that app profiles have whose identifier is this `uid`, in these apps. No other identity
/// makes a pid.
pub fn pids_of_uid<'a>(
    domain: &'a DomainName,
    app_ids: impl Iterator<Item = &'a str>,
    key: &'a IdentityKey,
) -> impl Iterator<Item = String> {
    let is_uid = key.is(IdentityType::Uid);
    app_ids.filter(move |_| is_uid).map(move |app_id| pid_of_uid(domain, app_id, key))
}

impl Sort {
    /// Which of two profiles comes first.
    pub fn compare_positions(&self, a: &ProfilePosition, b: &ProfilePosition) -> Ordering {
        let ascending = (a.at, &a.id).cmp(&(b.at, &b.id));
        match self.order {
            SortOrder::Ascending => ascending,
            SortOrder::Descending => ascending.reverse(),
        }
    }
}
