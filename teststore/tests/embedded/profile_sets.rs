//! The sets of core profiles: a store from before them gets them when it is opened, and a check
//! compares them with the profiles.

use caseload_model::issue_query::Paging;
use caseload_model::profile_query::{ProfileKind, parse_profile_list};
use caseload_model::task::Action;
use caseload_store::OpenMode;
use rusqlite::Connection;

use super::{open, run, server};
use crate::suite::profile_lists::page_of;
use crate::suite::support::{assert_sound, domain, profile_id, results};

const PROFILES: [&str; 3] = [
    r#"{"identities":[{"uid":"a"}],"tags":["vip"],"last_country":"DE"}"#,
    r#"{"identities":[{"uid":"b"}],"tags":["vip","old"]}"#,
    r#"{"identities":[{"uid":"c"}],"preferred_language":"en"}"#,
];

/// The columns of a row.
type SetRow = (i64, i64, Vec<u8>, i64, i64, Vec<u8>);

fn rows(conn: &Connection) -> Vec<SetRow> {
    let select =
        "SELECT domain_id, kind, value, first_id, n, ids FROM profile_sets ORDER BY 1, 2, 3, 4";
    let mut statement = conn.prepare(select).unwrap();
    let rows = statement.query_map([], |row| {
        Ok((row.get(0)?, row.get(1)?, row.get(2)?, row.get(3)?, row.get(4)?, row.get(5)?))
    });
    rows.unwrap().collect::<Result<_, _>>().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_without_sets_of_profiles_gets_them_when_it_is_opened() {
    for mode in [OpenMode::Admin, OpenMode::Server] {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("caseload.db");
        let store = server(folder.path()).unwrap();
        let lines: Vec<String> = PROFILES.iter().map(|line| (*line).to_owned()).collect();
        for name in ["acme", "other"] {
            let domain = domain(&store, name).await;
            run(&store, &domain, "t", Action::CreateCoreProfiles, &lines).await;
        }
        store.close().await.unwrap();
        drop(store);
        let conn = Connection::open(&file).unwrap();
        let expected = rows(&conn);
        // Of each domain two orders, two tags and the tagged, a country and a language.
        assert_eq!(expected.len(), 14);
        conn.execute_batch(
            "DELETE FROM profile_sets; INSERT INTO incomplete_indexes VALUES ('profile sets')",
        )
        .unwrap();
        drop(conn);
        let store = open(&file, mode).unwrap();
        assert_sound(&store).await;
        store.close().await.unwrap();
        assert_eq!(rows(&Connection::open(&file).unwrap()), expected);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_store_with_long_rows_of_sets_gets_short_ones_when_it_is_opened() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("caseload.db");
    let store = server(folder.path()).unwrap();
    let acme = domain(&store, "acme").await;
    let lines: Vec<String> = (0..5000).map(profile).collect();
    run(&store, &acme, "t", Action::CreateCoreProfiles, &lines).await;
    store.close().await.unwrap();
    drop(store);
    let conn = Connection::open(&file).unwrap();
    let expected = rows(&conn);
    assert!(expected.iter().all(|row| row.5.len() <= 1950), "{expected:?}");
    // As the program before V17 wrote each second profile: 2,500 distances.
    let (domain_id, first): (i64, i64) = conn
        .query_row(
            "SELECT domain_id, min(first_id) FROM profile_sets WHERE kind = 5 GROUP BY 1",
            [],
            |row| Ok((row.get(0)?, row.get(1)?)),
        )
        .unwrap();
    conn.execute("DELETE FROM profile_sets WHERE kind = 5", []).unwrap();
    conn.execute(
        "INSERT INTO profile_sets VALUES (?1, 5, x'4445', ?2, 2500, ?3)",
        (domain_id, first, vec![2_u8; 2499]),
    )
    .unwrap();
    conn.execute("DELETE FROM refinery_schema_history WHERE version >= 16", []).unwrap();
    drop(conn);
    let store = open(&file, OpenMode::Server).unwrap();
    assert_sound(&store).await;
    store.close().await.unwrap();
    assert_eq!(rows(&Connection::open(&file).unwrap()), expected);
}

/// A profile whose sets have gaps of 1, 2 and 17 profiles.
fn profile(n: usize) -> String {
    let country = if n.is_multiple_of(2) { r#","last_country":"DE""# } else { "" };
    format!(r#"{{"identities":[{{"uid":"u{n}"}}],"tags":["t{}"]{country}}}"#, n % 17)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_finds_damaged_sets_of_profiles() {
    for (damage, fault) in [
        ("DELETE FROM profile_sets WHERE kind = 1", "by created"),
        ("DELETE FROM profile_sets WHERE kind = 5", "by country \"DE\": it has 0 members"),
        ("UPDATE profile_sets SET value = x'46' WHERE kind = 5", "by country \"F\""),
        ("UPDATE profile_sets SET n = n + 1 WHERE kind = 6", "a row cannot be read"),
        ("UPDATE profile_sets SET ids = x'00' WHERE kind = 4", "a row cannot be read"),
        ("UPDATE profile_sets SET first_id = first_id + 1 WHERE kind = 6", "by language \"en\""),
    ] {
        let folder = tempfile::tempdir().unwrap();
        let store = server(folder.path()).unwrap();
        let acme = domain(&store, "acme").await;
        let lines: Vec<String> = PROFILES.iter().map(|line| (*line).to_owned()).collect();
        run(&store, &acme, "t", Action::CreateCoreProfiles, &lines).await;
        assert_sound(&store).await;
        let conn = Connection::open(folder.path().join("caseload.db")).unwrap();
        assert_eq!(conn.execute(damage, []).unwrap(), 1);
        let faults = store.check().await.unwrap().faults;
        assert!(faults.iter().any(|found| found.contains(fault)), "{damage}: {faults:?}");
    }
}

/// Ids that follow each other are read as a range, whose rows are not always the profiles of the
/// list.
#[tokio::test(flavor = "multi_thread")]
async fn a_range_of_ids_has_other_profiles_and_lacks_moved_ones() {
    let folder = tempfile::tempdir().unwrap();
    let store = server(folder.path()).unwrap();
    let (acme, other) = (domain(&store, "acme").await, domain(&store, "other").await);
    let entry = |tag: &str, n: usize| {
        format!(r#"{{"identities":[{{"uid":"{tag}{n}"}}],"tags":["{tag}"]}}"#)
    };
    let mut ids = Vec::new();
    for part in 0..4 {
        let tag = |n: usize| if n.is_multiple_of(13) { "rare" } else { "many" };
        let entries: Vec<_> = (0..40).map(|n| entry(tag(n), part * 40 + n)).collect();
        let id = format!("t{part}");
        run(&store, &acme, &id, Action::CreateCoreProfiles, &entries).await;
        let made = results(&store, acme.id, &id).await;
        ids.extend((0..40).filter(|n| tag(*n) == "many").map(|n| profile_id(&made[n])));
        run(&store, &other, &id, Action::CreateCoreProfiles, &[entry("many", part)]).await;
    }
    let (gone, moved) = (ids.remove(50), ids[60].clone());
    let gone = [format!(r#"{{"core-profile-id":"{gone}"}}"#)];
    run(&store, &acme, "gone", Action::DeleteCoreProfiles, &gone).await;
    store.close().await.unwrap();
    drop(store);
    // As a copy leaves a profile whose number another tenant has.
    let sql = "UPDATE core_profiles SET moved_id = seq, seq = seq + 5000 WHERE seq = ?1";
    let conn = Connection::open(folder.path().join("caseload.db")).unwrap();
    assert_eq!(conn.execute(sql, [&moved]).unwrap(), 1);
    drop(conn);
    let store = server(folder.path()).unwrap();
    for order in ["asc", "desc"] {
        let pairs = [("tags", "many"), ("sort-order", order)];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let query = parse_profile_list(ProfileKind::Core, &pairs).unwrap().query;
        if order == "desc" {
            ids.reverse();
        }
        // Some page has both one that is not of the list and the moved one.
        for size in [9, 10, 11, 12, 13, 1000] {
            for (n, expected) in ids.chunks(size).enumerate() {
                let paging = Paging { page: n as u64 + 1, page_size: size as u64 };
                let found = store.list_profiles(page_of(&acme, &query, paging)).await.unwrap();
                let body = String::from_utf8(found.body).unwrap();
                let shown: Vec<_> = body.split("},{").map(profile_id).collect();
                assert_eq!(shown, expected, "{order}, page {n} of {size}");
            }
        }
    }
    assert_sound(&store).await;
}
