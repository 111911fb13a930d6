//! `ETag`, `If-None-Match`, HEAD and compression of issues: a tag changes with the issues and with
//! the form in which they are shown, and only then.

use caseload_teststore::on_each_store;
use reqwest::{Method, Response, StatusCode};

use super::list_by_cursor::with_issues;
use crate::real_server::RealServer;

on_each_store!(threads 4:
    an_unchanged_answer_is_not_sent_again,
    a_tag_changes_with_the_issues_the_total_and_the_view,
    head_has_the_headers_of_get_on_every_path,
    lists_of_4_kib_and_more_are_compressed_as_the_caller_prefers,
    instants_have_the_iso_form_if_requested,
);

const PATH: &str = "/v1/acme/issues";

async fn get(real: &RealServer, path: &str, headers: &[(&str, &str)]) -> Response {
    let request = real.request(Method::GET, path);
    let request =
        headers.iter().fold(request, |request, (name, value)| request.header(*name, *value));
    request.send().await.unwrap()
}

fn tag(answer: &Response) -> String {
    answer.headers()["etag"].to_str().unwrap().to_owned()
}

async fn an_unchanged_answer_is_not_sent_again() {
    let real = with_issues().await;
    for (path, weak) in [
        (format!("{PATH}/7"), false),
        (PATH.to_owned(), true),
        (format!("{PATH}?state=new&page=2&page-size=50"), true),
        (format!("{PATH}?cursor=&page-size=50"), true),
    ] {
        let answer = get(&real, &path, &[]).await;
        let first = tag(&answer);
        assert_eq!(first.starts_with("W/"), weak, "{path}: {first}");
        let vary: Vec<_> = answer.headers().get_all("vary").iter().collect();
        assert_eq!(vary.first().is_some_and(|v| *v == "Accept"), weak, "{path}: {vary:?}");
        let strong = first.trim_start_matches("W/");
        for known in [&first, strong, &format!("\"x\", {first}"), "*", &format!("W/{strong}")] {
            let answer = get(&real, &path, &[("if-none-match", known)]).await;
            assert_eq!(answer.status(), StatusCode::NOT_MODIFIED, "{path} {known}");
            assert_eq!(tag(&answer), first);
            assert_eq!(answer.headers()["vary"], "Accept, Accept-Encoding");
            assert!(answer.headers().contains_key("x-rate-limit-remaining"));
            assert_eq!(answer.text().await.unwrap(), "");
        }
        let answer = get(&real, &path, &[("if-none-match", "\"other\"")]).await;
        assert_eq!(answer.status(), StatusCode::OK);
        let head = real.request(Method::HEAD, &path).header("if-none-match", &first);
        assert_eq!(head.send().await.unwrap().status(), StatusCode::NOT_MODIFIED);
    }
    real.stop().await;
}

