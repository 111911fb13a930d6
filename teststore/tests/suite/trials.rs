//! Entries that are tried alone, because servers died or took too long with several.

use std::sync::Arc;

use caseload_model::task::Action;
use caseload_store::{
    ClaimedTask, CreateTask, Domain, DryRunSoFar, Store, StoreError, Trial, TryEntry,
};

use super::support::{
    NOW, apply_all, assert_lease_lost, assert_sound, block, chunk, claim_at, domain, errors, lines,
    next_block, profile_id, results, run, run_command, task_of, uid,
};

const CREATE: Action = Action::CreateCoreProfiles;

pub(crate) async fn try_entry(
    store: &Arc<dyn Store>,
    claimed: &ClaimedTask,
    index: u32,
) -> Result<Trial, StoreError> {
    let command = TryEntry {
        domain: claimed.domain,
        task_id: claimed.task.id.clone(),
        lease_epoch: claimed.lease_epoch,
        index,
    };
    store.try_entry(command).await
}

pub(crate) async fn an_entry_tried_twice_alone_without_a_commit_is_parked(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let entries: Vec<_> = (0..4).map(|n| uid(&n.to_string())).collect();
    store.create_task(task_of(&acme, "t", CREATE, &entries, 1)).await.unwrap();
    let claimed = claim_at(&store, "one", NOW, 1).await.remove(0);
    assert!(!claimed.one_by_one);
    for trial in [Trial::Try, Trial::Try, Trial::Park, Trial::Park] {
        assert_eq!(try_entry(&store, &claimed, 0).await.unwrap(), trial);
    }
    // The next entry has trials of its own.
    let first = chunk(&claimed, next_block(&store, &claimed, 0).await, NOW);
    let applied = store.apply_chunk(first).await.unwrap();
    assert_eq!((applied.done, applied.next_index), (1, 1));
    assert_eq!(try_entry(&store, &claimed, 1).await.unwrap(), Trial::Try);
    store.release_leases("one").await.unwrap();
    let again = claim_at(&store, "two", NOW, 1).await.remove(0);
    assert!(again.one_by_one, "the task stays so for the next server");
    assert_eq!(try_entry(&store, &again, 1).await.unwrap(), Trial::Try);
    assert_eq!(try_entry(&store, &again, 1).await.unwrap(), Trial::Park);
    assert_eq!(apply_all(&store, &again, NOW).await.counts.succeeded, 4);
    assert_sound(&store).await;
}

pub(crate) async fn only_the_holder_of_the_lease_tries_an_entry(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    store.create_task(task_of(&acme, "t", CREATE, &[uid("a")], 1)).await.unwrap();
    let lost = claim_at(&store, "one", NOW, 1).await.remove(0);
    store.release_leases("one").await.unwrap();
    assert_lease_lost(&try_entry(&store, &lost, 0).await);
    let held = claim_at(&store, "two", NOW, 1).await.remove(0);
    assert_lease_lost(&try_entry(&store, &lost, 0).await);
    assert_eq!(apply_all(&store, &held, NOW).await.counts.succeeded, 1);
    assert_lease_lost(&try_entry(&store, &held, 0).await);
}

/// A dry run of these entries in chunks of one entry each. Now and then its server is restarted: it
/// has lost the changes of the earlier entries, and sends those that did not fail once more.
async fn dry_run_entry_by_entry(
    store: &Arc<dyn Store>,
    domain: &Domain,
    action: Action,
    lines: &[String],
) {
    let dry = CreateTask { dry_run: true, ..task_of(domain, "parts", action, lines, 3) };
    store.create_task(dry).await.unwrap();
    let claimed = claim_at(store, "one", NOW, 1).await.remove(0);
    let mut so_far = DryRunSoFar::default();
    for n in 0..lines.len() {
        let index = n as u32;
        if n % 3 == 2 {
            so_far = DryRunSoFar::default();
        }
        let mut command = if so_far.precedes(index) {
            chunk(&claimed, block(&lines[n..=n], index), NOW)
        } else {
            let failed = store.failed_entries(domain.id, "parts").await.unwrap();
            let mut all = block(&lines[..=n], 0);
            all.entries.retain(|entry| !failed.contains(&entry.index));
            let from = all.entries.len() - 1;
            let mut command = chunk(&claimed, all, NOW);
            command.entries.from = from;
            command
        };
        command.so_far = Some(so_far.clone());
        let applied = store.apply_chunk(command).await.unwrap();
        assert_eq!((applied.done, applied.next_index), (1, index + 1));
        assert!(so_far.precedes(index + 1), "the store notes the changes of entry {n}");
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
