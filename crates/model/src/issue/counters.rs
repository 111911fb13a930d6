//! Kept counts: which counters an issue stands in, and the sum of changes to them. A list's
//! `total-hits` is added up from these, so this is the only place that says what is counted;
//! imports, edits and `caseload check` all use it. A counter is per domain, facet, value and day.

use std::collections::BTreeMap;

use super::IssueColumns;
use crate::task::words;

words! {
    /// What a counter counts by. `All` and `Updated` have one empty value; the empty value of
    /// `Assignee` stands for unassigned issues; an issue counts once per distinct `Tag`. The day is
    /// that of creation, but for `Updated` (last update) and `StateChanged` (last state change).
    Facet {
        All = 1 "all",
        State = 2 "state",
        App = 3 "app",
        Assignee = 4 "assignee",
        Queue = 5 "queue",
        Tag = 6 "tag",
        Rating = 7 "rating",
        Language = 8 "language",
        Platform = 9 "platform",
        Updated = 10 "updated",
        StateChanged = 11 "state-changed",
    }
}

/// One counter of a domain.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CounterKey {
    pub facet: Facet,
    pub value: Vec<u8>,
    /// UTC days since 1970-01-01.
    pub day: i64,
}

/// A change of one counter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CounterDelta {
    pub key: CounterKey,
    /// Never zero.
    pub delta: i64,
}

/// The counters that an issue stands in, each once.
pub fn counter_keys(issue: &IssueColumns) -> impl Iterator<Item = CounterKey> {
    let facts = &issue.facts;
    let created = issue.created_at.day();
    let mut tags: Vec<&str> = facts.tags.iter().map(String::as_str).collect();
    tags.sort_unstable();
    tags.dedup();
    let state = facts.state.as_str();
    let rating = facts.rating.map(|rating| rating.to_string().into_bytes());
    let text = |facet, text: Option<&str>| text.map(|t| (facet, t.as_bytes().to_vec(), created));
    [
        Some((Facet::All, Vec::new(), created)),
        text(Facet::State, Some(state)),
        text(Facet::App, Some(&issue.app_id)),
        text(Facet::Assignee, Some(facts.assignee_id.as_deref().unwrap_or_default())),
        text(Facet::Queue, facts.queue.as_ref().map(|queue| queue.id.as_str())),
        rating.map(|rating| (Facet::Rating, rating, created)),
        text(Facet::Language, facts.language.as_deref()),
        text(Facet::Platform, facts.platform_type.as_deref()),
        Some((Facet::Updated, Vec::new(), facts.updated_at.day())),
        Some((Facet::StateChanged, state.as_bytes().to_vec(), facts.changed_at.day())),
    ]
    .into_iter()
    .flatten()
    .chain(tags.into_iter().map(move |tag| (Facet::Tag, tag.as_bytes().to_vec(), created)))
    .map(|(facet, value, day)| CounterKey { facet, value, day })
}

/// Adds up changes, so that a chunk writes each counter once.
#[derive(Debug, Clone, Default)]
pub struct CounterSums(BTreeMap<CounterKey, i64>);

impl CounterSums {
    /// Counts the issue in (`+1`) or out (`-1`); an edit counts the old columns out and the new
    /// ones in.
    pub fn add(&mut self, issue: &IssueColumns, by: i64) {
        for key in counter_keys(issue) {
            *self.0.entry(key).or_default() += by;
        }
    }

    /// The changes, in key order; what cancelled out is left out.
    pub fn into_deltas(self) -> Vec<CounterDelta> {
        let changed = self.0.into_iter().filter(|(_, delta)| *delta != 0);
        changed.map(|(key, delta)| CounterDelta { key, delta }).collect()
    }
}
