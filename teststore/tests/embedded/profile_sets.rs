//! The term sets of core profiles: a check compares them with the profiles, and lists read ranges.

use caseload_model::issue_query::Paging;
use caseload_model::profile_query::{ProfileKind, parse_profile_list};
use caseload_model::task::Action;
use rusqlite::Connection;

use super::{run, server};
use crate::suite::profile_lists::page_of;
use crate::suite::support::{assert_sound, domain, profile_id, results};

const PROFILES: [&str; 3] = [
    r#"{"identities":[{"uid":"a"}],"tags":["vip"],"last_country":"DE"}"#,
    r#"{"identities":[{"uid":"b"}],"tags":["vip","old"]}"#,
    r#"{"identities":[{"uid":"c"}],"preferred_language":"en"}"#,
];

#[tokio::test(flavor = "multi_thread")]
async fn a_check_finds_damaged_sets_of_profiles() {
    for (damage, fault) in [
        ("DELETE FROM profile_sets WHERE kind = 29", "the term set of created-at "),
        ("DELETE FROM profile_sets WHERE kind = 25", "of country \"DE\" has 0 profiles"),
        ("UPDATE profile_sets SET value = x'46' WHERE kind = 25", "of country \"F\""),
        ("UPDATE profile_sets SET rows = x'01' WHERE kind = 8", "a set of rows cannot be read"),
        ("UPDATE profile_sets SET rows = x'00ffff' WHERE kind = 8", "of language \"en\""),
        ("UPDATE core_profiles SET row = 9 WHERE row = 1", "its row is out of order"),
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

/// Rows that follow each other are read as a range, which has profiles that are not of the list.
#[tokio::test(flavor = "multi_thread")]
async fn a_range_of_rows_has_other_profiles_and_lacks_deleted_ones() {
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
    let gone = ids.remove(50);
    let gone = [format!(r#"{{"core-profile-id":"{gone}"}}"#)];
    run(&store, &acme, "gone", Action::DeleteCoreProfiles, &gone).await;
    for order in ["asc", "desc"] {
        let pairs = [("tags", "many"), ("sort-order", order)];
        let pairs = pairs.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let query = parse_profile_list(ProfileKind::Core, &pairs).unwrap().query;
        if order == "desc" {
            ids.reverse();
        }
        // Some page has one that is not of the list, and some a gap.
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
