//! Random queries over a small set of values: three days and two or three apps, queues, platforms
//! and authors. With so few values, most queries find issues, equal times, and times at the start
//! or end of a day.

use caseload_model::issue::IssueState;
use caseload_model::issue_query::{
    IssueQuery, RatingSet, Sort, SortKey, SortOrder, TimeRange, parse_list,
};
use caseload_model::time::{DAY_MS, UnixMillis};
use proptest::prelude::*;

/// The first of the three days.
pub(crate) const FIRST_DAY: i64 = 19_700 * DAY_MS;
/// The names that issues and queries use. No issue has the last one.
pub(crate) const NAMES: [&str; 4] = ["a", "b", "ü\u{0}", "nobody"];

/// A time on one of the three days, often the start or the end of a day.
pub(crate) fn instant() -> impl Strategy<Value = i64> {
    let day = 0..3i64;
    prop_oneof![
        (day.clone(), 0..3i64).prop_map(|(day, ms)| FIRST_DAY + day * DAY_MS + ms),
        (day.clone(), 1..3i64).prop_map(|(day, ms)| FIRST_DAY + (day + 1) * DAY_MS - ms),
        (day, 0..4i64).prop_map(|(day, hour)| FIRST_DAY + day * DAY_MS + hour * 3_600_000),
    ]
}

fn range() -> impl Strategy<Value = TimeRange> {
    let bound = || {
        prop_oneof![
            3 => Just(None),
            4 => instant().prop_map(Some),
            1 => Just(Some(i64::MAX)),
            1 => Just(Some(0)),
        ]
    };
    let at = |ms: Option<i64>| ms.map(UnixMillis);
    (bound(), bound())
        .prop_map(move |(since, until)| TimeRange { since: at(since), until: at(until) })
}

fn rare<S: Strategy>(strategy: S) -> impl Strategy<Value = Option<S::Value>>
where
    S::Value: Clone,
{
    prop_oneof![4 => Just(None), 1 => strategy.prop_map(Some)]
}

fn names() -> impl Strategy<Value = Vec<String>> {
    proptest::sample::subsequence(NAMES.as_slice(), 0..=NAMES.len())
        .prop_map(|names| names.into_iter().map(str::to_owned).collect())
}

fn rating() -> impl Strategy<Value = RatingSet> {
    proptest::sample::select(vec![
        r"{}",
        r#"{"and":[{"is_greater_than":"3"}]}"#,
        r#"{"and":[{"is":2}]}"#,
        r#"{"or":[{"is":1},{"is":5}]}"#,
        r#"{"and":[{"is_smaller_than":1}]}"#,
        r#"{"exists":true}"#,
        r#"{"exists":false}"#,
    ])
    .prop_map(|text| {
        let pair = ("feedback-rating".to_owned(), text.to_owned());
        parse_list(&[pair]).expect("a rating filter").query.rating.unwrap_or(RatingSet::ALL)
    })
}

pub(crate) fn sort() -> impl Strategy<Value = Sort> {
    let key = proptest::sample::select(SortKey::ALL);
    let order = proptest::sample::select(SortOrder::ALL);
    (key, order).prop_map(|(key, order)| Sort { key, order })
}

/// Any query. Most have few filters, as real queries do.
pub(crate) fn query() -> impl Strategy<Value = IssueQuery> {
    let states = proptest::sample::subsequence(IssueState::ALL, 0..=3);
    let ids = proptest::collection::btree_set(1..60u64, 0..12);
    let times = (rare(range()), rare(range()), rare(range()));
    let words = (rare(names()), rare(names()), rare(names()), rare(names()));
    let others = (rare(states), rare(ids), rare(rating()), rare(any::<bool>()));
    (times, words, others, sort()).prop_map(|(times, words, others, sort)| IssueQuery {
        created: times.0.unwrap_or_default(),
        updated: times.1.unwrap_or_default(),
        changed: times.2.unwrap_or_default(),
        states: others.0,
        ids: others.1.map(|ids| ids.into_iter().collect()),
        app_ids: words.0,
        platform_types: words.1,
        queue_ids: words.2,
        end_user_ids: words.3,
        rating: others.2,
        redacted: others.3,
        sort,
        ..IssueQuery::default()
    })
}
