//! Random queries over random issues: every total, page and step equals that of the model's naive
//! `matches` and `Sort::compare`. And the maintained index equals an index built from scratch. The
//! thresholds are low, and rows are spread over several blocks, so small data takes every way.

use std::borrow::Cow;
use std::collections::HashMap;

use caseload_model::fold::fold;
use caseload_model::ids::{DomainId, DomainName};
use caseload_model::issue::{
    App, ImportContext, ImportMode, IssueBody, IssueColumns, IssueFragments, TakenTimestamps,
    plan_imports, prepare_imports, write_issue,
};
use caseload_model::issue_query::{
    IssueQuery, IssueView, ListPosition, Paging, SearchableIssue, parse_list,
};
use caseload_model::payload::{Block, Entry};
use caseload_testdata::{AGENTS, SplitMix};
use rusqlite::{Connection, params};

use super::import::{
    insert_columns, insert_columns_statement, insert_fragments, insert_fragments_statement,
};
use super::index::update;
use super::page::select;
use super::source::IssueSource;
use super::{counts, sql};
use crate::Fault;
use caseload_store::issues::{FRAGMENTS_COUNT, IndexChanges, IndexedIssue};
use caseload_store::query::plan::{CounterTotal, Seek, contradicts_itself, without_idle_filters};
use caseload_store::query::{Counters, Index, Page, Scan, Source as _, Thresholds, list, step};
use caseload_store::throttle::Throttle;
use caseload_store::{ListIssues, StepIssues};

const DOMAIN: DomainId = DomainId(2);
const BUDGET: std::time::Duration = std::time::Duration::from_secs(10);
/// Worlds, issues of each world, queries of each world.
const TRIES: (u64, u64, usize) = (24, 60, 90);

/// Low enough that small worlds take every way.
const THRESHOLDS: Thresholds = Thresholds {
    seek_offset_min: 2,
    sorted_max: 3,
    instants_max: 3,
    short_span_issues_max: 3,
    shared_search_min: 3,
};

fn source(conn: &Connection) -> IssueSource<'_> {
    IssueSource { thresholds: THRESHOLDS, ..IssueSource::new(conn, DOMAIN) }
}

/// A scan without a position.
fn scan(query: &IssueQuery, index: Index, limit: u64, offset: u64) -> Scan<'_> {
    Scan { query: Cow::Borrowed(query), after: None, index, limit, offset }
}

struct Issue {
    columns: IssueColumns,
    head: Vec<u8>,
    body: IssueBody,
}

impl Issue {
    fn fragments(&self) -> IssueFragments<'_> {
        IssueFragments::new(&self.head, &self.body)
    }

    /// The row of an issue. Rows are spread over three blocks.
    fn row(place: usize) -> i64 {
        (place + 1) as i64 + (place % 3) as i64 * 65_536
    }
}

/// The issues that importing random entries makes.
fn world(seed: u64, count: u64) -> Vec<Issue> {
    let mut block = Block::default();
    for (n, entry) in caseload_testdata::issues(seed, count).iter().enumerate() {
        let start = block.bytes.len();
        block.bytes.extend_from_slice(entry.as_bytes());
        let range = start..block.bytes.len();
        block.entries.push(Entry {
            index: n as u32,
            line: n as u32 + 1,
            range,
            oversize: None,
            of_row: false,
        });
    }
    let app = App { app_id: "web".to_owned(), publish_id: "1".to_owned() };
    let context = ImportContext {
        apps: vec![app.clone()],
        default_app: app,
        next_publish_number: 2,
        last_issue_id: 0,
        free_ids: Vec::new(),
        stored: HashMap::new(),
        earlier: HashMap::new(),
        changed: None,
        taken_timestamps: TakenTimestamps::new(None),
    };
    let mut prepared = prepare_imports(&DomainName::parse("acme").unwrap(), &block);
    let plan = plan_imports(&context, &block.bytes, &prepared, ImportMode::default()).unwrap();
    assert_eq!(plan.issues.len(), count as usize);
    let issues = plan.issues.into_iter().map(|row| Issue {
        columns: row.columns,
        head: row.head,
        body: std::mem::take(&mut prepared[row.source].item.as_mut().unwrap().body),
    });
    issues.collect()
}

