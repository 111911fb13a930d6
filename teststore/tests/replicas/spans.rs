//! The sets of spans of issues: servers that start together on a store from before them make them
//! once.

use caseload_location::open;
use caseload_model::task::Action;
use caseload_store::OpenMode;
use tokio::join;

use super::Database;
use crate::suite::support::{assert_sound, domain, run};

#[tokio::test(flavor = "multi_thread", worker_threads = 4)]
async fn servers_that_start_together_complete_the_sets_of_spans_once() {
    let database = Database::new();
    let store = database.server();
    for (seed, name) in ["acme", "other"].into_iter().enumerate() {
        let domain = domain(&store, name).await;
        let lines = caseload_testdata::issues(seed as u64, 300);
        run(&store, &domain, "t", Action::ImportIssues, &lines).await;
    }
    store.close().await.unwrap();
    let forget = "DELETE FROM issue_sets WHERE kind > 20;
        DELETE FROM issue_values WHERE kind > 20;
        DELETE FROM issue_set_deltas WHERE kind > 20;
        INSERT INTO incomplete_indexes VALUES ('issue spans')";
    database.client().await.batch_execute(forget).await.unwrap();
    let location = database.url().parse().unwrap();
    let (first, second) =
        join!(open(&location, OpenMode::Server), open(&location, OpenMode::Server));
    let servers = [first.unwrap(), second.unwrap()];
    assert_eq!(database.count("incomplete_indexes").await, 0);
    for server in &servers {
        assert_sound(server).await;
    }
    for kind in [21, 22, 23] {
        assert!(database.count(&format!("issue_sets WHERE kind = {kind}")).await > 0, "{kind}");
    }
    assert!(database.count("issue_values WHERE kind = 24").await > 0);
}
