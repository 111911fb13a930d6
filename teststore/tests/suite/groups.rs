//! Random combinations of filters, groups and time zones over random issues, compared with a naive
//! count that reads every issue.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use caseload_model::fold::fold;
use caseload_model::issue_query::{Group, GroupValue, Grouping, Zone, parse_counts};
use caseload_model::task::Action;
use caseload_store::{CountIssues, IssueCounts, Store};
use caseload_testdata::SplitMix;

use super::oracle::Oracle;
use super::support::{NOW, assert_sound, domain, run_command, task_of};

/// Domains, each filled from its own seed.
const WORLDS: u64 = 6;
/// Issues of each domain.
const ISSUES: u64 = 120;
/// Counts of each domain.
const COUNTS: usize = 150;
const ZONES: [&str; 4] = ["UTC", "Europe/Berlin", "Asia/Kathmandu", "America/St_Johns"];

/// One or two different properties.
fn groups(random: &mut SplitMix) -> Vec<Group> {
    let first = Group::ALL[random.below(Group::ALL.len())];
    let second = Group::ALL[random.below(Group::ALL.len())];
    if first == second || random.once_in(2) { vec![first] } else { vec![first, second] }
}

/// The counts by reading every issue.
fn naive(issues: &Oracle, request: &CountIssues) -> IssueCounts {
    let mut groups = HashMap::<Vec<GroupValue>, u64>::new();
    let mut total_hits = 0;
    for columns in issues.matches(&request.query) {
        total_hits += 1;
        for group in request.grouping.groups_of(columns) {
            *groups.entry(group).or_default() += 1;
        }
    }
    let (groups, other) = request.grouping.ordered(groups.into_iter().collect());
    IssueCounts { total_hits, groups, other }
}

pub(crate) async fn random_counts_are_those_of_a_naive_store(store: Arc<dyn Store>) {
    let (mut hits, mut pairs) = (0, 0);
    for seed in 0..WORLDS {
        let domain = domain(&store, &format!("g{seed}")).await;
        let mut entries = caseload_testdata::issues(seed, ISSUES);
        // Terms of long texts are digests.
        let long = |n: usize| format!("\"{}{}\"", "a tag of many characters ".repeat(3), n % 7);
        entries.extend((0..20).map(|n| {
            let (tag, other) = (long(n), long(n / 2));
            format!(
                r#"{{"created_at":{},"tags":[{tag},{other},"a"],"app_id":{tag},"language":{other},
                "assignee_id":{tag},"queue":{{"id":{tag},"name":"q"}},"platform_type":{tag},
                "issue_mode_data":{{"issue_mode":{tag}}}}}"#,
                1_700_000_000_000_i64 + n as i64 * 40_000_000
            )
            .replace('\n', "")
        }));
        let mut oracle = Oracle::new(&store, &domain, &entries).await;
        run_command(&store, task_of(&domain, "t", Action::ImportIssues, &entries, 37), NOW).await;
        let agents = store.agents(domain.id).await.unwrap();
        oracle.agent_emails =
            agents.into_iter().map(|agent| (agent.id, fold(&agent.email))).collect();
        let mut random = SplitMix::new(seed);
        for number in 0..COUNTS {
            let mut parameters = caseload_testdata::query(&mut random);
            parameters.retain(|(name, _)| !name.starts_with("sort"));
            if number % 5 == 0 {
                parameters.clear();
            }
            parameters.push(("group-by".to_owned(), "state".to_owned()));
            let query = parse_counts(&parameters).unwrap().query;
            let zone = Zone::named(ZONES[random.below(ZONES.len())]).unwrap();
            let limit = [1, 3, 1000][random.below(3)];
            let grouping = Grouping { by: groups(&mut random), zone, limit };
            let budget = Duration::from_secs(10);
            let request = CountIssues { domain: domain.id, query, grouping, budget: budget.into() };
            let expected = naive(&oracle, &request);
            hits += expected.total_hits;
            pairs += usize::from(request.grouping.by.len() == 2 && expected.groups.len() > 1);
            let found = store.count_issues(request.clone()).await.unwrap();
            let said =
                format!("seed {seed}, count {number}: {:?} {parameters:?}", request.grouping);
            assert_eq!(found, expected, "{said}");
        }
    }
    assert!(hits > 5000 && pairs > 100, "too few counts find issues: {hits}, {pairs}");
    assert_sound(&store).await;
}