fn empty_database() -> Connection {
    let conn = Connection::open_in_memory().unwrap();
    rusqlite::vtab::array::load_module(&conn).unwrap();
    conn.pragma_update(None, "foreign_keys", false).unwrap();
    conn.execute_batch(include_str!("../../migrations/V1__schema.sql")).unwrap();
    conn
}

/// The issues, and the same issues in another domain.
fn database(issues: &[Issue]) -> Connection {
    let conn = empty_database();
    for (n, domain) in [DomainId(1), DOMAIN].into_iter().enumerate() {
        let mut changes = IndexChanges::default();
        for (place, issue) in issues.iter().enumerate() {
            let row = Issue::row(place) + n as i64 * 1000;
            insert_columns(
                &mut insert_columns_statement(&conn).unwrap(),
                domain,
                &issue.columns,
                None,
            )
            .unwrap();
            let moved = "UPDATE issues SET row = ?1 WHERE row = last_insert_rowid()";
            conn.execute(moved, [row]).unwrap();
            let mut fragments = insert_fragments_statement(&conn).unwrap();
            insert_fragments(&mut fragments, row, &issue.head, &issue.body).unwrap();
            note(&mut changes, row, None, Some(issue));
        }
        update(&conn, domain, &changes.finish()).unwrap();
        for (id, email) in AGENTS {
            conn.execute(
                "INSERT INTO agents (domain_id, id, name, email, created_at)
                 VALUES (?1, ?2, ?2, ?3, 0)",
                params![domain.0, id, email],
            )
            .unwrap();
        }
    }
    conn
}

fn note(changes: &mut IndexChanges, row: i64, before: Option<&Issue>, after: Option<&Issue>) {
    let fragments = [before, after].map(|issue| issue.map(Issue::fragments));
    let [before, after] =
        [(before, &fragments[0]), (after, &fragments[1])].map(|(issue, shown)| {
            let issue = issue.zip(shown.as_ref());
            issue.map(|(issue, fragments)| IndexedIssue { columns: &issue.columns, fragments })
        });
    changes.change(row, before, after).unwrap();
}

/// The matching issues in order.
fn expected<'i>(issues: &'i [Issue], query: &IssueQuery) -> Vec<&'i Issue> {
    let agent_emails: HashMap<String, String> =
        AGENTS.iter().map(|(id, email)| ((*id).to_owned(), fold(email))).collect();
    let matches = |issue: &&Issue| {
        query.matches(&SearchableIssue {
            columns: &issue.columns,
            fragments: issue.fragments(),
            agent_emails: &agent_emails,
        })
    };
    let mut found: Vec<&Issue> = issues.iter().filter(matches).collect();
    found.sort_by(|a, b| query.sort.compare(&a.columns, &b.columns));
    found
}

fn rendered<'i>(issues: impl Iterator<Item = &'i &'i Issue>) -> String {
    let mut body = Vec::new();
    for issue in issues {
        if !body.is_empty() {
            body.push(b',');
        }
        write_issue(&issue.fragments(), &IssueView::FULL, &mut body);
    }
    String::from_utf8(body).unwrap()
}

/// Tries random queries in random worlds; `law` also gets the parameters of the query.
fn try_queries(
    salt: u64,
    mut law: impl FnMut(&Connection, &[Issue], &IssueQuery, &mut SplitMix, &str),
) {
    let (worlds, issues, queries) = TRIES;
    for seed in 0..worlds {
        let issues = world(seed * 31 + salt, issues);
        let conn = database(&issues);
        let mut random = SplitMix::new(seed * 17 + salt);
        for _ in 0..queries {
            let parameters = caseload_testdata::query(&mut random);
            let query = parse_list(&parameters).unwrap().query;
            law(&conn, &issues, &query, &mut random, &format!("seed {seed}: {parameters:?}"));
        }
    }
}

