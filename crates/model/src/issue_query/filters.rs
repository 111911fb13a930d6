//! The filters of the issue list, one row each. The parser, cursors, the description of the API,
//! the random queries of tests and the words of the fuzz targets take the filters from here. Their
//! meaning is in [`IssueQuery::matches`]. Invariant: a cursor belongs to a list with the same
//! values of every filter, because its scope has all that are given.

use std::fmt::Debug;

use super::condition::{ALL_KEYS, Compared, ConditionKey, ConditionRules};
use super::{Condition, FieldFilter, IssueQuery, Person, RatingSet};
use crate::issue::IssueState;
use crate::parameters::{Bound, ListForm};
use crate::spelling::same_name;
use crate::time::UnixMillis;

/// A filter.
#[derive(Debug)]
pub struct IssueFilter {
    /// The name of its parameter, with hyphens.
    pub name: &'static str,
    /// The issues that it finds, for the description of the API.
    pub about: &'static str,
    /// A good value.
    pub example: &'static str,
    pub kind: FilterKind,
}

/// The values that a filter takes, and the part of a query that has its value.
#[derive(Debug)]
pub enum FilterKind {
    Instant(Bound, Part<Option<UnixMillis>>),
    States(Part<Option<Vec<IssueState>>>),
    Ids(Part<Option<Vec<u64>>>),
    /// Texts; an issue with any of them matches.
    AnyOf(ListForm, Part<Option<Vec<String>>>),
    Person(Part<Option<Person>>),
    Condition(ConditionRules, Part<Condition>),
    /// A text to search for.
    Text(Part<Option<String>>),
    CustomFields(Part<Vec<FieldFilter>>),
    Rating(Part<Option<RatingSet>>),
    Boolean(Part<Option<bool>>),
}

/// A part of a query.
#[derive(Debug)]
pub struct Part<T: 'static> {
    pub(super) get: fn(&IssueQuery) -> &T,
    pub(super) of: fn(&mut IssueQuery) -> &mut T,
}

macro_rules! part {
    ($($path:ident).+) => {
        Part { get: |query| &query.$($path).+, of: |query| &mut query.$($path).+ }
    };
}

const fn row(
    name: &'static str,
    about: &'static str,
    example: &'static str,
    kind: FilterKind,
) -> IssueFilter {
    IssueFilter { name, about, example, kind }
}

const EXACT: ConditionRules =
    ConditionRules { form: ListForm::Texts, keys: ALL_KEYS, compared: Compared::Exactly };
const WORDS: ConditionRules = ConditionRules { form: ListForm::Commas, ..EXACT };
const SEARCH: ConditionRules = ConditionRules { compared: Compared::AsTexts, ..EXACT };
const fn addresses(keys: &'static [ConditionKey]) -> ConditionRules {
    ConditionRules { keys, compared: Compared::Address, ..EXACT }
}
const COMMENT: ConditionRules = ConditionRules {
    keys: &[ConditionKey::And, ConditionKey::Nor, ConditionKey::Exists],
    ..SEARCH
};

