//! The sets of spans of issues: a store from before them gets them when it is opened.

use caseload_model::task::Action;
use caseload_store::OpenMode;
use rusqlite::Connection;

use super::{open, run, server};
use crate::suite::support::{assert_sound, domain};

/// Domain, kind, value, block and rows of a set.
type SetRow = (i64, i64, Vec<u8>, i64, Vec<u8>);

fn rows(conn: &Connection) -> Vec<SetRow> {
    let select = "SELECT domain_id, kind, value, block, rows FROM issue_sets UNION ALL
         SELECT domain_id, kind, value, block, rows FROM issue_values ORDER BY 1, 2, 3, 4";
    let mut statement = conn.prepare(select).unwrap();
    let rows = statement
        .query_map([], |row| Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?)));
    rows.unwrap().collect::<Result<_, _>>().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_without_sets_of_spans_gets_them_when_it_is_opened() {
    for mode in [OpenMode::Admin, OpenMode::Server] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("caseload.db");
        let store = server(folder.path()).unwrap();
        for (seed, name) in ["acme", "other"].into_iter().enumerate() {
            let domain = domain(&store, name).await;
            let lines = caseload_testdata::issues(seed as u64, 300);
            run(&store, &domain, "t", Action::ImportIssues, &lines).await;
        }
        store.close().await.unwrap();
        drop(store);
        let conn = Connection::open(&file).unwrap();
        let expected = rows(&conn);
        for kind in 21..=24 {
            assert!(expected.iter().any(|row| row.1 == kind), "{kind}");
        }
        conn.execute_batch(
            "DELETE FROM issue_sets WHERE kind > 20; DELETE FROM issue_values WHERE kind > 20;
             INSERT INTO incomplete_indexes VALUES ('issue spans')",
        )
        .unwrap();
        drop(conn);
        let store = open(&file, mode).unwrap();
        assert_sound(&store).await;
        store.close().await.unwrap();
        assert_eq!(rows(&Connection::open(&file).unwrap()), expected);
    }
}
