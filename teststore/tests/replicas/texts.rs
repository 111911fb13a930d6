//! The text index on PostgreSQL: connections that break at each statement of a step, and two
//! servers that index at once while issues are written.

use std::sync::Arc;

use caseload_model::task::Action;
use caseload_store::{Domain, IndexTexts, Store, StoreError};
use serde_json::json;
use tokio::join;

use super::Database;
use super::cutter::{Cut, Cutter};
use super::database::opened;
use crate::suite::issue_writes::create;
use crate::suite::support::{assert_sound, domain, run};
use crate::suite::texts::{indexed, listed};

/// Issues of an import.
const ISSUES: u64 = 30;

async fn import(store: &Arc<dyn Store>, domain: &Domain, task: &str, issues: u64) {
    let entry = |n: u64| json!({"created_at": n, "title": format!("number {n} of {task}.")});
    let entries: Vec<_> = (1..=issues).map(|n| entry(n).to_string()).collect();
    run(store, domain, task, Action::ImportIssues, &entries).await;
}

/// The number of issues with this text.
async fn hits(store: &Arc<dyn Store>, domain: &Domain, text: &str) -> u64 {
    listed(store, domain, Some(("text", text.to_owned()))).await.1
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn indexing_survives_a_lost_connection_at_every_statement() {
    let database = Database::new();
    let cutter = Cutter::new(&database.url()).await;
    let (direct, cut) = (database.server(), opened(cutter.url()));
    let acme = domain(&direct, "acme").await;
    // A connection prepares each statement once. The first step prepares all of them.
    import(&direct, &acme, "warm", ISSUES).await;
    while cut.index_texts(IndexTexts::Everything).await.unwrap() {}
    let mut issues = ISSUES;
    for side in [Cut::Before, Cut::After] {
        for nth in 1.. {
            let name = format!("{side:?}-{nth}");
            import(&direct, &acme, &name, ISSUES).await;
            issues += ISSUES;
            cutter.plan(nth, side);
            loop {
                match cut.index_texts(IndexTexts::Everything).await {
                    Ok(false) => break,
                    Ok(true) | Err(StoreError::Unreachable(_)) => {
                        assert_eq!(hits(&direct, &acme, &format!("of {name}.")).await, ISSUES);
                    }
                    Err(other) => panic!("{name}: {other:?}"),
                }
            }
            let was_cut = cutter.was_cut();
            assert_eq!(indexed(&direct).await, issues, "{name}");
            if !was_cut {
                assert!(nth > 8, "a step has more than {nth} statements");
                break;
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn two_servers_settle_at_once() {
    let database = Database::new();
    let servers = [database.server(), database.server(), database.server()];
    let acme = domain(&servers[0], "acme").await;
    import(&servers[0], &acme, "first", 2000).await;
    let index = async |store: &Arc<dyn Store>| {
        for _ in 0..20 {
            store.index_texts(IndexTexts::Everything).await.unwrap();
        }
    };
    let write = async || {
        for round in 0..10 {
            create(&servers[2], &acme, &[("message-body", "written by a third")]).await;
            assert_eq!(hits(&servers[2], &acme, "of first.").await, 2000, "{round}");
            assert_eq!(hits(&servers[2], &acme, "written by a").await, round + 1);
        }
    };
    join!(index(&servers[0]), index(&servers[1]), write());
    while servers[0].index_texts(IndexTexts::Everything).await.unwrap() {}
    assert_eq!(indexed(&servers[1]).await, 2010);
    assert_eq!(hits(&servers[1], &acme, "written by a").await, 10);
    assert_sound(&servers[2]).await;
}
