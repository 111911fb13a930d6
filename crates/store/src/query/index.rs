//! The indexes of issues, and which filters each of them decides alone: a query with no other
//! filter is a scan of that index, which passes over no issue. A backend gives each of these orders
//! an index of its own.

use caseload_model::issue_query::{IssueQuery, SortKey};

/// An order in which a backend indexes the issues of a domain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Index {
    Creation,
    /// By creation within each state.
    State,
    /// By creation within each rating. It holds rated issues only.
    Rating,
    Update,
    Change,
}

impl Index {
    /// The time by which it holds issues, within each state or rating.
    pub const fn order(self) -> SortKey {
        match self {
            Self::Creation | Self::State | Self::Rating => SortKey::CreationTime,
            Self::Update => SortKey::UpdateTime,
            Self::Change => SortKey::StateChangeTime,
        }
    }

    /// The index that holds all issues by this time.
    pub const fn of_order(key: SortKey) -> Self {
        match key {
            SortKey::CreationTime => Self::Creation,
            SortKey::StateChangeTime => Self::Change,
            SortKey::UpdateTime => Self::Update,
        }
    }

    /// Whether the index alone decides which issues match.
    pub fn decides(self, query: &IssueQuery) -> bool {
        Filters::of(query).are_within(self.filters())
    }

    /// The index that holds the matches, and no other issue, in the order of the list.
    pub fn of_list(query: &IssueQuery) -> Option<Self> {
        let index = match query.sort.key {
            SortKey::CreationTime if query.rating.is_some_and(|set| !set.has_missing()) => {
                Self::Rating
            }
            SortKey::CreationTime if query.states.is_some() => Self::State,
            key => Self::of_order(key),
        };
        index.decides(query).then_some(index)
    }

    const fn filters(self) -> Filters {
        match self {
            Self::Creation => Filters::CREATED,
            Self::State => Filters::CREATED.and(Filters::STATES),
            Self::Rating => Filters::CREATED.and(Filters::RATING).and(Filters::STATES),
            Self::Update => Filters::UPDATED.and(Filters::STATES),
            Self::Change => Filters::CHANGED.and(Filters::STATES),
        }
    }
}

/// A set of filters, one bit for each kind that an index or a counter can cover.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Filters(u32);

impl Filters {
    pub(super) const CREATED: Self = Self(1);
    pub(super) const UPDATED: Self = Self(1 << 1);
    pub(super) const CHANGED: Self = Self(1 << 2);
    pub(super) const STATES: Self = Self(1 << 3);
    pub(super) const RATING: Self = Self(1 << 4);
    pub(super) const APPS: Self = Self(1 << 5);
    pub(super) const QUEUES: Self = Self(1 << 6);
    pub(super) const PLATFORMS: Self = Self(1 << 7);
    pub(super) const TAGS: Self = Self(1 << 8);
    pub(super) const LANGUAGES: Self = Self(1 << 9);
    pub(super) const ASSIGNEES: Self = Self(1 << 10);
    /// Every filter that neither an index nor a counter covers.
    const OTHER: Self = Self(1 << 11);

    pub(super) const fn is_empty(self) -> bool {
        self.0 == 0
    }

    pub(super) const fn and(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    pub(super) const fn are_within(self, others: Self) -> bool {
        self.0 & !others.0 == 0
    }

    /// The filters that the query has.
    pub(super) fn of(query: &IssueQuery) -> Self {
        query.filters().map(|filter| Self::named(filter.name)).fold(Self(0), Self::and)
    }

    fn named(name: &str) -> Self {
        match name {
            "created-since" | "created-until" => Self::CREATED,
            "updated-since" | "updated-until" => Self::UPDATED,
            "state-since" | "state-until" => Self::CHANGED,
            "state" => Self::STATES,
            "feedback-rating" => Self::RATING,
            "app-ids" => Self::APPS,
            "queue-ids" => Self::QUEUES,
            "platform-types" => Self::PLATFORMS,
            "tags" => Self::TAGS,
            "languages" => Self::LANGUAGES,
            "assignee-ids" => Self::ASSIGNEES,
            _ => Self::OTHER,
        }
    }
}
