//! The check of damaged issues. Each case breaks one rule about rows, fragments or counters with
//! plain SQL, and the check must name it.

use caseload_model::task::Action;

use super::{admin, server};
use crate::suite::support::{assert_sound, domain, lines, run};

#[tokio::test(flavor = "multi_thread")]
async fn a_check_names_each_kind_of_damage_to_issues() {
    let folder = tempfile::tempdir().unwrap();
    let store = server(folder.path()).unwrap();
    let acme = domain(&store, "acme").await;
    let entry = r#"{"id":7,"created_at":5000,"app_id":"ios","hs_user_id":"eva","tags":["a"],
        "assignee_id":"ada","feedback_rating":4,"queue":{"id":"q","name":"Q"}}"#;
    run(&store, &acme, "t", Action::ImportIssues, &lines(&[entry, r#"{"created_at":1}"#])).await;
    assert_sound(&store).await;
    store.close().await.unwrap();
    for (damage, fault) in [
        ("UPDATE issue_counts SET n = 9 WHERE facet = 6", "of tag \"a\" on day 0 is 9, 1 are"),
        ("DELETE FROM issue_counts WHERE facet = 7", "of rating \"4\" on day 0 is missing, 1 are"),
        ("UPDATE issue_counts SET facet = 99 WHERE facet = 7", "of an unknown kind 99"),
        ("DELETE FROM issue_sets WHERE kind = 6", "the term set of tag \"a\" has 0 issues"),
        ("UPDATE issue_sets SET kind = 99 WHERE kind = 6", "a term of an unknown kind 99"),
        ("UPDATE issue_sets SET rows = x'07'", "a set of rows cannot be read"),
        (
            "DELETE FROM issue_values WHERE value = CAST('eva' AS BLOB)",
            "of end-user \"eva\" has 0 issues",
        ),
        (
            "UPDATE issue_values SET rows = x'000200' WHERE value = CAST('eva' AS BLOB)",
            "\"eva\" has 1 issues",
        ),
        ("DELETE FROM issue_bodies WHERE row = 1", "issue 7: its fragments are not there"),
        ("DELETE FROM issues WHERE row = 1", "a record of issue_bodies refers to nothing"),
        ("UPDATE issue_bodies SET messages = x'7b'", "its messages cannot be read"),
        ("UPDATE issue_bodies SET meta = x'5b5d'", "its meta cannot be read"),
        ("UPDATE issue_bodies SET head = x'7b'", "its head, feedback or labels cannot be read"),
        ("UPDATE issues SET id = 6 WHERE row = 1", "its id is another one in the column"),
        ("UPDATE issues SET created_at = 3 WHERE row = 1", "its created_at is another one"),
        ("UPDATE issues SET state = 7 WHERE row = 1", "its state is another one"),
        ("UPDATE issues SET state = 70 WHERE row = 1", "70 is not the code of a state"),
        ("UPDATE issues SET rating = NULL WHERE row = 1", "its feedback_rating is another one"),
        ("UPDATE issues SET redacted = 1 WHERE row = 1", "its redacted is another one"),
        ("UPDATE issues SET redacted = 2 WHERE row = 1", "has a value of another kind"),
        ("UPDATE issues SET queue_id = NULL WHERE row = 1", "its queue is another one"),
        ("DELETE FROM apps WHERE id = 'ios'", "issue 7: its app is not there"),
        ("DELETE FROM queues", "issue 7: its queue is not there"),
        ("DELETE FROM agents", "issue 7: its assignee is not there"),
        ("UPDATE domain_clocks SET last_issue_id = 7", "issue 8: its id is beyond"),
        ("UPDATE domain_clocks SET last_created_at = 4999", "issue 7: its created_at is beyond"),
    ] {
        let copy = tempfile::tempdir().unwrap();
        let file = copy.path().join("caseload.db");
        std::fs::copy(folder.path().join("caseload.db"), &file).unwrap();
        let conn = rusqlite::Connection::open(&file).unwrap();
        conn.execute_batch(&format!("PRAGMA foreign_keys = OFF; {damage}")).unwrap();
        drop(conn);
        let faults = admin(copy.path()).check().await.unwrap().faults;
        assert!(faults.iter().any(|found| found.contains(fault)), "{damage}: {faults:?}");
    }
}
