//! Issues of one domain, written through two servers at once. A reader that follows changes misses
//! none, counters and term sets stay exact during compaction, and every acknowledged write exists
//! once even if connections are cut all the time.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use caseload_model::issue::write::{read_bulk_edit, read_create, read_edit, read_message};
use caseload_model::issue_query::{
    IssueQuery, IssueView, Paging, Sort, SortKey, SortOrder, parse_list,
};
use caseload_model::task::Action;
use caseload_store::{
    AddMessage, ClaimTasks, CreateIssue, Domain, EditIssue, EditIssues, IdempotencyKey, ListIssues,
    QueueTurn, StepForm, StepIssues, Store, StoreError, WriteOrigin,
};
use caseload_testdata::SplitMix;
use caseload_teststore::nodes;
use futures_util::future::{join, join_all};
use serde_json::{Value, json};

use super::Database;
use super::database::PATIENCE;
use crate::suite::support::{NOW, assert_sound, domain, import_of_authors, later, run};

const BUDGET: Duration = Duration::from_secs(30);

fn origin(domain: &Domain, key: Option<String>) -> WriteOrigin {
    WriteOrigin {
        key: None,
        request_id: None,
        domain: domain.id,
        domain_name: domain.name.clone(),
        now: NOW,
        random: 7,
        idempotency: key.map(|text| IdempotencyKey {
            text,
            content: [7; 32],
            expires_at: later(1_000_000),
        }),
    }
}

fn pairs(fields: &[(&str, &str)]) -> Vec<(String, String)> {
    fields.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect()
}

async fn create(
    store: &Arc<dyn Store>,
    domain: &Domain,
    key: Option<String>,
) -> Result<u64, StoreError> {
    let fields = [("message-body", "x"), ("email", "ada@example.org"), ("tags", "[\"a\"]")];
    let (request, faults) = read_create(&pairs(&fields));
    assert_eq!(faults, []);
    let command = CreateIssue { origin: origin(domain, key), request, attachments: Vec::new() };
    let answer = store.create_issue(command).await?;
    let (caseload_store::Idempotent::Done(answer) | caseload_store::Idempotent::Replayed(answer)) =
        answer;
    Ok(answer.location.rsplit('/').next().unwrap().parse().unwrap())
}

/// A random change of existing issues, printed if it fails.
#[derive(Debug)]
enum RandomChange {
    Message { issue_id: u64 },
    Edit { issue_id: u64, status: &'static str },
    BulkEdit { issue_ids: Vec<u64> },
}

impl RandomChange {
    fn draw(random: &mut SplitMix, ids: &[u64]) -> Self {
        let issue_id = random.pick(ids);
        match random.below(3) {
            0 => Self::Message { issue_id },
            1 => {
                let status = random.pick(&["resolved", "rejected", "new"]);
                Self::Edit { issue_id, status }
            }
            _ => {
                let mut issue_ids: Vec<u64> = ids.iter().rev().take(20).copied().collect();
                issue_ids.dedup();
                Self::BulkEdit { issue_ids }
            }
        }
    }

