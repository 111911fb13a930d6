//! The index of the identities of app profiles: a check compares it with the profiles.

use caseload_model::task::Action;
use rusqlite::Connection;

use super::{run, server};
use crate::suite::support::{assert_sound, domain};

const IMPORT: [&str; 3] = [
    r#"{"created_at":1,"hs_user_id":"p1","author_email":"Ada@example.org"}"#,
    r#"{"created_at":2,"hs_user_id":"p2","author_email":"ÄDA@example.org"}"#,
    r#"{"created_at":3,"hs_user_id":"p3"}"#,
];

#[tokio::test(flavor = "multi_thread")]
async fn a_check_finds_a_damaged_index() {
    for (damage, fault) in [
        ("DELETE FROM app_profile_identities WHERE pid = 'p1'", "have 2 addresses"),
        ("UPDATE app_profile_identities SET key = x'0241' WHERE pid = 'p1'", "does not have"),
        ("UPDATE app_profile_identities SET kind = 1 WHERE pid = 'p1'", "does not have"),
        ("UPDATE app_profile_identities SET pid = 'p9' WHERE pid = 'p1'", "not there"),
        ("UPDATE app_profile_identities SET pid = 'p3' WHERE pid = 'p1'", "does not have"),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let store = server(folder.path()).unwrap();
        let acme = domain(&store, "acme").await;
        let lines: Vec<String> = IMPORT.iter().map(|line| (*line).to_owned()).collect();
        run(&store, &acme, "t", Action::ImportIssues, &lines).await;
        assert_sound(&store).await;
        let conn = Connection::open(folder.path().join("caseload.db")).unwrap();
        assert_eq!(conn.execute(damage, []).unwrap(), 1);
        let faults = store.check().await.unwrap().faults;
        assert!(faults.iter().any(|found| found.contains(fault)), "{damage}: {faults:?}");
    }
}
