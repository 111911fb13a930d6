//! The promise of the log: who takes a cursor, then exports, then follows the log has every
//! committed change of concurrent writers of every kind; and who comes too late for the log begins
//! again.

use std::sync::atomic::{AtomicBool, Ordering};

use caseload_api::ApiConfig;
use caseload_model::time::UnixMillis;
use caseload_testdata::{Follower, Got, Records, SplitMix, Writes};
use caseload_teststore::on_each_store;
use reqwest::{Client, Method};
use serde_json::Value;
use tokio::task::JoinSet;

use crate::real_server::RealServer;
use crate::server::WRITE;

on_each_store!(threads 2:
    a_follower_has_what_concurrent_writers_wrote,
    a_follower_that_comes_too_late_begins_again,
);

const WRITERS: u64 = 6;
const WRITES: usize = 60;
/// The changes that a follower is to have, if the writers made them.
const KINDS: [(&str, &str); 9] = [
    ("issue", "created"),
    ("issue", "updated"),
    ("issue", "deleted"),
    ("core_profile", "created"),
    ("core_profile", "updated"),
    ("core_profile", "deleted"),
    ("app_profile", "created"),
    ("app_profile", "updated"),
    ("app_profile", "deleted"),
];
const ROUNDS_MAX: usize = 10;

async fn serving() -> RealServer {
    let config = ApiConfig { rate_limit: 0, ..ApiConfig::default() };
    let mut real = RealServer::without_runner(config).await;
    real.run_tasks();
    real
}

/// Sends random requests; returns how many were accepted. A request may be refused, because another
/// writer deleted its record.
async fn write(client: Client, base: String, seed: u64) -> usize {
    let mut writes = Writes::new(seed, "acme");
    let mut accepted = 0;
    for _ in 0..WRITES {
        let write = writes.choose();
        let method = Method::from_bytes(write.method.as_bytes()).unwrap();
        let request = client.request(method, format!("{base}{}", write.path)).bearer_auth(WRITE);
        let request = match write.body.clone() {
            Some(body) => request.header("Content-Type", "application/json").body(body),
            None => request,
        };
        let answer = request.send().await.unwrap();
        let status = answer.status().as_u16();
        let text = answer.text().await.unwrap();
        assert!(matches!(status, 200..300 | 400 | 404), "{write:?}: {status} {text}");
        accepted += usize::from(status < 300 && write.kind != "read");
        if write.kind == "read" {
            writes.learn(&text);
        }
    }
    accepted
}

/// All writers, until their tasks are completed.
async fn all_writers(real: &RealServer, random: &mut SplitMix) -> usize {
    let mut writers = JoinSet::new();
    for _ in 0..WRITERS {
        writers.spawn(write(
            real.client.clone(),
            format!("http://{}", real.address),
            random.next(),
        ));
    }
    let accepted = writers.join_all().await.iter().sum();
    for family in ["issues", "identity"] {
        let open = "status=created,queued,processing";
        let open = format!("/v2/acme/{family}/bulk_actions?{open}");
        while real.json(&open).await["total-hits"] != 0 {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }
    accepted
}

async fn got(real: &RealServer, path: String) -> Got {
    let answer = real.request(Method::GET, &path).send().await.map_err(|e| e.to_string())?;
    let status = answer.status().as_u16();
    Ok((status, answer.text().await.map_err(|e| e.to_string())?))
}

/// Whether the log has an action on a resource.
async fn is_logged(real: &RealServer, resource: &str, action: &str) -> bool {
    let path = format!("/v1/acme/changes?resources={resource}&actions={action}&page-size=1");
    !real.json(&path).await["changes"].as_array().unwrap().is_empty()
}

/// All writers, again until the log has each kind of change that is to be followed: some are rare.
async fn writers_of_every_kind(real: &RealServer, random: &mut SplitMix) -> usize {
    let mut accepted = all_writers(real, random).await;
    for (resource, action) in KINDS {
        for _ in 0..ROUNDS_MAX {
            if is_logged(real, resource, action).await {
                break;
            }
            accepted += all_writers(real, random).await;
        }
    }
    accepted
}

/// A follower that began while the writers wrote, at the end of the log after they ended.
async fn follow(
    real: &RealServer,
    seed: u64,
    with_records: bool,
    written: &AtomicBool,
) -> Result<Follower, String> {
    let get = &mut async |path| got(real, path).await;
    let begin = 40 * u64::from(with_records);
    tokio::time::sleep(std::time::Duration::from_millis(begin)).await;
    let mut follower = Follower::begin("acme", seed, with_records, get).await?;
    loop {
        let ended = written.load(Ordering::SeqCst);
        match (follower.step(get).await?, ended) {
            (true, true) => return Ok(follower),
            (true, false) => tokio::time::sleep(std::time::Duration::from_millis(10)).await,
            (false, _) => {}
        }
    }
}

#[expect(clippy::print_stdout, reason = "the counts are the output of the test")]
async fn a_follower_has_what_concurrent_writers_wrote() {
    let seed = SplitMix::fresh_seed();
    let mut random = SplitMix::new(seed);
    let real = serving().await;
    let written = AtomicBool::new(false);
    let (first, second) = (random.next(), random.next());
    let (accepted, one, two) = tokio::join!(
        async {
            let accepted = writers_of_every_kind(&real, &mut random).await;
            written.store(true, Ordering::SeqCst);
            accepted
        },
        follow(&real, first, true, &written),
        follow(&real, second, false, &written),
    );
    let get = &mut async |path| got(&real, path).await;
    let export = Records::export("acme", get).await.unwrap();
    for follower in [one, two] {
        let follower = follower.unwrap_or_else(|error| panic!("seed {seed}: {error}"));
        let differences = follower.records.differences(&export);
        assert!(differences.is_empty(), "seed {seed}: {differences:#?}");
        println!(
            "seed {seed}: {WRITERS} writers, {accepted} writes accepted, {} changes on {} pages, \
             {} records equal: {:?}",
            follower.changes(),
            follower.pages,
            export.len(),
            follower.seen
        );
        for (resource, action) in KINDS {
            let key = (resource.to_owned(), action.to_owned());
            assert!(follower.seen.contains_key(&key), "seed {seed}: no {key:?}");
        }
    }
    real.stop().await;
}

async fn a_follower_that_comes_too_late_begins_again() {
    let real = serving().await;
    let mut random = SplitMix::new(1);
    all_writers(&real, &mut random).await;
    let get = &mut async |path| got(&real, path).await;
    let mut late = Follower::begin("acme", 1, true, get).await.unwrap();
    all_writers(&real, &mut random).await;
    let all = UnixMillis(real.clock.now().0 + 1);
    while real.store.purge_changes(all).await.unwrap() {}
    let refusal = late.step(get).await.unwrap_err();
    let body: Value = serde_json::from_str(&refusal[refusal.find('{').unwrap()..]).unwrap();
    assert_eq!((&body["status"], &body["code"]), (&410.into(), &"cursor_expired".into()));
    let told = body["detail"].as_str().unwrap();
    let steps = ["cursor=latest", "read all records again", "drop those", "follow the log"];
    let places: Vec<_> = steps.iter().map(|step| told.find(step).expect(told)).collect();
    assert!(places.is_sorted(), "{told}");
    let mut again = Follower::begin("acme", 1, true, get).await.unwrap();
    all_writers(&real, &mut random).await;
    while !again.step(get).await.unwrap() {}
    let export = Records::export("acme", get).await.unwrap();
    assert_eq!(again.records.differences(&export), [""; 0]);
    assert_ne!(late.records.differences(&export), [""; 0]);
    real.stop().await;
}
