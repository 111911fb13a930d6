//! Random combinations of all list filters over random issues, compared with a naive store that
//! reads every issue. The total and the bytes of each page must be equal.

use std::sync::Arc;

use caseload_model::fold::fold;
use caseload_model::issue_query::{Paging, parse_list};
use caseload_model::task::Action;
use caseload_store::Store;
use caseload_testdata::SplitMix;

use super::oracle::Oracle;
use super::support::{NOW, assert_sound, domain, rounds, run_command, task_of};

/// Domains, each filled from its own seed.
const WORLDS: u64 = 12;
/// Issues of each domain.
const ISSUES: u64 = 120;
/// Queries of each domain.
const QUERIES: usize = 170;

pub(crate) async fn random_filters_find_the_same_issues_as_a_naive_store(store: Arc<dyn Store>) {
    let (worlds, mut hits) = (rounds(WORLDS as usize) as u64, 0);
    for seed in 0..worlds {
        let domain = domain(&store, &format!("d{seed}")).await;
        let entries = caseload_testdata::issues(seed, ISSUES);
        let mut naive = Oracle::new(&store, &domain, &entries).await;
        run_command(&store, task_of(&domain, "t", Action::ImportIssues, &entries, 37), NOW).await;
        let agents = store.agents(domain.id).await.unwrap();
        naive.agent_emails =
            agents.into_iter().map(|agent| (agent.id, fold(&agent.email))).collect();
        let mut random = SplitMix::new(seed);
        for number in 0..QUERIES {
            let parameters = caseload_testdata::query(&mut random);
            let query = parse_list(&parameters).unwrap().query;
            let page_size = [1, 3, 10, 1000][random.below(4)];
            let paging = Paging { page: 1 + random.below(3) as u64, page_size };
            let place = format!("seed {seed}, query {number}: {parameters:?}");
            hits += naive.agrees(&store, &domain, &query, paging, &place).await;
        }
    }
    assert!(hits > 10_000 * worlds / WORLDS, "too few queries find issues: {hits}");
    // The check also recomputes counters and term sets.
    assert_sound(&store).await;
}
