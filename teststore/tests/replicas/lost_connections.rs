//! Connections that break before or after each statement in the life of a task. Every command
//! either fails for certain or can be repeated safely, the task completes, and each entry takes
//! effect once.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::time::{Duration, Instant};

use caseload_location::open;
use caseload_model::ids::DomainName;
use caseload_model::payload::Block;
use caseload_model::task::{Action, Counts, Outcome, Task};
use caseload_model::time::UnixMillis;
use caseload_store::{
    ClaimTasks, ClaimedTask, CreateTask, Domain, FailAttempt, Idempotent, OpenMode, QueueTurn,
    RenewLeases, StagePayload, Store, StoreError,
};
use caseload_teststore::nodes;

use super::Database;
use super::cutter::{Cut, Cutter};
use super::database::opened;
use crate::suite::idempotency::keyed;
use crate::suite::support::{
    NOW, assert_sound, chunk, domain, errors, later, results, task_of, uid,
};

pub(super) const LEASE_MS: i64 = 30_000;
/// How long a task may take on a loaded machine.
const PATIENCE: Duration = Duration::from_mins(1);

/// Repeats a command until the database can be reached.
pub(super) async fn insist<T>(
    command: impl AsyncFn() -> Result<T, StoreError>,
) -> Result<T, StoreError> {
    loop {
        match command().await {
            Err(StoreError::Unreachable(_)) => {}
            answer => return answer,
        }
    }
}

/// A payload in two blocks, the first of them staged. The third entry is a conflict, and the last
/// one is not a profile.
fn command(domain: &Domain, id: &str) -> (StagePayload, CreateTask) {
    let uids = [format!("{id}-a"), format!("{id}-b"), format!("{id}-a"), format!("{id}-c")];
    let mut entries: Vec<_> = uids.iter().map(|value| uid(value)).collect();
    entries.push("{}".to_owned());
    let mut task = task_of(domain, id, Action::CreateCoreProfiles, &entries, 2);
    task.idempotency = keyed(domain, id, id, 1).idempotency;
    let first = task.blocks.remove(0);
    task.staged = 1;
    let staged = StagePayload {
        key: None,
        domain: domain.id,
        task_id: id.to_owned(),
        blocks: vec![first],
        now: NOW,
    };
    (staged, task)
}

/// Accepts a task. If staging fails, it starts again under another id.
async fn accept(store: &Arc<dyn Store>, domain: &Domain, id: &str) -> String {
    let mut id = id.to_owned();
    loop {
        let (staged, task) = command(domain, &id);
        if store.stage_payload(staged).await.is_ok() {
            let accepted = insist(async || store.create_task(task.clone()).await).await.unwrap();
            if let Idempotent::Replayed(first) = accepted {
                assert_eq!(first.location, format!("/{id}"), "the first answer");
            }
            return id;
        }
        insist(async || store.discard_staged(domain.id, &id).await).await.unwrap();
        id.push('x');
    }
}

/// Acts as a server until the task has ended. Each round moves the clock past the lease, because
/// the database may notice a lost connection late and holds its locks until then.
async fn work(store: &Arc<dyn Store>, server: &str, domain: &Domain, id: &str) -> Task {
    let (mut now, begun) = (NOW, Instant::now());
    while begun.elapsed() < PATIENCE {
        let find = async || store.task(domain.id, Action::CreateCoreProfiles.family(), id).await;
        let task = insist(find).await.unwrap().unwrap();
        if task.outcome.is_some() {
            return task;
        }
        let lease_until = UnixMillis(now.0 + LEASE_MS);
        let claim = ClaimTasks {
            server: server.to_owned(),
            now,
            lease_until,
            tasks_max: 1,
            reachable_since: UnixMillis(i64::MIN),
            turn: QueueTurn::default(),
        };
        let claimed = store.claim_tasks(claim).await.unwrap_or_default();
        if claimed.is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        for claimed in claimed {
            run(store, &claimed, now).await;
        }
        // A lease whose claim got no answer is not renewed, so that it ends.
        let renewal = UnixMillis(now.0 + 2 * LEASE_MS);
        let renewal = RenewLeases { server: server.to_owned(), lease_until: renewal };
        insist(async || store.renew_leases(renewal.clone()).await).await.unwrap();
        now = UnixMillis(now.0 + LEASE_MS + 1);
    }
    panic!("the task does not end");
}

