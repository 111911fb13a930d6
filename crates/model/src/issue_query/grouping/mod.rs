//! Counting issues by groups: how many matches of a query have each state, tag or week. An issue is
//! in one group of each kind, except that it is in the group of each of its tags. This module says
//! which groups there are, in which group an issue is, and in which order groups are shown. Stores
//! count faster ways; [`Grouping::groups_of`] is the meaning that these are compared with.

pub(super) mod parse;
mod period;

pub use parse::{COUNT_PARAMETERS, CountRequest, GROUPS_DEFAULT, GROUPS_MAX, parse_counts};
pub use period::{Period, Zone};

use crate::issue::{ISSUE_MODE_DEFAULT, IssueColumns};
use crate::issue_query::SortKey;
use crate::json::write_string;
use crate::task::words;

words! {
    /// A property by which issues are counted.
    Group {
        State = 1 "state",
        App = 2 "app",
        Queue = 3 "queue",
        Assignee = 4 "assignee",
        Language = 5 "language",
        Platform = 6 "platform",
        Tag = 7 "tag",
        Rating = 8 "rating",
        Mode = 9 "mode",
        CreatedDay = 10 "created-day",
        CreatedWeek = 11 "created-week",
        CreatedMonth = 12 "created-month",
        UpdatedDay = 13 "updated-day",
        ChangedDay = 14 "changed-day",
    }
}

impl Group {
    /// The time and the kind of period, if it groups by time.
    pub const fn time(self) -> Option<(SortKey, Period)> {
        Some(match self {
            Self::CreatedDay => (SortKey::CreationTime, Period::Day),
            Self::CreatedWeek => (SortKey::CreationTime, Period::Week),
            Self::CreatedMonth => (SortKey::CreationTime, Period::Month),
            Self::UpdatedDay => (SortKey::UpdateTime, Period::Day),
            Self::ChangedDay => (SortKey::StateChangeTime, Period::Day),
            _ => return None,
        })
    }
}

/// The value that the issues of a group have in common. Values are in the order of their names, and
/// the absent one comes last.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum GroupValue {
    Text(String),
    Rating(u8),
    /// The number of a period: see [`Period`].
    Time(Period, i64),
    /// The issues without a value.
    Absent,
}

impl GroupValue {
    fn text(text: Option<&str>) -> Self {
        text.map_or(Self::Absent, |text| Self::Text(text.to_owned()))
    }

    /// Appends the value as JSON.
    pub fn write_json(&self, out: &mut Vec<u8>) {
        match self {
            Self::Text(text) => write_string(text, out),
            Self::Rating(rating) => out.extend_from_slice(rating.to_string().as_bytes()),
            Self::Time(period, number) => write_string(&period.name(*number), out),
            Self::Absent => out.extend_from_slice(b"null"),
        }
    }
}

/// The properties by which issues are counted, and the time zone of days, weeks and months.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Grouping {
    /// One or two, different ones.
    pub by: Vec<Group>,
    pub zone: Zone,
    /// The most groups that are shown.
    pub limit: usize,
}

/// A group of a grouping by one or two properties: a value for each, and the number of its issues.
pub type CountedGroup = (Vec<GroupValue>, u64);

impl Grouping {
    /// The groups that the issue is in: a value for each property.
    pub fn groups_of(&self, issue: &IssueColumns) -> Vec<Vec<GroupValue>> {
        let mut groups = vec![Vec::new()];
        for group in &self.by {
            let values = self.values_of(*group, issue);
            let longer = |first: &Vec<GroupValue>| {
                let first = first.clone();
                values.clone().into_iter().map(move |v| [first.clone(), vec![v]].concat())
            };
            groups = groups.iter().flat_map(longer).collect();
        }
        groups
    }

    /// The values that the issue has of one property; at least one, each once.
    fn values_of(&self, group: Group, issue: &IssueColumns) -> Vec<GroupValue> {
        let facts = &issue.facts;
        if let Some((key, period)) = group.time() {
            let at = match key {
                SortKey::CreationTime => issue.created_at,
                SortKey::UpdateTime => facts.updated_at,
                SortKey::StateChangeTime => facts.changed_at,
            };
            return vec![GroupValue::Time(period, period.of_day(self.zone.day_of(at)))];
        }
        let text = |text: Option<&str>| vec![GroupValue::text(text)];
        match group {
            Group::State => text(Some(facts.state.as_str())),
            Group::App => text(Some(&issue.app_id)),
            Group::Queue => text(facts.queue.as_ref().map(|queue| queue.id.as_str())),
            Group::Assignee => text(facts.assignee_id.as_deref()),
            Group::Language => text(facts.language.as_deref()),
            Group::Platform => text(facts.platform_type.as_deref()),
            Group::Mode => text(Some(facts.issue_mode.as_deref().unwrap_or(ISSUE_MODE_DEFAULT))),
            Group::Rating => vec![facts.rating.map_or(GroupValue::Absent, GroupValue::Rating)],
            _ if facts.tags.is_empty() => text(None),
            _ => {
                let mut tags: Vec<_> = facts.tags.iter().map(String::as_str).collect();
                tags.sort_unstable();
                tags.dedup();
                tags.into_iter().map(|tag| GroupValue::text(Some(tag))).collect()
            }
        }
    }

    /// Puts groups in order and leaves out those after the limit; returns their sum. Groups by time
    /// are in the order of time. Others, and those of one time, come largest first, and equal ones
    /// in the order of their names.
    pub fn ordered(&self, mut groups: Vec<CountedGroup>) -> (Vec<CountedGroup>, u64) {
        let times = |group: &CountedGroup| {
            let times = group.0.iter().filter_map(|value| match value {
                GroupValue::Time(_, number) => Some(*number),
                _ => None,
            });
            times.collect::<Vec<i64>>()
        };
        groups.sort_by(|a, b| {
            times(a).cmp(&times(b)).then(b.1.cmp(&a.1)).then_with(|| a.0.cmp(&b.0))
        });
        let rest = groups.iter().skip(self.limit).map(|group| group.1).sum();
        groups.truncate(self.limit);
        (groups, rest)
    }
}
