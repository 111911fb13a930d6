//! `GET /v2/{domain}/identity/core_profiles` and `…/app_profiles`: pages, cursors, streams, tables,
//! tags and faults. Which profiles a filter finds is tested at the store.

use caseload_model::issue::TermKind;
use caseload_store::query::Thresholds;
use caseload_teststore::on_each_store;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::issues::list_stream::broken;
use crate::real_server::RealServer;

on_each_store!(threads 4:
    a_page_has_exact_totals_links_and_a_tag,
    all_steps_by_cursor_are_the_whole_list,
    a_list_continues_after_any_of_its_profiles,
    a_stream_has_every_match_as_lines_or_as_rows,
    a_stream_that_lacks_profiles_never_looks_complete,
    every_fault_of_a_query_is_reported_at_once,
);

const CORE: &str = "/v2/acme/identity/core_profiles";
const APP: &str = "/v2/acme/identity/app_profiles";
/// Profiles of each kind.
const PROFILES: usize = 25;

async fn with_profiles() -> RealServer {
    let real = RealServer::start().await;
    let line = |n: usize| {
        let country = ["DE", "Germany", "France"][n % 3];
        let plan = ["gold", "basic"][n % 2];
        json!({
            "identities": [{"email": format!("user{n}@example.org")}],
            "names": {"first_name": format!("Ada {n}")},
            "last_country": country,
            "custom_fields": {"plan": plan},
        })
        .to_string()
    };
    let lines: Vec<_> = (0..PROFILES).map(line).collect();
    let task = real.run("identity", "create_core_profiles", &lines.join("\n")).await;
    assert_eq!(task["counts"]["succeeded"], PROFILES);
    let issue = |n: usize| {
        json!({
            "created_at": n, "hs_user_id": format!("p{n:02}"),
            "author_email": format!("USER{n}@example.org"),
        })
        .to_string()
    };
    let lines: Vec<_> = (0..PROFILES).map(issue).collect();
    real.run("issues", "import_issues", &lines.join("\n")).await;
    real
}

fn ids(page: &Value, key: &str, id: &str) -> Vec<String> {
    let records = page[key].as_array().unwrap().iter();
    records.map(|record| record[id].as_str().unwrap().to_owned()).collect()
}

async fn a_page_has_exact_totals_links_and_a_tag() {
    let real = with_profiles().await;
    for (path, key) in [(CORE, "core_profiles"), (APP, "app_profiles")] {
        let path = format!("{path}?page=2&page-size=10&sort-order=asc");
        let answer = real.request(Method::GET, &path).send().await.unwrap();
        let tag = answer.headers()["etag"].to_str().unwrap().to_owned();
        let link = answer.headers()["link"].to_str().unwrap().to_owned();
        for part in ["rel=\"first\"", "rel=\"prev\"", "rel=\"next\"", "rel=\"last\"", "page=3"] {
            assert!(link.contains(part), "{part}: {link}");
        }
        let page: Value = answer.json().await.unwrap();
        assert_eq!(page["total-hits"], PROFILES);
        assert_eq!((&page["page"], &page["total-pages"]), (&json!(2), &json!(3)));
        assert_eq!(page[key].as_array().unwrap().len(), 10);
        assert!(tag.starts_with("W/"), "{tag}");
        let again = real.request(Method::GET, &path).header("if-none-match", &tag);
        assert_eq!(again.send().await.unwrap().status(), StatusCode::NOT_MODIFIED);
    }
    let found = real.json(&format!("{CORE}?country=deu&sort-order=asc")).await;
    assert_eq!(found["total-hits"], 17);
    let found = real.json(&format!("{CORE}?identity=email:USER3@example.org")).await;
    assert_eq!(found["core_profiles"][0]["names"]["first_name"], "Ada 3");
    let id = &found["core_profiles"][0]["core-profile-id"];
    let one = format!("{APP}?identity=email:user3@Example.org&includes=core_profile");
    let found = real.json(&one).await;
    assert_eq!(
        (&found["total-hits"], &found["app_profiles"][0]["pid"]),
        (&json!(1), &json!("p03"))
    );
    assert_eq!(&found["app_profiles"][0]["core-profile-id"], id);
    real.stop().await;
}

