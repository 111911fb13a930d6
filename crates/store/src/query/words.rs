//! The words for the parts of a plan in an explanation: those of the API and of docs/program.md,
//! not those of the code.

use caseload_model::issue::{Facet, FieldType, IssueState, OptionalField, TermKind};
use caseload_model::issue_query::{IssueQuery, Sort, SortKey, SortOrder, TimeRange};
use caseload_model::time::{DAY_MS, UnixMillis};

use super::counters::{CounterSum, range_of};
use super::days::{DAYS_ALL, Days};
use super::find::SpanFilter;
use super::index::Index;
use super::matches::Span;
use super::order::Ordering;
use super::plan::{CounterTotal, Part, PartialDays, Scan};
use super::set::{Leaf, Set};

/// Values that are named one by one.
const VALUES_SHOWN_MAX: usize = 5;
/// The words for a value of which the store has only a digest.
const LONG_VALUE: &str = "(a long value)";

/// The counters of a total, and how the ends of its span are counted.
pub(super) fn total(total: &CounterTotal) -> String {
    let of = match total.split.days {
        Some(days) => counters(&total.counters.sum(days), total.counters.time),
        None => "no counters: the span has no whole day".to_owned(),
    };
    if total.split.ends().iter().all(Option::is_none) {
        return of;
    }
    match &total.partial_days {
        PartialDays::Index(_) => format!("{of}; ends of the span: {}", index(total.counters.index)),
        PartialDays::Sets(_) => format!("{of}; ends of the span: sets"),
    }
}

fn counters(sum: &CounterSum<'_>, time: SortKey) -> String {
    let CounterSum { facet, values, subtracted_ratings, days } = *sum;
    let kind = match facet {
        Facet::All | Facet::Updated => None,
        Facet::State | Facet::StateChanged => Some(TermKind::State),
        Facet::App => Some(TermKind::App),
        Facet::Assignee => Some(TermKind::Assignee),
        Facet::Queue => Some(TermKind::Queue),
        Facet::Tag => Some(TermKind::Tag),
        Facet::Rating => Some(TermKind::Rating),
        Facet::Language => Some(TermKind::Language),
        Facet::Platform => Some(TermKind::Platform),
    };
    let every_state = kind == Some(TermKind::State) && values.len() == IssueState::ALL.len();
    let of = match kind.filter(|_| !every_state) {
        Some(kind) => term(kind, values),
        None => "all issues".to_owned(),
    };
    let less = match subtracted_ratings {
        [] => String::new(),
        ratings => format!(" less {}", term(TermKind::Rating, ratings)),
    };
    format!("counters per day of {}: {of}{less}, {}", event(time), day_range(days))
}

fn day_range(days: Days) -> String {
    let date = |day: i64| date(UnixMillis(day * DAY_MS));
    match (days.from > DAYS_ALL.from, days.until < DAYS_ALL.until) {
        (false, false) => "every day".to_owned(),
        (true, false) => format!("from {} on", date(days.from)),
        (false, true) => format!("until {}", date(days.until)),
        (true, true) => format!("{} to {}", date(days.from), date(days.until)),
    }
}

/// A scan of an index.
pub(super) fn scan(scan: &Scan<'_>) -> String {
    let Scan { query, after, index: by, limit, offset } = scan;
    let states = |states: &[IssueState]| {
        let words = states.iter().map(|state| state.as_str().as_bytes().to_vec());
        term(TermKind::State, &words.collect::<Vec<_>>())
    };
    let values = match by {
        Index::State => query.states.as_deref().map(states),
        Index::Rating => query.rating.map(|set| {
            let ratings = set.ratings().map(|rating| rating.to_string().into_bytes());
            term(TermKind::Rating, &ratings.collect::<Vec<_>>())
        }),
        _ => None,
    };
    // Entries of other states are passed over.
    let other_states = match by {
        Index::Creation | Index::State => None,
        _ => query.states.as_deref(),
    };
    let range = range_of(query, by.order());
    let parts = [
        values,
        other_states.map(|given| format!("only {}", states(given))),
        (!range.is_unbounded()).then(|| time_range(by.order(), range)),
        after.map(|after| format!("after issue {} at {}", after.id, instant(after.at))),
        Some(direction(query).to_owned()),
    ];
    let parts: Vec<String> = parts.into_iter().flatten().collect();
    let (first, last) = (offset + 1, offset + limit);
    format!("{}, {}: entries {first} to {last}", index(*by), parts.join(", "))
}

