//! Tasks: acceptance, claims, leases, attempts, and fencing of workers that lost their lease.

use std::sync::Arc;

use caseload_bulk::{EntryQueue, QueueLimits};
use caseload_model::task::{Action, Counts, Family, Outcome, TASK_ATTEMPTS_MAX, Task, TaskStatus};
use caseload_model::time::UnixMillis;
use caseload_store::{
    AnswerOf, ClaimTasks, CreateTask, FailAttempt, IdempotencyKey, ListTasks, QueueTurn,
    RenewLeases, Store, StoreError, StoredAnswer,
};

use super::support::{
    NOW, apply_all, assert_lease_lost, assert_sound, assert_taken, block, chunk, claim, claim_at,
    domain, later, lines, next_block, results, take_over, task_of, uid,
};

const CREATE: Action = Action::CreateCoreProfiles;
const GET: Action = Action::GetCoreProfiles;

fn uids(count: usize) -> Vec<String> {
    (0..count).map(|n| uid(&format!("u{n}"))).collect()
}

pub(crate) async fn an_accepted_task_can_be_read_with_its_payload(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let entries = uids(5);
    let accepted = store.create_task(task_of(&acme, "t", CREATE, &entries, 2)).await.unwrap();
    let mut task = accepted.done().unwrap();
    assert_eq!(task.status, TaskStatus::Created);
    assert_eq!(task.counts, Counts::new(5));
    assert_eq!((task.created_at, task.expires_at), (NOW, Some(later(1_000_000))));
    let kept = store.task(acme.id, Family::Identity, "t").await.unwrap();
    task.position = Some(0);
    assert_eq!(kept, Some(task));
    let claimed = claim(&store, 1).await.remove(0);
    for (from, first, count) in [(0, 0, 2), (1, 0, 2), (2, 2, 2), (3, 2, 2), (4, 4, 1)] {
        let found = next_block(&store, &claimed, from).await;
        assert_eq!((found.entries[0].index, found.entries.len()), (first, count), "from {from}");
        assert_eq!(found.bytes_of(&found.entries[0]), entries[first as usize].as_bytes());
    }
    assert_eq!(store.payload_block(acme.id, "t", 5).await.unwrap(), None);
    assert_eq!(store.payload_block(acme.id, "other", 0).await.unwrap(), None);
    assert_sound(&store).await;
}

pub(crate) async fn a_task_is_visible_only_in_its_family_and_domain(store: Arc<dyn Store>) {
    let (acme, other) = (domain(&store, "acme").await, domain(&store, "other").await);
    store.create_task(task_of(&acme, "p", CREATE, &uids(1), 1)).await.unwrap();
    let issues = task_of(&acme, "i", Action::ImportIssues, &lines(&["{}"]), 1);
    store.create_task(issues).await.unwrap();
    for (domain, family, id, there) in [
        (&acme, Family::Identity, "p", true),
        (&acme, Family::Issues, "p", false),
        (&acme, Family::Issues, "i", true),
        (&acme, Family::Identity, "i", false),
        (&other, Family::Identity, "p", false),
        (&acme, Family::Identity, "x", false),
    ] {
        let found = store.task(domain.id, family, id).await.unwrap();
        assert_eq!(found.is_some(), there, "{} {family:?} {id}", domain.name);
    }
}

pub(crate) async fn a_task_id_that_exists_is_refused(store: Arc<dyn Store>) {
    let (acme, other) = (domain(&store, "acme").await, domain(&store, "other").await);
    store.create_task(task_of(&acme, "t", CREATE, &uids(1), 1)).await.unwrap();
    assert_taken(&store.create_task(task_of(&acme, "t", CREATE, &uids(2), 1)).await);
    store.create_task(task_of(&other, "t", CREATE, &uids(2), 1)).await.unwrap();
    let kept = store.task(acme.id, Family::Identity, "t").await.unwrap().unwrap();
    assert_eq!(kept.counts.total, 1);
}