/// Every filter, in the order of the description.
pub const ISSUE_FILTERS: &[IssueFilter] = &[
    row(
        "created-since",
        "Created at this instant or later.",
        "1767225600000",
        FilterKind::Instant(Bound::Since, part!(created.since)),
    ),
    row(
        "created-until",
        "Created at this instant or earlier.",
        "1767225600000",
        FilterKind::Instant(Bound::Until, part!(created.until)),
    ),
    row(
        "updated-since",
        "Written at this instant or later. Without `sort-by` the order is then by update time.",
        "1767225600000",
        FilterKind::Instant(Bound::Since, part!(updated.since)),
    ),
    row(
        "updated-until",
        "Written at this instant or earlier. Without `sort-by` the order is then by update time.",
        "1767225600000",
        FilterKind::Instant(Bound::Until, part!(updated.until)),
    ),
    row(
        "state-since",
        "State changed at this instant or later.",
        "1767225600000",
        FilterKind::Instant(Bound::Since, part!(changed.since)),
    ),
    row(
        "state-until",
        "State changed at this instant or earlier.",
        "1767225600000",
        FilterKind::Instant(Bound::Until, part!(changed.until)),
    ),
    row("state", "Issues in one of these states.", "new", FilterKind::States(part!(states))),
    row("ids", "The issues with these ids.", r#"["28",29]"#, FilterKind::Ids(part!(ids))),
    row(
        "app-ids",
        "Ids of apps.",
        r#"["acme_app_20260101000000000-1370923e4e06ab6"]"#,
        FilterKind::AnyOf(ListForm::Commas, part!(app_ids)),
    ),
    row(
        "platform-types",
        "The platforms that created the issues.",
        r#"["web"]"#,
        FilterKind::AnyOf(ListForm::Commas, part!(platform_types)),
    ),
    row(
        "queue-ids",
        "Ids of queues.",
        r#"["123"]"#,
        FilterKind::AnyOf(ListForm::Commas, part!(queue_ids)),
    ),
    row(
        "end-user-ids",
        "Compared with `hs_user_id`.",
        r#"["acme_profile_0f1e2d3c4b5a69788796a5b4c3d2e1f00f1e2d3c"]"#,
        FilterKind::AnyOf(ListForm::Texts, part!(end_user_ids)),
    ),
    row(
        "core-profile-id",
        "The issues of one person: the app profile of their author shares an identity with this \
         core profile.",
        "188474421477632",
        FilterKind::Person(part!(person)),
    ),
    row(
        "issue-modes",
        "The modes in which the issues were created.",
        r#"["chat"]"#,
        FilterKind::AnyOf(ListForm::Commas, part!(issue_modes)),
    ),
    row(
        "tags",
        "Compared exactly.",
        r#"{"or":["vip"]}"#,
        FilterKind::Condition(EXACT, part!(tags)),
    ),
    row(
        "languages",
        "Compared exactly.",
        r#"{"or":["en"]}"#,
        FilterKind::Condition(WORDS, part!(languages)),
    ),
    row(
        "assignee-ids",
        "Compared exactly. An unassigned issue has none.",
        r#"{"exists":"false"}"#,
        FilterKind::Condition(WORDS, part!(assignee_ids)),
    ),
    row(
        "assignee-emails",
        "The address of the assigned agent; case is ignored.",
        r#"{"or":["ann@desk.example"]}"#,
        FilterKind::Condition(addresses(&[ConditionKey::Or]), part!(assignee_emails)),
    ),
    row(
        "author-emails",
        "Compared without regard to case.",
        r#"{"or":["eva@example.com"],"exists":"true"}"#,
        FilterKind::Condition(
            addresses(&[ConditionKey::Or, ConditionKey::Exists]),
            part!(author_emails),
        ),
    ),
    row(
        "text",
        "A literal part of the title, of a message, of a private note or of the comment of the \
         rating; case is ignored.",
        "crash on login",
        FilterKind::Text(part!(text)),
    ),
    row(
        "title",
        "The title; an empty title counts as none. The search is literal and ignores case.",
        r#"{"and":["crash"]}"#,
        FilterKind::Condition(SEARCH, part!(title)),
    ),
    row(
        "messages",
        "The bodies of all messages. The search is literal and ignores case.",
        r#"{"and":["crash","login"]}"#,
        FilterKind::Condition(SEARCH, part!(messages)),
    ),
    row(
        "notes",
        "The bodies of all private notes. The search is literal and ignores case.",
        r#"{"and":["refund"]}"#,
        FilterKind::Condition(SEARCH, part!(notes)),
    ),
    row(
        "feedback-comment",
        "The comment of the rating. The search is literal and ignores case.",
        r#"{"and":["great"]}"#,
        FilterKind::Condition(COMMENT, part!(feedback_comment)),
    ),
    row(
        "custom-fields",
        "Conditions on custom fields, by their type, then `and` or `or`, then their key. In `and` \
         every test of every key must hold, in `or` at least one test of one key. An issue must \
         satisfy both groups of every type.",
        r#"{"number":{"and":{"quantity":{"is_set":true,"is_smaller_than":80}}}}"#,
        FilterKind::CustomFields(part!(custom_fields)),
    ),
    row(
        "feedback-rating",
        "Conditions on the rating. An issue must satisfy every key of the map. A missing rating \
         matches no operator.",
        r#"{"and":[{"is_greater_than":"3"}]}"#,
        FilterKind::Rating(part!(rating)),
    ),
    row("redacted", "Only redacted issues, or none.", "true", FilterKind::Boolean(part!(redacted))),
];

/// The names of the filters, then these.
pub const fn with_filters<const N: usize>(others: &[&'static str]) -> [&'static str; N] {
    let mut all = [""; N];
    let mut at = 0;
    while at < N {
        all[at] = match at.checked_sub(ISSUE_FILTERS.len()) {
            None => ISSUE_FILTERS[at].name,
            Some(other) => others[other],
        };
        at += 1;
    }
    all
}

impl IssueFilter {
    /// The filter that a caller spells so.
    pub fn named(spelled: &str) -> Option<&'static Self> {
        ISSUE_FILTERS.iter().find(|filter| same_name(filter.name, spelled))
    }

    /// Whether it searches texts, for which a store reads the issues themselves.
    pub fn reads_texts(&self) -> bool {
        match self.kind {
            FilterKind::Condition(rules, _) => rules.compared == Compared::AsTexts,
            FilterKind::Text(_) | FilterKind::CustomFields(_) => true,
            _ => false,
        }
    }

    /// How a value that is not JSON is read, if the value is a list.
    pub(crate) const fn list_form(&self) -> Option<ListForm> {
        match self.kind {
            FilterKind::States(_) | FilterKind::Ids(_) => Some(ListForm::Commas),
            FilterKind::AnyOf(form, _) | FilterKind::Condition(ConditionRules { form, .. }, _) => {
                Some(form)
            }
            _ => None,
        }
    }

    /// Its value in a query.
    fn value<'q>(&self, query: &'q IssueQuery) -> &'q dyn FilterValue {
        match &self.kind {
            FilterKind::Instant(_, part) => (part.get)(query),
            FilterKind::States(part) => (part.get)(query),
            FilterKind::Ids(part) => (part.get)(query),
            FilterKind::AnyOf(_, part) => (part.get)(query),
            FilterKind::Person(part) => (part.get)(query),
            FilterKind::Condition(_, part) => (part.get)(query),
            FilterKind::Text(part) => (part.get)(query),
            FilterKind::CustomFields(part) => (part.get)(query),
            FilterKind::Rating(part) => (part.get)(query),
            FilterKind::Boolean(part) => (part.get)(query),
        }
    }
}

impl IssueQuery {
    /// The filters that it has.
    pub fn filters(&self) -> impl Iterator<Item = &'static IssueFilter> {
        ISSUE_FILTERS.iter().filter(|filter| filter.value(self).is_given())
    }

    /// The filters with their values. A filter that is not given is not in the text, so a new
    /// filter voids no cursor.
    pub(super) fn text_of_filters(&self) -> String {
        let given = self.filters().map(|filter| (filter.name, filter.value(self)));
        format!("{:?}", given.collect::<Vec<_>>())
    }
}

/// The value of a filter.
trait FilterValue: Debug {
    /// Whether the query has the filter.
    fn is_given(&self) -> bool;
}

impl<T: Debug> FilterValue for Option<T> {
    fn is_given(&self) -> bool {
        self.is_some()
    }
}

impl<T: Debug> FilterValue for Vec<T> {
    fn is_given(&self) -> bool {
        !self.is_empty()
    }
}

impl FilterValue for Condition {
    fn is_given(&self) -> bool {
        !self.is_unbounded()
    }
}
