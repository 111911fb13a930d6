//! Deleted is gone: after a domain was deleted, its texts are nowhere in the file or its log, also
//! not in free pages, in unused bytes of other pages, or in compressed blocks. These tests read the
//! raw bytes.

use std::io::Read as _;
use std::path::Path;
use std::sync::Arc;

use caseload_model::erasure::IssuesOfErased;
use caseload_model::issue::write::read_create;
use caseload_model::key::Access;
use caseload_model::task::Action;
use caseload_store::{
    CreateAgent, CreateIssue, CreateKey, Domain, IdempotencyKey, OpenMode, Store, WriteOrigin,
};
use serde_json::json;

use super::{admin, file, open, server};
use crate::suite::erasures::{OTHER, WORD, erase, fill_with_people};
use crate::suite::support::{
    NOW, assert_sound, domain, later, profile_id, results, run, run_command, task_of,
};

/// The first bytes of every compressed block.
const FRAME_BEGIN: [u8; 4] = [0x28, 0xb5, 0x2f, 0xfd];

/// How often a text is in the raw bytes of the store's files, and in the blocks found in them.
fn occurrences(folder: &Path, text: &str) -> (usize, usize) {
    let (mut plain, mut packed) = (0, 0);
    for entry in std::fs::read_dir(folder).unwrap() {
        let bytes = std::fs::read(entry.unwrap().path()).unwrap();
        plain += count(&bytes, text.as_bytes());
        for at in places(&bytes, &FRAME_BEGIN) {
            packed += count(&unpacked(&bytes[at..]), text.as_bytes());
        }
    }
    (plain, packed)
}

fn places(bytes: &[u8], wanted: &[u8]) -> Vec<usize> {
    let windows = bytes.windows(wanted.len()).enumerate();
    windows.filter(|(_, window)| *window == wanted).map(|(at, _)| at).collect()
}

fn count(bytes: &[u8], wanted: &[u8]) -> usize {
    places(bytes, wanted).len()
}

/// The readable part of a block that begins here: another page may interrupt it.
fn unpacked(bytes: &[u8]) -> Vec<u8> {
    let mut text = Vec::new();
    let Ok(decoder) = zstd::stream::read::Decoder::new(bytes) else { return text };
    let mut decoder = decoder.single_frame();
    let mut buffer = [0; 4096];
    while let Ok(read @ 1..) = decoder.read(&mut buffer) {
        text.extend_from_slice(&buffer[..read]);
    }
    text
}

