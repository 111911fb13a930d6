//! How tasks end: they are cancelled, fail, or complete, and expire later. Whichever way a task
//! ends, its counts add up and the entries for a retry remain until they expire.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Instant;

use caseload_model::issue_query::Paging;
use caseload_model::payload::Block;
use caseload_model::task::{
    Action, Counts, Family, Outcome, Submitter, Task, TaskOrigin, TaskStatus,
};
use caseload_model::task_query::TaskFilter;
use caseload_model::time::Clock;
use caseload_store::{
    ApplyChunk, CancelTask, ChunkEntries, CreateTask, Domain, EntrySource, FailAttempt, ListTasks,
    NextEntries, PackedBlock, Store, StoreError, unpack_block,
};
use futures_util::future::join_all;

use super::support::{
    NOW, apply_all, assert_lease_lost, assert_not_found, assert_sound, chunk, claim, claim_at,
    domain, errors, later, next_block, results, run, run_command, task_of, uid,
};

const CREATE: Action = Action::CreateCoreProfiles;
const GET: Action = Action::GetCoreProfiles;
const HOUR: i64 = 3_600_000;

fn uids(count: usize) -> Vec<String> {
    (0..count).map(|n| uid(&format!("u{n}"))).collect()
}

async fn cancel(store: &Arc<dyn Store>, domain: &Domain, id: &str) -> Result<Task, StoreError> {
    let (task_id, family) = (id.to_owned(), Family::Identity);
    store
        .cancel_task(CancelTask { key: None, domain: domain.id, family, task_id, now: later(5) })
        .await
}

/// The entries of packed blocks, with their indexes and lines.
fn entries(blocks: &[PackedBlock]) -> Vec<(u32, u32, String)> {
    let mut found = Vec::new();
    for packed in blocks {
        let block = Block::decode(unpack_block(&packed.bytes).unwrap()).unwrap();
        assert_eq!(block.entries.first().unwrap().index, packed.first_index);
        assert_eq!(block.entries.last().unwrap().index, packed.last_index);
        found.extend(block.entries.iter().map(|entry| {
            let text = String::from_utf8_lossy(block.bytes_of(entry)).into_owned();
            (entry.index, entry.line, text)
        }));
    }
    found
}

/// The command that retries a completed task.
async fn retry_of(store: &Arc<dyn Store>, domain: &Domain, parent: &Task, id: &str) -> CreateTask {
    CreateTask {
        blocks: store.retry_payload(domain.id, &parent.id).await.unwrap(),
        total: parent.retryable_entries(),
        parent_id: Some(parent.id.clone()),
        ..task_of(domain, id, parent.action, &[], 1)
    }
}

pub(crate) async fn cancelling_a_task_without_a_lease_takes_effect_at_once(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    for (id, action) in [("a", CREATE), ("b", CREATE), ("r", GET)] {
        store.create_task(task_of(&acme, id, action, &uids(4), 2)).await.unwrap();
    }
    let claimed = claim(&store, 9).await;
    assert_eq!(claimed.len(), 2, "the other writing task is queued");
    store.release_leases("server-1").await.unwrap();
    let (mut bell, mut ends) = (store.wake_ups(), store.appended());
    bell.mark_unchanged();
    for id in ["a", "b", "r"] {
        ends.mark_unchanged();
        let task = cancel(&store, &acme, id).await.unwrap();
        assert_eq!((task.status, task.outcome), (TaskStatus::Completed, Some(Outcome::Cancelled)));
        assert_eq!((task.completed_at, task.progress()), (Some(later(5)), 100));
        assert_eq!(task.counts, Counts::new(4));
        let kept = store.task(acme.id, Family::Identity, id).await.unwrap();
        assert_eq!(kept, Some(task));
        assert!(ends.has_changed().unwrap(), "waiters are notified that {id} has ended");
        let again = cancel(&store, &acme, id).await;
        assert!(matches!(again, Err(StoreError::TaskCompleted)), "{again:?}");
    }
    assert!(bell.has_changed().unwrap(), "the next writing task may begin");
    let late = chunk(&claimed[0], next_block(&store, &claimed[0], 0).await, NOW);
    assert_lease_lost(&store.apply_chunk(late).await);
    assert_eq!(claim(&store, 9).await.len(), 0);
    assert_not_found(&cancel(&store, &acme, "x").await);
    let (task_id, family) = ("a".to_owned(), Family::Issues);
    let command = CancelTask { key: None, domain: acme.id, family, task_id, now: NOW };
    assert_not_found(&store.cancel_task(command).await);
    assert_sound(&store).await;
}

