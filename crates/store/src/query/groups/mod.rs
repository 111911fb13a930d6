//! Counting the matches of a query by groups. All issues by periods of UTC are added up from
//! counters. Any other question is answered from sets: the matches, as for a list, are split into
//! one set for each value of a property ([`parts`]), and for two properties the sizes of all
//! intersections are counted in one pass over the matches ([`pairs`]). No issue is read, except for
//! texts that the query tests and for names of which the index has only a digest. Invariant: totals
//! and groups are those of the model's `IssueQuery::matches` and `Grouping::groups_of`.

mod pairs;
mod parts;

use std::collections::BTreeMap;

use caseload_model::issue_query::{CountedGroup, Group, GroupValue, IssueQuery};

use super::counters::Counters;
use super::days::DAYS_ALL;
use super::find;
use super::index::Filters;
use super::matches::{Matches, is_expensive, selects_agent};
use super::plan::{contradicts_itself, without_idle_filters};
use super::source::Source;
use crate::throttle::Throttle;
use crate::{CountIssues, IssueCounts, StoreError};

/// Whether counting may take long: it joins many sets, or reads the time of each match.
pub fn is_expensive_count(request: &CountIssues) -> bool {
    let grouping = &request.grouping;
    let reads_times = !grouping.zone.is_utc() && grouping.by.iter().any(|by| by.time().is_some());
    grouping.by.len() > 1 || reads_times || is_expensive(&request.query)
}

/// The number of matches, and the numbers of their groups.
pub fn count<S: Source>(
    source: &S,
    request: &CountIssues,
    throttle: &mut Throttle,
) -> Result<IssueCounts, StoreError> {
    let (query, grouping) = (without_idle_filters(&request.query), &request.grouping);
    if contradicts_itself(&query) {
        return Ok(IssueCounts::default());
    }
    let (total_hits, groups) = match grouping.by[..] {
        [by] if grouping.zone.is_utc() && Filters::of(&query).is_empty() && by.time().is_some() => {
            from_counters(source, by)?
        }
        _ => {
            let matches = Matches::of(&query, &assignees(source, &query)?);
            let found = find::all(source, &matches, &query, throttle)?;
            let mut parts = Vec::new();
            for by in &grouping.by {
                parts.push(parts::of(source, *by, (&query, &grouping.zone), &found, throttle)?);
            }
            let groups = match &parts[..] {
                [first, second] => pairs::count(&found, first, second, throttle)?,
                parts => {
                    let parts = parts.iter().flatten();
                    parts.map(|part| (vec![part.value.clone()], part.rows.len())).collect()
                }
            };
            (found.len(), groups)
        }
    };
    let (groups, other) = grouping.ordered(groups);
    Ok(IssueCounts { total_hits, groups, other })
}

/// All issues by a period of UTC.
fn from_counters<S: Source>(source: &S, by: Group) -> Result<(u64, Vec<CountedGroup>), StoreError> {
    let Some((key, period)) = by.time() else { return Ok((0, Vec::new())) };
    let mut groups = BTreeMap::new();
    let mut total = 0;
    for (day, issues) in source.count_by_day(&Counters::of_time(key).sum(DAYS_ALL))? {
        let issues = issues.max(0).unsigned_abs();
        if issues > 0 {
            total += issues;
            *groups.entry(period.of_day(day)).or_default() += issues;
        }
    }
    let value = |number| vec![GroupValue::Time(period, number)];
    Ok((total, groups.into_iter().map(|(number, issues)| (value(number), issues)).collect()))
}

/// The agents that the condition on addresses of assignees selects.
fn assignees<S: Source>(source: &S, query: &IssueQuery) -> Result<Vec<String>, StoreError> {
    let condition = &query.assignee_emails;
    let mut assignees = Vec::new();
    if !condition.is_unbounded() {
        source.agents(|id, email| {
            if selects_agent(condition, email) {
                assignees.push(id.to_owned());
            }
        })?;
    }
    Ok(assignees)
}
