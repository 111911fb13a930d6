//! Splitting a set of issues by a property: one set for each value, and one for the issues without
//! a value. Properties that have term sets are split by these, days of UTC by the sets of days.
//! Days of another zone need the time of each issue.

use std::collections::BTreeMap;

use caseload_model::issue::{ISSUE_MODE_DEFAULT, IssueView, TermKind, text_term};
use caseload_model::issue_query::{
    Group, GroupValue, IssueQuery, Period, SortKey, SortOrder, Zone,
};
use caseload_model::json::{self, Json};
use roaring::RoaringBitmap;

use crate::StepForm;
use crate::StoreError;
use crate::query::counters::range_of;
use crate::query::days::DaySplit;
use crate::query::find::SpanFilter;
use crate::query::source::{Rendering, Selection, Source};
use crate::throttle::Throttle;

/// The first byte of a term that is a digest.
const DIGEST: u8 = 0xff;
/// The most bytes of issues that are read at a time for the texts of digests.
const NAMES_BYTES_MAX: usize = 1 << 20;

/// The issues of one value.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Part {
    pub(super) value: GroupValue,
    pub(super) rows: RoaringBitmap,
}

/// The parts of `found`, none of them empty. `found` are matches of the query.
pub(super) fn of<S: Source>(
    source: &S,
    by: Group,
    (query, zone): (&IssueQuery, &Zone),
    found: &RoaringBitmap,
    throttle: &mut Throttle,
) -> Result<Vec<Part>, StoreError> {
    let mut parts = match (by.time(), kind_of(by)) {
        (Some((key, period)), _) if zone.is_utc() => by_days(source, key, period, query, found)?,
        (Some((key, period)), _) => by_instants(source, key, (period, zone), found, throttle)?,
        (None, kind) => by_terms(source, by, kind, found, throttle)?,
    };
    let mut rest = found.clone();
    for part in parts.values() {
        rest -= part;
    }
    if !rest.is_empty() {
        let value = match by {
            Group::Mode => GroupValue::Text(ISSUE_MODE_DEFAULT.to_owned()),
            _ => GroupValue::Absent,
        };
        *parts.entry(value).or_default() |= rest;
    }
    Ok(parts.into_iter().map(|(value, rows)| Part { value, rows }).collect())
}

type Parts = BTreeMap<GroupValue, RoaringBitmap>;

/// The kind of term that says the value; times have others.
const fn kind_of(by: Group) -> TermKind {
    match by {
        Group::State => TermKind::State,
        Group::App => TermKind::App,
        Group::Queue => TermKind::Queue,
        Group::Assignee => TermKind::Assignee,
        Group::Language => TermKind::Language,
        Group::Platform => TermKind::Platform,
        Group::Tag => TermKind::Tag,
        Group::Rating => TermKind::Rating,
        Group::Mode => TermKind::Mode,
        Group::CreatedDay | Group::CreatedWeek | Group::CreatedMonth => TermKind::Created,
        Group::UpdatedDay => TermKind::Updated,
        Group::ChangedDay => TermKind::Changed,
    }
}

fn by_days<S: Source>(
    source: &S,
    key: SortKey,
    period: Period,
    query: &IssueQuery,
    found: &RoaringBitmap,
) -> Result<Parts, StoreError> {
    let mut parts = Parts::new();
    let mut left = found.len();
    if left == 0 {
        return Ok(parts);
    }
    let days = DaySplit::of(range_of(query, key)).touched();
    source.sets().walk_days(key, SortOrder::Ascending, days, |day, rows| {
        let rows = rows & found;
        if !rows.is_empty() {
            left -= rows.len();
            *parts.entry(GroupValue::Time(period, period.of_day(day))).or_default() |= rows;
        }
        Ok(left > 0)
    })?;
    Ok(parts)
}

fn by_instants<S: Source>(
    source: &S,
    key: SortKey,
    (period, zone): (Period, &Zone),
    found: &RoaringBitmap,
    throttle: &mut Throttle,
) -> Result<Parts, StoreError> {
    let mut periods = BTreeMap::<i64, Vec<u32>>::new();
    let mut put = |row, at| {
        periods.entry(period.of_day(zone.day_of(at))).or_default().push(row);
    };
    if SpanFilter::of(found.len(), source.thresholds()) == SpanFilter::Instants {
        source.sets().instants(key, found, |issue| put(issue.row, issue.at))?;
    } else {
        let (all, mut left) = (caseload_model::issue_query::TimeRange::default(), found.len());
        source.walk_span(key, SortOrder::Ascending, all, |issue| {
            throttle.step()?;
            if found.contains(issue.row) {
                put(issue.row, issue.at);
                left -= 1;
            }
            Ok(left > 0)
        })?;
    }
    let parts = periods.into_iter().map(|(number, mut rows)| {
        rows.sort_unstable();
        (GroupValue::Time(period, number), rows.into_iter().collect())
    });
    Ok(parts.collect())
}