pub(crate) async fn a_domain_with_a_full_queue_refuses_new_tasks(store: Arc<dyn Store>) {
    let (acme, other) = (domain(&store, "acme").await, domain(&store, "other").await);
    let with_limit = |domain, id: &str| {
        let mut command = task_of(domain, id, CREATE, &uids(1), 1);
        command.unfinished_max = 2;
        command
    };
    store.create_task(with_limit(&acme, "t1")).await.unwrap();
    store.create_task(with_limit(&acme, "t2")).await.unwrap();
    let refused = store.create_task(with_limit(&acme, "t3")).await;
    assert!(matches!(refused, Err(StoreError::QueueFull { unfinished: 2, limit: 2 })));
    assert_eq!(store.task(acme.id, Family::Identity, "t3").await.unwrap(), None);
    store.create_task(with_limit(&other, "t3")).await.unwrap();
    for claimed in claim(&store, 9).await {
        apply_all(&store, &claimed, NOW).await;
    }
    store.create_task(with_limit(&acme, "t3")).await.unwrap();
}

pub(crate) async fn tasks_are_listed_in_the_order_of_their_times_even_if_clocks_differ(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    let with_time = AnswerOf::new(|task: &Task| StoredAnswer {
        location: task.id.clone(),
        body: task.created_at.0.to_string().into_bytes(),
    });
    // The clock of the second server is slow; the last task is of another path.
    for (id, now, action) in [
        ("first", later(50), CREATE),
        ("second", later(20), CREATE),
        ("third", later(60), GET),
        ("import", later(10), Action::ImportIssues),
    ] {
        let key = IdempotencyKey { text: id.into(), content: [1; 32], expires_at: later(900) };
        let command = CreateTask {
            now,
            expires_at: later(1_000_000 + now.0 - NOW.0),
            idempotency: Some((key, with_time.clone())),
            ..task_of(&acme, id, action, &lines(&[r#"{"core-profile-id":"1"}"#]), 1)
        };
        let task = store.create_task(command).await.unwrap().done().unwrap();
        assert_eq!(task.expires_at.unwrap().0 - task.created_at.0, 1_000_000);
        let (_, answer) = store.stored_answer(acme.id, id).await.unwrap().unwrap();
        assert_eq!(answer.body, task.created_at.0.to_string().into_bytes(), "{id}");
    }
    let request = ListTasks {
        domain: acme.id,
        family: Family::Identity,
        filter: caseload_model::task_query::TaskFilter::default(),
        paging: caseload_model::issue_query::Paging::default(),
    };
    let listed = store.list_tasks(request).await.unwrap().tasks;
    let listed: Vec<_> = listed.iter().map(|task| (task.id.as_str(), task.created_at)).collect();
    assert_eq!(listed, [("third", later(60)), ("second", later(50)), ("first", later(50))]);
    let import = store.task(acme.id, Family::Issues, "import").await.unwrap().unwrap();
    assert_eq!(import.created_at, later(10));
    for claimed in claim_at(&store, "s", later(15), 9).await {
        let task = claimed.task;
        assert!(task.queued_at >= Some(task.created_at), "{task:?}");
        assert!(task.started_at >= task.queued_at, "{task:?}");
    }
}

pub(crate) async fn claiming_leases_the_oldest_writing_task_and_queues_the_rest(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    // Ids in descending order: tasks are claimed in the order of acceptance, not of ids.
    for id in ["t3", "t2", "t1"] {
        store.create_task(task_of(&acme, id, CREATE, &uids(1), 1)).await.unwrap();
    }
    for (n, id) in ["t3", "t2", "t1"].into_iter().enumerate() {
        let at = later(n as i64);
        let claimed = claim_at(&store, "s", at, 9).await;
        assert_eq!(claimed.len(), 1);
        let task = &claimed[0].task;
        assert_eq!((task.id.as_str(), task.status), (id, TaskStatus::Processing));
        assert_eq!((task.queued_at, task.started_at), (Some(NOW), Some(at)));
        assert_eq!((claimed[0].domain, &claimed[0].domain_name), (acme.id, &acme.name));
        assert_eq!(claim_at(&store, "s", at, 9).await.len(), 0, "it is leased");
        if n == 0 {
            let waiting = store.task(acme.id, Family::Identity, "t1").await.unwrap().unwrap();
            assert_eq!((waiting.status, waiting.started_at), (TaskStatus::Queued, None));
        }
        apply_all(&store, &claimed[0], at).await;
    }
    assert_eq!(claim(&store, 9).await.len(), 0);
}

pub(crate) async fn reading_tasks_do_not_wait_for_writing_ones(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let entry = lines(&[r#"{"core-profile-id":"1"}"#]);
    for (id, action) in [("w1", CREATE), ("w2", CREATE), ("r1", GET), ("r2", GET)] {
        store.create_task(task_of(&acme, id, action, &entry, 1)).await.unwrap();
    }
    let mut ids: Vec<_> = claim(&store, 9).await.into_iter().map(|c| c.task.id).collect();
    ids.sort();
    assert_eq!(ids, ["r1", "r2", "w1"]);
}

pub(crate) async fn the_fair_queue_serves_domains_in_turn(store: Arc<dyn Store>) {
    let (busy, quiet) = (domain(&store, "busy").await, domain(&store, "quiet").await);
    let entry = lines(&[r#"{"core-profile-id":"1"}"#]);
    for id in ["b1", "b2", "b3"] {
        store.create_task(task_of(&busy, id, GET, &entry, 1)).await.unwrap();
    }
    store.create_task(task_of(&quiet, "q1", GET, &entry, 1)).await.unwrap();
    let mut order = Vec::new();
    for _ in 0..4 {
        order.extend(claim(&store, 1).await.into_iter().map(|c| c.task.id));
    }
    assert_eq!(order, ["b1", "q1", "b2", "b3"]);
}

pub(crate) async fn in_a_queue_longer_than_a_claim_reads_every_domain_has_its_turn(
    store: Arc<dyn Store>,
) {
    let (busy, quiet) = (domain(&store, "busy").await, domain(&store, "quiet").await);
    let entry = lines(&[r#"{"core-profile-id":"1"}"#]);
    for n in 0..300 {
        store.create_task(task_of(&busy, &format!("b{n:03}"), GET, &entry, 1)).await.unwrap();
    }
    for id in ["q0", "q1"] {
        store.create_task(task_of(&quiet, id, GET, &entry, 1)).await.unwrap();
    }
    // Of the writing tasks of a domain one is runnable, however many wait.
    let writing = domain(&store, "writing").await;
    for n in 0..300 {
        store
            .create_task(task_of(&writing, &format!("w{n:03}"), CREATE, &uids(1), 1))
            .await
            .unwrap();
    }
    let turn = QueueTurn::default();
    let mut order = Vec::new();
    for _ in 0..303 {
        let command = ClaimTasks {
            server: "server-1".to_owned(),
            now: NOW,
            lease_until: later(30_000),
            tasks_max: 1,
            reachable_since: UnixMillis(i64::MIN),
            turn: turn.clone(),
        };
        order.extend(store.claim_tasks(command).await.unwrap().into_iter().map(|c| c.task.id));
    }
    let place = |id: &str| order.iter().position(|claimed| claimed == id);
    assert!(place("q0") < Some(5) && place("q1") < Some(9), "{:?}", &order[..9]);
    let writes: Vec<&String> = order.iter().filter(|id| id.starts_with('w')).collect();
    assert_eq!(writes, ["w000"]);
    let of_busy: Vec<&String> = order.iter().filter(|id| id.starts_with('b')).collect();
    assert_eq!(of_busy.len(), 300, "each task is leased once");
    assert!(of_busy.is_sorted(), "the oldest task of a domain comes first: {of_busy:?}");
}

pub(crate) async fn a_lease_expires_can_be_renewed_and_can_be_released(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    store.create_task(task_of(&acme, "t", CREATE, &uids(1), 1)).await.unwrap();
    let first = claim_at(&store, "s1", NOW, 1).await.remove(0);
    assert_eq!(claim_at(&store, "s2", later(29_999), 1).await.len(), 0);
    let renewal = RenewLeases { server: "s1".to_owned(), lease_until: later(60_000) };
    store.renew_leases(renewal).await.unwrap();
    assert_eq!(claim_at(&store, "s2", later(59_999), 1).await.len(), 0);
    let second = take_over(&store, "s2", later(60_000)).await;
    assert!(second.lease_epoch > first.lease_epoch);
    store.release_leases("s1").await.unwrap();
    assert_eq!(claim_at(&store, "s3", later(61_001), 1).await.len(), 0, "the lease belongs to s2");
    store.release_leases("s2").await.unwrap();
    let third = claim_at(&store, "s3", later(61_001), 1).await.remove(0);
    assert!(third.lease_epoch > second.lease_epoch);
    assert_eq!(third.task.started_at, Some(NOW), "started_at is the time of the first claim");
    apply_all(&store, &third, later(61_002)).await;
}

pub(crate) async fn a_clock_that_was_ahead_delays_no_task_for_longer_than_an_hour(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    store.create_task(task_of(&acme, "t", CREATE, &uids(1), 1)).await.unwrap();
    let (hour, year) = (3_600_000, 365 * 86_400_000);
    assert_eq!(claim_at(&store, "ahead", later(year), 1).await.len(), 1);
    let second = take_over(&store, "right", NOW).await;
    let fail = |retry_at| FailAttempt {
        domain: acme.id,
        task_id: "t".to_owned(),
        lease_epoch: second.lease_epoch,
        now: NOW,
        counted: false,
        retry_at,
    };
    store.fail_attempt(fail(later(year))).await.unwrap();
    let third = claim_at(&store, "right", NOW, 1).await.remove(0);
    let pause = FailAttempt { lease_epoch: third.lease_epoch, ..fail(later(hour)) };
    store.fail_attempt(pause).await.unwrap();
    assert_eq!(claim_at(&store, "right", NOW, 1).await.len(), 0, "a pause of an hour counts");
    let last = claim_at(&store, "right", later(hour), 1).await.remove(0);
    apply_all(&store, &last, later(hour)).await;
    assert_sound(&store).await;
}

pub(crate) async fn a_failed_attempt_is_repeated_later_and_the_fifth_fails_the_task(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    store.create_task(task_of(&acme, "t", CREATE, &uids(3), 1)).await.unwrap();
    store.create_task(task_of(&acme, "next", CREATE, &uids(1), 1)).await.unwrap();
    let mut now = NOW;
    for attempt in 1..=TASK_ATTEMPTS_MAX {
        let claimed = claim_at(&store, "s", now, 9).await;
        assert_eq!(claimed.len(), 1, "the next task does not overtake");
        let claimed = &claimed[0];
        if attempt == 1 {
            let first = next_block(&store, claimed, 0).await;
            store.apply_chunk(chunk(claimed, first, now)).await.unwrap();
        }
        assert_eq!(claimed.next_index, u32::from(attempt > 1));
        let command = FailAttempt {
            domain: acme.id,
            task_id: "t".to_owned(),
            lease_epoch: claimed.lease_epoch,
            now,
            counted: true,
            retry_at: later(now.0 - NOW.0 + 1000),
        };
        let task = store.fail_attempt(command.clone()).await.unwrap();
        assert_eq!(task.counts, Counts { total: 3, succeeded: 1, failed: 0, unprocessed: 2 });
        assert_lease_lost(&store.fail_attempt(command).await);
        if attempt < TASK_ATTEMPTS_MAX {
            assert_eq!((task.status, task.outcome), (TaskStatus::Processing, None));
            assert_eq!(claim_at(&store, "s", later(now.0 - NOW.0 + 999), 9).await.len(), 0);
        } else {
            assert_eq!((task.status, task.outcome), (TaskStatus::Completed, Some(Outcome::Failed)));
            assert_eq!(task.completed_at, Some(now));
        }
        now = later(now.0 - NOW.0 + 1000);
    }
    assert_eq!(claim_at(&store, "s", now, 9).await[0].task.id, "next");
    assert_eq!(results(&store, acme.id, "t").await.len(), 1);
    assert!(
        store.payload_block(acme.id, "t", 1).await.unwrap().is_some(),
        "the entries remain for a retry"
    );
    assert_sound(&store).await;
}

pub(crate) async fn an_attempt_that_failed_for_outside_reasons_is_not_counted(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    store.create_task(task_of(&acme, "t", CREATE, &uids(3), 1)).await.unwrap();
    for _ in 0..2 * TASK_ATTEMPTS_MAX {
        let claimed = claim_at(&store, "s", NOW, 9).await.remove(0);
        let command = FailAttempt {
            domain: acme.id,
            task_id: "t".to_owned(),
            lease_epoch: claimed.lease_epoch,
            now: NOW,
            counted: false,
            retry_at: NOW,
        };
        assert_eq!(store.fail_attempt(command).await.unwrap().outcome, None);
    }
    let claimed = claim_at(&store, "s", NOW, 9).await.remove(0);
    assert_eq!(apply_all(&store, &claimed, NOW).await.counts.succeeded, 3);
    assert_sound(&store).await;
}

pub(crate) async fn a_worker_whose_lease_was_taken_cannot_commit(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    store.create_task(task_of(&acme, "t", CREATE, &uids(2), 9)).await.unwrap();
    let old = claim_at(&store, "s1", NOW, 1).await.remove(0);
    let current = take_over(&store, "s2", later(30_000)).await;
    let entries = next_block(&store, &old, 0).await;
    assert_lease_lost(&store.apply_chunk(chunk(&old, entries, NOW)).await);
    let command = FailAttempt {
        domain: acme.id,
        task_id: "t".to_owned(),
        lease_epoch: old.lease_epoch,
        now: NOW,
        counted: true,
        retry_at: NOW,
    };
    assert_lease_lost(&store.fail_attempt(command).await);
    let task = apply_all(&store, &current, NOW).await;
    assert_eq!(task.counts.succeeded, 2);
    let entries = block(&uids(2), 0);
    assert_lease_lost(&store.apply_chunk(chunk(&current, entries, NOW)).await);
    assert_eq!(store.task(acme.id, Family::Identity, "t").await.unwrap(), Some(task));
}

pub(crate) async fn no_entry_is_applied_twice(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    store.create_task(task_of(&acme, "t", CREATE, &uids(4), 2)).await.unwrap();
    let claimed = claim(&store, 1).await.remove(0);
    let first = chunk(&claimed, next_block(&store, &claimed, 0).await, NOW);
    store.apply_chunk(first.clone()).await.unwrap();
    assert_lease_lost(&store.apply_chunk(first).await);
    let task = store.task(acme.id, Family::Identity, "t").await.unwrap().unwrap();
    assert_eq!(task.counts, Counts { total: 4, succeeded: 2, failed: 0, unprocessed: 2 });
    store.release_leases("server-1").await.unwrap();
    let again = claim(&store, 1).await.remove(0);
    assert_eq!(again.next_index, 2);
    let task = apply_all(&store, &again, NOW).await;
    assert_eq!(task.outcome, Some(Outcome::Succeeded));
    assert_eq!(results(&store, acme.id, "t").await.len(), 4);
    assert_sound(&store).await;
}

pub(crate) async fn a_chunk_that_does_not_match_its_task_is_refused(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    store.create_task(task_of(&acme, "t", CREATE, &uids(1), 1)).await.unwrap();
    let claimed = claim(&store, 1).await.remove(0);
    let mut other = claimed.clone();
    other.task.action = GET;
    let commands = [
        chunk(&other, block(&uids(1), 0), NOW),
        {
            let mut command = chunk(&claimed, block(&uids(1), 0), NOW);
            command.dry_run = true;
            command
        },
        {
            let mut command = chunk(&claimed, block(&uids(1), 0), NOW);
            command.entries.from = 1;
            command
        },
    ];
    for command in commands {
        let refused = store.apply_chunk(command).await;
        assert!(matches!(refused, Err(StoreError::Corrupt(_))), "{refused:?}");
    }
    assert_eq!(apply_all(&store, &claimed, NOW).await.counts.succeeded, 1);
}

pub(crate) async fn one_chunk_applies_all_blocks_that_its_feed_holds(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    for (id, action) in [("w", CREATE), ("r", GET)] {
        let entries =
            if action == CREATE { uids(7) } else { lines(&[r#"{"core-profile-id":"1"}"#; 7]) };
        store.create_task(task_of(&acme, id, action, &entries, 2)).await.unwrap();
        let claimed = claim(&store, 1).await.remove(0);
        let mut command = chunk(&claimed, next_block(&store, &claimed, 0).await, NOW);
        let feed = Arc::new(EntryQueue::new(QueueLimits::new(1, 1, 1)));
        for from in [2, 4] {
            let part = chunk(&claimed, next_block(&store, &claimed, from).await, NOW).entries;
            feed.push(part);
        }
        command.following = Some(feed.clone());
        let applied = store.apply_chunk(command.clone()).await.unwrap();
        assert_eq!((applied.done, applied.task.counts.unprocessed), (6, 1), "{action:?}");
        assert!(applied.rest.is_none());
        assert_eq!(applied.task.outcome, None, "the feed did not hold the last block yet");
        assert_lease_lost(&store.apply_chunk(command).await);
        feed.push(chunk(&claimed, next_block(&store, &claimed, 6).await, NOW).entries);
        feed.end();
        let mut last = chunk(&claimed, block(&[], 0), NOW);
        last.entries = feed.next().await.unwrap();
        last.following = Some(feed.clone());
        let applied = store.apply_chunk(last).await.unwrap();
        assert_eq!((applied.done, applied.task.counts.unprocessed), (1, 0));
        assert!(feed.next().await.is_none(), "the feed has ended");
    }
    assert_sound(&store).await;
}

pub(crate) async fn blocks_out_of_order_are_refused(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    store.create_task(task_of(&acme, "t", CREATE, &uids(4), 2)).await.unwrap();
    let claimed = claim(&store, 1).await.remove(0);
    let mut command = chunk(&claimed, next_block(&store, &claimed, 0).await, NOW);
    let feed = Arc::new(EntryQueue::new(QueueLimits::new(1, 1, 1)));
    feed.push(command.entries.clone());
    command.following = Some(feed);
    let refused = store.apply_chunk(command).await;
    assert!(matches!(refused, Err(StoreError::Corrupt(_))), "{refused:?}");
    assert_eq!(
        apply_all(&store, &claimed, NOW).await.counts.succeeded,
        4,
        "the refused chunk changed nothing"
    );
}

pub(crate) async fn runners_are_notified_of_new_work(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let mut bell = store.wake_ups();
    bell.mark_unchanged();
    store.create_task(task_of(&acme, "t", CREATE, &uids(1), 1)).await.unwrap();
    assert!(bell.has_changed().unwrap(), "a task was accepted");
    bell.mark_unchanged();
    let claimed = claim(&store, 1).await.remove(0);
    apply_all(&store, &claimed, NOW).await;
    assert!(bell.has_changed().unwrap(), "the next writing task may begin");
    bell.mark_unchanged();
    store.release_leases("server-1").await.unwrap();
    assert!(bell.has_changed().unwrap(), "leases were given back");
}

pub(crate) async fn every_command_on_a_closed_store_returns_closed(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    store.close().await.unwrap();
    store.close().await.unwrap();
    let closed = [
        store.ready().await,
        store.domains().await.map(|_| ()),
        store.create_task(task_of(&acme, "t", CREATE, &uids(1), 1)).await.map(|_| ()),
        store.check().await.map(|_| ()),
    ];
    for answer in closed {
        assert!(matches!(answer, Err(StoreError::Closed)), "{answer:?}");
    }
}

pub(crate) async fn metrics_count_the_tasks_that_wait_and_those_that_run(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    for id in ["a", "b", "c"] {
        store.create_task(task_of(&acme, id, CREATE, &uids(1), 1)).await.unwrap();
    }
    claim(&store, 5).await;
    let metrics = store.metrics().await.unwrap();
    assert_eq!((metrics.tasks_waiting, metrics.tasks_running), (2, 1));
}