fn index(index: Index) -> &'static str {
    match index {
        Index::Creation => "index by creation",
        Index::State => "index by state and creation",
        Index::Rating => "index by rating and creation",
        Index::Update => "index by last update",
        Index::Change => "index by state change",
    }
}

fn direction(query: &IssueQuery) -> &'static str {
    match query.sort.order {
        SortOrder::Ascending => "oldest first",
        SortOrder::Descending => "newest first",
    }
}

/// A set of issues by a filter.
pub(super) fn set(set: &Set) -> String {
    let joined = |sets: &[Set], word: &str| {
        let sets: Vec<String> = sets.iter().map(self::set).collect();
        if sets.len() > 1 { format!("({})", sets.join(word)) } else { sets.concat() }
    };
    match set {
        Set::Leaf(leaf) => self::leaf(leaf),
        Set::And(sets) if sets.is_empty() => "every issue".to_owned(),
        Set::Or(sets) if sets.is_empty() => "no issue".to_owned(),
        Set::And(sets) => joined(sets, " and "),
        Set::Or(sets) => joined(sets, " or "),
        Set::Not(inner) => format!("not {}", self::set(inner)),
    }
}

fn leaf(leaf: &Leaf) -> String {
    match leaf {
        Leaf::Term { kind, values } => term(*kind, values),
        Leaf::Ranges(parts) => match parts.first() {
            Some(part) if part.kind == TermKind::Mode => "has an issue mode".to_owned(),
            part => {
                let from = part.map_or(&[][..], |part| &part.from);
                format!("{} within a range", field(from).0)
            }
        },
        Leaf::Ids(ids) if ids.len() == 1 => "one of 1 id".to_owned(),
        Leaf::Ids(ids) => format!("one of {} ids", ids.len()),
        Leaf::Text(text) => format!("may contain {text:?} by the text index"),
    }
}

fn term(kind: TermKind, values: &[Vec<u8>]) -> String {
    let name = match kind {
        TermKind::All => return "every issue".to_owned(),
        TermKind::Redacted => return "redacted".to_owned(),
        TermKind::Presence => {
            let part = OptionalField::ALL
                .iter()
                .find(|part| values.first() == Some(&part.term().to_vec()));
            return format!("has {}", part.map_or("a part", |part| self::part(*part)));
        }
        TermKind::FieldSet => return fields(values, |name, _| format!("{name} is set")),
        TermKind::FieldChoice => return fields(values, |name, value| format!("{name} is {value}")),
        TermKind::FieldNumber | TermKind::NumberSpan => {
            return fields(values, |name, _| format!("{name} is one number"));
        }
        TermKind::State => "state",
        TermKind::App => "app",
        TermKind::Assignee if values.iter().all(Vec::is_empty) && !values.is_empty() => {
            return "unassigned".to_owned();
        }
        TermKind::Assignee => "assignee",
        TermKind::Queue => "queue",
        TermKind::Tag => "tag",
        TermKind::Rating => "rating",
        TermKind::Language => "language",
        TermKind::Platform => "platform",
        TermKind::Mode => "issue mode",
        TermKind::EndUser => "end user",
        TermKind::AuthorEmail => "author's address",
        TermKind::Created => "day of creation",
        TermKind::Updated => "day of last update",
        TermKind::Changed => "day of state change",
        TermKind::CreatedSpan => "span of creation",
        TermKind::UpdatedSpan => "span of last update",
        TermKind::ChangedSpan => "span of state change",
        // No issue has these.
        TermKind::Country
        | TermKind::VipSegment
        | TermKind::Persona
        | TermKind::SupportStatus
        | TermKind::CreatedAt
        | TermKind::UpdatedAt => kind.as_str(),
    };
    format!("{name} {}", alternatives(values.iter().map(|value| text(value))))
}

