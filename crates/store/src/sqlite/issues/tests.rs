//! The SQL of queries against their meaning: random rows in memory, random queries; whatever index
//! a count or a page goes through, and wherever a deep page begins, the answer is that of
//! `IssueQuery::matches_columns` and `Sort::compare`.

use caseload_model::ids::DomainId;
use caseload_model::issue::{
    IssueBody, IssueColumns, IssueFacts, IssueFragments, IssueQueue, IssueState,
};
use caseload_model::issue_query::IssueQuery;
use caseload_model::time::UnixMillis;
use proptest::prelude::*;
use rusqlite::{Connection, params_from_iter};

use super::import::columns_statement;
use super::index::{Changes, Indexed};
use super::list::matches_nothing;
use super::sql::{self, Index};
use super::tally;

#[path = "../../../tests/suite/queries.rs"]
mod queries;

const DOMAIN: DomainId = DomainId(2);

/// An issue of the small world. Ids and instants of creation are made unique by `world`.
fn issue() -> impl Strategy<Value = IssueColumns> {
    let name = || proptest::sample::select(&queries::NAMES[..3]).prop_map(str::to_owned);
    let times = (queries::instant(), queries::instant(), queries::instant());
    let words = (name(), proptest::option::of(name()), proptest::option::of(name()), name());
    let others = (
        proptest::sample::select(IssueState::ALL),
        proptest::option::of(1..=5u8),
        any::<bool>(),
        1..60u64,
    );
    (times, words, others).prop_map(|(times, words, others)| IssueColumns {
        id: others.3,
        created_at: UnixMillis(times.0),
        original_created_at: None,
        app_id: words.0,
        app_publish_id: String::new(),
        facts: IssueFacts {
            updated_at: UnixMillis(times.1),
            changed_at: UnixMillis(times.2),
            state: others.0,
            assignee_id: None,
            assignee_name: None,
            queue: words.1.map(|id| IssueQueue { id, name: String::new() }),
            hs_user_id: words.3,
            author_email: String::new(),
            rating: others.1,
            language: None,
            platform_type: words.2,
            issue_mode: None,
            redacted: others.2,
            tags: Vec::new(),
        },
    })
}

/// Issues of which no two share an id or an instant of creation.
fn world() -> impl Strategy<Value = Vec<IssueColumns>> {
    proptest::collection::vec(issue(), 0..40).prop_map(|mut issues| {
        issues.sort_by_key(|issue| issue.id);
        issues.dedup_by_key(|issue| issue.id);
        issues.sort_by_key(|issue| issue.created_at);
        issues.dedup_by_key(|issue| issue.created_at);
        issues
    })
}

/// The issues with their counters, beside the same ones in a neighbouring domain.
fn database(issues: &[IssueColumns]) -> Connection {
    let conn = Connection::open_in_memory().unwrap();
    conn.execute_batch(include_str!("../../../migrations/sqlite/V2__issues.sql")).unwrap();
    for domain in [DomainId(1), DOMAIN, DomainId(3)] {
        let mut changes = Changes::default();
        let mut insert = columns_statement(&conn).unwrap();
        for issue in issues {
            super::import::keep_columns(&mut insert, domain, issue).unwrap();
            let body = IssueBody::default();
            let fragments = IssueFragments::new(b"", &body);
            let indexed = Indexed { columns: issue, fragments: &fragments };
            changes.change(conn.last_insert_rowid(), None, Some(indexed)).unwrap();
        }
        changes.keep(&conn, domain).unwrap();
    }
    conn
}

/// The matching issues' ids in order.
fn expected(issues: &[IssueColumns], query: &IssueQuery) -> Vec<u64> {
    let mut found: Vec<_> = issues.iter().filter(|issue| query.matches_columns(issue)).collect();
    found.sort_by(|a, b| query.sort.compare(a, b));
    found.iter().map(|issue| issue.id).collect()
}

/// Every index that the query can be answered through.
fn indexes(query: &IssueQuery) -> Vec<Index> {
    let mut all = vec![Index::Id, Index::Creation, Index::Update, Index::Change];
    if query.states.as_ref().is_some_and(|states| !states.is_empty()) {
        all.push(Index::State);
    }
    if query.rating.is_some_and(|set| !set.has_missing() && set.ratings().next().is_some()) {
        all.push(Index::Rating);
    }
    all
}

fn page(conn: &Connection, query: &IssueQuery, index: Index, limit: u64, offset: u64) -> Vec<u64> {
    let sql = sql::page(DOMAIN, query, index, None, limit, offset);
    let mut select = conn.prepare(&sql.text).unwrap();
    let rows = select.query_map(params_from_iter(&sql.parameters), |row| row.get(0)).unwrap();
    let rows: Vec<i64> = rows.collect::<Result<_, _>>().unwrap();
    let id = |row| {
        let find = "SELECT id FROM issues WHERE row = ?1";
        conn.query_row(find, [row], |row| row.get::<_, i64>(0)).unwrap().unsigned_abs()
    };
    rows.into_iter().map(id).collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn every_index_gives_the_matches_in_order(
        issues in world(), queries in proptest::collection::vec(queries::query(), 12),
    ) {
        let conn = database(&issues);
        for query in &queries {
            let expected = expected(&issues, query);
            if matches_nothing(query) {
                prop_assert_eq!(&expected, &[]);
                continue;
            }
            for index in indexes(query) {
                let sql = sql::count(DOMAIN, query, index);
                let count = tally::run_count(&conn, &sql).unwrap();
                prop_assert_eq!(count, expected.len() as u64, "{:?} {:?}", index, query);
                let found = page(&conn, query, index, 100, 0);
                prop_assert_eq!(&found, &expected, "{:?} {:?}", index, query);
                let found = page(&conn, query, index, 3, 2);
                let part = expected.iter().skip(2).take(3).copied().collect::<Vec<_>>();
                prop_assert_eq!(found, part, "{:?} {:?}", index, query);
            }
        }
    }

    #[test]
    fn counters_count_and_find_the_day_of_every_offset(
        issues in world(), queries in proptest::collection::vec(queries::query(), 24),
    ) {
        let conn = database(&issues);
        for query in &queries {
            let expected = expected(&issues, query);
            let Some(tally) = tally::exact(query).filter(|_| !matches_nothing(query)) else {
                continue;
            };
            let counted = tally.count(&conn, DOMAIN, query).unwrap();
            prop_assert_eq!(counted.total(), expected.len() as u64, "{:?}", query);
            if tally.time != query.sort.key {
                continue;
            }
            for offset in 0..expected.len() {
                let (narrowed, left) =
                    tally.seek(&conn, DOMAIN, query, &counted, offset as u64).unwrap();
                prop_assert!(left <= offset as u64);
                let found = page(&conn, &narrowed, Index::of_order(tally.time), 2, left);
                let part = expected.iter().skip(offset).take(2).copied().collect::<Vec<_>>();
                prop_assert_eq!(found, part, "{} {:?}", offset, query);
            }
        }
    }
}
