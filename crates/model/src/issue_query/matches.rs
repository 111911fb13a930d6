//! The meaning of a query, evaluated without any index: the reference that a backend's SQL is
//! tested against. Nothing here is optimised; fragments are parsed as JSON each time.

use std::cmp::Ordering;
use std::collections::HashMap;

use super::custom_fields::holds_for;
use super::{Condition, FieldFilter, IssueQuery, Sort, SortKey, SortOrder};
use crate::fold::fold_text;
use crate::issue::{ISSUE_MODE_DEFAULT, IssueColumns, IssueFragments};
use crate::json::{self, Json};
use crate::time::UnixMillis;

/// Everything of an issue that a query may look at.
#[derive(Debug, Clone, Copy)]
pub struct SearchableIssue<'a> {
    pub columns: &'a IssueColumns,
    pub fragments: IssueFragments<'a>,
    /// The folded addresses of the domain's agents, by agent id. An issue names its assignee only
    /// by id; the address belongs to the domain.
    pub agent_emails: &'a HashMap<String, String>,
}

impl IssueQuery {
    /// Whether the issue matches.
    pub fn matches(&self, issue: &SearchableIssue<'_>) -> bool {
        let fragments = &issue.fragments;
        let assignee = issue.columns.facts.assignee_id.as_ref();
        let email = assignee.and_then(|id| issue.agent_emails.get(id));
        let email = email.filter(|email| !email.is_empty());
        self.matches_columns(issue.columns)
            && has(&self.assignee_emails, email.map(std::slice::from_ref).unwrap_or_default())
            && self.text.as_ref().is_none_or(|text| contains(fragments, text))
            && has_text(&self.title, &title(fragments.head))
            && has_text(&self.messages, &bodies(Some(fragments.messages)))
            && has_text(&self.notes, &bodies(fragments.private_notes))
            && has_text(&self.feedback_comment, &comment(fragments.feedback))
            && self.custom_fields.iter().all(|filter| has_fields(filter, fragments.custom_fields))
    }

    /// Whether the issue matches as far as its columns show: texts, custom fields and the addresses
    /// of assignees are ignored.
    pub fn matches_columns(&self, issue: &IssueColumns) -> bool {
        let facts = &issue.facts;
        let queue = facts.queue.as_ref().map(|queue| queue.id.as_str());
        let mode = facts.issue_mode.as_deref().unwrap_or(ISSUE_MODE_DEFAULT);
        self.created.contains(issue.created_at)
            && self.updated.contains(facts.updated_at)
            && self.changed.contains(facts.changed_at)
            && self.states.as_ref().is_none_or(|states| states.contains(&facts.state))
            && self.ids.as_ref().is_none_or(|ids| ids.contains(&issue.id))
            && one_of(self.app_ids.as_deref(), Some(&issue.app_id))
            && one_of(self.platform_types.as_deref(), facts.platform_type.as_deref())
            && one_of(self.queue_ids.as_deref(), queue)
            && one_of(self.end_user_ids.as_deref(), Some(&facts.hs_user_id))
            && self.person.as_ref().is_none_or(|person| person.pids.contains(&facts.hs_user_id))
            && one_of(self.issue_modes.as_deref(), Some(mode))
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

/// Whether `value` is one of the alternatives; an absent value never is.
fn one_of(alternatives: Option<&[String]>, value: Option<&str>) -> bool {
    alternatives.is_none_or(|all| value.is_some_and(|value| all.iter().any(|a| a == value)))
}

/// Whether the condition holds if `values` are all values of the issue.
fn has(condition: &Condition, values: &[String]) -> bool {
    condition.holds(!values.is_empty(), |wanted| values.iter().any(|value| value == wanted))
}

/// Whether the condition holds if `texts`, folded, are all texts of the issue. A text matches if it
/// contains the one that is searched for.
fn has_text(condition: &Condition, texts: &[String]) -> bool {
    condition.holds(!texts.is_empty(), |wanted| texts.iter().any(|text| text.contains(wanted)))
}

/// Whether one of the searchable texts of the issue contains `text`, which is folded.
fn contains(fragments: &IssueFragments<'_>, text: &str) -> bool {
    let mut texts = title(fragments.head);
    texts.extend(bodies(Some(fragments.messages)));
    texts.extend(bodies(fragments.private_notes));
    texts.extend(comment(fragments.feedback));
    texts.iter().any(|whole| whole.contains(text))
}

/// The folded title, unless it is empty.
fn title(head: &[u8]) -> Vec<String> {
    let title = member_text(head, "title").into_iter();
    title.filter(|title| !title.is_empty()).collect()
}

/// The folded bodies of an array of messages or notes.
fn bodies(array: Option<&[u8]>) -> Vec<String> {
    let Some(Ok(Json::Array(items))) = array.map(json::parse) else { return Vec::new() };
    items.iter().filter_map(|item| item.get("body").and_then(Json::as_str)).map(fold_text).collect()
}

/// The folded comment, if there is one.
fn comment(feedback: Option<&[u8]>) -> Vec<String> {
    member_text(feedback.unwrap_or_default(), "feedback_comment").into_iter().collect()
}

/// The folded text of one of these members, which have no braces.
fn member_text(members: &[u8], name: &str) -> Option<String> {
    let map = [b"{", members, b"}"].concat();
    json::parse(&map).ok()?.get(name).and_then(Json::as_str).map(fold_text)
}

fn has_fields(filter: &FieldFilter, custom_fields: &[u8]) -> bool {
    let fields = json::parse(custom_fields).unwrap_or(Json::Null);
    holds_for(&filter.and, filter.or.as_deref(), |key| {
        let field = fields.get(key)?;
        let field_type = field.get("type").and_then(Json::as_str);
        field.get("value").filter(|_| field_type == Some(filter.field_type.as_str()))
    })
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
