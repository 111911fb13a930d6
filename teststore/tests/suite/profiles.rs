//! The store's part in the five profile actions. The rules of profiles are in the model and are
//! tested there.

use std::sync::Arc;

use caseload_model::payload::Block;
use caseload_model::task::{Action, Outcome, TaskStatus};
use caseload_model::time::UnixMillis;
use caseload_store::{CreateTask, Store};

use super::support::{
    NOW, assert_sound, block, chunk, claim, domain, errors, later, lines, profile_id, results, run,
    run_command, task_of, uid,
};

const CREATE: Action = Action::CreateCoreProfiles;
const UPDATE: Action = Action::UpdateCoreProfiles;
const GET: Action = Action::GetCoreProfiles;

fn get_of(id: &str) -> String {
    format!(r#"{{"core-profile-id":"{id}"}}"#)
}

pub(crate) async fn a_task_of_ten_thousand_entries_runs_to_completion(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let entries: Vec<_> = (0..10_000)
        .map(|n| match n % 100 {
            99 => r#"{"identities":[]}"#.to_owned(),
            _ => format!(
                r#"{{"identities":[{{"uid":"u{n}"}},{{"email":"u{n}@example.com"}}],"age":30}}"#
            ),
        })
        .collect();
    let task = run(&store, &acme, "t", CREATE, &entries).await;
    assert_eq!((task.counts.succeeded, task.counts.failed), (9900, 100));
    assert_eq!(task.outcome, Some(Outcome::CompletedWithErrors));
    assert_eq!((task.status, task.completed_at), (TaskStatus::Completed, Some(NOW)));
    let results = results(&store, acme.id, "t").await;
    assert_eq!(results.len(), 9900);
    let ids: Vec<u64> = results.iter().map(|line| profile_id(line).parse().unwrap()).collect();
    assert!(
        ids.windows(2).all(|pair| pair[0] < pair[1]),
        "ids increase in the order of the payload"
    );
    // 2020-01-01 in milliseconds.
    assert_eq!(ids[0], (NOW.0.unsigned_abs() - 1_577_836_800_000) * 1000 + 1);
    assert!(ids.iter().all(|id| id.to_string().len() <= 15), "spreadsheets retain 15 digits");
    let errors = errors(&store, acme.id, "t").await;
    assert_eq!(errors.len(), 100);
    assert!(errors[3].starts_with(r#"{"index":399,"line":400,"#), "{}", errors[3]);
    assert_sound(&store).await;
}

pub(crate) async fn created_profiles_can_be_read(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let entries = lines(&[
        r#"{"identities":[{"email":"A@b.c","verified":"true"}],"lifetime_value":1.10}"#,
        r#"{"identities":[{"uid":"\u0000é"}],"tags":["x","x"]}"#,
    ]);
    run(&store, &acme, "c", CREATE, &entries).await;
    let ids: Vec<_> = results(&store, acme.id, "c").await.iter().map(|l| profile_id(l)).collect();
    let gets = [&ids[1], &ids[0], &ids[1]].map(|id| get_of(id));
    let task = run(&store, &acme, "g", GET, &gets).await;
    assert_eq!(task.outcome, Some(Outcome::Succeeded));
    let found = results(&store, acme.id, "g").await;
    let times = format!(r#","created_at":{0},"updated_at":{0}}}"#, NOW.0);
    let sent = entries[0].trim_start_matches("{\"").trim_end_matches('}');
    assert_eq!(found[1], format!(r#"{{"core-profile-id":"{}","{sent}{times}"#, ids[0]));
    assert_eq!((&found[0], found.len()), (&found[2], 3));
    assert_eq!(run(&store, &acme, "u", UPDATE, &found).await.counts.succeeded, 3);
    for line in results(&store, acme.id, "u").await {
        assert!(line.contains(r#""outcome":"unchanged""#), "{line}");
    }
}

pub(crate) async fn an_identity_conflict_fails_only_its_entry(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    run(&store, &acme, "t1", CREATE, &lines(&[r#"{"identities":[{"email":"a@b.c"}]}"#])).await;
    let owner = profile_id(&results(&store, acme.id, "t1").await[0]);
    let entries = lines(&[
        r#"{"identities":[{"uid":"new-1"}]}"#,
        r#"{"identities":[{"uid":"new-2"},{"email":"A@B.C"}]}"#,
        r#"{"identities":[{"uid":"new-2"}]}"#,
    ]);
    let task = run(&store, &acme, "t2", CREATE, &entries).await;
    assert_eq!((task.counts.succeeded, task.counts.failed), (2, 1));
    let errors = errors(&store, acme.id, "t2").await;
    assert!(errors[0].contains("identity_conflict") && errors[0].contains(&owner), "{errors:?}");
    assert!(errors[0].contains(r#""pointer":"/identities/1""#), "{errors:?}");
    assert_sound(&store).await;
}

pub(crate) async fn conflicts_within_and_across_slices_name_the_first_owner(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    // Every 37th entry repeats the identity of an earlier one.
    let entries: Vec<_> = (0..3000)
        .map(|n| if n % 37 == 36 { uid(&format!("u{}", n / 2)) } else { uid(&format!("u{n}")) })
        .collect();
    let mut owners = std::collections::HashMap::new();
    let (mut winners, mut losers) = (Vec::new(), Vec::new());
    for (n, entry) in entries.iter().enumerate() {
        match owners.entry(entry) {
            std::collections::hash_map::Entry::Vacant(free) => {
                free.insert(n);
                winners.push(n);
            }
            std::collections::hash_map::Entry::Occupied(taken) => losers.push((n, *taken.get())),
        }
    }
    let task = run(&store, &acme, "t", CREATE, &entries).await;
    assert_eq!(task.counts.succeeded as usize, winners.len());
    assert_eq!(task.counts.failed as usize, losers.len());
    let results = results(&store, acme.id, "t").await;
    let id_of: std::collections::HashMap<usize, String> =
        winners.iter().copied().zip(results.iter().map(|line| profile_id(line))).collect();
    for ((loser, owner), line) in losers.iter().zip(errors(&store, acme.id, "t").await) {
        assert!(line.starts_with(&format!(r#"{{"index":{loser},"#)), "{line}");
        assert!(line.contains(&id_of[owner]), "{line}");
    }
    assert_sound(&store).await;
}

pub(crate) async fn updates_move_identities_between_profiles(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    run(&store, &acme, "c", CREATE, &[uid("a"), uid("b")]).await;
    let ids: Vec<_> = results(&store, acme.id, "c").await.iter().map(|l| profile_id(l)).collect();
    let patch = |id: &str, value: &str| {
        format!(r#"{{"core-profile-id":"{id}","identities":[{{"uid":"{value}"}}]}}"#)
    };
    // The first patch frees `a`, the second takes it, and the third wants it back.
    let patches = [patch(&ids[0], "c"), patch(&ids[1], "a"), patch(&ids[0], "a")];
    let mut command = task_of(&acme, "u", UPDATE, &patches, 9);
    command.now = later(50);
    let task = run_command(&store, command, later(50)).await;
    assert_eq!((task.counts.succeeded, task.counts.failed), (2, 1));
    assert_sound(&store).await;
    run(&store, &acme, "g", GET, &[get_of(&ids[0]), get_of(&ids[1])]).await;
    let found = results(&store, acme.id, "g").await;
    assert!(found[0].contains(r#"{"uid":"c"}"#) && found[1].contains(r#"{"uid":"a"}"#));
    assert!(found[0].contains(&format!(r#""updated_at":{}"#, later(50).0)), "{}", found[0]);
    // `b` is free again.
    let task = run(&store, &acme, "c2", CREATE, &[uid("b"), uid("a")]).await;
    assert_eq!((task.counts.succeeded, task.counts.failed), (1, 1));
    assert_sound(&store).await;
}

pub(crate) async fn an_update_without_changes_leaves_updated_at_alone(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    run(&store, &acme, "c", CREATE, &[uid("a")]).await;
    let id = profile_id(&results(&store, acme.id, "c").await[0]);
    let patch = format!(r#"{{"core-profile-id":"{id}","identities":[{{"uid":"a"}}]}}"#);
    let command = task_of(&acme, "u", UPDATE, &[patch], 1);
    run_command(&store, command, later(9000)).await;
    run(&store, &acme, "g", GET, &[get_of(&id)]).await;
    let found = results(&store, acme.id, "g").await;
    assert!(found[0].ends_with(&format!(r#""updated_at":{}}}"#, NOW.0)), "{}", found[0]);
}

pub(crate) async fn ids_and_times_increase_even_if_the_clock_goes_back(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let mut seen = Vec::new();
    // The system's clock goes back, then stops.
    for (n, now) in [NOW, UnixMillis(5), NOW, later(1)].into_iter().enumerate() {
        let id = format!("t{n}");
        let command = task_of(&acme, &id, CREATE, &[uid(&id), uid(&format!("{id}-2"))], 9);
        run_command(&store, command, now).await;
        seen.extend(results(&store, acme.id, &id).await.iter().map(|line| profile_id(line)));
    }
    let gets: Vec<_> = seen.iter().map(|id| get_of(id)).collect();
    run(&store, &acme, "g", GET, &gets).await;
    let numbers: Vec<u64> = seen.iter().map(|id| id.parse().unwrap()).collect();
    assert!(numbers.windows(2).all(|pair| pair[0] < pair[1]), "{numbers:?}");
    let times: Vec<i64> = results(&store, acme.id, "g")
        .await
        .iter()
        .map(|line| line.rsplit_once(':').unwrap().1.trim_end_matches('}').parse().unwrap())
        .collect();
    let first = NOW.0;
    let by_task = [first, first, first + 1, first + 1, first + 2, first + 2, first + 3, first + 3];
    assert_eq!(times, by_task, "each chunk has one time, later than that of the chunk before");
}

pub(crate) async fn a_dry_run_changes_nothing(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    run(&store, &acme, "c", CREATE, &[uid("a")]).await;
    let id = profile_id(&results(&store, acme.id, "c").await[0]);
    let mut command = task_of(&acme, "dry", CREATE, &[uid("x"), uid("a"), uid("x"), uid("y")], 9);
    command.dry_run = true;
    let task = run_command(&store, command, NOW).await;
    assert!(task.dry_run);
    assert_eq!((task.counts.succeeded, task.counts.failed), (2, 2));
    let dry = results(&store, acme.id, "dry").await;
    assert_eq!(dry[0], r#"{"index":0,"line":1,"outcome":"created"}"#);
    let faults = errors(&store, acme.id, "dry").await;
    assert!(faults[0].contains(&id) && faults[1].contains("entry 0"), "{faults:?}");

    let patch = |value: &str| {
        format!(r#"{{"core-profile-id":"{id}","identities":[{{"uid":"{value}"}}],"age":3}}"#)
    };
    let mut command = task_of(&acme, "dry-u", UPDATE, &[patch("z"), patch("z"), patch("q")], 9);
    command.dry_run = true;
    run_command(&store, command, NOW).await;
    let outcomes: Vec<_> = results(&store, acme.id, "dry-u")
        .await
        .iter()
        .map(|line| line.split('"').nth(7).unwrap_or_default().to_owned())
        .collect();
    assert_eq!(outcomes, ["updated", "unchanged", "updated"]);
    assert_sound(&store).await;
    let task = run(&store, &acme, "real", CREATE, &[uid("x"), uid("y"), uid("z")]).await;
    assert_eq!(task.counts.succeeded, 3, "the dry runs reserved no identity");
    assert_sound(&store).await;
}

pub(crate) async fn a_dry_run_plans_each_entry_on_top_of_the_earlier_ones(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    // More entries than one slice plans, so that a later slice builds on an earlier one.
    let profiles: Vec<_> = (0..600).map(|n| uid(&format!("u{n}"))).collect();
    run(&store, &acme, "c", CREATE, &profiles).await;
    let ids: Vec<_> =
        results(&store, acme.id, "c").await.iter().map(|line| profile_id(line)).collect();
    let patch = |id: &str, uids: &[&str]| {
        let uids: Vec<_> = uids.iter().map(|uid| format!(r#"{{"uid":"{uid}"}}"#)).collect();
        format!(r#"{{"core-profile-id":"{id}","identities":[{}]}}"#, uids.join(","))
    };
    // Profile 0 drops u0 and takes `free`. Later, profile 599 takes u0 and fails to take `free`.
    let mut lines = vec![patch(&ids[0], &["free"])];
    lines.extend((1..599).map(|n| patch(&ids[n], &[&format!("u{n}")])));
    lines.extend([
        patch(&ids[599], &["u599", "u0"]),
        patch(&ids[599], &["u599", "free"]),
        patch(&ids[0], &["free"]),
        patch(&ids[599], &["u599", "u0"]),
    ]);
    let dry = CreateTask { dry_run: true, ..task_of(&acme, "dry", UPDATE, &lines, 1000) };
    let before = run_command(&store, dry, NOW).await;
    let real = run_command(&store, task_of(&acme, "real", UPDATE, &lines, 1000), NOW).await;
    assert_eq!(before.counts, real.counts);
    assert_eq!((real.counts.succeeded, real.counts.failed), (602, 1));
    let shown: Vec<_> = results(&store, acme.id, "dry")
        .await
        .iter()
        .map(|record| match record.split_once(r#","changes":{"identities":"#) {
            Some((without, _)) => format!("{without}}}"),
            None => record.clone(),
        })
        .collect();
    assert!(shown == results(&store, acme.id, "real").await, "only the dry run shows changes");
    assert_eq!(errors(&store, acme.id, "dry").await, errors(&store, acme.id, "real").await);
    assert_sound(&store).await;
}

pub(crate) async fn a_missing_profile_fails_its_entry(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let pid = lines(&[r#"{"pid":"nobody"}"#]);
    let id = lines(&[r#"{"core-profile-id":"18446744073709551615"}"#, r#"{"core-profile-id":1}"#]);
    for (task, action, entries) in [
        ("g", GET, &id),
        ("u", UPDATE, &id),
        ("ga", Action::GetAppProfiles, &pid),
        ("ua", Action::UpdateAppProfiles, &pid),
    ] {
        let done = run(&store, &acme, task, action, entries).await;
        assert_eq!(done.counts.failed as usize, entries.len(), "{task}");
        assert_eq!(done.outcome, Some(Outcome::CompletedWithErrors));
        let errors = errors(&store, acme.id, task).await;
        assert!(errors.last().unwrap().contains(r#""code":"not_found""#), "{errors:?}");
    }
    assert_sound(&store).await;
}

/// Entries name ids in many orders: ids of their domain, ids of another domain and ids that do not
/// exist. Each entry gets the record of its own profile or an error.
pub(crate) async fn get_results_follow_the_order_of_the_entries(store: Arc<dyn Store>) {
    let domains = [domain(&store, "acme").await, domain(&store, "other").await];
    let mut made: [Vec<u64>; 2] = [Vec::new(), Vec::new()];
    for round in 0..6 {
        for (domain, made) in domains.iter().zip(&mut made) {
            let (name, count) = (format!("made {round}"), 5 + 7 * round);
            let entries: Vec<_> = (0..count).map(|n| uid(&format!("{round}-{n}"))).collect();
            run(&store, domain, &name, CREATE, &entries).await;
            let made_now = results(&store, domain.id, &name).await;
            made.extend(made_now.iter().map(|line| profile_id(line).parse::<u64>().unwrap()));
        }
    }
    let mut both: Vec<u64> = made.concat();
    both.sort_unstable();
    both.dedup();
    let around = both[0] - 3..=both[both.len() - 1] + 3;
    let every = |ids: &[u64], step: usize| ids.iter().copied().step_by(step).collect();
    let mut lists: Vec<Vec<u64>> = vec![around.collect(), both.iter().rev().copied().collect()];
    for ids in [&made[0], &made[1], &both] {
        lists.extend([1, 2, 3, 7, 40].map(|step| every(ids, step)));
        lists.push(ids.iter().flat_map(|id| [*id, *id]).collect());
        let half = ids.len() / 2;
        lists.push([&ids[half..], &ids[..half], &[1, u64::MAX]].concat());
    }
    for (at, (domain, made)) in domains.iter().zip(&made).enumerate() {
        for (n, list) in lists.iter().enumerate() {
            let name = format!("get {at} {n}");
            let entries: Vec<_> = list.iter().map(|id| get_of(&id.to_string())).collect();
            let task = run(&store, domain, &name, GET, &entries).await;
            let there: Vec<_> = list.iter().filter(|id| made.contains(id)).copied().collect();
            let shown = results(&store, domain.id, &name).await;
            let shown: Vec<u64> =
                shown.iter().map(|line| profile_id(line).parse().unwrap()).collect();
            assert_eq!(shown, there, "{name}");
            assert_eq!(task.counts.failed as usize, list.len() - there.len(), "{name}");
        }
    }
    assert_sound(&store).await;
}

pub(crate) async fn failed_entries_remain_in_the_payload(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let entries = lines(&["{\"age\": 1}", "x", r#"{"identities":[{"uid":"a"}]}"#, " {} ", "{}"]);
    run_command(&store, task_of(&acme, "t", CREATE, &entries, 3), NOW).await;
    let mut kept = Vec::new();
    let mut from = 0;
    while let Some(bytes) = store.payload_block(acme.id, "t", from).await.unwrap() {
        let block = Block::decode(bytes).unwrap();
        for entry in &block.entries {
            let text = String::from_utf8_lossy(block.bytes_of(entry)).into_owned();
            kept.push((entry.index, entry.line, text));
            from = entry.index + 1;
        }
    }
    let failed = [0, 1, 3, 4].map(|n| (n, n + 1, entries[n as usize].clone()));
    assert_eq!(kept, failed, "the bytes that were sent, with their indexes and lines");
    run(&store, &acme, "good", CREATE, &[uid("b")]).await;
    assert_eq!(store.payload_block(acme.id, "good", 0).await.unwrap(), None);
    assert_sound(&store).await;
}

pub(crate) async fn profiles_of_one_domain_are_invisible_to_another(store: Arc<dyn Store>) {
    let (acme, other) = (domain(&store, "acme").await, domain(&store, "other").await);
    run(&store, &acme, "t", CREATE, &[uid("a")]).await;
    let task = run(&store, &other, "t", CREATE, &[uid("a")]).await;
    assert_eq!(task.counts.succeeded, 1, "another domain may use the same identity");
    let id = profile_id(&results(&store, other.id, "t").await[0]);
    run(&store, &other, "c2", CREATE, &[uid("b")]).await;
    assert_eq!(results(&store, other.id, "missing").await.len(), 0);
    // Both domains created profiles at the same time: use an id that only acme can have.
    run(&store, &acme, "c3", CREATE, &[uid("b"), uid("c"), uid("d")]).await;
    let foreign = profile_id(&results(&store, acme.id, "c3").await[2]);
    let task = run(&store, &other, "g", GET, &[get_of(&foreign), get_of(&id)]).await;
    assert_eq!((task.counts.succeeded, task.counts.failed), (1, 1));
    assert_sound(&store).await;
}

pub(crate) async fn a_check_of_sound_data_reports_no_faults(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    run(&store, &acme, "t", CREATE, &[uid("a"), uid("a"), "{".to_owned()]).await;
    store.create_task(task_of(&acme, "open", CREATE, &[uid("z"), uid("y")], 1)).await.unwrap();
    let claimed = claim(&store, 1).await.remove(0);
    store.apply_chunk(chunk(&claimed, block(&[uid("z")], 0), NOW)).await.unwrap();
    let report = store.check().await.unwrap();
    assert_eq!(report.faults, Vec::<String>::new());
    for (what, count) in [
        ("domains", 1),
        ("tasks", 2),
        ("records of tasks", 4),
        ("core profiles", 2),
        ("identities", 2),
        ("identities of core profiles", 2),
        ("app profiles", 0),
    ] {
        let found = report.verified.iter().find(|(name, _)| name == what);
        assert_eq!(found.map(|(_, n)| *n), Some(count), "{what}");
    }
}