/// A source without entries. Ten milliseconds pass until it says so.
#[derive(Debug)]
struct SlowEnd(Arc<AtomicI64>);

impl EntrySource for SlowEnd {
    fn take(&self, _: Instant) -> NextEntries {
        self.0.fetch_add(10, Ordering::Relaxed);
        NextEntries::Ended
    }

    fn give_back(&self, _: ChunkEntries) {
        unreachable!("it has no entries");
    }
}

pub(crate) async fn a_task_is_completed_when_its_last_chunk_ends(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    for (id, action, dry_run) in [("a", CREATE, false), ("b", CREATE, true), ("r", GET, false)] {
        let task = CreateTask { dry_run, ..task_of(&acme, id, action, &uids(4), 4) };
        store.create_task(task).await.unwrap();
        let claimed = claim(&store, 1).await.remove(0);
        let passed = Arc::new(AtomicI64::new(0));
        let (following, reads) = (Arc::new(SlowEnd(passed.clone())), passed.clone());
        let command = ApplyChunk {
            following: Some(following),
            clock: Clock::new(move || later(reads.load(Ordering::Relaxed))),
            ..chunk(&claimed, next_block(&store, &claimed, 0).await, NOW)
        };
        let task = store.apply_chunk(command).await.unwrap().task;
        let passed = passed.load(Ordering::Relaxed);
        assert!(passed > 0, "{id} was not asked for what follows");
        assert_eq!((task.status, task.completed_at), (TaskStatus::Completed, Some(later(passed))));
    }
    assert_sound(&store).await;
}

pub(crate) async fn cancelling_a_running_task_takes_effect_at_its_next_chunk(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    for action in [CREATE, GET] {
        let id = action.as_str();
        store.create_task(task_of(&acme, id, action, &uids(6), 2)).await.unwrap();
        let claimed = claim(&store, 1).await.remove(0);
        let first = next_block(&store, &claimed, 0).await;
        store.apply_chunk(chunk(&claimed, first, NOW)).await.unwrap();
        for _ in 0..2 {
            let task = cancel(&store, &acme, id).await.unwrap();
            assert_eq!((task.status, task.outcome), (TaskStatus::Processing, None));
        }
        let second = chunk(&claimed, next_block(&store, &claimed, 2).await, later(9));
        let mut ends = store.appended();
        ends.mark_unchanged();
        let stopped = store.apply_chunk(second.clone()).await.unwrap();
        assert_eq!((stopped.done, stopped.task.outcome), (0, Some(Outcome::Cancelled)));
        assert_eq!(stopped.task.completed_at, Some(later(9)));
        assert!(ends.has_changed().unwrap(), "waiters are notified");
        assert_eq!(stopped.task.counts.unprocessed, 4);
        assert_lease_lost(&store.apply_chunk(second).await);
        let done =
            results(&store, acme.id, id).await.len() + errors(&store, acme.id, id).await.len();
        assert_eq!(done, 2);
        assert_sound(&store).await;
    }
}

pub(crate) async fn a_cancelled_task_ends_even_if_its_attempt_fails_or_its_lease_expires(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    store.create_task(task_of(&acme, "fails", CREATE, &uids(2), 1)).await.unwrap();
    let claimed = claim(&store, 1).await.remove(0);
    cancel(&store, &acme, "fails").await.unwrap();
    let failed = store.fail_attempt(FailAttempt {
        domain: acme.id,
        task_id: "fails".to_owned(),
        lease_epoch: claimed.lease_epoch,
        now: later(6),
        counted: true,
        retry_at: later(7),
    });
    assert_eq!(failed.await.unwrap().outcome, Some(Outcome::Cancelled));

    store.create_task(task_of(&acme, "gone", CREATE, &uids(2), 1)).await.unwrap();
    claim(&store, 1).await;
    assert_eq!(cancel(&store, &acme, "gone").await.unwrap().outcome, None);
    let next = claim_at(&store, "server-2", later(30_000), 1).await.remove(0);
    let task = apply_cancelled(&store, &next).await;
    assert_eq!(task.outcome, Some(Outcome::Cancelled));
    assert_sound(&store).await;
}

