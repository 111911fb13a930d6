//! Tasks that another server runs: this server still follows them, waits for their end and cancels
//! them. The test plays the other server, step by step, on a store of its own over the same
//! database.

use std::sync::Arc;
use std::time::Duration;

use caseload_api::ApiConfig;
use caseload_location::open;
use caseload_model::payload::Block;
use caseload_model::profile::{Placeholders, prepare_creates};
use caseload_model::task::{Outcome, Task};
use caseload_model::time::{Clock, UnixMillis};
use caseload_store::{
    ApplyChunk, ChunkEntries, ChunkWork, ClaimTasks, ClaimedTask, OpenMode, QueueTurn, Store,
};
use caseload_teststore::Backend;
use reqwest::{Method, Response};
use serde_json::Value;
use tokio::task::JoinHandle;
use tokio::time::timeout;

use crate::real_server::RealServer;

const PATH: &str = "/v2/acme/identity/bulk_actions";
/// A server that has been notified answers within this time.
const HEARD_MAX: Duration = Duration::from_secs(20);
/// Entries of a task, in several blocks.
const ENTRIES: usize = 2000;

/// The server that runs tasks.
struct Other {
    store: Arc<dyn Store>,
    now: UnixMillis,
}

impl Other {
    async fn claim(&self) -> ClaimedTask {
        let lease_until = UnixMillis(self.now.0 + 600_000);
        let server = "other".to_owned();
        let command = ClaimTasks {
            server,
            now: self.now,
            lease_until,
            tasks_max: 1,
            reachable_since: UnixMillis(i64::MIN),
            turn: QueueTurn::default(),
        };
        self.store.claim_tasks(command).await.unwrap().remove(0)
    }

    /// Applies the block that begins at an entry. Returns the task after it, and the next entry.
    async fn apply(&self, claimed: &ClaimedTask, from: u32) -> (Task, u32) {
        let (domain, id) = (claimed.domain, &claimed.task.id);
        let bytes = self.store.payload_block(domain, id, from).await.unwrap().unwrap();
        let block = Block::decode(bytes).unwrap();
        let work = Arc::new(ChunkWork::CreateCoreProfiles(prepare_creates(
            &block,
            &Placeholders::default(),
        )));
        let applied = self.store.apply_chunk(ApplyChunk {
            domain,
            domain_name: claimed.domain_name.clone(),
            task_id: id.clone(),
            action: claimed.task.action,
            dry_run: false,
            upsert: false,
            import_id: None,
            lease_epoch: claimed.lease_epoch,
            entries: ChunkEntries { block: Arc::new(block), work, from: 0 },
            following: None,
            clock: Clock::stopped(self.now),
        });
        let applied = applied.await.unwrap();
        (applied.task, from + applied.done as u32)
    }
}

async fn submit(real: &RealServer, name: &str) -> String {
    let entry = |n: usize| {
        let value = format!("{name}-{n}-{}", "x".repeat(200));
        format!("{{\"identities\":[{{\"uid\":\"{value}\"}}]}}\n")
    };
    let entries: String = (0..ENTRIES).map(entry).collect::<Vec<_>>().concat();
    let form = reqwest::multipart::Form::new()
        .text("action", "create_core_profiles")
        .part("payload", reqwest::multipart::Part::text(entries).file_name("p"));
    let answer = real.request(Method::POST, PATH).multipart(form).send().await.unwrap();
    let task: Value = answer.json().await.unwrap();
    task["links"]["self"].as_str().unwrap().to_owned()
}

fn wait_for(real: &RealServer, path: &str) -> JoinHandle<Value> {
    let request = real.request(Method::GET, &format!("{path}?wait=60"));
    tokio::spawn(async move { request.send().await.unwrap().json().await.unwrap() })
}

/// The first record of a stream that satisfies a condition.
async fn until(events: &mut Response, wanted: impl Fn(&Value) -> bool) -> Value {
    loop {
        let piece =
            timeout(HEARD_MAX, events.chunk()).await.expect("the server is notified").unwrap();
        let text = String::from_utf8(piece.expect("the stream goes on").to_vec()).unwrap();
        for event in text.split("\n\n").filter_map(|event| event.strip_prefix("data: ")) {
            let record: Value = serde_json::from_str(event).unwrap();
            if wanted(&record) {
                return record;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn tasks_on_another_server_can_be_followed_and_cancelled() {
    Backend::Postgres
        .under(async {
            let real = RealServer::without_runner(ApiConfig::default()).await;
            let store = open(&real.place.location(), OpenMode::Server).await.unwrap();
            let other = Other { store, now: real.clock.now() };
            for (name, is_ended) in [("ended", true), ("whole", false)] {
                let path = submit(&real, name).await;
                let events = real.request(Method::GET, &path).header("Accept", "text/event-stream");
                let mut events = events.send().await.unwrap();
                let waiting = wait_for(&real, &path);
                let claimed = other.claim().await;
                let (mut task, mut next) = other.apply(&claimed, 0).await;
                let record = until(&mut events, |record| record["progress"] != 0).await;
                assert_eq!(record["status"], "processing");
                assert!(!waiting.is_finished(), "it is not waited for progress");
                if is_ended {
                    let cancel = real.request(Method::POST, &format!("{path}/cancel"));
                    let answer = cancel.send().await.unwrap();
                    assert!(answer.status().is_success(), "{}", answer.status());
                    assert!(!waiting.is_finished(), "the other one ends it");
                }
                while task.outcome.is_none() {
                    (task, next) = other.apply(&claimed, next).await;
                }
                let expected = if is_ended { Outcome::Cancelled } else { Outcome::Succeeded };
                assert_eq!(task.outcome, Some(expected));
                assert_eq!(task.counts.unprocessed > 0, is_ended);
                let told = until(&mut events, |record| record["status"] == "completed").await;
                let waited =
                    timeout(HEARD_MAX, waiting).await.expect("the server is notified").unwrap();
                assert_eq!((&waited, &told["outcome"]), (&told, &waited["outcome"]));
                assert_eq!(told["outcome"] == "cancelled", is_ended, "{told}");
            }
            other.store.close().await.unwrap();
            real.stop().await;
        })
        .await;
}
