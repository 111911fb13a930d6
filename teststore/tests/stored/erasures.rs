//! The rows of a whole store before and after an erasure, with every compressed block unpacked:
//! after it, none has a text of the person, and all rows of the others are byte for byte what they
//! were.

use std::collections::{BTreeMap, BTreeSet};

use caseload_model::erasure::IssuesOfErased;
use caseload_teststore::rows::readable;
use rusqlite::Connection;

use super::deletions::{Place, queries};
use super::suite::erasures::{OTHER, WORD, erase, fill_with_people};
use super::suite::support::{NOW, assert_sound, domain};
use super::{columns_of, columns_there};
use crate::database::Database;

/// Tables whose rows are of one record each, or blocks.
const OF_RECORDS: [&str; 12] = [
    "core_profiles",
    "identities",
    "app_profiles",
    "app_profile_identities",
    "issue_bodies",
    "attachments",
    "attachment_pieces",
    "idempotency_keys",
    "payload_blocks",
    "record_blocks",
    "changes",
    "views",
];

type Rows = BTreeMap<String, BTreeSet<String>>;

/// Every row of every table, as one text.
async fn dump(place: &Place) -> Rows {
    match place {
        Place::Folder(folder) => {
            let raw = Connection::open(folder.path().join("caseload.db")).unwrap();
            let row = |names: &[&str]| format!("quote({})", names.join(")||' '||quote("));
            let all = queries(&columns_of(&raw), row).into_iter().map(|(table, sql)| {
                let mut select = raw.prepare(&sql).unwrap();
                let rows = select.query_map([], |row| row.get(0)).unwrap();
                (table, rows.map(Result::unwrap).collect())
            });
            all.collect()
        }
        Place::Database(database) => {
            let raw = database.client().await;
            let row = |names: &[&str]| format!("ROW(\"{}\")::text", names.join("\",\""));
            let mut all = Rows::new();
            for (table, sql) in queries(&columns_there(&raw).await, row) {
                let rows = raw.query(&sql, &[]).await.unwrap();
                all.insert(table, rows.iter().map(|row| row.get(0)).collect());
            }
            all
        }
    }
}

/// How many rows of each table have a text.
fn having(rows: &Rows, text: &str) -> BTreeMap<String, usize> {
    let counts = rows.iter().map(|(table, rows)| {
        (table.clone(), rows.iter().filter(|row| readable(row).contains(text)).count())
    });
    counts.filter(|(_, count)| *count > 0).collect()
}

/// The files of a store in a folder that have a text anywhere.
fn files_with(place: &Place, text: &str) -> Vec<String> {
    let Place::Folder(folder) = place else { return Vec::new() };
    let files = std::fs::read_dir(folder.path()).unwrap().map(|file| file.unwrap().path());
    let found = files.filter(|path| {
        let bytes = std::fs::read(path).unwrap();
        bytes.windows(text.len()).any(|window| window.eq_ignore_ascii_case(text.as_bytes()))
    });
    found.map(|path| path.display().to_string()).collect()
}

async fn an_erasure_leaves_no_text(place: impl Fn() -> Place) {
    for mode in [IssuesOfErased::Redacted, IssuesOfErased::Deleted] {
        let place = place();
        let store = match &place {
            Place::Folder(folder) => {
                let mode = caseload_store::OpenMode::Server;
                caseload_location::open(&super::sqlite(folder.path()), mode).await.unwrap()
            }
            Place::Database(database) => database.server(),
        };
        let acme = domain(&store, "acme").await;
        fill_with_people(&store, &acme).await;
        let before = dump(&place).await;
        let found = having(&before, WORD);
        for table in OF_RECORDS {
            let is_named = table != "attachments" && table != "app_profile_identities";
            assert!(!is_named || found.contains_key(table), "{table} has a text: {found:?}");
        }
        let phone = "1000007";
        assert!(!having(&before, phone).is_empty(), "a phone number is stored");
        let receipt = erase(&store, &acme, mode).await;
        assert_eq!(files_with(&place, WORD), [""; 0], "also in unused bytes and in the log");
        let core_profile = receipt["core_profile_ids"][0].as_str().unwrap();
        let issues = receipt["issue_ids"].as_array().unwrap().iter();
        let issues: Vec<_> = issues.map(|id| format!("\"id\":{id}")).collect();
        let mut named = vec![WORD, phone, "file-9", core_profile];
        named.extend(issues.iter().map(String::as_str));
        while store.purge_expired(NOW).await.unwrap() {}
        let after = dump(&place).await;
        for text in [WORD, phone, "vanishing@example.org", "1 000 007"] {
            assert_eq!(having(&after, text), BTreeMap::new(), "{text}");
        }
        for table in OF_RECORDS {
            let empty = BTreeSet::new();
            let left = after.get(table).unwrap_or(&empty);
            for gone in before[table].difference(left) {
                let text = readable(gone);
                let is_persons = named.iter().any(|one| text.contains(one));
                assert!(is_persons, "{mode:?}: a row of {table} changed: {text}");
            }
        }
        let (others, left) = (having(&before, OTHER), having(&after, OTHER));
        for table in OF_RECORDS {
            assert_eq!(others.get(table), left.get(table), "rows of {table} of another person");
        }
        assert_sound(&store).await;
        store.close().await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_leaves_no_text_in_sqlite() {
    an_erasure_leaves_no_text(|| Place::Folder(tempfile::tempdir().unwrap())).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_erasure_leaves_no_text_in_postgresql() {
    an_erasure_leaves_no_text(|| Place::Database(Database::new())).await;
}