/// Fills a domain with records of every kind that holds texts, each with the word, and changes
/// some of them, which leaves older copies.
async fn fill(store: &Arc<dyn Store>, domain: &Domain, word: &str) {
    let key = CreateKey {
        domain: domain.id,
        id: format!("key-{word}"),
        hash: [word.len() as u8; 32],
        name: format!("{word} key"),
        access: Access::Read,
        origin: NOW.into(),
        expires_at: None,
    };
    store.create_key(key).await.unwrap();
    let (id, name) = (format!("agent-{word}"), format!("{word} agent"));
    let email = format!("{word}@desk.example");
    store
        .create_agent(CreateAgent { domain: domain.id, id, name, email, origin: NOW.into() })
        .await
        .unwrap();
    let issues = (0..300_i64).map(|n| {
        let body = format!("{word} {n} ").repeat(if n % 20 == 0 { 3000 } else { 20 });
        json!({
            "created_at": NOW.0 - n, "title": format!("{word} title {n}"),
            "author_email": format!("{word}-{n}@example.org"), "tags": [format!("{word}-tag")],
            "messages": [{"body": body, "created_at": NOW.0}],
        })
        .to_string()
    });
    run(store, domain, "issues", Action::ImportIssues, &issues.collect::<Vec<_>>()).await;
    let profiles = (0..200).map(|n| {
        let fields = json!({"note": format!("{word} note ").repeat(30)});
        json!({"identities": [{"uid": format!("{word}-{n}")}], "custom_fields": fields}).to_string()
    });
    run(store, domain, "profiles", Action::CreateCoreProfiles, &profiles.collect::<Vec<_>>()).await;
    let made = results(store, domain.id, "profiles").await;
    let updates = made.iter().step_by(2).map(|line| {
        let fields = json!({"note": format!("{word} other ").repeat(90)});
        json!({"core-profile-id": profile_id(line), "custom_fields": fields}).to_string()
    });
    run(store, domain, "updates", Action::UpdateCoreProfiles, &updates.collect::<Vec<_>>()).await;
    // Its error records and its payload remain.
    let faulty = json!({"identities": [{"uid": format!("{word} faulty")}], "age": word});
    run(store, domain, "faulty", Action::CreateCoreProfiles, &[faulty.to_string()]).await;
    let body = format!("{word} live");
    let (request, faults) = read_create(&[("message-body".to_owned(), body)]);
    assert_eq!(faults, []);
    let key = IdempotencyKey { text: word.to_owned(), content: [9; 32], expires_at: later(9_000) };
    let origin = WriteOrigin {
        key: None,
        request_id: None,
        domain: domain.id,
        domain_name: domain.name.clone(),
        now: NOW,
        random: 7,
        idempotency: Some(key),
    };
    let made = store.create_issue(CreateIssue { origin, request, attachments: Vec::new() }).await;
    assert!(made.unwrap().done().is_some());
    // An expired task, whose blocks are free pages by now.
    let entry = json!({"identities": [{"uid": format!("{word} expired")}], "age": word});
    let expired = task_of(domain, "expired", Action::CreateCoreProfiles, &[entry.to_string()], 1);
    run_command(store, caseload_store::CreateTask { expires_at: later(1), ..expired }, NOW).await;
    while store.purge_expired(later(3_700_000)).await.unwrap() {}
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_domain_is_deleted_the_files_have_none_of_its_texts() {
    let folder = tempfile::tempdir().unwrap();
    let served = server(folder.path()).unwrap();
    let (other, gone) = (domain(&served, "acme").await, domain(&served, "vanishing").await);
    fill(&served, &other, "remains").await;
    fill(&served, &gone, "vanishing").await;
    let (plain, packed) = occurrences(folder.path(), "vanishing");
    assert!(plain > 1000 && packed > 10, "{plain} plain, {packed} packed");
    let other_before = occurrences(folder.path(), "remains");
    assert!(other_before.0 > 1000, "{other_before:?}");
    // An administrator deletes it while the server has the file open.
    let command = admin(folder.path());
    command.delete_domain(gone.id).await.unwrap();
    assert_eq!(occurrences(folder.path(), "vanishing"), (0, 0));
    command.close().await.unwrap();
    assert_sound(&served).await;
    let (plain, packed) = occurrences(folder.path(), "remains");
    assert!(plain > 1000 && packed > 1, "the other domain is as it was: {plain}, {packed}");
    let again = domain(&served, "again").await;
    fill(&served, &again, "again").await;
    served.close().await.unwrap();
    assert_eq!(occurrences(folder.path(), "vanishing"), (0, 0), "no memory writes it back");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_deletion_that_was_interrupted_ends_with_the_next_start() {
    let folder = tempfile::tempdir().unwrap();
    let store = server(folder.path()).unwrap();
    let (other, gone) = (domain(&store, "acme").await, domain(&store, "vanishing").await);
    fill(&store, &other, "remains").await;
    fill(&store, &gone, "vanishing").await;
    store.close().await.unwrap();
    let conn = rusqlite::Connection::open(file(folder.path())).unwrap();
    conn.execute("INSERT INTO domain_removals (removed_id) VALUES (?1)", [gone.id.0]).unwrap();
    for table in ["keys", "sessions", "apps", "agents", "queues", "domain_clocks"] {
        conn.execute(&format!("DELETE FROM {table} WHERE domain_id = ?1"), [gone.id.0]).unwrap();
    }
    conn.execute("DELETE FROM domains WHERE id = ?1", [gone.id.0]).unwrap();
    drop(conn);
    assert!(occurrences(folder.path(), "vanishing").0 > 0);
    let store = open(&file(folder.path()), OpenMode::Server).unwrap();
    assert_eq!(occurrences(folder.path(), "vanishing"), (0, 0));
    assert_sound(&store).await;
    let pending = rusqlite::Connection::open(file(folder.path())).unwrap();
    let left: i64 =
        pending.query_row("SELECT count(*) FROM domain_removals", [], |row| row.get(0)).unwrap();
    assert_eq!(left, 0);
}

#[tokio::test(flavor = "multi_thread")]
async fn after_a_person_is_erased_the_files_have_none_of_their_texts() {
    let folder = tempfile::tempdir().unwrap();
    let store = server(folder.path()).unwrap();
    let acme = domain(&store, "acme").await;
    fill_with_people(&store, &acme).await;
    let (plain, packed) = occurrences(folder.path(), WORD);
    assert!(plain > 20 && packed > 5, "{plain} plain, {packed} packed");
    erase(&store, &acme, IssuesOfErased::Redacted).await;
    assert_eq!(occurrences(folder.path(), WORD), (0, 0));
    let (plain, packed) = occurrences(folder.path(), OTHER);
    assert!(plain > 20 && packed > 5, "others are as they were: {plain}, {packed}");
    assert_sound(&store).await;
    store.close().await.unwrap();
    assert_eq!(occurrences(folder.path(), WORD), (0, 0), "no memory writes it back");
}

/// Two domains take turns with small tasks, so that their rows share pages, which split and merge.
#[tokio::test(flavor = "multi_thread")]
async fn rows_that_shared_pages_with_another_domain_leave_no_copies() {
    let folder = tempfile::tempdir().unwrap();
    let served = server(folder.path()).unwrap();
    let domains = [domain(&served, "acme").await, domain(&served, "vanishing").await];
    for round in 0..40_i64 {
        for (domain, word) in domains.iter().zip(["remains", "vanishing"]) {
            let long = |n: i64| format!("{word} ").repeat(1 + (n * 7 + round * 13) as usize % 90);
            let profiles = (0..12).map(|n| {
                let (uid, fields) = (format!("{word}-{round}-{n}"), json!({"note": long(n)}));
                json!({"identities": [{"uid": uid}], "custom_fields": fields}).to_string()
            });
            let (task, profiles) = (format!("p{round}"), profiles.collect::<Vec<_>>());
            run(&served, domain, &task, Action::CreateCoreProfiles, &profiles).await;
            let made = results(&served, domain.id, &task).await;
            let updates = made.iter().enumerate().map(|(n, line)| {
                let fields = json!({"note": long(n as i64 + 3)});
                json!({"core-profile-id": profile_id(line), "custom_fields": fields}).to_string()
            });
            let (task, updates) = (format!("u{round}"), updates.collect::<Vec<_>>());
            run(&served, domain, &task, Action::UpdateCoreProfiles, &updates).await;
            let issues = (0..12).map(|n| {
                json!({
                    "created_at": NOW.0 - round * 100 - n, "title": long(n),
                    "author_email": format!("{word}-{round}-{n}@example.org"),
                    "messages": [{"body": long(n + 5), "created_at": NOW.0}],
                })
                .to_string()
            });
            let (task, issues) = (format!("i{round}"), issues.collect::<Vec<_>>());
            run(&served, domain, &task, Action::ImportIssues, &issues).await;
        }
    }
    let command = admin(folder.path());
    command.delete_domain(domains[1].id).await.unwrap();
    assert_eq!(occurrences(folder.path(), "vanishing"), (0, 0));
    assert_sound(&served).await;
}
