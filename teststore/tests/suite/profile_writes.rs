//! Lists of core profiles between random writes: after each task, random lists are compared with a
//! naive reading of all profiles. Some tasks run while the clock is hours ahead, so that profiles
//! are created in another order than that of their ids.

use std::sync::Arc;

use caseload_model::issue_query::Paging;
use caseload_model::profile_query::ProfileKind;
use caseload_model::task::Action;
use caseload_store::{Domain, Store};
use caseload_testdata::SplitMix;
use serde_json::json;

use super::profile_lists::{Known, core_entry, expected, joined, page_of, request};
use super::support::{assert_sound, domain, later, profile_id, results, run_command, task_of};

/// Domains, each with its own seed; tasks and lists of each.
const WORLDS: u64 = 4;
const TASKS: i64 = 14;
const LISTS: usize = 8;
/// People whose identities entries name.
const PEOPLE: usize = 120;
/// How far the clock is ahead in some tasks.
const AHEAD_MS: i64 = 9_000_000;

/// All profiles of these ids that exist.
async fn known(store: &Arc<dyn Store>, domain: &Domain, task: i64, ids: &[String]) -> Vec<Known> {
    let gets: Vec<_> = ids.iter().map(|id| json!({"core-profile-id": id}).to_string()).collect();
    if gets.is_empty() {
        return Vec::new();
    }
    let id = format!("get {task}");
    let command = task_of(domain, &id, Action::GetCoreProfiles, &gets, 50);
    let now = command.now;
    run_command(store, command, now).await;
    results(store, domain.id, &id).await.into_iter().map(Known::of).collect()
}

fn entry(random: &mut SplitMix, action: Action) -> String {
    let person = random.below(PEOPLE);
    match action {
        Action::DeleteCoreProfiles => {
            json!({"identities": [{"uid": format!("u{person}")}]}).to_string()
        }
        _ => core_entry(random, person),
    }
}

pub(crate) async fn random_writes_and_lists_take_turns(store: Arc<dyn Store>) {
    let (mut hits, mut disordered) = (0, 0);
    for seed in 0..WORLDS {
        let domain = domain(&store, &format!("w{seed}")).await;
        let (mut random, mut ids) = (SplitMix::new(seed + 40), Vec::new());
        for task in 0..TASKS {
            let (create, upsert, update, delete) = (
                Action::CreateCoreProfiles,
                Action::UpsertCoreProfiles,
                Action::UpdateCoreProfiles,
                Action::DeleteCoreProfiles,
            );
            let action = random.pick(&[create, upsert, upsert, update, delete]);
            let entries: Vec<_> =
                (0..=random.below(70)).map(|_| entry(&mut random, action)).collect();
            let ahead = if random.once_in(4) { AHEAD_MS } else { 0 };
            let mut command = task_of(&domain, &format!("t{task}"), action, &entries, 23);
            command.now = later(task * 1000 + ahead);
            let now = command.now;
            run_command(&store, command, now).await;
            let made = results(&store, domain.id, &format!("t{task}")).await;
            let made = made.iter().filter(|line| line.contains("\"created\""));
            ids.extend(made.map(|line| profile_id(line)));
            let known = known(&store, &domain, task, &ids).await;
            disordered += known
                .windows(2)
                .filter(|pair| pair[0].at("created_at") > pair[1].at("created_at"))
                .count();
            if known.is_empty() {
                continue;
            }
            for number in 0..LISTS {
                let query = request(&mut random, ProfileKind::Core, &known).query;
                let page_size = [1, 10, 1000][random.below(3)];
                let paging = Paging { page: 1 + random.below(2) as u64, page_size };
                let found = store.list_profiles(page_of(&domain, &query, paging)).await.unwrap();
                let all = expected(&query, &domain, &known);
                let begin = (paging.offset() as usize).min(all.len());
                let end = (begin + page_size as usize).min(all.len());
                let about = format!("seed {seed}, task {task}, list {number}: {query:?}");
                assert_eq!(found.total_hits, all.len() as u64, "{about}");
                assert_eq!(
                    String::from_utf8_lossy(&found.body),
                    joined(&all[begin..end]),
                    "{about}"
                );
                hits += all.len();
            }
        }
    }
    assert!(hits > 3000, "too few lists find profiles: {hits}");
    assert!(disordered > 0, "no profile was created before one with a smaller id");
    assert_sound(&store).await;
}
