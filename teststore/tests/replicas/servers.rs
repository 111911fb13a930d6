//! Several servers over one database: each sees the writes of the others, is notified of their work
//! and respects their leases.

use std::sync::Arc;

use caseload_bulk::{EntryQueue, QueueLimits};
use caseload_location::open;
use caseload_model::ids::DomainName;
use caseload_model::task::{Action, Counts};
use caseload_model::time::UnixMillis;
use caseload_store::{
    ApplyChunk, CancelTask, ChunkEntries, ClaimTasks, CreateDomain, Idempotent, OpenMode,
    QueueTurn, RenewLeases, StoreError,
};
use caseload_teststore::nodes;
use futures_util::future::join_all;

use super::Database;
use super::database::PATIENCE;
use crate::suite::idempotency::{answer, keyed, tasks};
use crate::suite::support::{
    NOW, apply_all, assert_lease_lost, assert_sound, block, chunk, claim_at, domain, later,
    next_block, results, take_over, task_of, uid,
};

const CREATE: Action = Action::CreateCoreProfiles;
const LEASE_MS: i64 = 30_000;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_server_that_lost_its_lease_commits_nothing() {
    let database = Database::new();
    let (one, two) = (database.server(), database.server());
    let acme = domain(&one, "acme").await;
    let entries: Vec<_> = (0..4).map(|n| uid(&n.to_string())).collect();
    one.create_task(task_of(&acme, "t", CREATE, &entries, 2)).await.unwrap();
    let lost = claim_at(&one, "one", NOW, 1).await.remove(0);
    assert!(claim_at(&two, "two", NOW, 1).await.is_empty(), "it is leased");
    let command = chunk(&lost, next_block(&one, &lost, 0).await, NOW);
    // The first server stalls until its lease has ended.
    let after = later(LEASE_MS);
    let held = take_over(&two, "two", after).await;
    assert!(held.lease_epoch > lost.lease_epoch);
    assert_lease_lost(&one.apply_chunk(command.clone()).await);
    // A renewal does not restore the lease.
    let lease_until = later(10 * LEASE_MS);
    one.renew_leases(RenewLeases { server: "one".to_owned(), lease_until }).await.unwrap();
    assert!(claim_at(&one, "one", after, 1).await.is_empty(), "the other server has the lease");
    let task = apply_all(&two, &held, after).await;
    assert_eq!(task.counts, Counts { total: 4, succeeded: 4, failed: 0, unprocessed: 0 });
    assert_lease_lost(&one.apply_chunk(command).await);
    assert_eq!(results(&one, acme.id, "t").await.len(), 4);
    assert_sound(&two).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_whose_claim_got_no_answer_is_not_renewed() {
    let database = Database::new();
    let (one, two) = (database.server(), database.server());
    let acme = domain(&one, "acme").await;
    one.create_task(task_of(&acme, "t", CREATE, &[uid("a")], 1)).await.unwrap();
    // The commit of a claim got no answer: the task is leased, but its server does not know.
    let client = database.client().await;
    let lease = "UPDATE task_queue SET lease_server = 'one', lease_epoch = 1, lease_until = $1";
    client.execute(lease, &[&later(LEASE_MS).0]).await.unwrap();
    let renewal = RenewLeases { server: "one".to_owned(), lease_until: later(9 * LEASE_MS) };
    one.renew_leases(renewal).await.unwrap();
    assert!(claim_at(&two, "two", later(LEASE_MS - 1), 1).await.is_empty());
    take_over(&two, "two", later(LEASE_MS)).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_of_a_hundred_repeats_on_two_servers_takes_effect() {
    let database = Database::new();
    let stores = [database.server(), database.server()];
    let acme = domain(&stores[0], "acme").await;
    let commands =
        (0..100).map(|n| stores[n % 2].create_task(keyed(&acme, &format!("t{n}"), "k", 1)));
    let (mut done, mut repeated) = (Vec::new(), Vec::new());
    for answer in join_all(commands).await {
        match answer.unwrap() {
            Idempotent::Done(task) => done.push(task.id),
            Idempotent::Replayed(first) => repeated.push(first),
        }
    }
    assert_eq!((done.len(), repeated.len()), (1, 99));
    assert!(repeated.iter().all(|first| *first == answer(&done[0])));
    assert_eq!(tasks(&stores[1], &acme).await, done);
    assert_sound(&stores[0]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_that_claim_concurrently_share_the_tasks() {
    let database = Database::new();
    let stores: Vec<_> = (0..3).map(|_| database.server()).collect();
    for d in 0..4 {
        let domain = domain(&stores[0], &format!("d{d}")).await;
        for t in 0..3 {
            let id = format!("t{t}");
            stores[0].create_task(task_of(&domain, &id, CREATE, &[uid(&id)], 1)).await.unwrap();
        }
    }
    let mut completed = 0;
    for _ in 0..100 {
        let names = ["one", "two", "three"];
        let claims = stores.iter().zip(names).map(|(store, name)| claim_at(store, name, NOW, 2));
        let claimed = join_all(claims).await;
        let mut domains: Vec<_> = claimed.iter().flatten().map(|one| one.domain).collect();
        let count = domains.len();
        domains.sort_unstable();
        domains.dedup();
        assert_eq!(domains.len(), count, "a domain has one writing task at a time");
        let mine = claimed.iter().zip(&stores);
        let work = mine.flat_map(|(claimed, store)| {
            claimed.iter().map(move |claimed| apply_all(store, claimed, NOW))
        });
        completed += join_all(work).await.len();
        if completed == 12 {
            break;
        }
    }
    assert_eq!(completed, 12, "each task ran once");
    assert_sound(&stores[0]).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_servers_work_notifies_the_others() {
    let database = Database::new();
    let (one, two) = (database.server(), database.server());
    let acme = domain(&one, "acme").await;
    database.wait_for_sessions(2, "query = 'LISTEN caseload_work'").await;
    let mut bell = two.wake_ups();
    one.create_task(task_of(&acme, "t", CREATE, &[uid("a"), uid("b")], 1)).await.unwrap();
    tokio::time::timeout(PATIENCE, bell.changed()).await.unwrap().unwrap();
    let claimed = claim_at(&one, "one", NOW, 1).await.remove(0);
    one.release_leases("one").await.unwrap();
    tokio::time::timeout(PATIENCE, bell.changed()).await.unwrap().unwrap();
    assert_lease_lost(&one.apply_chunk(chunk(&claimed, block(&[uid("a")], 0), NOW)).await);
    let cancel = CancelTask {
        key: None,
        domain: acme.id,
        family: CREATE.family(),
        task_id: "t".to_owned(),
        now: NOW,
    };
    one.cancel_task(cancel).await.unwrap();
    tokio::time::timeout(PATIENCE, bell.changed()).await.unwrap().unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn cancelling_does_not_wait_for_the_chunk_that_is_running() {
    let database = Database::new();
    let one = database.server();
    let acme = domain(&one, "acme").await;
    one.create_task(task_of(&acme, "t", CREATE, &[uid("a")], 1)).await.unwrap();
    let claimed = claim_at(&one, "one", NOW, 1).await.remove(0);
    // A chunk has the task locked until it commits.
    let running = database.client().await;
    running.batch_execute("BEGIN; SELECT 1 FROM task_queue FOR UPDATE").await.unwrap();
    let (domain, family, task_id) = (acme.id, CREATE.family(), "t".to_owned());
    let cancel = CancelTask { key: None, domain, family, task_id, now: NOW };
    assert_eq!(one.cancel_task(cancel).await.unwrap().outcome, None);
    running.batch_execute("COMMIT").await.unwrap();
    let next = chunk(&claimed, next_block(&one, &claimed, 0).await, NOW);
    let applied = one.apply_chunk(next).await.unwrap();
    assert_eq!((applied.done, applied.task.counts.unprocessed), (0, 1));
    assert_sound(&one).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn several_servers_can_open_a_new_database_at_once() {
    let database = Database::new();
    let location = database.url().parse().unwrap();
    let opened = join_all((0..4).map(|_| open(&location, OpenMode::Server))).await;
    for store in opened {
        assert_eq!(store.unwrap().domains().await.unwrap(), []);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn concurrent_domains_cannot_share_a_name() {
    let database = Database::new();
    let stores = [database.server(), database.server()];
    let made = (0..40).map(|n| {
        let name = DomainName::parse(&format!("d{}", n / 2)).unwrap();
        stores[n % 2].create_domain(CreateDomain { name, origin: NOW.into(), random: 0 })
    });
    let made = join_all(made).await.into_iter().flatten().count();
    assert_eq!((made, stores[0].domains().await.unwrap().len()), (20, 20));
    assert_sound(&stores[1]).await;
}

/// A chunk of three blocks, two of them in its feed.
fn chunk_with_feed(claimed: &caseload_store::ClaimedTask) -> ApplyChunk {
    let part = |n: u32| {
        let entries = [uid(&format!("{n}-a")), uid(&format!("{n}-b"))];
        chunk(claimed, block(&entries, 2 * n), NOW).entries
    };
    let feed = EntryQueue::new(QueueLimits::new(1 << 20, 1 << 20, 1 << 20));
    for part in [part(1), part(2)] {
        feed.push(ChunkEntries { from: 0, ..part });
    }
    feed.end();
    ApplyChunk {
        entries: part(0),
        following: Some(Arc::new(feed)),
        ..chunk(claimed, block(&[uid("x")], 0), NOW)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_chunk_rolled_back_by_the_database_is_applied_again_whole() {
    let database = Database::new();
    if nodes::is_distributed() {
        // A session cannot choose the victim of a deadlock between two nodes.
        return;
    }
    let store = database.server();
    let acme = domain(&store, "acme").await;
    let entries: Vec<_> =
        (0..6).map(|n| uid(&format!("{}-{}", n / 2, ["a", "b"][n % 2]))).collect();
    store.create_task(task_of(&acme, "t", CREATE, &entries, 2)).await.unwrap();
    let claimed = claim_at(&store, "one", NOW, 1).await.remove(0);
    // Another transaction holds the row that the chunk locks last. Then it wants the row that the
    // chunk locked first, which is a deadlock.
    let other = database.client().await;
    other.batch_execute("BEGIN; SELECT 1 FROM domain_clocks FOR UPDATE").await.unwrap();
    let applying = tokio::spawn({
        let (store, command) = (store.clone(), chunk_with_feed(&claimed));
        async move { store.apply_chunk(command).await }
    });
    database.wait_for_session("wait_event_type = 'Lock'").await;
    // Its long timeout makes PostgreSQL choose the chunk as the victim.
    other
        .batch_execute(
            "SET LOCAL deadlock_timeout = '1h'; SELECT 1 FROM task_queue FOR UPDATE; COMMIT",
        )
        .await
        .unwrap();
    let applied = applying.await.unwrap().unwrap();
    assert_eq!((applied.done, applied.task.counts.succeeded), (6, 6));
    assert_eq!(results(&store, acme.id, "t").await.len(), 6);
    assert_sound(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_waits_for_a_lock_gives_up_in_time() {
    let database = Database::new();
    let store = database.server();
    let acme = domain(&store, "acme").await;
    let other = database.client().await;
    let lock =
        format!("BEGIN; SELECT 1 FROM domain_clocks WHERE domain_id = {} FOR UPDATE", acme.id.0);
    other.batch_execute(&lock).await.unwrap();
    let refused = store.create_task(task_of(&acme, "t", CREATE, &[uid("a")], 1)).await;
    assert!(matches!(refused, Err(StoreError::NotWritten(_))), "{refused:?}");
    other.batch_execute("COMMIT").await.unwrap();
    assert_eq!(tasks(&store, &acme).await, Vec::<String>::new(), "the refused task is not stored");
    store.create_task(task_of(&acme, "t", CREATE, &[uid("a")], 1)).await.unwrap();
    assert_sound(&store).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lease_that_ran_out_in_an_outage_or_was_the_servers_own_is_not_a_death() {
    let database = Database::new();
    let store = database.server();
    let acme = domain(&store, "acme").await;
    store.create_task(task_of(&acme, "t", CREATE, &[uid("a"), uid("b")], 1)).await.unwrap();
    let (never, mut now) = (UnixMillis(i64::MIN), NOW);
    for (server, after_outage, waits) in [
        ("one", false, false),
        // The server was too slow to renew its lease, and is alive.
        ("one", false, false),
        ("one", false, false),
        // The store was away for longer than a lease, two times.
        ("two", true, false),
        ("one", true, false),
        ("three", false, true),
    ] {
        let command = ClaimTasks {
            server: server.to_owned(),
            now,
            lease_until: UnixMillis(now.0 + LEASE_MS),
            tasks_max: 1,
            reachable_since: if after_outage { now } else { never },
            turn: QueueTurn::default(),
        };
        let claimed = store.claim_tasks(command).await.unwrap();
        assert_eq!(claimed.is_empty(), waits, "{server} at {now:?}");
        now = UnixMillis(now.0 + LEASE_MS);
    }
}
