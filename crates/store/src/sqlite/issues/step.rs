//! A step through a list: the issues that follow a position, found by a range of the index that has
//! the list's order or, where filters need it, from a set of rows. What came before is never looked
//! at, so that a step costs the same at any depth, also in the middle of issues with the same
//! instant. One issue more than wanted is looked for, which tells whether a further step is worth
//! it.

use std::borrow::Cow;

use caseload_model::issue_query::{IssueQuery, IssueView, Paging, Position, SortKey, SortOrder};
use rusqlite::Connection;

use super::super::engine::Pace;
use super::find;
use super::list::{found, list, matches_nothing, plain};
use super::ordered::{self, Part};
use super::page::{Written, position, write_rows};
use super::sets::Sets;
use super::sql::{self, Index};
use super::tally;
use super::texts::{Texts, reads_texts};
use crate::{IssueStep, ListIssues, StepIssues, StoreError};

/// The step, from the snapshot that `conn` is in.
pub(in crate::sqlite) fn step(
    conn: &Connection,
    request: &StepIssues,
    pace: &mut Pace,
) -> Result<IssueStep, StoreError> {
    let total_hits = if request.count { Some(total(conn, request, pace)?) } else { None };
    let mut step = IssueStep { total_hits, ..IssueStep::default() };
    let (query, after) = narrowed(&request.query, request.after);
    if matches_nothing(&query) {
        return Ok(step);
    }
    let wanted = request.issues_max.max(1);
    let mut rows = if let Some(index) = index(&query) {
        found(conn, &sql::page(request.domain, &query, index, after, wanted + 1, 0))?
    } else {
        let sets = Sets { conn, domain: request.domain };
        let found = find::candidates(sets, &query)?;
        let part = Part { after, offset: 0, limit: wanted + 1 };
        if reads_texts(&query) {
            let mut texts = Texts::new(conn, &query, pace)?;
            let mut test = |row| texts.hold(row);
            ordered::rows(sets, &found, &query, part, Some(&mut test))?
        } else {
            ordered::rows(sets, &found, &query, part, None)?
        }
    };
    step.more = rows.len() as u64 > wanted;
    rows.truncate(wanted as usize);
    let mut written = Written::default();
    let bounds = (request.form, request.bytes_max);
    let count = write_rows(conn, &rows, request.view, bounds, &mut written)?;
    step.more |= count < rows.len();
    step.count = count as u32;
    let last = rows[..count].last();
    step.last = last.map(|row| position(conn, *row, query.sort.key)).transpose()?;
    (step.body, step.stamp) = (written.body, written.stamp.finish());
    Ok(step)
}

/// The total of the whole list, from the same snapshot.
fn total(conn: &Connection, request: &StepIssues, pace: &mut Pace) -> Result<u64, StoreError> {
    let brief = IssueView { exclude_messages: true, ..IssueView::default() };
    let first = ListIssues {
        domain: request.domain,
        query: request.query.clone(),
        view: brief,
        paging: Paging { page: 1, page_size: 1 },
        budget: request.budget,
    };
    Ok(list(conn, &first, pace)?.total_hits)
}

/// The query and the position to look behind. A range of an index has one beginning, so there is
/// one at most of the position and the query's own bound: whichever comes later.
fn narrowed(
    query: &IssueQuery,
    after: Option<Position>,
) -> (Cow<'_, IssueQuery>, Option<Position>) {
    let mut query = plain(query);
    let Some(position) = after else { return (query, None) };
    let ascending = query.sort.order == SortOrder::Ascending;
    let range = match query.sort.key {
        SortKey::CreationTime => query.created,
        SortKey::StateChangeTime => query.changed,
        SortKey::UpdateTime => query.updated,
    };
    let overtaken = if ascending {
        range.since.is_some_and(|since| position.at < since)
    } else {
        range.until.is_some_and(|until| position.at > until)
    };
    if overtaken {
        return (query, None);
    }
    let owned = query.to_mut();
    let range = match owned.sort.key {
        SortKey::CreationTime => &mut owned.created,
        SortKey::StateChangeTime => &mut owned.changed,
        SortKey::UpdateTime => &mut owned.updated,
    };
    // A position beyond the other bound leaves nothing, and a range says so by itself.
    let bound = if ascending { &mut range.since } else { &mut range.until };
    *bound = None;
    (query, Some(position))
}