    async fn apply(&self, store: &Arc<dyn Store>, domain: &Domain) -> Result<(), StoreError> {
        let origin = origin(domain, None);
        match self {
            Self::Message { issue_id } => {
                let (request, faults) = read_message(&pairs(&[("message-body", "y")]));
                assert_eq!(faults, []);
                let (issue_id, attachments) = (*issue_id, Vec::new());
                let command = AddMessage { origin, issue_id, request, attachments };
                store.add_message(command).await.map(drop)
            }
            Self::Edit { issue_id, status } => {
                let fields = [("status", *status), ("tags", "[\"b\"]")];
                let (request, faults) = read_edit(&pairs(&fields));
                assert_eq!(faults, []);
                store.edit_issue(EditIssue { origin, issue_id: *issue_id, request }).await.map(drop)
            }
            Self::BulkEdit { issue_ids } => {
                let ids = serde_json::to_string(issue_ids).unwrap();
                let fields = [("issue-ids", ids.as_str()), ("status", "resolved")];
                let (request, faults) = read_bulk_edit(&pairs(&fields));
                assert_eq!(faults, []);
                store.edit_issues(EditIssues { origin, request }).await.map(drop)
            }
        }
    }
}

/// Reads all changes after the position of `request` and adds their ids and times to `seen`.
async fn follow(store: &Arc<dyn Store>, request: &mut StepIssues, seen: &mut HashSet<(u64, i64)>) {
    loop {
        let step = store.step_issues(request.clone()).await.unwrap();
        request.after = step.last.or(request.after);
        let text = [b"[".as_slice(), &step.body, b"]"].concat();
        for issue in serde_json::from_slice::<Vec<Value>>(&text).unwrap() {
            seen.insert((issue["id"].as_u64().unwrap(), issue["updated_at"].as_i64().unwrap()));
        }
        if !step.more {
            return;
        }
    }
}

fn changes(domain: &Domain) -> StepIssues {
    let sort = Sort { key: SortKey::UpdateTime, order: SortOrder::Ascending };
    StepIssues {
        domain: domain.id,
        query: IssueQuery { sort, ..IssueQuery::default() },
        view: IssueView::default(),
        after: None,
        issues_max: 50,
        bytes_max: usize::MAX,
        form: StepForm::Commas,
        count: false,
        budget: BUDGET.into(),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn a_reader_that_follows_changes_misses_no_write_of_two_servers() {
    let database = Database::new();
    let stores = [database.server(), database.server()];
    let acme = domain(&stores[0], "acme").await;
    let done = AtomicBool::new(false);
    let writers = stores.iter().flat_map(|store| (0..3).map(move |n| (store, n)));
    let writers = writers.enumerate().map(|(seed, (store, _))| {
        let acme = &acme;
        async move {
            let mut random = SplitMix::new(seed as u64);
            let mut ids = vec![create(store, acme, None).await.unwrap()];
            for round in 0..25 {
                if random.once_in(3) {
                    ids.push(create(store, acme, None).await.unwrap());
                } else {
                    // Any writer's issues, so that writers collide.
                    let ids: Vec<u64> = (1..=ids.iter().copied().max().unwrap()).collect();
                    let change = RandomChange::draw(&mut random, &ids);
                    if let Err(error) = change.apply(store, acme).await {
                        panic!("seed {seed}, round {round}, {change:?}: {error}");
                    }
                }
            }
        }
    });
    let import = async {
        for n in 0..4_i64 {
            let entry = |m: i64| json!({"created_at": NOW.0 + m, "tags": ["c"]}).to_string();
            let entries: Vec<_> = (n * 50..n * 50 + 60).map(entry).collect();
            let task =
                run(&stores[1], &acme, &format!("t{n}"), Action::ImportIssues, &entries).await;
            assert_eq!(task.counts.succeeded, 60);
        }
    };
    let mut seen = HashSet::new();
    let mut request = changes(&acme);
    let follower = async {
        while !done.load(Ordering::Relaxed) {
            follow(&stores[0], &mut request, &mut seen).await;
        }
        follow(&stores[0], &mut request, &mut seen).await;
    };
    let writing = async {
        // Imported issues have times of their own, so that a reader of changes may miss them.
        join_all(writers).await;
        done.store(true, Ordering::Relaxed);
    };
    join(join(writing, follower), import).await;
    let mut all = HashSet::new();
    follow(&stores[1], &mut changes(&acme), &mut all).await;
    let imported = |(_, at): &&(u64, i64)| (NOW.0..NOW.0 + 260).contains(at);
    let missed: Vec<_> = all.difference(&seen).filter(|change| !imported(change)).collect();
    assert_eq!(missed, Vec::<&(u64, i64)>::new());
    let times: HashMap<i64, u64> = all.iter().map(|(id, at)| (*at, *id)).collect();
    assert!(times.len() > 20, "the writes have too few different times");
    assert_sound(&stores[0]).await;
    // The result is the same after any server has compacted all deltas.
    while database.count("issue_set_deltas").await + database.count("issue_count_deltas").await > 0
    {
        stores[1].purge_expired(NOW).await.unwrap();
    }
    assert_sound(&stores[1]).await;
}

/// The total of a list of the issues with the author `ada`.
async fn total_of_ada(store: &Arc<dyn Store>, domain: &Domain) -> u64 {
    let filter = [("author-emails", r#"{"or":["ada@example.org"]}"#)];
    let query = parse_list(&pairs(&filter)).unwrap().query;
    let paging = Paging { page: 1, page_size: 1 };
    let view = IssueView::default();
    let request = ListIssues {
        domain: domain.id,
        query,
        view,
        paging,
        bytes_max: usize::MAX,
        budget: BUDGET.into(),
    };
    store.list_issues(request).await.unwrap().total_hits
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn an_authors_total_is_exact_during_imports_writes_and_compaction() {
    const IMPORTS: i64 = 6;
    // More issues than an import appends to one list of rows.
    const EACH: i64 = 90;
    const SINGLE: usize = 30;
    let database = Database::new();
    let stores = [database.server(), database.server()];
    let acme = domain(&stores[0], "acme").await;
    let done = AtomicBool::new(false);
    let imports = async {
        for n in 0..IMPORTS {
            let entry =
                |m: i64| json!({"created_at": m, "author_email": "Ada@example.org", "tags": ["c"]});
            let entries: Vec<_> =
                (n * EACH..(n + 1) * EACH).map(|m| entry(m).to_string()).collect();
            let task =
                run(&stores[1], &acme, &format!("t{n}"), Action::ImportIssues, &entries).await;
            assert_eq!(i64::from(task.counts.succeeded), EACH);
        }
    };
    let single = async {
        for _ in 0..SINGLE {
            create(&stores[0], &acme, None).await.unwrap();
        }
    };
    let writing = async {
        join(imports, single).await;
        done.store(true, Ordering::Relaxed);
    };
    let compaction = async {
        let mut rounds = 0;
        while !done.load(Ordering::Relaxed) {
            stores[rounds % 2].purge_expired(NOW).await.unwrap();
            rounds += 1;
        }
    };
    let mut seen = 0;
    let reading = async {
        while !done.load(Ordering::Relaxed) {
            let now = total_of_ada(&stores[0], &acme).await;
            assert!(now >= seen, "{now} after {seen}");
            seen = now;
        }
    };
    join(join(writing, compaction), reading).await;
    let all = IMPORTS as u64 * EACH as u64 + SINGLE as u64;
    assert_eq!(total_of_ada(&stores[1], &acme).await, all);
    assert_sound(&stores[0]).await;
    while stores[0].purge_expired(NOW).await.unwrap() {}
    assert_eq!(total_of_ada(&stores[1], &acme).await, all);
    assert_sound(&stores[0]).await;
}

/// Rows of `issue_values` with the author `ada`.
const OF_ADA: &str = "issue_values WHERE value = 'ada@example.org'::bytea";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn authors_of_one_issue_are_appended_unread_and_merged_on_change() {
    const EACH: usize = 1100;
    let database = Database::new();
    let store = database.server();
    let acme = domain(&store, "acme").await;
    for n in 0..2 {
        import_of_authors(&store, &acme, n * EACH..(n + 1) * EACH).await;
        assert_eq!(total_of_ada(&store, &acme).await, n as u64 + 1);
    }
    assert_eq!(database.count("issue_values WHERE part < 0").await, 0);
    assert_eq!(database.count(OF_ADA).await, 2);
    assert_sound(&store).await;
    create(&store, &acme, None).await.unwrap();
    assert_eq!(total_of_ada(&store, &acme).await, 3);
    while database.count("issue_set_deltas").await > 0 {
        store.purge_expired(NOW).await.unwrap();
    }
    assert_eq!(total_of_ada(&store, &acme).await, 3);
    assert_eq!(database.count(OF_ADA).await, 1);
    import_of_authors(&store, &acme, 2 * EACH..2 * EACH + 10).await;
    assert_eq!(total_of_ada(&store, &acme).await, 4);
    assert_eq!(database.count(OF_ADA).await, 1, "a few issues are merged into the existing row");
    assert_sound(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sparse_terms_are_compacted_under_the_clock_lock_of_imports() {
    // The advisory lock that a server holds during compaction.
    const COMPACTION: &str = "pg_advisory_lock(1667330917, (SELECT id::int FROM domains))";
    let database = Database::new();
    let store = database.server();
    let acme = domain(&store, "acme").await;
    if nodes::is_distributed() {
        // The lock that the compaction waits for is on a worker, out of sight.
        return;
    }
    let (compactor, import) = (database.client().await, database.client().await);
    compactor.batch_execute(&format!("SELECT {COMPACTION}")).await.unwrap();
    create(&store, &acme, None).await.unwrap();
    import.batch_execute("BEGIN; SELECT 1 FROM domain_clocks FOR UPDATE").await.unwrap();
    compactor.batch_execute("SELECT pg_advisory_unlock_all()").await.unwrap();
    let compaction = tokio::spawn({
        let store = Arc::clone(&store);
        async move { store.purge_expired(NOW).await }
    });
    let waits = "wait_event_type = 'Lock' AND query LIKE '%FROM domain_clocks%FOR NO KEY UPDATE'";
    database.wait_for_session(waits).await;
    assert_eq!(database.count("issue_values").await, 0);
    import.batch_execute("COMMIT").await.unwrap();
    compaction.await.unwrap().unwrap();
    while database.count("issue_set_deltas").await > 0 {
        store.purge_expired(NOW).await.unwrap();
    }
    assert!(database.count("issue_values").await > 0);
    assert_sound(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn acknowledged_writes_exist_once_when_connections_are_cut() {
    let database = Database::new();
    let stores = [database.server(), database.server()];
    let acme = domain(&stores[0], "acme").await;
    let (done, written) = (AtomicBool::new(false), AtomicUsize::new(0));
    let cutter = async {
        while !done.load(Ordering::Relaxed) {
            let before = written.load(Ordering::Relaxed);
            database.cut_connections().await;
            tokio::time::sleep(Duration::from_millis(20)).await;
            // However slow the machine is, some writes get through between two cuts.
            let begun = Instant::now();
            while !done.load(Ordering::Relaxed) && written.load(Ordering::Relaxed) == before {
                assert!(begun.elapsed() < PATIENCE, "no write is acknowledged");
                tokio::time::sleep(Duration::from_millis(1)).await;
            }
        }
    };
    let writers = (0..6_usize).map(|writer| {
        let (store, acme, written) = (&stores[writer % 2], &acme, &written);
        async move {
            let mut random = SplitMix::new(writer as u64);
            let mut ids = Vec::new();
            for n in 0..20 {
                // Repeat under the same idempotency key until the write is acknowledged.
                let id = loop {
                    match create(store, acme, Some(format!("{writer} {n}"))).await {
                        Ok(id) => break id,
                        Err(StoreError::Corrupt(fault)) => {
                            panic!("seed {writer}, round {n}, creation: {fault}")
                        }
                        Err(_) => tokio::time::sleep(Duration::from_millis(5)).await,
                    }
                };
                ids.push(id);
                written.fetch_add(1, Ordering::Relaxed);
                let change = RandomChange::draw(&mut random, &ids);
                if let Err(StoreError::Corrupt(fault)) = change.apply(store, acme).await {
                    panic!("seed {writer}, round {n}, {change:?}: {fault}");
                }
            }
            ids
        }
    });
    let writing = async {
        let ids = join_all(writers).await.concat();
        done.store(true, Ordering::Relaxed);
        ids
    };
    let (ids, ()) = join(writing, cutter).await;
    assert_eq!(ids.len(), 120);
    assert_eq!(ids.iter().collect::<HashSet<_>>().len(), 120, "each issue has an id of its own");
    let store = database.server();
    let mut seen = HashSet::new();
    follow(&store, &mut changes(&acme), &mut seen).await;
    assert_eq!(seen.len(), 120, "no issue exists twice");
    assert_sound(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_edit_that_waits_too_long_for_a_locked_issue_reports_the_lock() {
    let database = Database::new();
    let store = database.server();
    let acme = domain(&store, "acme").await;
    let issue_id = create(&store, &acme, None).await.unwrap();
    // A write waits for a lock as long as a lease lasts, and at least a second.
    let claim = ClaimTasks {
        server: "s".to_owned(),
        now: NOW,
        lease_until: later(1000),
        tasks_max: 1,
        reachable_since: caseload_model::time::UnixMillis(i64::MIN),
        turn: QueueTurn::default(),
    };
    store.claim_tasks(claim).await.unwrap();
    let other = database.client().await;
    let lock = format!("BEGIN; SELECT 1 FROM issues WHERE domain_id = {} FOR UPDATE", acme.id.0);
    other.batch_execute(&lock).await.unwrap();
    for attempt in 0..4 {
        let edit = RandomChange::Edit { issue_id, status: "resolved" };
        let fault = edit.apply(&store, &acme).await.unwrap_err();
        let is_lock = matches!(&fault, StoreError::NotWritten(text) if text.contains("55P03"));
        assert!(is_lock, "attempt {attempt}: {fault:?}");
    }
}
