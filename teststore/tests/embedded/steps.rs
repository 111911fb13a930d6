//! Reading a list in steps while issues change. After each step the test imports issues, or edits
//! them with plain SQL. The times of edits increase in commit order, like those of a domain's
//! clock.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use caseload_model::issue_query::{IssueQuery, Sort, SortKey, SortOrder};
use caseload_model::task::Action;
use caseload_store::{Domain, StepIssues, Store};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::server;
use crate::suite::oracle;
use crate::suite::steps::steps;
use crate::suite::support::{domain, run};

const IMPORT: Action = Action::ImportIssues;
/// Issues that exist from the start.
const FIRST: u64 = 40;
/// A time later than all times of imported issues.
const EDITS_BEGIN: i64 = 1_000_000;

/// A write between two steps.
#[derive(Debug, Clone)]
enum Write {
    /// Imports new issues, some of them older than existing ones.
    Import(Vec<i64>),
    /// Edits these issues. The flag selects whether their state changes too.
    Edit(Vec<u64>, bool),
}

fn write() -> impl Strategy<Value = Write> {
    prop_oneof![
        proptest::collection::vec(0..2000i64, 1..4).prop_map(Write::Import),
        (proptest::collection::vec(1..=FIRST, 1..6), any::<bool>())
            .prop_map(|(ids, state)| Write::Edit(ids, state)),
    ]
}

struct World {
    store: Arc<dyn Store>,
    domain: Domain,
    conn: rusqlite::Connection,
    clock: i64,
    imports: u32,
}

impl World {
    async fn apply(&mut self, write: &Write) {
        self.clock += 1;
        match write {
            Write::Import(instants) => {
                let entry = |at: &i64| {
                    json!({"created_at": at, "updated_at": self.clock,
                        "state_data": {"state": "new", "changed_at": self.clock}})
                };
                let entries: Vec<_> = instants.iter().map(|at| entry(at).to_string()).collect();
                self.imports += 1;
                let task = format!("t{}", self.imports);
                run(&self.store, &self.domain, &task, IMPORT, &entries).await;
            }
            Write::Edit(ids, state) => {
                let columns =
                    if *state { "updated_at = ?1, changed_at = ?1" } else { "updated_at = ?1" };
                for id in ids {
                    let sql =
                        format!("UPDATE issues SET {columns} WHERE domain_id = ?2 AND id = ?3");
                    let bound = (self.clock, self.domain.id.0, *id as i64);
                    assert_eq!(self.conn.execute(&sql, bound).unwrap(), 1);
                }
            }
        }
    }

    /// The current sort time of each issue.
    fn sort_times(&self, key: SortKey) -> BTreeMap<u64, i64> {
        let column = match key {
            SortKey::CreationTime => "created_at",
            SortKey::StateChangeTime => "changed_at",
            SortKey::UpdateTime => "updated_at",
        };
        let sql = format!("SELECT id, {column} FROM issues WHERE domain_id = ?1");
        let mut select = self.conn.prepare(&sql).unwrap();
        let rows =
            select.query_map([self.domain.id.0], |row| Ok((row.get::<_, i64>(0)?, row.get(1)?)));
        rows.unwrap().map(Result::unwrap).map(|(id, at)| (id as u64, at)).collect()
    }

    /// Reads the list in steps, with a write after each, until it ends. Returns the id and the sort
    /// time of each delivered issue, in order of delivery.
    async fn read_in_steps(
        &mut self,
        sort: Sort,
        issues_max: u64,
        writes: &[Write],
    ) -> Vec<(u64, i64)> {
        let query = IssueQuery { sort, ..IssueQuery::default() };
        let mut request = steps(&self.domain, &query, issues_max);
        let mut delivered = Vec::new();
        let mut writes = writes.iter();
        loop {
            let step = self.store.step_issues(request.clone()).await.unwrap();
            let body = format!("[{}]", String::from_utf8(step.body).unwrap());
            let now = self.sort_times(sort.key);
            for issue in serde_json::from_str::<Vec<Value>>(&body).unwrap() {
                let id = issue["id"].as_u64().unwrap();
                delivered.push((id, now[&id]));
            }
            request = StepIssues { after: step.last.or(request.after), ..request };
            match writes.next() {
                Some(write) => self.apply(write).await,
                None if step.more => {}
                // The last write may have added issues after the end: read one more step.
                None if step.count == 0 => return delivered,
                None => {}
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn steps_through_a_changing_list_miss_and_repeat_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let store = server(folder.path()).unwrap();
    let file = folder.path().join("caseload.db");
    let tries = std::sync::atomic::AtomicU32::new(0);
    let key = proptest::sample::select(SortKey::ALL);
    let order = proptest::sample::select(SortOrder::ALL);
    let writes = proptest::collection::vec(write(), 0..12);
    oracle::check(24, &(key, order, 1..9u64, writes), async |(key, order, issues_max, writes)| {
        let name = format!("w{}", tries.fetch_add(1, std::sync::atomic::Ordering::Relaxed));
        let domain = domain(&store, &name).await;
        let first: Vec<_> = (1..=FIRST as i64)
            .map(|n| {
                let at = 100 + n * n % 37;
                json!({"id": n, "created_at": 1000 + n * 3, "updated_at": at,
                    "state_data": {"state": "new", "changed_at": at}})
            })
            .map(|entry| entry.to_string())
            .collect();
        run(&store, &domain, "first", IMPORT, &first).await;
        let conn = rusqlite::Connection::open(&file).unwrap();
        conn.busy_timeout(std::time::Duration::from_secs(30)).unwrap();
        let mut world =
            World { store: store.clone(), domain, conn, clock: EDITS_BEGIN, imports: 0 };
        let delivered = world.read_in_steps(Sort { key, order }, issues_max, &writes).await;
        let ids = || delivered.iter().map(|(id, _)| *id);
        if key == SortKey::CreationTime {
            for id in 1..=FIRST {
                let times = ids().filter(|other| *other == id).count();
                prop_assert_eq!(times, 1, "issue {} by creation, {:?}", id, order);
            }
        } else if order == SortOrder::Ascending {
            // Each issue was delivered in its final version.
            let seen: BTreeSet<_> = delivered.iter().copied().collect();
            for (id, at) in world.sort_times(key) {
                prop_assert!(seen.contains(&(id, at)), "issue {id} of {at} was missed");
            }
        }
        let unique: BTreeSet<_> = delivered.iter().copied().collect();
        prop_assert_eq!(unique.len(), delivered.len(), "an unchanged issue was delivered twice");
        Ok(())
    });
}