/// The rows that a page shows.
fn found(conn: &Connection, sql: &sql::Sql) -> Vec<u32> {
    let mut select = conn.prepare(&select(IssueView::default(), &sql.text)).unwrap();
    let bound = rusqlite::params_from_iter(&sql.parameters);
    let rows = select.query_map(bound, |row| row.get(FRAGMENTS_COUNT)).unwrap();
    rows.collect::<Result<_, _>>().unwrap()
}

#[test]
fn totals_and_pages_are_those_of_the_naive_meaning() {
    let mut hits = 0;
    try_queries(1, |conn, issues, query, random, parameters| {
        let expected = expected(issues, query);
        hits += expected.len();
        for _ in 0..2 {
            let page_size = [1, 2, 7, 100][random.below(4)];
            let paging = Paging { page: 1 + random.below(4) as u64, page_size };
            let request = ListIssues {
                domain: DOMAIN,
                query: query.clone(),
                view: IssueView::FULL,
                paging,
                bytes_max: usize::MAX,
                budget: BUDGET.into(),
            };
            let found = list(&source(conn), &request, &mut Throttle::unlimited()).unwrap();
            assert_eq!(found.total_hits, expected.len() as u64, "{parameters}");
            let page = expected.iter().skip(paging.offset() as usize).take(page_size as usize);
            let body = String::from_utf8(found.body).unwrap();
            assert_eq!(body, rendered(page), "{parameters} {paging:?}");
        }
    });
    assert!(hits > 2000, "queries meet issues: {hits}");
}

#[test]
fn steps_are_those_of_the_naive_meaning() {
    try_queries(2, |conn, issues, query, random, parameters| {
        let expected = expected(issues, query);
        // Begins after any issue, whether it matches or not.
        let from = &issues[random.below(issues.len())].columns;
        let at = query.sort.key_of(from);
        let after = (!random.once_in(3)).then_some(ListPosition { at, id: from.id });
        let follows =
            |issue: &&&Issue| after.is_none() || query.sort.compare(from, &issue.columns).is_lt();
        let rest: Vec<&Issue> = expected.iter().filter(follows).copied().collect();
        let issues_max = 1 + random.below(5) as u64;
        let request = StepIssues {
            domain: DOMAIN,
            query: query.clone(),
            view: IssueView::FULL,
            after,
            issues_max,
            bytes_max: usize::MAX,
            form: caseload_store::StepForm::Commas,
            count: true,
            budget: BUDGET.into(),
        };
        let found = step(&source(conn), &request, &mut Throttle::unlimited()).unwrap();
        assert_eq!(found.total_hits, Some(expected.len() as u64), "{parameters}");
        assert_eq!(found.more, rest.len() as u64 > issues_max, "{parameters} {after:?}");
        let body = String::from_utf8(found.body).unwrap();
        assert_eq!(body, rendered(rest.iter().take(issues_max as usize)), "{parameters} {after:?}");
    });
}

#[test]
fn every_index_that_decides_a_query_gives_its_matches_in_order() {
    let mut tried = 0;
    try_queries(3, |conn, issues, query, _, parameters| {
        let query = without_idle_filters(query);
        if contradicts_itself(&query) {
            return;
        }
        let expected: Vec<u64> = expected(issues, &query).iter().map(|i| i.columns.id).collect();
        for index in [Index::Creation, Index::State, Index::Rating, Index::Update, Index::Change] {
            let has_runs = match index {
                Index::State => query.states.is_some(),
                Index::Rating => query.rating.is_some_and(|set| !set.has_missing()),
                _ => true,
            };
            if !has_runs || !index.decides(&query) {
                continue;
            }
            tried += 1;
            let sql = sql::count(DOMAIN, &query, index);
            assert_eq!(counts::run(conn, &sql).unwrap(), expected.len() as u64, "{parameters}");
            if index.order() == query.sort.key {
                let rows = found(conn, &sql::page(DOMAIN, &scan(&query, index, 3, 2)));
                let part: Vec<u64> = expected.iter().skip(2).take(3).copied().collect();
                assert_eq!(ids(conn, &rows), part, "{index:?} {parameters}");
            }
        }
    });
    assert!(tried > 1000, "{tried}");
}