/// Applies the remaining entries of a claimed task. A fault releases its lease.
async fn run(store: &Arc<dyn Store>, claimed: &ClaimedTask, now: UnixMillis) {
    let mut next = claimed.next_index;
    loop {
        let block =
            insist(async || store.payload_block(claimed.domain, &claimed.task.id, next).await);
        let Some(bytes) = block.await.unwrap() else { return };
        let mut command = chunk(claimed, Block::decode(bytes).unwrap(), now);
        let entries = command.entries.block.entries.iter();
        command.entries.from = entries.take_while(|entry| entry.index < next).count();
        match store.apply_chunk(command).await {
            Ok(applied) if applied.task.outcome.is_some() => return,
            Ok(applied) => next += applied.done as u32,
            Err(StoreError::LeaseLost) => return,
            Err(StoreError::Unreachable(_)) => {
                let back = FailAttempt {
                    domain: claimed.domain,
                    task_id: claimed.task.id.clone(),
                    lease_epoch: claimed.lease_epoch,
                    now,
                    counted: false,
                    retry_at: now,
                };
                match insist(async || store.fail_attempt(back.clone()).await).await {
                    Ok(_) | Err(StoreError::LeaseLost) => return,
                    Err(other) => panic!("{other:?}"),
                }
            }
            Err(other) => panic!("{other:?}"),
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_task_survives_a_lost_connection_at_every_statement() {
    let database = Database::new();
    let cutter = Cutter::new(&database.url()).await;
    let (direct, cut) = (database.server(), opened(cutter.url()));
    let acme = domain(&direct, "acme").await;
    // A connection prepares each statement once. A first task prepares all of them.
    let id = accept(&cut, &acme, "warm").await;
    work(&cut, "warm", &acme, &id).await;
    let mut lives = 0;
    for side in [Cut::Before, Cut::After] {
        for nth in 1.. {
            cutter.plan(nth, side);
            let name = format!("{side:?}-{nth}");
            let id = accept(&cut, &acme, &name).await;
            let task = work(&cut, &name, &acme, &id).await;
            let was_cut = cutter.was_cut();
            let all = Counts { total: 5, succeeded: 3, failed: 2, unprocessed: 0 };
            assert_eq!(task.counts, all, "{name}");
            assert_eq!(task.outcome, Some(Outcome::CompletedWithErrors), "{name}");
            assert_eq!(results(&direct, acme.id, &id).await.len(), 3, "{name}");
            assert_eq!(errors(&direct, acme.id, &id).await.len(), 2, "{name}");
            if !was_cut {
                assert!(nth > 20, "the life of a task has more than {nth} statements");
                break;
            }
            lives += 1;
        }
    }
    println!("{lives} tasks with a lost connection");
    assert_sound(&direct).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_without_an_answer_fails_and_its_repeat_finds_it() {
    let database = Database::new();
    let cutter = Cutter::new(&database.url()).await;
    let (direct, cut) = (database.server(), opened(cutter.url()));
    let acme = domain(&direct, "acme").await;
    let entry = [uid("a")];
    let accept = |id: &str, key: &str| CreateTask {
        idempotency: keyed(&acme, id, key, 1).idempotency,
        ..task_of(&acme, id, Action::CreateCoreProfiles, &entry, 1)
    };
    // The last statement of a command is its commit. New connections and background work send
    // statements of their own, so that the number of the commit has to be searched.
    let family = Action::CreateCoreProfiles.family();
    let (mut statements, mut lives) = (1_000, 0..50);
    let (task_id, key) = loop {
        let life = lives.next().expect("some command is cut at its commit");
        let (task_id, key) = (format!("t{life}"), format!("k{life}"));
        cutter.plan(statements, Cut::After);
        let answer = cut.create_task(accept(&task_id, &key)).await;
        let (left, was_cut) = (cutter.left(), cutter.was_cut());
        let took_place = direct.task(acme.id, family, &task_id).await.unwrap().is_some();
        match &answer {
            Err(StoreError::Unreachable(_)) if took_place => break (task_id, key),
            Err(StoreError::Unreachable(_)) => statements += 1,
            // The connection was cut after the answer.
            Ok(_) if was_cut => statements -= 1,
            Ok(_) => statements -= left,
            Err(other) => panic!("{other:?}"),
        }
        assert!(took_place || answer.is_err(), "{task_id} was acknowledged");
    };
    let repeat = cut.create_task(accept("other", &key)).await.unwrap();
    let location = format!("/{task_id}");
    assert!(matches!(repeat, Idempotent::Replayed(first) if first.location == location));
    assert_sound(&direct).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_store_reconnects_after_the_database_ends_its_connections() {
    let database = Database::new();
    let store = database.server();
    let acme = domain(&store, "acme").await;
    let client = database.client().await;
    for round in 0..5 {
        let end = "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity
                   WHERE datname = current_database() AND usename = current_user
                   AND pid <> pg_backend_pid()";
        client.query_one(end, &[]).await.unwrap();
        // Each closed connection fails once before the store replaces it.
        let found = insist(async || store.domains().await).await.unwrap();
        assert_eq!(found, std::slice::from_ref(&acme), "{round}");
        let name = DomainName::parse(&format!("d{round}")).unwrap();
        assert_eq!(insist(async || store.domain(&name).await).await.unwrap(), None);
    }
    insist(async || store.ready().await).await.unwrap();
    // The store also listens again for work of other servers.
    let mut bell = store.wake_ups();
    let deadline = tokio::time::Instant::now() + PATIENCE;
    let other = database.server();
    let mut n = 0;
    loop {
        bell.mark_unchanged();
        let task = task_of(&acme, &format!("t{n}"), Action::GetCoreProfiles, &[uid("a")], 1);
        other.create_task(CreateTask { now: later(n), ..task }).await.unwrap();
        let waited = Duration::from_millis(500);
        if tokio::time::timeout(waited, bell.changed()).await.is_ok() {
            break;
        }
        assert!(tokio::time::Instant::now() < deadline, "no notification arrived");
        n += 1;
    }
}

#[test]
fn closing_a_store_ends_connections_that_are_still_opening() {
    let wires = tokio::runtime::Runtime::new().unwrap();
    let _here = wires.enter();
    let database = Database::new();
    let cutter = wires.block_on(Cutter::new(&database.url()));
    // A connection can leak only if the single thread that drives it stops.
    let one = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let greeted = one.block_on(async {
        let location = cutter.url().parse().unwrap();
        let store = open(&location, OpenMode::Server).await.unwrap();
        // Now the store opens the connection that listens for other servers' work; it gets no
        // answer.
        cutter.fall_silent();
        let greeted = cutter.open();
        let begun = Instant::now();
        while cutter.open() == greeted {
            assert!(begun.elapsed() < PATIENCE, "the store does not listen");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
        store.close().await.unwrap();
        greeted
    });
    // The thread has stopped.
    let begun = Instant::now();
    while cutter.open() > greeted {
        assert!(begun.elapsed() < PATIENCE, "the connection is still open");
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// A cluster claims each task in a transaction of its own. If the coordinator is gone in the middle
/// of a claim, the server has the tasks that it leased until then.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_claim_that_ends_early_has_the_tasks_that_it_leased() {
    const TASKS: usize = 3;
    if !nodes::is_distributed() {
        // One server claims all tasks in one transaction.
        return;
    }
    let database = Database::new();
    let wire = Cutter::new(&database.url()).await;
    let (mut store, direct) = (opened(wire.url()), database.client().await);
    let mut domains = Vec::new();
    for n in 0..TASKS {
        let domain = domain(&store, &format!("acme-{n}")).await;
        let task = task_of(&domain, "t", Action::CreateCoreProfiles, &[uid("a")], 1);
        store.create_task(task).await.unwrap();
        domains.push(domain);
    }
    let (mut now, mut counts) = (NOW, BTreeSet::new());
    let server = "one".to_owned();
    for nth in 1.. {
        let lease_until = UnixMillis(now.0 + LEASE_MS);
        let claim = ClaimTasks {
            server: server.clone(),
            now,
            lease_until,
            tasks_max: TASKS,
            reachable_since: UnixMillis(i64::MIN),
            turn: QueueTurn::default(),
        };
        wire.plan_outage(nth);
        let claimed = store.claim_tasks(claim).await;
        let was_cut = wire.was_cut();
        match &claimed {
            Ok(claimed) => assert!(!was_cut || !claimed.is_empty(), "an outage is a claim"),
            Err(fault) => assert!(was_cut && fault.outage().is_some(), "{fault:?}"),
        }
        let claimed = claimed.unwrap_or_default();
        counts.insert(claimed.len());
        let leased = "SELECT domain_id, lease_epoch FROM task_queue WHERE lease_until = $1";
        let leased: BTreeMap<i64, i64> = direct
            .query(leased, &[&lease_until.0])
            .await
            .unwrap()
            .iter()
            .map(|row| (row.get(0), row.get(1)))
            .collect();
        // A commit without an answer may have leased one more.
        assert!((claimed.len()..=claimed.len() + 1).contains(&leased.len()), "{leased:?}");
        for claimed in &claimed {
            assert_eq!(leased.get(&claimed.domain.0), Some(&claimed.lease_epoch));
        }
        if !was_cut {
            break;
        }
        // The leases run out, and so does the time for which the server avoids domains.
        now = UnixMillis(now.0 + LEASE_MS + 1);
        store = opened(wire.url());
    }
    assert_eq!(counts, (0..=TASKS).collect());
    for domain in &domains {
        assert_eq!(work(&store, "last", domain, "t").await.outcome, Some(Outcome::Succeeded));
    }
    assert_sound(&store).await;
}
