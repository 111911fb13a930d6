//! SQLite's query plans of steps: a range of one index from the position on, without sorting. Other
//! tests cover the results.

use caseload_model::ids::DomainId;
use caseload_model::issue::IssueState;
use caseload_model::issue_query::{
    IssueQuery, IssueView, ListPosition, Sort, SortKey, SortOrder, TimeRange,
};
use caseload_model::time::UnixMillis;
use rusqlite::{Connection, params_from_iter};

use super::page::select;
use super::sql;
use caseload_store::query::plan::narrowed;
use caseload_store::query::{Index, Scan};

/// Fragments are looked up for each issue of the page.
const BODIES: &str = "SEARCH b USING INTEGER PRIMARY KEY (rowid=?)";

/// SQLite's query plan of a step, one line for each part.
fn plan(query: &IssueQuery) -> Vec<String> {
    let conn = Connection::open_in_memory().unwrap();
    rusqlite::vtab::array::load_module(&conn).unwrap();
    conn.execute_batch(include_str!("../../migrations/V1__schema.sql")).unwrap();
    let after = Some(ListPosition { at: UnixMillis(7), id: 7 });
    let (query, after) = narrowed(query, after);
    let index = Index::of_list(&query).unwrap();
    let scan = Scan { query, after, index, limit: 100, offset: 0 };
    let sql = sql::page(DomainId(1), &scan);
    let select = select(IssueView::default(), &sql.text);
    let mut explain = conn.prepare(&format!("EXPLAIN QUERY PLAN {select}")).unwrap();
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
            // The query's own bound on the side of the position must not replace it.
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
                assert!(plan.contains(BODIES) && plan.contains("CO-ROUTINE"), "{plan}");
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