fn ids(conn: &Connection, rows: &[u32]) -> Vec<u64> {
    let mut find = conn.prepare("SELECT id FROM issues WHERE row = ?1").unwrap();
    let id = |row: &u32| find.query_row([row], |found| found.get::<_, i64>(0)).unwrap();
    rows.iter().map(id).map(i64::unsigned_abs).collect()
}

#[test]
fn counters_count_and_find_the_day_of_every_offset() {
    let mut tried = 0;
    try_queries(4, |conn, issues, query, _, parameters| {
        let query = without_idle_filters(query);
        let Some(counters) = Counters::covering(&query).filter(|_| !contradicts_itself(&query))
        else {
            return;
        };
        let total = CounterTotal::new(counters, &query);
        let source = source(conn);
        let expected: Vec<u64> = expected(issues, &query).iter().map(|i| i.columns.id).collect();
        let counted = total.count(&source).unwrap();
        assert_eq!(counted.total(), expected.len() as u64, "{parameters}");
        let counters = &total.counters;
        if counters.time != query.sort.key || !counters.index.decides(&query) {
            return;
        }
        tried += 1;
        for offset in 0..expected.len() {
            let query = Cow::Borrowed(&*query);
            let seek = Seek { query, offset: offset as u64, limit: 2 };
            let sum = seek.question(&total);
            let by_day = sum.map(|sum| source.count_by_day(&sum).unwrap()).unwrap_or_default();
            let Page::Scan(scan) = seek.refine(&total, &counted, by_day) else {
                panic!("the index decides {parameters}");
            };
            assert!(scan.offset <= seek.offset);
            let rows = found(conn, &sql::page(DOMAIN, &scan));
            let part: Vec<u64> = expected.iter().skip(offset).take(2).copied().collect();
            assert_eq!(ids(conn, &rows), part, "{offset} {parameters}");
        }
    });
    assert!(tried > 100, "{tried}");
}

/// Every row of the index.
fn index(conn: &Connection) -> Vec<String> {
    let mut lines = Vec::new();
    for select in [
        "SELECT format('%d %s %d %d', facet, hex(value), day, n) FROM issue_counts ORDER BY 1",
        "SELECT format('%d %s %d %s', kind, hex(value), block, hex(rows)) FROM issue_sets
         ORDER BY 1",
        "SELECT format('%d %d %s %s', kind, block, hex(value), hex(rows)) FROM issue_values
         ORDER BY 1",
    ] {
        let mut select = conn.prepare(select).unwrap();
        lines.extend(select.query_map([], |row| row.get(0)).unwrap().map(Result::unwrap));
    }
    lines
}

#[test]
fn the_maintained_index_equals_an_index_built_from_scratch() {
    for seed in 0..24 {
        let mut random = SplitMix::new(seed);
        let maintained = empty_database();
        let pool = world(seed, 40);
        // The issue in each row.
        let mut stored: Vec<Option<&Issue>> = vec![None; 12];
        for _ in 0..6 {
            let mut changes = IndexChanges::default();
            for _ in 0..random.below(30) {
                let place = random.below(stored.len());
                let after = (!random.once_in(4)).then(|| &pool[random.below(40)]);
                note(&mut changes, Issue::row(place), stored[place], after);
                stored[place] = after;
            }
            update(&maintained, DOMAIN, &changes.finish()).unwrap();
            let rebuilt = empty_database();
            let mut changes = IndexChanges::default();
            for (place, issue) in stored.iter().enumerate() {
                note(&mut changes, Issue::row(place), None, *issue);
            }
            update(&rebuilt, DOMAIN, &changes.finish()).unwrap();
            assert_eq!(index(&maintained), index(&rebuilt), "seed {seed}");
        }
    }
}

#[test]
fn removing_an_issue_that_is_not_indexed_is_reported_as_damage() {
    let conn = empty_database();
    let issues = world(1, 1);
    let mut changes = IndexChanges::default();
    note(&mut changes, 1, Some(&issues[0]), None);
    let updated = update(&conn, DOMAIN, &changes.finish());
    assert!(matches!(updated, Err(Fault(caseload_store::StoreError::Corrupt(_)))), "{updated:?}");
}