fn by_terms<S: Source>(
    source: &S,
    by: Group,
    kind: TermKind,
    found: &RoaringBitmap,
    throttle: &mut Throttle,
) -> Result<Parts, StoreError> {
    let mut parts = Parts::new();
    let mut digests = Vec::new();
    source.sets().each_value(kind, &mut |term, rows| {
        throttle.step()?;
        let rows = rows & found;
        if rows.is_empty() {
            return Ok(());
        }
        if term.first() == Some(&DIGEST) {
            digests.push((term.to_vec(), rows));
            return Ok(());
        }
        if let Some(value) = value_of(by, term)? {
            parts.insert(value, rows);
        }
        Ok(())
    })?;
    name_digests(source, by, digests, &mut parts)?;
    Ok(parts)
}

/// The value of a term; none if the term says that there is none.
fn value_of(by: Group, term: &[u8]) -> Result<Option<GroupValue>, StoreError> {
    if by == Group::Rating {
        let digit = term.first().copied().unwrap_or_default();
        return Ok(Some(GroupValue::Rating(digit.saturating_sub(b'0'))));
    }
    if by == Group::Assignee && term.is_empty() {
        return Ok(None);
    }
    let text = std::str::from_utf8(term)
        .map_err(|_| StoreError::Corrupt("a term that is not a text".to_owned()))?;
    Ok(Some(GroupValue::Text(text.to_owned())))
}

/// Adds the parts of long texts. Their terms are digests, so each text is read from an issue that
/// has it.
fn name_digests<S: Source>(
    source: &S,
    by: Group,
    digests: Vec<(Vec<u8>, RoaringBitmap)>,
    parts: &mut Parts,
) -> Result<(), StoreError> {
    let rows: Vec<u32> = digests.iter().filter_map(|(_, rows)| rows.min()).collect();
    let mut digests = digests.into_iter();
    let mut named = 0;
    while named < rows.len() {
        let rendering = Rendering {
            view: IssueView { queue: true, exclude_messages: true, ..IssueView::default() },
            form: StepForm::Commas,
            issues_max: rows.len(),
            bytes_max: NAMES_BYTES_MAX,
            key: SortKey::CreationTime,
        };
        let page = source.render(Selection::Rows(&rows[named..]), &rendering)?;
        let array = [b"[", &page.body[..], b"]"].concat();
        let Ok(Json::Array(issues)) = json::parse(&array) else { return Err(unnamed()) };
        if issues.is_empty() {
            return Err(unnamed());
        }
        named += issues.len();
        for (issue, (term, rows)) in issues.iter().zip(digests.by_ref()) {
            let text = texts_of(by, issue).into_iter().find(|text| text_term(text) == term);
            let text = text.ok_or_else(unnamed)?;
            parts.insert(GroupValue::Text(text.to_owned()), rows);
        }
    }
    Ok(())
}

fn unnamed() -> StoreError {
    StoreError::Corrupt("an issue without the value of its term".to_owned())
}

/// The texts that an issue has of a property.
fn texts_of<'i>(by: Group, issue: &'i Json<'_>) -> Vec<&'i str> {
    let text = |name: &str| issue.get(name).and_then(Json::as_str).into_iter().collect();
    let inner = |map: &str, name: &str| {
        issue.get(map).and_then(|map| map.get(name)).and_then(Json::as_str).into_iter().collect()
    };
    match by {
        Group::App => text("app_id"),
        Group::Assignee => text("assignee_id"),
        Group::Language => text("language"),
        Group::Platform => text("platform_type"),
        Group::Queue => inner("queue", "id"),
        Group::Mode => inner("issue_mode_data", "issue_mode"),
        Group::Tag => match issue.get("tags") {
            Some(Json::Array(tags)) => tags.iter().filter_map(Json::as_str).collect(),
            _ => Vec::new(),
        },
        _ => Vec::new(),
    }
}