const fn part(part: OptionalField) -> &'static str {
    match part {
        OptionalField::Tags => "a tag",
        OptionalField::Language => "a language",
        OptionalField::AuthorEmail => "an author's address",
        OptionalField::FeedbackComment => "a feedback comment",
    }
}

fn fields(values: &[Vec<u8>], words: impl Fn(String, String) -> String) -> String {
    alternatives(values.iter().map(|value| {
        let (name, value) = field(value);
        words(name, value)
    }))
}

/// Name and value of a custom field, from a term that begins with the field.
fn field(term: &[u8]) -> (String, String) {
    let kind = term.first().and_then(|code| FieldType::from_code((*code).into()));
    let kind = kind.map_or("field", FieldType::as_str);
    let rest = term.get(2..).unwrap_or_default();
    let (key, value) = rest.split_at(rest.len().min(term.get(1).map_or(0, |n| (*n).into())));
    (format!("custom field {} ({kind})", text(key)), text(value))
}

/// A value; long texts are stored as a hash.
fn text(value: &[u8]) -> String {
    match value.first() {
        None => "none".to_owned(),
        Some(0xff) => LONG_VALUE.to_owned(),
        Some(_) => String::from_utf8_lossy(value).into_owned(),
    }
}

fn alternatives(values: impl ExactSizeIterator<Item = String>) -> String {
    let count = values.len();
    let mut shown: Vec<String> = values.collect();
    // A long value is stored as a digest, so its place in the order means nothing.
    shown.sort_by_key(|value| value != LONG_VALUE);
    shown.truncate(VALUES_SHOWN_MAX);
    if count > VALUES_SHOWN_MAX {
        shown.push(format!("{} more", count - VALUES_SHOWN_MAX));
    }
    if shown.is_empty() { "among no values".to_owned() } else { shown.join(" or ") }
}

/// A span of time, and how a set is narrowed to it.
pub(super) fn span(span: &Span, by: Option<SpanFilter>) -> String {
    let how = match by {
        Some(SpanFilter::Instants) => "the time of each remaining issue",
        Some(SpanFilter::Sets) | None => "sets of days",
    };
    format!("{}: {how}", time_range(span.key, span.range))
}

/// A part of a set in order.
pub(super) fn page(part: &Part, by: Option<Ordering>) -> String {
    let Part { sort: Sort { key, order }, after, offset, limit, .. } = part;
    let order = if *order == SortOrder::Ascending { "oldest first" } else { "newest first" };
    let how = match by {
        None => "ordered",
        Some(Ordering::Sort) => "the whole set is sorted",
        Some(Ordering::WalkDays) => "the set is walked day by day",
    };
    let after = after.map_or(String::new(), |after| {
        format!(", after issue {} at {}", after.id, instant(after.at))
    });
    let (first, last) = (offset + 1, offset + limit);
    format!("{how} by {}, {order}{after}: issues {first} to {last}", event(*key))
}

const fn event(key: SortKey) -> &'static str {
    match key {
        SortKey::CreationTime => "creation",
        SortKey::UpdateTime => "last update",
        SortKey::StateChangeTime => "state change",
    }
}

fn time_range(key: SortKey, range: TimeRange) -> String {
    let event = match key {
        SortKey::CreationTime => "created",
        SortKey::UpdateTime => "updated",
        SortKey::StateChangeTime => "state changed",
    };
    let since = range.since.map(|at| format!(" from {}", instant(at))).unwrap_or_default();
    let until = range.until.map(|at| format!(" until {}", instant(at))).unwrap_or_default();
    format!("{event}{since}{until}")
}

fn date(at: UnixMillis) -> String {
    let at = at.civil();
    format!("{:04}-{:02}-{:02}", at.year, at.month, at.day)
}

fn instant(at: UnixMillis) -> String {
    let time = at.civil();
    let (hour, minute, second, millis) = (time.hour, time.minute, time.second, time.millisecond);
    format!("{} {hour:02}:{minute:02}:{second:02}.{millis:03}", date(at))
}
