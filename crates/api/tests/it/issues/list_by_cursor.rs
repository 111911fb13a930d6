//! `GET /v1/{domain}/issues` by cursor: all steps together are the whole list, in order and once.

use std::fmt::Write as _;

use caseload_model::issue_query::{Cursor, ListPosition, SortKey};
use caseload_model::time::UnixMillis;
use caseload_store::{IssuePage, StoreError};
use caseload_teststore::on_each_store;
use reqwest::Method;
use serde_json::Value;

use crate::real_server::RealServer;
use crate::server::{OTHER, Server, snapshot};

on_each_store!(threads 4:
    all_steps_by_cursor_are_the_whole_list_for_any_filter_and_order,
    a_cursor_fits_its_own_list_only_and_totals_are_optional,
    a_position_in_plain_text_continues_after_an_issue,
    a_star_begins_a_walk_as_the_empty_cursor_does,
);

const PATH: &str = "/v1/acme/issues";
/// Issues of the real server.
pub(crate) const ISSUES: usize = 230;

/// A server with issues of two states, many of which share their times.
pub(crate) async fn with_issues() -> RealServer {
    let real = RealServer::start().await;
    let mut lines = String::new();
    for n in 0..ISSUES {
        let (state, at) = (["new", "resolved"][n % 2], 1_700_000_000_000_i64 + n as i64);
        let (updated, changed) = (at + 5000 - n as i64 / 50 * 90, at / 100 * 100);
        let _ = writeln!(
            lines,
            concat!(
                r#"{{"title":"№ {}","created_at":{},"updated_at":{},"feedback_rating":{},"#,
                r#""state_data":{{"state":"{}","changed_at":{}}}}}"#,
            ),
            n,
            at,
            updated,
            n % 5 + 1,
            state,
            changed,
        );
    }
    let task = real.run("issues", "import_issues", &lines).await;
    assert_eq!(task["counts"]["succeeded"], ISSUES);
    real
}

pub(crate) fn ids(issues: &[Value]) -> Vec<u64> {
    issues.iter().map(|issue| issue["id"].as_u64().unwrap()).collect()
}

/// The ids of the whole list, by one page.
pub(crate) async fn all(real: &RealServer, query: &str) -> Vec<u64> {
    let page = real.json(&format!("{PATH}?page-size=1000&{query}")).await;
    ids(page["issues"].as_array().unwrap())
}

/// The target of a relation of the header `Link`.
fn link(answer: &reqwest::Response, relation: &str) -> Option<String> {
    let links = answer.headers()["link"].to_str().unwrap().to_owned();
    let found = links.split(", ").find(|link| link.ends_with(&format!("rel=\"{relation}\"")))?;
    Some(found[1..].split('>').next().unwrap().to_owned())
}

async fn all_steps_by_cursor_are_the_whole_list_for_any_filter_and_order() {
    let real = with_issues().await;
    for query in [
        "sort-order=asc",
        "sort-order=desc&state=new",
        "sort-by=update-time&sort_order=asc",
        "sort-by=state-change-time",
        "sort-by=state-change-time&sort-order=asc&state=resolved&created-since=1700000000007",
        "updated-since=1700000004900",
        "feedback-rating=%7B%22and%22%3A%5B%7B%22is_greater_than%22%3A%223%22%7D%5D%7D",
        "state=rejected",
        "ids=%5B3%2C1%2C99%5D&sort-by=update-time",
    ] {
        let expected = all(&real, query).await;
        for size in [7, 100, 230, 1000] {
            let mut path = format!("{PATH}?cursor=&page-size={size}&{query}");
            let (mut walked, mut number) = (Vec::new(), 1);
            loop {
                let answer = real.request(Method::GET, &path).send().await.unwrap();
                assert_eq!(answer.status(), 200, "{path}");
                let (first, next) = (link(&answer, "first").unwrap(), link(&answer, "next"));
                assert!(first.contains("cursor=&"), "{first}");
                let page: Value = answer.json().await.unwrap();
                walked.extend(ids(page["issues"].as_array().unwrap()));
                assert_eq!((&page["page"], &page["page-size"]), (&number.into(), &size.into()));
                assert_eq!((page.get("total-hits"), page.get("total-pages")), (None, None));
                let Some(next) = next else {
                    assert_eq!(page["next-cursor"], Value::Null);
                    break;
                };
                let token = page["next-cursor"].as_str().unwrap();
                assert!(next.contains(&format!("cursor={token}&page-size={size}&")), "{next}");
                (path, number) = (next, number + 1);
            }
            assert_eq!(walked, expected, "{query} by {size}");
        }
    }
    real.stop().await;
}