async fn all_steps_by_cursor_are_the_whole_list() {
    let real = with_profiles().await;
    for (path, key, id) in
        [(CORE, "core_profiles", "core-profile-id"), (APP, "app_profiles", "pid")]
    {
        for query in ["sort-order=asc", "sort-by=update-time", "name=a"] {
            let whole = real.json(&format!("{path}?page-size=1000&{query}")).await;
            let whole = ids(&whole, key, id);
            let (mut walked, mut cursor) = (Vec::new(), "*".to_owned());
            loop {
                let path = format!("{path}?cursor={cursor}&page-size=7&count=true&{query}");
                let page = real.json(&path).await;
                assert_eq!(page["total-hits"], whole.len());
                walked.extend(ids(&page, key, id));
                let Some(next) = page["next-cursor"].as_str() else { break };
                next.clone_into(&mut cursor);
            }
            assert_eq!(walked, whole, "{path} {query}");
            if whole.len() > 7 {
                let other = format!("{path}?cursor={cursor}&country=FR");
                let answer = real.request(Method::GET, &other).send().await.unwrap();
                assert_eq!(answer.status(), 400, "a cursor of another list");
            }
        }
    }
    real.stop().await;
}

async fn a_list_continues_after_any_of_its_profiles() {
    let real = with_profiles().await;
    for (path, id) in [(CORE, "core-profile-id"), (APP, "pid")] {
        for (query, time) in [
            ("sort-order=asc", "created_at"),
            ("name=a", "created_at"),
            ("sort-by=update-time&sort-order=asc", "updated_at"),
        ] {
            let path = format!("{path}?format=jsonl&trailer=false&{query}");
            let whole = real.text(&path).await;
            let lines: Vec<&str> = whole.lines().collect();
            for (at, line) in lines.iter().enumerate().step_by(6) {
                let record: Value = serde_json::from_str(line).unwrap();
                let after = format!("{},{}", record[time], record[id].as_str().unwrap());
                let rest = real.text(&format!("{path}&after={after}")).await;
                assert_eq!(rest.lines().collect::<Vec<_>>(), lines[at + 1..], "{path} {after}");
            }
        }
    }
    real.stop().await;
}

async fn a_stream_has_every_match_as_lines_or_as_rows() {
    let real = with_profiles().await;
    let whole = real.json(&format!("{CORE}?page-size=1000&sort-order=asc")).await;
    let lines = real.text(&format!("{CORE}?format=jsonl&page-size=4&sort-order=asc")).await;
    let lines: Vec<Value> = lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let (end, records) = lines.split_last().unwrap();
    assert_eq!(json!(records), whole["core_profiles"]);
    assert_eq!((&end["end"], &end["count"]), (&json!(true), &json!(PROFILES)));
    let bare = real.text(&format!("{APP}?format=jsonl&trailer=false")).await;
    assert_eq!(bare.lines().count(), PROFILES);
    let columns = "columns=names.first_name,custom_fields.plan,last_city";
    let table = real.text(&format!("{CORE}?format=csv&{columns}&sort-order=asc")).await;
    let rows: Vec<_> = table.split("\r\n").take(3).collect();
    let expected = ["names.first_name,custom_fields.plan,last_city", "Ada 0,gold,", "Ada 1,basic,"];
    assert_eq!(rows, expected);
    let table = real.text(&format!("{APP}?format=csv&columns=pid,core-profile-id")).await;
    let newest = whole["core_profiles"][PROFILES - 1]["core-profile-id"].as_str().unwrap();
    assert!(table.contains(&format!("p{:02},{newest}\r\n", PROFILES - 1)), "{table}");
    real.stop().await;
}

