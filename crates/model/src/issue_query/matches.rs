//! The meaning of a query, word for word and without any index: what a backend's SQL is tested
//! against.

use std::cmp::Ordering;

use super::{Condition, IssueQuery, Sort, SortKey, SortOrder};
use crate::issue::IssueColumns;
use crate::time::UnixMillis;

impl IssueQuery {
    /// Whether the issue is among the matches as far as its columns tell: texts, custom fields and
    /// the addresses of assignees are not looked at.
    pub fn matches_columns(&self, issue: &IssueColumns) -> bool {
        let facts = &issue.facts;
        let queue = facts.queue.as_ref().map(|queue| queue.id.as_str());
        self.created.contains(issue.created_at)
            && self.updated.contains(facts.updated_at)
            && self.changed.contains(facts.changed_at)
            && self.states.as_ref().is_none_or(|states| states.contains(&facts.state))
            && self.ids.as_ref().is_none_or(|ids| ids.contains(&issue.id))
            && one_of(self.app_ids.as_deref(), Some(&issue.app_id))
            && one_of(self.platform_types.as_deref(), facts.platform_type.as_deref())
            && one_of(self.queue_ids.as_deref(), queue)
            && one_of(self.end_user_ids.as_deref(), Some(&facts.hs_user_id))
            && one_of(self.issue_modes.as_deref(), facts.issue_mode.as_deref())
            && has(&self.tags, &facts.tags)
            && has(&self.languages, facts.language.as_slice())
            && has(&self.assignee_ids, facts.assignee_id.as_slice())
            && self.author_emails.holds(!facts.author_email.is_empty(), |email| {
                !email.is_empty() && email == facts.author_email
            })
            && self.rating.is_none_or(|set| set.contains(facts.rating))
            && self.redacted.is_none_or(|redacted| redacted == facts.redacted)
    }
}

/// Whether `value` is among the alternatives; what is absent is among none.
fn one_of(alternatives: Option<&[String]>, value: Option<&str>) -> bool {
    alternatives.is_none_or(|all| value.is_some_and(|value| all.iter().any(|a| a == value)))
}

/// Whether the condition holds where `values` are all there are.
fn has(condition: &Condition, values: &[String]) -> bool {
    condition.holds(!values.is_empty(), |wanted| values.iter().any(|value| value == wanted))
}

impl Sort {
    /// The instant an issue is sorted by.
    pub fn key_of(&self, issue: &IssueColumns) -> UnixMillis {
        match self.key {
            SortKey::CreationTime => issue.created_at,
            SortKey::StateChangeTime => issue.facts.changed_at,
            SortKey::UpdateTime => issue.facts.updated_at,
        }
    }

    /// Which of two issues comes first.
    pub fn compare(&self, a: &IssueColumns, b: &IssueColumns) -> Ordering {
        let ascending = (self.key_of(a), a.id).cmp(&(self.key_of(b), b.id));
        match self.order {
            SortOrder::Ascending => ascending,
            SortOrder::Descending => ascending.reverse(),
        }
    }
}
