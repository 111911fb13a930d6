//! Servers that die with a task: the task waits, longer after each death, and no other task waits
//! with it.

use std::sync::Arc;

use caseload_model::task::{Action, Family, Outcome, Task, TaskStatus};
use caseload_model::time::UnixMillis;
use caseload_store::{CancelTask, CreateTask, Domain, FailAttempt, Store};

use super::support::{
    NOW, apply_all, assert_sound, block, chunk, claim_at, domain, errors, later, lines, next_block,
    profile_id, results, run, run_command, task_of, uid,
};

const CREATE: Action = Action::CreateCoreProfiles;
const LEASE_MS: i64 = 30_000;

async fn the_task(store: &Arc<dyn Store>, domain: &Domain, id: &str) -> Task {
    store.task(domain.id, Family::Identity, id).await.unwrap().unwrap()
}

pub(crate) async fn a_task_waits_longer_after_each_death_of_a_server_and_no_other_task_waits(
    store: Arc<dyn Store>,
) {
    let (acme, other) = (domain(&store, "acme").await, domain(&store, "other").await);
    let entries: Vec<_> = (0..4).map(|n| uid(&n.to_string())).collect();
    store.create_task(task_of(&acme, "t", CREATE, &entries, 1)).await.unwrap();
    let mut held = claim_at(&store, "s0", NOW, 1).await.remove(0);
    let mut now = later(LEASE_MS);
    for (n, wait) in [1_000, 2_000, 4_000, 8_000, 1_000, 2_000].into_iter().enumerate() {
        let deaths = [1, 2, 3, 4, 1, 2][n];
        if deaths == 1 && n > 0 {
            // Progress: the count begins again.
            let first = chunk(&held, next_block(&store, &held, 0).await, now);
            store.apply_chunk(first).await.unwrap();
            assert_eq!(the_task(&store, &acme, "t").await.deaths, 0);
            now = UnixMillis(now.0 + LEASE_MS);
        }
        // The tasks of other domains do not wait, nor do those of the domain that only read.
        let other_id = format!("o{n}");
        store.create_task(task_of(&other, &other_id, CREATE, &[uid("a")], 1)).await.unwrap();
        let get = r#"{"core-profile-id":"1"}"#.to_owned();
        let get = task_of(&acme, &format!("g{n}"), Action::GetCoreProfiles, &[get], 1);
        store.create_task(get).await.unwrap();
        let server = format!("s{}", n + 1);
        let claimed = claim_at(&store, &server, now, 9).await;
        let mut ids: Vec<_> = claimed.iter().map(|one| one.task.id.clone()).collect();
        ids.sort();
        assert_eq!(ids, [format!("g{n}"), other_id]);
        for one in &claimed {
            apply_all(&store, one, now).await;
        }
        let until = UnixMillis(now.0 + wait);
        let task = the_task(&store, &acme, "t").await;
        assert_eq!((task.deaths, task.next_try_at), (deaths, Some(until)));
        assert_eq!((task.status, task.outcome), (TaskStatus::Processing, None));
        assert_eq!(store.metrics().await.unwrap().tasks_delayed, 1);
        assert_eq!(store.usage(acme.id).await.unwrap().delayed, 1);
        assert!(claim_at(&store, &server, UnixMillis(until.0 - 1), 9).await.is_empty());
        held = claim_at(&store, &server, until, 9).await.remove(0);
        assert_eq!((held.task.deaths, held.task.next_try_at), (deaths, None));
        assert_eq!(store.usage(acme.id).await.unwrap().delayed, 0);
        now = UnixMillis(until.0 + LEASE_MS);
    }
    // A server that gives its leases back did not die.
    store.release_leases("s6").await.unwrap();
    let last = claim_at(&store, "s7", now, 9).await.remove(0);
    let task = apply_all(&store, &last, now).await;
    assert_eq!((task.counts.succeeded, task.counts.failed), (4, 0));
    assert_eq!(the_task(&store, &acme, "t").await.deaths, 0);
    assert_sound(&store).await;
}

pub(crate) async fn a_task_that_waits_after_a_death_can_be_cancelled(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    for id in ["waits", "asked"] {
        store.create_task(task_of(&acme, id, CREATE, &[uid("a"), uid("b")], 1)).await.unwrap();
    }
    let cancel = |id: &str, now| CancelTask {
        key: None,
        domain: acme.id,
        family: Family::Identity,
        task_id: id.to_owned(),
        now,
    };
    claim_at(&store, "one", NOW, 1).await.remove(0);
    let now = later(LEASE_MS);
    assert!(claim_at(&store, "two", now, 1).await.is_empty(), "the task waits");
    let task = store.cancel_task(cancel("waits", now)).await.unwrap();
    assert_eq!(task.outcome, Some(Outcome::Cancelled));
    assert_eq!(the_task(&store, &acme, "waits").await.next_try_at, None);
    // A server that was asked to end its task died: the next one ends it without a wait.
    claim_at(&store, "two", now, 1).await.remove(0);
    assert_eq!(store.cancel_task(cancel("asked", now)).await.unwrap().outcome, None);
    let now = UnixMillis(now.0 + LEASE_MS);
    let claimed = claim_at(&store, "three", now, 1).await.remove(0);
    assert!(claimed.cancel_requested);
    let command = FailAttempt {
        domain: acme.id,
        task_id: "asked".to_owned(),
        lease_epoch: claimed.lease_epoch,
        now,
        counted: false,
        retry_at: now,
    };
    let task = store.fail_attempt(command).await.unwrap();
    assert_eq!(task.outcome, Some(Outcome::Cancelled));
    assert_sound(&store).await;
}

