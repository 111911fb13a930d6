//! The counters of an issue. The `total-hits` of a list is a sum of counters, and this is the only
//! definition of what they count; imports, edits and `caseload check` all use it. A counter belongs
//! to a domain, a facet, a value and a day. For each span of 32 days there is one more counter with
//! the sum of its days, so that years are summed from few counters. An edit changes the counters by
//! the difference between two results of this module.

use std::borrow::Cow;
use std::collections::HashSet;

use sha2::{Digest, Sha256};

use super::IssueColumns;
use crate::task::words;

words! {
    /// The facet that a counter counts. `All` and `Updated` have one empty value. The empty value
    /// of `Assignee` counts unassigned issues, and an issue counts once for each distinct `Tag`.
    /// The day is that of creation, except for `Updated` (last update) and `StateChanged` (last
    /// state change).
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
    /// UTC days since 1970-01-01, or the number of a span of days: see [`span_of_day`].
    pub day: i64,
}

/// Days of a span, which has a counter in addition to those of its days.
pub const SPAN_DAYS: i64 = 32;
/// Offset of span numbers in place of a day. The days of instants never come near it.
const SPANS_FROM: i64 = 1 << 40;
/// Numbers from here on are spans, not days.
const SPANS_FIRST: i64 = SPANS_FROM >> 1;

/// The number of the span that contains a day, for use in place of a day.
pub const fn span_of_day(day: i64) -> i64 {
    SPANS_FROM + day.div_euclid(SPAN_DAYS)
}

/// The span that is given in place of a day, counted from 1970-01-01; `None` if it is a day.
pub const fn span_number(day: i64) -> Option<i64> {
    if day < SPANS_FIRST { None } else { Some(day - SPANS_FROM) }
}

/// First and last day of a counter, which counts one day or a span.
pub const fn counted_days(day: i64) -> (i64, i64) {
    match span_number(day) {
        None => (day, day),
        Some(span) => (span * SPAN_DAYS, (span + 1) * SPAN_DAYS - 1),
    }
}

/// Longer values count under a hash: no index of a database takes keys of any length.
const VALUE_BYTES_MAX: usize = 1024;
/// Marks a hash; no text begins with this byte.
const HASHED: u8 = 0xff;

/// The value of the counters of a text: the text itself, or a hash of a long one.
pub fn counted_text(text: &str) -> Cow<'_, [u8]> {
    if text.len() <= VALUE_BYTES_MAX {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut value = vec![HASHED];
    value.extend_from_slice(&Sha256::digest(text));
    Cow::Owned(value)
}

/// Passes each counter of days that counts the issue to `visit`, once, as facet, value and day. The
/// counters of the spans that contain these days count the issue, too.
pub fn visit_counters(issue: &IssueColumns, visit: &mut impl FnMut(Facet, &[u8], i64)) {
    let facts = &issue.facts;
    let created = issue.created_at.day();
    let state = facts.state.as_str().as_bytes();
    visit(Facet::All, b"", created);
    visit(Facet::State, state, created);
    visit(Facet::App, &counted_text(&issue.app_id), created);
    let assignee = facts.assignee_id.as_deref().unwrap_or_default();
    visit(Facet::Assignee, &counted_text(assignee), created);
    for (facet, text) in [
        (Facet::Queue, facts.queue.as_ref().map(|queue| queue.id.as_str())),
        (Facet::Language, facts.language.as_deref()),
        (Facet::Platform, facts.platform_type.as_deref()),
    ] {
        if let Some(text) = text {
            visit(facet, &counted_text(text), created);
        }
    }
    if let Some(rating) = facts.rating {
        visit(Facet::Rating, rating.to_string().as_bytes(), created);
    }
    visit(Facet::Updated, b"", facts.updated_at.day());
    visit(Facet::StateChanged, state, facts.changed_at.day());
    distinct_tags(issue, |tag| visit(Facet::Tag, &counted_text(tag), created));
}

/// Up to this number of tags, comparing each with those before it costs less than a set.
const COMPARED_TAGS_MAX: usize = 16;

/// Each tag once.
pub(super) fn distinct_tags(issue: &IssueColumns, mut visit: impl FnMut(&str)) {
    let tags = &issue.facts.tags;
    if tags.len() > COMPARED_TAGS_MAX {
        let mut seen = HashSet::with_capacity(tags.len());
        tags.iter().filter(|tag| seen.insert(tag.as_str())).for_each(|tag| visit(tag));
        return;
    }
    for (n, tag) in tags.iter().enumerate() {
        if !tags[..n].contains(tag) {
            visit(tag);
        }
    }
}

/// The counters that count the issue, those of days and of spans, each once.
pub fn counter_keys(issue: &IssueColumns) -> Vec<CounterKey> {
    let mut keys = Vec::new();
    visit_counters(issue, &mut |facet, value, day| {
        for day in [day, span_of_day(day)] {
            keys.push(CounterKey { facet, value: value.to_vec(), day });
        }
    });
    keys
}