async fn apply_cancelled(store: &Arc<dyn Store>, claimed: &caseload_store::ClaimedTask) -> Task {
    let block = next_block(store, claimed, claimed.next_index).await;
    store.apply_chunk(chunk(claimed, block, later(30_000))).await.unwrap().task
}

pub(crate) async fn a_retry_has_the_failed_and_unprocessed_entries_at_their_indexes(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    run(&store, &acme, "before", CREATE, &[uid("taken")]).await;
    // Fails: 1 and 4; cancelled before the last block.
    let lines = ["u0", "taken", "u2", "u3", "taken", "u5", "u6"].map(uid);
    store.create_task(task_of(&acme, "t", CREATE, &lines, 3)).await.unwrap();
    let claimed = claim(&store, 1).await.remove(0);
    for from in [0, 3] {
        let block = next_block(&store, &claimed, from).await;
        store.apply_chunk(chunk(&claimed, block, NOW)).await.unwrap();
    }
    cancel(&store, &acme, "t").await.unwrap();
    let parent =
        apply_cancelled(&store, &caseload_store::ClaimedTask { next_index: 6, ..claimed }).await;
    assert_eq!(parent.counts, Counts { total: 7, succeeded: 4, failed: 2, unprocessed: 1 });
    assert_sound(&store).await;

    let command = retry_of(&store, &acme, &parent, "retry").await;
    let left = [1, 4, 6].map(|n| (n, n + 1, lines[n as usize].clone()));
    assert_eq!(entries(&command.blocks), left);
    let retry = run_command(&store, command, NOW).await;
    assert_eq!(retry.parent_id.as_deref(), Some("t"));
    assert_eq!(retry.counts, Counts { total: 3, succeeded: 1, failed: 2, unprocessed: 0 });
    let place = |line: &String| line.split(",\"o").next().unwrap().to_owned();
    let places: Vec<_> = results(&store, acme.id, "retry").await.iter().map(place).collect();
    assert_eq!(places, [r#"{"index":6,"line":7"#]);
    let again = retry_of(&store, &acme, &retry, "again").await;
    assert_eq!(entries(&again.blocks), left[..2]);
    let again = run_command(&store, again, NOW).await;
    assert_eq!((again.counts.failed, again.parent_id.as_deref()), (2, Some("retry")));
    let clean = run(&store, &acme, "clean", CREATE, &[uid("new")]).await;
    assert_eq!(store.retry_payload(acme.id, &clean.id).await.unwrap(), []);
    assert_sound(&store).await;
}

pub(crate) async fn a_task_has_one_retry_that_it_names(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    run(&store, &acme, "before", CREATE, &[uid("taken")]).await;
    let parent = run(&store, &acme, "t", CREATE, &[uid("taken")]).await;
    assert_eq!(parent.retried_by, None);
    let commands = [
        retry_of(&store, &acme, &parent, "one").await,
        retry_of(&store, &acme, &parent, "two").await,
    ];
    let limited = CreateTask { unfinished_max: 0, ..commands[0].clone() };
    let refused = store.create_task(limited).await;
    assert!(matches!(refused, Err(StoreError::QueueFull { .. })), "{refused:?}");
    let named =
        async || store.task(acme.id, Family::Identity, "t").await.unwrap().unwrap().retried_by;
    assert_eq!(named().await, None, "a refused retry is not named");
    let answers = join_all(commands.map(|command| store.create_task(command))).await;
    let (mut accepted, mut refused) = (Vec::new(), Vec::new());
    for answer in answers {
        match answer {
            Ok(task) => accepted.push(task.done().unwrap().id),
            Err(StoreError::AlreadyRetried { by }) => refused.push(by),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((accepted.len(), &accepted), (1, &refused), "the refusal names the first");
    assert_eq!(named().await.as_ref(), accepted.first());
    while store.purge_expired(later(9_000_000)).await.unwrap() {}
    assert_eq!(named().await.as_ref(), accepted.first(), "also after the records are purged");
    assert_sound(&store).await;
}

pub(crate) async fn a_dry_run_holds_its_payload_and_has_one_run_that_it_names(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    run(&store, &acme, "before", CREATE, &[uid("taken")]).await;
    let lines = ["u0", "taken", "u2"].map(uid);
    let dry = CreateTask { dry_run: true, ..task_of(&acme, "dry", CREATE, &lines, 2) };
    let dry = run_command(&store, dry, NOW).await;
    assert_eq!(dry.counts, Counts { total: 3, succeeded: 2, failed: 1, unprocessed: 0 });
    let states = store.entry_states(acme.id, "dry").await.unwrap();
    assert_eq!(
        (states.failed.into_iter().collect::<Vec<_>>(), states.unprocessed_from),
        (vec![1], u32::MAX)
    );
    let retry = retry_of(&store, &acme, &dry, "retry").await;
    assert_eq!(entries(&retry.blocks), [(1, 2, lines[1].clone())], "a retry has what failed");
    let blocks = store.whole_payload(acme.id, "dry").await.unwrap();
    let whole: Vec<_> = (0..3).map(|n| (n, n + 1, lines[n as usize].clone())).collect();
    assert_eq!(entries(&blocks), whole);
    let command = |id: &str| CreateTask {
        parent_id: Some("dry".to_owned()),
        runs_parent: true,
        blocks: blocks.clone(),
        ..task_of(&acme, id, CREATE, &lines, 3)
    };
    let answers = join_all(["a", "b"].map(|id| store.create_task(command(id)))).await;
    let (mut accepted, mut refused) = (Vec::new(), Vec::new());
    for answer in answers {
        match answer {
            Ok(task) => accepted.push(task.done().unwrap().id),
            Err(StoreError::AlreadyRun { by }) => refused.push(by),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!((accepted.len(), &accepted), (1, &refused), "the refusal names the first");
    store.create_task(retry).await.unwrap();
    let named = store.task(acme.id, Family::Identity, "dry").await.unwrap().unwrap();
    assert_eq!(named.run_by.as_ref(), accepted.first());
    assert_eq!(named.retried_by.as_deref(), Some("retry"), "both can be");
    let real = run(&store, &acme, "real", CREATE, &[uid("r")]).await;
    let refused = store.whole_payload(acme.id, &real.id).await;
    assert!(matches!(refused, Err(StoreError::NotFound { .. })), "{refused:?}");
    assert_sound(&store).await;
}

pub(crate) fn origin(n: u32) -> TaskOrigin {
    let by = |n| Submitter { key_id: format!("k{n}"), key_name: format!("key \u{0} {n}") };
    TaskOrigin {
        file_name: (!n.is_multiple_of(3)).then(|| format!("file {n}.jsonl")),
        content_length: (!n.is_multiple_of(4)).then_some(u64::from(n) << 33),
        submitted_by: (!n.is_multiple_of(5)).then(|| by(n % 3)),
    }
}

pub(crate) async fn a_task_names_its_submitter_and_its_file(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    for n in 0..6 {
        let id = format!("t{n}");
        let command = CreateTask { origin: origin(n), ..task_of(&acme, &id, CREATE, &uids(1), 1) };
        let accepted = store.create_task(command).await.unwrap().done().unwrap();
        assert_eq!(accepted.origin, origin(n));
        let read = store.task(acme.id, Family::Identity, &id).await.unwrap().unwrap();
        assert_eq!(read.origin, origin(n));
    }
    assert_sound(&store).await;
}

/// A small generator of numbers, the same in each run.
pub(crate) fn next(seed: &mut u64) -> usize {
    *seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
    (*seed >> 33) as usize
}

pub(crate) fn some<T: Clone>(all: &[T], seed: &mut u64) -> Option<Vec<T>> {
    if !next(seed).is_multiple_of(3) {
        return None;
    }
    Some(all.iter().filter(|_| next(seed).is_multiple_of(2)).cloned().collect())
}

pub(crate) async fn random_filters_list_the_tasks_that_a_naive_reading_finds(
    store: Arc<dyn Store>,
) {
    let (acme, other) = (domain(&store, "acme").await, domain(&store, "other").await);
    let seed = &mut 7;
    for n in 0..24 {
        let id = format!("t{n:02}");
        let action = [CREATE, GET][next(seed) % 2];
        let command = CreateTask {
            now: later(i64::from(n) * 10),
            dry_run: next(seed).is_multiple_of(3),
            parent_id: (n > 3).then(|| format!("unknown {}", next(seed) % 4)),
            origin: origin(n),
            ..task_of(&acme, &id, action, &uids(2), 1)
        };
        store.create_task(command).await.unwrap();
        if next(seed).is_multiple_of(3) {
            cancel(&store, &acme, &id).await.unwrap();
        } else if next(seed).is_multiple_of(2) {
            for claimed in claim(&store, 1).await {
                apply_all(&store, &claimed, NOW).await;
            }
        }
    }
    store.create_task(task_of(&other, "o", CREATE, &uids(1), 1)).await.unwrap();
    let paging = Paging { page: 1, page_size: 1000 };
    let list = async |filter| {
        let family = Family::Identity;
        store.list_tasks(ListTasks { domain: acme.id, family, filter, paging }).await.unwrap()
    };
    let all = list(TaskFilter::default()).await;
    assert_eq!(all.total_hits, 24);
    for _ in 0..60 {
        let keys = ["k0", "k1", "key \u{0} 2", "nobody"].map(str::to_owned);
        let at =
            |seed: &mut u64| next(seed).is_multiple_of(4).then(|| later((next(seed) % 250) as i64));
        let filter = TaskFilter {
            statuses: some(TaskStatus::ALL, seed),
            actions: some(&[CREATE, GET], seed),
            outcomes: some(Outcome::ALL, seed),
            created_since: at(seed),
            created_until: at(seed),
            dry_run: next(seed).is_multiple_of(3).then(|| next(seed).is_multiple_of(2)),
            parent_id: next(seed).is_multiple_of(4).then(|| format!("unknown {}", next(seed) % 5)),
            submitted_by: some(&keys, seed),
            import_id: None,
        };
        let naive: Vec<_> = all.tasks.iter().filter(|task| filter.matches(task)).cloned().collect();
        let found = list(filter.clone()).await;
        assert_eq!(found.total_hits, naive.len() as u64, "{filter:?}");
        assert_eq!(found.tasks, naive, "{filter:?}");
    }
    assert_sound(&store).await;
}

pub(crate) async fn a_retry_of_a_failed_task_omits_the_entries_that_succeeded(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    let lines = uids(5);
    store.create_task(task_of(&acme, "t", CREATE, &lines, 5)).await.unwrap();
    let mut now = NOW;
    let parent = loop {
        let claimed = claim_at(&store, "s", now, 1).await.remove(0);
        if claimed.next_index == 0 {
            let mut part = next_block(&store, &claimed, 0).await;
            part.entries.truncate(2);
            store.apply_chunk(chunk(&claimed, part, now)).await.unwrap();
        }
        let failed = store.fail_attempt(FailAttempt {
            domain: acme.id,
            task_id: "t".to_owned(),
            lease_epoch: claimed.lease_epoch,
            now,
            counted: true,
            retry_at: now,
        });
        let task = failed.await.unwrap();
        if task.outcome.is_some() {
            break task;
        }
        now = later(now.0 - NOW.0 + 1);
    };
    assert_eq!(parent.outcome, Some(Outcome::Failed));
    let command = retry_of(&store, &acme, &parent, "retry").await;
    let places: Vec<_> = entries(&command.blocks).into_iter().map(|(n, ..)| n).collect();
    assert_eq!(places, [2, 3, 4]);
    let retry = run_command(&store, command, now).await;
    assert_eq!(retry.counts.succeeded, 3);
    assert_sound(&store).await;
}

pub(crate) async fn tasks_are_listed_newest_first_and_filtered_by_status_and_action(
    store: Arc<dyn Store>,
) {
    let (acme, other) = (domain(&store, "acme").await, domain(&store, "other").await);
    run(&store, &acme, "z-first", CREATE, &uids(1)).await;
    for (id, action) in [("c2", CREATE), ("c1", CREATE), ("g", GET), ("i", Action::ImportIssues)] {
        store.create_task(task_of(&acme, id, action, &uids(1), 1)).await.unwrap();
    }
    store.create_task(task_of(&other, "o", CREATE, &uids(1), 1)).await.unwrap();
    let list =
        async |family, statuses: Option<&[TaskStatus]>, actions: Option<&[Action]>, paging| {
            let (statuses, actions) = (statuses.map(<[_]>::to_vec), actions.map(<[_]>::to_vec));
            let filter = TaskFilter { statuses, actions, ..TaskFilter::default() };
            let request = ListTasks { domain: acme.id, family, filter, paging };
            let page = store.list_tasks(request).await.unwrap();
            let tasks = page.tasks.into_iter();
            (tasks.map(|task| (task.id, task.position)).collect::<Vec<_>>(), page.total_hits)
        };
    let all = Paging::default();
    let of = |ids: &[(&str, Option<u32>)]| -> Vec<(String, Option<u32>)> {
        ids.iter().map(|(id, position)| ((*id).to_owned(), *position)).collect()
    };
    let waiting: [(&str, Option<u32>); 4] =
        [("g", Some(0)), ("c1", Some(1)), ("c2", Some(0)), ("z-first", None)];
    let profiles = Family::Identity;
    assert_eq!(list(profiles, None, None, all).await, (of(&waiting), 4));
    assert_eq!(list(Family::Issues, None, None, all).await, (of(&[("i", Some(2))]), 1));
    let completed = Some(&[TaskStatus::Completed][..]);
    assert_eq!(list(profiles, completed, None, all).await, (of(&waiting[3..]), 1));
    let open = Some(&[TaskStatus::Created, TaskStatus::Queued][..]);
    assert_eq!(list(profiles, open, Some(&[CREATE]), all).await, (of(&waiting[1..3]), 2));
    assert_eq!(list(profiles, Some(&[]), None, all).await, (vec![], 0));
    let paging = Paging { page: 2, page_size: 3 };
    assert_eq!(list(profiles, None, None, paging).await, (of(&waiting[3..]), 4));
    claim(&store, 9).await;
    let started = list(profiles, None, Some(&[CREATE]), all).await.0;
    assert_eq!(started, of(&[("c1", Some(1)), ("c2", None), ("z-first", None)]));
}

pub(crate) async fn expired_payloads_and_records_are_purged_in_steps_but_not_their_task(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    let value = |n: u32| if n.is_multiple_of(2) { "same".to_owned() } else { format!("u{n}") };
    let many: Vec<_> = (0..60).map(|n| uid(&value(n))).collect();
    let task = run_command(&store, task_of(&acme, "t", CREATE, &many, 2), NOW).await;
    assert!(task.counts.failed > 20);
    let later_one = CreateTask {
        expires_at: later(10_000_000),
        ..task_of(&acme, "later", CREATE, &[uid("l")], 1)
    };
    run_command(&store, later_one, NOW).await;
    store.create_task(task_of(&acme, "open", CREATE, &uids(1), 1)).await.unwrap();
    let gone = later(1_000_000 + HOUR);
    assert!(!store.purge_expired(later(1_000_000 + HOUR - 1)).await.unwrap(), "not yet");
    let mut steps = 0;
    while store.purge_expired(gone).await.unwrap() {
        steps += 1;
        assert_sound(&store).await;
    }
    assert!(steps > 5, "{steps} steps");
    assert_eq!(results(&store, acme.id, "t").await.len(), 0);
    assert_eq!(errors(&store, acme.id, "t").await.len(), 0);
    assert_eq!(store.payload_block(acme.id, "t", 0).await.unwrap(), None);
    assert_eq!(store.task(acme.id, Family::Identity, "t").await.unwrap(), Some(task));
    assert_eq!(
        results(&store, acme.id, "later").await.len(),
        1,
        "tasks that have not expired keep their records"
    );
    let open = claim(&store, 1).await.remove(0);
    assert_eq!(
        apply_all(&store, &open, NOW).await.counts.succeeded,
        1,
        "an unfinished task does not expire"
    );
    assert_sound(&store).await;
}
