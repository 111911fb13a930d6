//! The cost of issue lists on PostgreSQL, compared with a prepared query for the fragments of the
//! same rows. `TEST_DATABASE_URL` names the database; if it has no issues, it is filled with
//! `BENCH_ISSUES` (100,000), and the cost of that import is printed. Rounds of both alternate, and
//! the result is the ratio of their medians.
#![expect(clippy::unwrap_used, reason = "a measurement stops at the first surprise")]
#![expect(clippy::print_stdout, reason = "the figures are the output")]

use std::sync::Arc;
use std::time::{Duration, Instant};

use caseload_location::open;
use caseload_model::ids::DomainName;
use caseload_model::issue::prepare_imports;
use caseload_model::issue_query::{IssueView, Paging, parse_list};
use caseload_model::payload::{Block, Entry};
use caseload_model::task::{Action, TaskOrigin};
use caseload_model::time::{Clock, UnixMillis};
use caseload_store::{
    ApplyChunk, ChunkEntries, ChunkWork, ClaimTasks, CreateDomain, CreateTask, Domain, ListIssues,
    OpenMode, QueueTurn, Store, pack_block,
};
use futures_util::future::join_all;
use serde_json::Value;
use tokio_postgres::NoTls;

const NOW: UnixMillis = UnixMillis(1_700_000_000_000);
const TASK: u64 = 10_000;
const ROUNDS: u32 = 300;
/// Name, page size, page, parameters.
type Query = (&'static str, u64, u64, &'static [(&'static str, &'static str)]);
const QUERIES: &[Query] = &[
    ("no filter", 100, 1, &[]),
    ("state", 100, 1, &[("state", "resolved")]),
    ("range", 100, 1, &[("created-since", "1602000000000"), ("created-until", "1608000000123")]),
    (
        "state + range",
        100,
        1,
        &[("state", "new"), ("created-since", "1602000000000"), ("created-until", "1608000000123")],
    ),
    ("tag", 100, 1, &[("tags", r#"{"or":["tag-3"]}"#)]),
    ("tag + state", 100, 1, &[("tags", r#"{"or":["tag-3"]}"#), ("state", "new")]),
    (
        "app + state + range",
        100,
        1,
        &[("app-ids", r#"["app-3"]"#), ("state", "new"), ("created-since", "1602000000000")],
    ),
    ("author", 100, 1, &[("author-emails", r#"{"or":["user77@example.org"]}"#)]),
    ("1000", 1000, 1, &[]),
    ("1000, page 50", 1000, 50, &[]),
];

fn main() {
    let Ok(url) = std::env::var("TEST_DATABASE_URL") else { return };
    let issues = std::env::var("BENCH_ISSUES").map_or(100_000, |count| count.parse().unwrap());
    tokio::runtime::Runtime::new().unwrap().block_on(measure(&url, issues));
}

async fn measure(url: &str, issues: u64) {
    let store = open(&url.parse().unwrap(), OpenMode::Server).await.unwrap();
    let (client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    let name = DomainName::parse("acme").unwrap();
    let domain = if let Some(domain) = store.domain(&name).await.unwrap() {
        domain
    } else {
        let made = CreateDomain { name, origin: NOW.into(), random: 0 };
        let domain = store.create_domain(made).await.unwrap();
        fill(&store, &domain, issues).await;
        client.batch_execute("VACUUM ANALYZE").await.unwrap();
        domain
    };
    let bare = client
        .prepare(
            "SELECT b.head, b.messages, b.meta, b.feedback FROM issue_bodies b
             WHERE b.domain_id = $1 AND b.row = ANY($2)",
        )
        .await
        .unwrap();
    println!("{:<22}{:>10}{:>10}{:>7}{:>12}", "", "list", "bare", "ratio", "8 at a time");
    for (name, page_size, page, parameters) in QUERIES {
        let pairs: Vec<_> =
            parameters.iter().map(|(n, v)| ((*n).to_owned(), (*v).to_owned())).collect();
        let request = ListIssues {
            domain: domain.id,
            query: parse_list(&pairs).unwrap().query,
            view: IssueView::default(),
            paging: Paging { page: *page, page_size: *page_size },
            bytes_max: usize::MAX,
            budget: Duration::from_secs(10).into(),
        };
        let found = store.list_issues(request.clone()).await.unwrap();
        let text = [b"[".as_slice(), &found.body, b"]"].concat();
        let ids: Vec<i64> = serde_json::from_slice::<Vec<Value>>(&text)
            .unwrap()
            .iter()
            .map(|issue| issue["id"].as_i64().unwrap())
            .collect();
        let rows = "SELECT row FROM issues WHERE domain_id = $1 AND id = ANY($2)";
        let rows = client.query(rows, &[&domain.id.0, &ids]).await.unwrap();
        let rows: Vec<i64> = rows.iter().map(|row| row.get(0)).collect();
        let (mut lists, mut bares) = (Vec::new(), Vec::new());
        let rounds = if *page_size > 100 { ROUNDS / 5 } else { ROUNDS };
        for _ in 0..rounds {
            let begun = Instant::now();
            let page = store.list_issues(request.clone()).await.unwrap();
            lists.push(begun.elapsed());
            assert_eq!(page.count as usize, ids.len());
            let begun = Instant::now();
            let found = client.query(&bare, &[&domain.id.0, &rows]).await.unwrap();
            bares.push(begun.elapsed());
            assert_eq!(found.len(), rows.len());
        }
        let begun = Instant::now();
        let many = (0..8).map(|_| async {
            for _ in 0..rounds / 4 {
                store.list_issues(request.clone()).await.unwrap();
            }
        });
        join_all(many).await;
        let rate = f64::from(8 * (rounds / 4)) / begun.elapsed().as_secs_f64();
        let (list, bare) = (median(lists), median(bares));
        let ratio = bare.as_secs_f64() / list.as_secs_f64();
        let hits = found.total_hits;
        println!("{name:<22}{list:>10.1?}{bare:>10.1?}{ratio:>7.2}{rate:>10.0}/s  {hits} hits");
    }
    store.close().await.unwrap();
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Imports issues of about 1,200 bytes.
async fn fill(store: &Arc<dyn Store>, domain: &Domain, issues: u64) {
    let (mut applying, mut chunks) = (Duration::ZERO, 0);
    for task in 0..issues / TASK {
        let block = payload(task);
        let id = format!("t{task}");
        let command = CreateTask {
            key: None,
            request_id: None,
            domain: domain.id,
            id: id.clone(),
            action: Action::ImportIssues,
            dry_run: false,
            upsert: false,
            total: TASK as u32,
            staged: 0,
            blocks: vec![pack_block(&block).unwrap()],
            now: NOW,
            expires_at: UnixMillis(NOW.0 + 1_000_000_000),
            unfinished_max: 1000,
            parent_id: None,
            runs_parent: false,
            origin: TaskOrigin::default(),
            import_id: None,
            idempotency: None,
        };
        store.create_task(command).await.unwrap();
        let claim = ClaimTasks {
            server: "bench".to_owned(),
            now: NOW,
            lease_until: UnixMillis(NOW.0 + 1_000_000),
            tasks_max: 1,
            reachable_since: UnixMillis(i64::MIN),
            turn: QueueTurn::default(),
        };
        let claimed = store.claim_tasks(claim).await.unwrap().remove(0);
        let mut part = Some(ChunkEntries {
            work: Arc::new(ChunkWork::ImportIssues(prepare_imports(&domain.name, &block))),
            block: Arc::new(block),
            from: 0,
        });
        let begun = Instant::now();
        while let Some(next) = part.take() {
            let applied = store
                .apply_chunk(ApplyChunk {
                    domain: domain.id,
                    domain_name: domain.name.clone(),
                    task_id: id.clone(),
                    action: Action::ImportIssues,
                    dry_run: false,
                    upsert: false,
                    import_id: None,
                    lease_epoch: claimed.lease_epoch,
                    entries: next,
                    following: None,
                    clock: Clock::stopped(NOW),
                })
                .await
                .unwrap();
            chunks += 1;
            part = applied.rest;
        }
        applying += begun.elapsed();
    }
    let compaction = Instant::now();
    while store.purge_expired(NOW).await.unwrap() {}
    let rate = u128::from(issues) * 1_000_000 / applying.as_micros();
    println!("{issues} issues imported in {chunks} chunks, {applying:.1?}: {rate}/s");
    println!("deltas compacted {:.1?} after the last chunk", compaction.elapsed());
}

fn payload(task: u64) -> Block {
    let mut block = Block::default();
    let states = ["new", "new-for-agent", "agent-replied", "waiting-for-agent", "resolved"];
    for n in 0..TASK {
        let id = task * TASK + n + 1;
        let spread = id.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 20;
        // 1,157 days for a million.
        let at = 1_600_000_000_000 + (id * 100_000_000_000 / 1_000_000) as i64;
        let text = "a word and another one ".repeat(6);
        let message = |n: u64| {
            format!(
                "{{\"body\":\"{text}\",\"created_at\":{},\"origin\":\"end-user\"}}",
                at + n as i64
            )
        };
        let rating = if spread.is_multiple_of(10) { ",\"feedback_rating\":4" } else { "" };
        let line = format!(
            "{{\"id\":{id},\"title\":\"{}\",\"created_at\":{at},\"updated_at\":{},\
             \"app_id\":\"app-{}\",\"author_email\":\"user{}@example.org\",\
             \"tags\":[\"tag-{}\",\"tag-{}\"],\"state_data\":{{\"state\":\"{}\",\
             \"changed_at\":{at}}},\"messages\":[{},{},{}]{rating}}}",
            "what happened ".repeat(4),
            at + 5,
            spread % 20,
            spread % 50_000,
            spread % 7,
            7 + spread % 11,
            states[(spread % 5) as usize],
            message(0),
            message(1),
            message(2),
        );
        let start = block.bytes.len();
        block.bytes.extend_from_slice(line.as_bytes());
        let range = start..block.bytes.len();
        block.entries.push(Entry {
            index: n as u32,
            line: n as u32 + 1,
            range,
            oversize: None,
            of_row: false,
        });
    }
    block
}