async fn a_cursor_fits_its_own_list_only_and_totals_are_optional() {
    let real = with_issues().await;
    let page = real.json(&format!("{PATH}?cursor=&count=true&page-size=60&state=new")).await;
    assert_eq!((&page["total-hits"], &page["total-pages"]), (&115.into(), &2.into()));
    let token = page["next-cursor"].as_str().unwrap();
    // View, page size and spelling may change between the steps.
    let rest = format!("cursor={token}&count=true&page_size=1000&state=%5B%22new%22%5D");
    let rest = real.json(&format!("{PATH}?{rest}&includes=%5B%22feedback%22%5D")).await;
    assert_eq!(rest["issues"].as_array().unwrap().len(), 55);
    assert_eq!((&rest["total-hits"], &rest["page"]), (&115.into(), &2.into()));
    let damaged = format!("{}x", &token[..token.len() - 1]);
    for (query, parameter, said) in [
        (format!("cursor={token}"), "cursor", "other filters"),
        (format!("cursor={token}&state=new,resolved"), "cursor", "other filters"),
        (format!("cursor={token}&state=new&sort-order=asc"), "cursor", "sort-order=desc"),
        (format!("cursor={damaged}&state=new"), "cursor", "damaged"),
        (format!("cursor={}&state=new", &token[1..]), "cursor", "damaged"),
        (format!("cursor={token}&state=new&page=2"), "page", "leave page out"),
        (format!("cursor={token}&state=new&after=1,2"), "after", "one of them"),
        ("count=true".to_owned(), "count", "count needs cursor"),
        ("cursor=&page-size=1001".to_owned(), "page-size", "1 to 1000"),
    ] {
        let answer = real.request(Method::GET, &format!("{PATH}?{query}")).send().await.unwrap();
        assert_eq!(answer.status(), 400, "{query}");
        let body: Value = answer.json().await.unwrap();
        assert_eq!(body["errors"][0]["parameter"], parameter, "{query}: {body}");
        assert!(body["errors"][0]["detail"].as_str().unwrap().contains(said), "{query}: {body}");
    }
    real.stop().await;
}

async fn a_position_in_plain_text_continues_after_an_issue() {
    let real = with_issues().await;
    for (sort, place) in [
        ("creation-time", "/created_at"),
        ("update-time", "/updated_at"),
        ("state-change-time", "/state_data/changed_at"),
    ] {
        for order in ["asc", "desc"] {
            let query = format!("sort-by={sort}&sort-order={order}");
            let page = real.json(&format!("{PATH}?page-size=1000&{query}")).await;
            let issues = page["issues"].as_array().unwrap();
            for n in [0, 99, 228, 229] {
                let (at, id) = (issues[n].pointer(place).unwrap(), &issues[n]["id"]);
                let after = format!("{PATH}?after={at},{id}&page-size=1000&{query}");
                let rest = real.json(&after).await;
                assert_eq!(rest["issues"].as_array().unwrap()[..], issues[n + 1..], "{after}");
            }
        }
    }
    real.stop().await;
}

async fn a_star_begins_a_walk_as_the_empty_cursor_does() {
    let real = with_issues().await;
    for query in ["state=new", "sort-by=update-time&sort-order=asc&count=true"] {
        let begun = |cursor: &str| format!("{PATH}?cursor={cursor}&page-size=50&{query}");
        let empty = real.json(&begun("")).await;
        for star in ["*", "%2A"] {
            assert_eq!(real.json(&begun(star)).await, empty, "{star} {query}");
        }
        let answer = real.request(Method::GET, &begun("*")).send().await.unwrap();
        let next = real.json(&link(&answer, "next").unwrap()).await;
        assert_eq!(next["page"], 2);
        assert_eq!(real.json(&link(&answer, "first").unwrap()).await, empty);
        let lines = |cursor: &str| {
            let path = format!("{PATH}?cursor={cursor}&{query}").replace("&count=true", "");
            let request = real.request(Method::GET, &path);
            let request = request.header("accept", "application/x-ndjson");
            async move { request.send().await.unwrap().text().await.unwrap() }
        };
        assert_eq!(lines("*").await, lines("").await);
    }
    // A star with something around it is a damaged cursor.
    for damaged in ["**", "*x", "%20*"] {
        let path = format!("{PATH}?cursor={damaged}");
        assert_eq!(real.request(Method::GET, &path).send().await.unwrap().status(), 400);
    }
    real.stop().await;
}

#[tokio::test]
async fn a_cursor_of_one_domain_is_refused_in_another() {
    let server = Server::start().await;
    *server.store.page.lock().unwrap() = IssuePage {
        total_hits: 60_000,
        count: 1000,
        last: Some(ListPosition { at: UnixMillis(41), id: 2 }),
        ..IssuePage::default()
    };
    let path = format!("{PATH}?page=50&page-size=1000&state=new&sort-by=update-time");
    let answer = server.get(&path).await;
    let next = link(&answer, "next").unwrap();
    let (before, token) = next.split_once("cursor=").unwrap();
    let query = "?page-size=1000&state=new&sort-by=update-time&";
    assert_eq!(before, format!("{}{query}", server.url(PATH)));
    let cursor = Cursor::<u64>::decode(token).unwrap();
    assert_eq!((cursor.after.at, cursor.after.id, cursor.pages), (UnixMillis(41), 2, 50));
    assert_eq!(cursor.sort.key, SortKey::UpdateTime);
    let elsewhere = next.replace("acme", "other");
    let answer = server.bare(Method::GET, &elsewhere).bearer_auth(OTHER).send().await.unwrap();
    assert_eq!(answer.status(), 400);
    insta::assert_snapshot!(snapshot(answer).await);
    assert!(server.store.stepped.lock().unwrap().is_empty());
    server.store.fail(|| StoreError::DeadlinePassed);
    insta::assert_snapshot!(server.snapshot(&next).await.replace(token, "TOKEN"));
    let asked = server.store.stepped.lock().unwrap();
    assert_eq!((asked[0].after, asked[0].issues_max), (Some(cursor.after), 1000));
}