pub(crate) async fn tasks_that_one_server_had_are_tried_one_after_another(store: Arc<dyn Store>) {
    let names = ["a", "b", "c"];
    for name in names {
        let domain = domain(&store, name).await;
        store.create_task(task_of(&domain, name, CREATE, &[uid("a")], 1)).await.unwrap();
    }
    assert_eq!(claim_at(&store, "one", NOW, 9).await.len(), 3);
    assert!(claim_at(&store, "two", later(LEASE_MS), 9).await.is_empty(), "the tasks wait");
    for n in 1..=3 {
        let now = later(LEASE_MS + 1_000 * n);
        let claimed = claim_at(&store, "two", now, 9).await;
        assert_eq!(claimed.len(), 1, "one more is tried after {n} s");
        apply_all(&store, &claimed[0], now).await;
    }
    assert_sound(&store).await;
}

/// A dry run of these entries in chunks of one entry each.
async fn dry_run_entry_by_entry(
    store: &Arc<dyn Store>,
    domain: &Domain,
    action: Action,
    lines: &[String],
) {
    let dry = CreateTask { dry_run: true, ..task_of(domain, "parts", action, lines, 3) };
    store.create_task(dry).await.unwrap();
    let claimed = claim_at(store, "one", NOW, 1).await.remove(0);
    for n in 0..lines.len() {
        let index = n as u32;
        let next = block(&lines[n..=n], index);
        let applied = store.apply_chunk(chunk(&claimed, next, NOW)).await.unwrap();
        assert_eq!((applied.done, applied.next_index), (1, index + 1));
    }
}

pub(crate) async fn a_dry_run_in_several_chunks_judges_each_entry_on_the_earlier_ones(
    store: Arc<dyn Store>,
) {
    for (n, action) in
        [CREATE, Action::UpdateCoreProfiles, Action::ImportIssues].into_iter().enumerate()
    {
        let acme = domain(&store, &format!("acme-{n}")).await;
        run(&store, &acme, "made", CREATE, &[uid("a"), uid("b")]).await;
        let made = results(&store, acme.id, "made").await;
        let patch = |of: usize, uids: &[&str]| {
            let uids: Vec<_> = uids.iter().map(|uid| format!(r#"{{"uid":"{uid}"}}"#)).collect();
            let (id, uids) = (profile_id(&made[of]), uids.join(","));
            format!(r#"{{"core-profile-id":"{id}","identities":[{uids}]}}"#)
        };
        let entries = match action {
            CREATE => ["a", "x", "y", "x", "z", "y", "z"].map(uid).to_vec(),
            // Profile 0 drops `a` and takes `free`; then profile 1 takes `a`, and not `free`.
            Action::UpdateCoreProfiles => vec![
                patch(0, &["free"]),
                patch(1, &["b", "a"]),
                patch(1, &["b", "free"]),
                patch(0, &["a"]),
                patch(0, &["free"]),
                patch(1, &["a", "b"]),
            ],
            _ => lines(&[
                r#"{"id":5,"created_at":1000,"title":"x","app_id":"ios"}"#,
                r#"{"id":5,"created_at":1000,"title":"other"}"#,
                r#"{"id":5,"created_at":1000,"title":"x","app_id":"ios"}"#,
                r#"{"created_at":1000,"app_id":"web"}"#,
                r#"{"created_at":1000,"app_id":"ios"}"#,
                r#"{"title":1}"#,
                r#"{"id":6,"created_at":1000,"app_id":"tv"}"#,
                r#"{"id":6,"created_at":1000,"app_id":"tv","title":"new"}"#,
            ]),
        };
        let whole = CreateTask { dry_run: true, ..task_of(&acme, "whole", action, &entries, 100) };
        run_command(&store, whole, NOW).await;
        dry_run_entry_by_entry(&store, &acme, action, &entries).await;
        let expected = results(&store, acme.id, "whole").await;
        assert_eq!(results(&store, acme.id, "parts").await, expected, "{action:?}");
        let expected = errors(&store, acme.id, "whole").await;
        assert!(expected.len() > 1, "{action:?}: {expected:?}");
        assert_eq!(errors(&store, acme.id, "parts").await, expected, "{action:?}");
    }
    assert_sound(&store).await;
}
