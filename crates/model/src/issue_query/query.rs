//! A query: which issues a list holds, and in which order. `IssueQuery::default()` matches every
//! issue, newest first; each filter narrows it, and all filters must hold together.

use std::fmt;

use super::{Condition, FieldFilter, RatingSet};
use crate::issue::IssueState;
use crate::task::words;
use crate::time::UnixMillis;

/// A span of time, both ends included; an absent end is open.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct TimeRange {
    pub since: Option<UnixMillis>,
    pub until: Option<UnixMillis>,
}

impl TimeRange {
    pub fn contains(&self, at: UnixMillis) -> bool {
        self.since.is_none_or(|since| since <= at) && self.until.is_none_or(|until| at <= until)
    }

    /// Whether it ends before it begins.
    pub fn is_empty(&self) -> bool {
        matches!((self.since, self.until), (Some(since), Some(until)) if since > until)
    }

    /// Whether it contains every instant.
    pub const fn is_unbounded(&self) -> bool {
        self.since.is_none() && self.until.is_none()
    }
}

words! {
    /// The instant that a list is sorted by. Equal instants are sorted by id, in the same
    /// direction.
    SortKey {
        CreationTime = 1 "creation-time",
        StateChangeTime = 2 "state-change-time",
        UpdateTime = 3 "update-time",
    }
}

words! {
    /// The direction of a list.
    SortOrder {
        Ascending = 1 "asc",
        Descending = 2 "desc",
    }
}

/// The order of a list: total, because ids are unique.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Sort {
    pub key: SortKey,
    pub order: SortOrder,
}

impl Default for Sort {
    /// Newest first.
    fn default() -> Self {
        Self { key: SortKey::CreationTime, order: SortOrder::Descending }
    }
}

/// A person whose issues are meant. The `Debug` form has the id alone: cursors hold a digest of it.
#[derive(Clone, PartialEq, Eq)]
pub struct Person {
    pub core_profile_id: u64,
    /// The app profiles that share an identity with the core profile. Empty until they are looked
    /// up in a store: then no issue matches.
    pub pids: Vec<String>,
}

impl fmt::Debug for Person {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.core_profile_id.fmt(f)
    }
}

/// Which issues, in which order. A list of alternatives that is given but empty matches nothing.
/// Lists are ascending and without repeats.
///
/// Cursors hold a digest of the filters that are given, by their names and the `Debug` form of
/// their values: renaming a filter or the type of a value voids those in use.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IssueQuery {
    /// On `created_at`.
    pub created: TimeRange,
    /// On `updated_at`.
    pub updated: TimeRange,
    /// On `state_data.changed_at`.
    pub changed: TimeRange,
    pub states: Option<Vec<IssueState>>,
    pub ids: Option<Vec<u64>>,
    pub app_ids: Option<Vec<String>>,
    pub platform_types: Option<Vec<String>>,
    pub queue_ids: Option<Vec<String>>,
    /// On `hs_user_id`.
    pub end_user_ids: Option<Vec<String>>,
    /// On `hs_user_id`, by the person's app profiles.
    pub person: Option<Person>,
    /// On `issue_mode_data.issue_mode`.
    pub issue_modes: Option<Vec<String>>,
    pub tags: Condition,
    /// On `language`.
    pub languages: Condition,
    /// On `assignee_id`; an unassigned issue has none.
    pub assignee_ids: Condition,
    /// On the addresses of the assignee, folded. Only `or` is ever given.
    pub assignee_emails: Condition,
    /// On `author_email`, folded; an empty address counts as none. `and` and `nor` are never given.
    pub author_emails: Condition,
    /// Folded; a literal part of the title, of a message, of a private note or of the comment.
    pub text: Option<String>,
    /// Folded texts, each searched in the title; an empty title counts as none.
    pub title: Condition,
    /// Folded texts, each searched in the bodies of all messages.
    pub messages: Condition,
    /// Folded texts, each searched in the bodies of all private notes.
    pub notes: Condition,
    /// Folded texts, searched in the comment. Only a bare list gives `or`.
    pub feedback_comment: Condition,
    /// At most one for each type of field; all of them must hold.
    pub custom_fields: Vec<FieldFilter>,
    pub rating: Option<RatingSet>,
    pub redacted: Option<bool>,
    pub sort: Sort,
}