async fn a_tag_changes_with_the_issues_the_total_and_the_view() {
    let real = with_issues().await;
    let views = [
        "",
        "includes=%5B%22feedback%22%5D",
        "includes=%5B%22private_notes%22%5D",
        "excludes=%5B%22messages%22%5D",
        "timestamp-format=iso-8601",
    ];
    for path in [format!("{PATH}/7"), PATH.to_owned()] {
        let mut tags = Vec::new();
        for view in views {
            tags.push(tag(&get(&real, &format!("{path}?{view}"), &[]).await));
        }
        tags.sort();
        tags.dedup();
        assert_eq!(tags.len(), views.len(), "{path}");
        let unix = tag(&get(&real, &format!("{path}?timestamp-format=unix"), &[]).await);
        assert_eq!(unix, tag(&get(&real, &path, &[]).await));
    }
    let queries = [
        "page-size=5&sort-order=asc",
        "page-size=5",
        "page-size=5&state=rejected",
        "cursor=&page-size=5&sort-order=asc",
    ];
    let read = async |real: &RealServer| {
        let mut tags = Vec::new();
        for query in queries {
            tags.push(tag(&get(real, &format!("{PATH}?{query}"), &[]).await));
        }
        tags
    };
    let before = read(&real).await;
    assert_eq!(before, read(&real).await);
    real.run("issues", "import_issues", r#"{"created_at":1800000000000}"#).await;
    let after = read(&real).await;
    let changed: Vec<_> = before.iter().zip(&after).map(|(a, b)| a != b).collect();
    // The first page shows the total, which has changed. The first step by cursor has not.
    assert_eq!(changed, [true, true, false, false], "{queries:?}");
    real.stop().await;
}

async fn head_has_the_headers_of_get_on_every_path() {
    let real = with_issues().await;
    let task = real.json("/v2/acme/issues/bulk_actions").await;
    let task = task["tasks"][0]["links"]["self"].as_str().unwrap().to_owned();
    for path in [
        "/healthz",
        "/readyz",
        PATH,
        &format!("{PATH}/7"),
        &format!("{PATH}?cursor=&count=true"),
        "/v2/acme/issues/bulk_actions",
        "/v2/acme/identity/bulk_actions",
        &task,
        &format!("{task}/results"),
        &format!("{task}/errors"),
        &format!("{PATH}/4711"),
        &format!("{PATH}?page=0"),
    ] {
        for coding in ["identity", "zstd", "gzip"] {
            let headers = [("accept-encoding", coding)];
            let get = get(&real, path, &headers).await;
            let head = real.request(Method::HEAD, path).header("accept-encoding", coding);
            let head = head.send().await.unwrap();
            assert_eq!(head.status(), get.status(), "{path}");
            for name in
                ["content-type", "content-length", "content-encoding", "etag", "link", "vary"]
            {
                // The length of a compressed body is not known in advance.
                let (of_head, of_get) = (head.headers().get(name), get.headers().get(name));
                assert_eq!(of_head, of_get, "{path} {coding} {name}");
            }
            assert_eq!(head.text().await.unwrap(), "");
        }
    }
    let request = real.request(Method::HEAD, PATH).header("accept", "application/x-ndjson");
    let head = request.send().await.unwrap();
    assert_eq!(head.headers()["content-type"], "application/x-ndjson; charset=utf-8");
    assert_eq!((head.status(), head.text().await.unwrap()), (StatusCode::OK, String::new()));
    real.stop().await;
}

async fn lists_of_4_kib_and_more_are_compressed_as_the_caller_prefers() {
    let real = with_issues().await;
    let plain = real.text(PATH).await;
    for (accept, coding) in [
        ("gzip", Some("gzip")),
        ("gzip;q=0.5, zstd;q=0.4", Some("gzip")),
        ("gzip, zstd", Some("zstd")),
        ("zstd;q=0, gzip;q=0.1", Some("gzip")),
        ("identity, gzip;q=0.5", None),
        ("br", None),
    ] {
        let answer = get(&real, PATH, &[("accept-encoding", accept)]).await;
        let given = answer.headers().get("content-encoding").map(|v| v.to_str().unwrap());
        assert_eq!(given, coding, "{accept}");
        let body = answer.bytes().await.unwrap();
        let unpacked = match coding {
            Some("gzip") => std::io::read_to_string(flate2::read::GzDecoder::new(&body[..])),
            Some(_) => std::io::read_to_string(zstd::Decoder::new(&body[..]).unwrap()),
            None => Ok(String::from_utf8(body.to_vec()).unwrap()),
        };
        assert_eq!(unpacked.unwrap(), plain, "{accept}");
    }
    let small = get(&real, &format!("{PATH}?page-size=1"), &[("accept-encoding", "gzip")]).await;
    assert_eq!(small.headers().get("content-encoding"), None);
    let path = format!("{PATH}/7");
    let single = get(&real, &path, &[("accept-encoding", "gzip, identity;q=0")]).await;
    let packed = tag(&single);
    assert!(packed.starts_with("W/"), "a strong tag would name the plain bytes");
    let again = get(&real, &path, &[("if-none-match", &packed)]).await;
    assert_eq!(again.status(), StatusCode::NOT_MODIFIED);
    real.stop().await;
}

async fn instants_have_the_iso_form_if_requested() {
    let real = with_issues().await;
    for path in [format!("{PATH}/1"), format!("{PATH}?ids=%5B1%5D")] {
        let path = if path.contains('?') { path + "&" } else { path + "?" };
        let shown = real.json(&format!("{path}timestamp-format=iso-8601")).await;
        let issue = &shown["issues"][0];
        assert_eq!(issue["created_at"], "2023-11-14T22:13:20.000Z");
        assert_eq!(issue["updated_at"], "2023-11-14T22:13:25.000Z");
        assert_eq!(issue["state_data"]["changed_at"], 1_700_000_000_000_i64);
    }
    let answer = get(&real, &format!("{PATH}?timestamp-format=iso"), &[]).await;
    assert_eq!(answer.status(), 400);
    assert!(answer.text().await.unwrap().contains("not one of unix, iso-8601"));
    real.stop().await;
}