/// The index to go along: one that has the order, so that nothing is sorted, and that decides alone
/// which issues match, so that none is passed over. Other queries go by sets.
fn index(query: &IssueQuery) -> Option<Index> {
    let index = match query.sort.key {
        SortKey::CreationTime if query.rating.is_some_and(|set| !set.has_missing()) => {
            Index::Rating
        }
        SortKey::CreationTime if query.states.is_some() => Index::State,
        key => Index::of_order(key),
    };
    tally::is_decided_by(query, index).then_some(index)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use caseload_model::ids::DomainId;
    use caseload_model::issue::IssueState;
    use caseload_model::issue_query::{Sort, TimeRange};
    use caseload_model::time::UnixMillis;
    use rusqlite::params_from_iter;

    use super::*;

    /// How SQLite goes about a step, a line per part.
    fn plan(query: &IssueQuery) -> Vec<String> {
        let conn = Connection::open_in_memory().unwrap();
        conn.execute_batch(include_str!("../../../migrations/sqlite/V2__issues.sql")).unwrap();
        let after = Some(Position { at: UnixMillis(7), id: 7 });
        let (query, after) = narrowed(query, after);
        let sql = sql::page(DomainId(1), &query, index(&query).unwrap(), after, 100, 0);
        let mut explain = conn.prepare(&format!("EXPLAIN QUERY PLAN {}", sql.text)).unwrap();
        let lines = explain.query_map(params_from_iter(&sql.parameters), |row| row.get(3)).unwrap();
        lines.collect::<Result<_, _>>().unwrap()
    }

    #[test]
    fn a_step_begins_at_its_position_in_the_index_and_sorts_nothing() {
        for (key, index, range) in [
            (SortKey::CreationTime, "issues_by_creation", "created_at>?"),
            (SortKey::UpdateTime, "issues_by_update", "(updated_at,id)>(?,?)"),
            (SortKey::StateChangeTime, "issues_by_change", "(changed_at,id)>(?,?)"),
        ] {
            for order in SortOrder::ALL {
                let range = match order {
                    SortOrder::Ascending => range.to_owned(),
                    SortOrder::Descending => range.replace('>', "<"),
                };
                // The query's own bound on the side of the position must not be taken instead.
                let own = TimeRange { since: Some(UnixMillis(1)), until: Some(UnixMillis(9)) };
                let sort = Sort { key, order: *order };
                let all = IssueQuery { sort, ..IssueQuery::default() };
                let ranged = match key {
                    SortKey::CreationTime => IssueQuery { created: own, ..all.clone() },
                    SortKey::UpdateTime => IssueQuery { updated: own, ..all.clone() },
                    SortKey::StateChangeTime => IssueQuery { changed: own, ..all.clone() },
                };
                for query in [all, ranged] {
                    let plan = plan(&query).join("\n");
                    assert!(plan.contains(index) && plan.contains(&range), "{query:?}:\n{plan}");
                    assert!(!plan.contains("B-TREE"), "{query:?}:\n{plan}");
                }
            }
        }
    }

    #[test]
    fn steps_of_several_states_merge_their_runs_without_sorting() {
        let states = Some(vec![IssueState::New, IssueState::Resolved]);
        let plan = plan(&IssueQuery { states, ..IssueQuery::default() }).join("\n");
        let run = "issues_by_state (domain_id=? AND state=? AND created_at<?)";
        assert_eq!(plan.matches(run).count(), 2, "{plan}");
        assert!(!plan.contains("B-TREE"), "{plan}");
    }
}