async fn a_stream_that_lacks_profiles_never_looks_complete() {
    let real = RealServer::start().await;
    // Fewer would be sorted by themselves, without the index.
    let many = Thresholds::USUAL.sorted_max as usize;
    for (task, profiles) in [("first", many), ("second", 5)] {
        let line = |n| json!({"identities": [{"uid": format!("{task}{n}")}]}).to_string();
        let lines: Vec<_> = (0..profiles).map(line).collect();
        let ran = real.run("identity", "create_core_profiles", &lines.join("\n")).await;
        assert_eq!(ran["counts"]["succeeded"], profiles);
    }
    let stream = format!("{CORE}?format=jsonl&sort-order=asc");
    let whole = real.text(&stream).await;
    assert_eq!(whole.lines().count(), many + 5 + 1);
    // The index of instants loses the last one; the set of all profiles stays.
    let of_instants = format!(
        "domain_id = {} AND kind = {}",
        real.domain.0,
        TermKind::Created.of_instants().unwrap().code()
    );
    real.place.execute(&format!(
        "DELETE FROM profile_sets WHERE {of_instants} AND value =
         (SELECT value FROM profile_sets WHERE {of_instants} ORDER BY value DESC LIMIT 1)"
    ));
    let table = format!("{CORE}?format=csv&sort-order=asc&page-size=100");
    for path in
        [format!("{stream}&page-size=100"), format!("{stream}&page-size=100&trailer=false"), table]
    {
        // The server may be so fast that not even the head of the answer is sent.
        let Ok(answer) = real.request(Method::GET, &path).send().await else { continue };
        broken(answer).await;
    }
    let at_once = real.request(Method::GET, &stream).send().await.unwrap();
    assert_eq!(at_once.status(), 503);
    assert!(at_once.text().await.unwrap().contains("damaged"));
    real.stop().await;
}

async fn every_fault_of_a_query_is_reported_at_once() {
    let real = RealServer::without_runner(caseload_api::ApiConfig::default()).await;
    for (path, query, said) in [
        (CORE, "identity=ada@example.org", "has no identity type"),
        (CORE, "identity=mail:ada@example.org", "is not an identity type"),
        (CORE, "identity=email:", "is empty"),
        (CORE, "identity=[{\"email\":\"a\",\"uid\":\"b\"}]", "exactly one identity type"),
        (CORE, "identity=[{\"verified\":\"yes\"}]", "exactly one identity type"),
        (CORE, "country=Germanny", "the nearest one is"),
        (CORE, "language=Germn", "is not a language; the nearest one is"),
        (CORE, "custom-fields={\"dropdown\":{}}", "accepted: text, number"),
        (CORE, "pids=a", "is not a parameter here"),
        (CORE, "sort-by=state-change-time", "is not one of creation-time, update-time"),
        (CORE, "per_page=3", "page-size"),
        (CORE, "ids=1x", "is not an element of"),
        (CORE, "name=", "name is empty"),
        (CORE, "columns=pid&format=csv", "is not a member of a core profile"),
        (APP, "columns=created_at", "columns are those of a table"),
        (APP, "tags=a", "is not a parameter here"),
        (APP, "cursor=x", "the cursor is damaged"),
        (CORE, "after=12,p1", "is not a position in a list"),
        (APP, "after=12,", "is not a position in a list"),
        (APP, "after=12,p1&cursor=*", "give one of them"),
        (APP, "page=2000", "deepest"),
        (APP, "format=jsonl&page=1", "a stream has no pages"),
    ] {
        let answer = real.request(Method::GET, &format!("{path}?{query}")).send().await.unwrap();
        assert_eq!(answer.status(), 400, "{query}");
        let text = answer.text().await.unwrap();
        assert!(text.contains(said), "{query}: {text}");
    }
    let path = format!("{CORE}?identity=x&country=y&sort-by=z&page=0");
    let answer = real.request(Method::GET, &path).send().await.unwrap();
    let problem: Value = answer.json().await.unwrap();
    assert_eq!(problem["errors"].as_array().unwrap().len(), 4, "{problem}");
    real.stop().await;
}
