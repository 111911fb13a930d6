//! The beginning of links: the host of the request, the public URL of the server, or the words of a
//! trusted proxy. No stored byte has a host, and an import takes the server's own address off.

use caseload_api::{ApiConfig, TrustedProxies};
use caseload_teststore::on_each_store;
use reqwest::multipart::{Form, Part};
use reqwest::{Method, Response};
use serde_json::{Value, json};

use crate::issues::support::{ISSUES, send};
use crate::real_server::RealServer;
use crate::server::{Server, WRITE};
use crate::wire::exchange;

on_each_store!(
    every_link_of_a_task_is_absolute,
    every_url_of_an_attachment_is_absolute_and_stored_as_a_path,
    a_replayed_answer_has_the_host_of_the_repeat,
    an_import_takes_this_servers_own_address_off,
    an_exported_issue_is_exported_as_the_same_bytes_by_another_server,
    a_tag_belongs_to_the_host_of_the_request,
);

const TASKS: &str = "/v2/acme/issues/bulk_actions";
const ALL: &str = "%5B%22private_notes%22,%22queue%22,%22custom_fields%22,%22feedback%22%5D";

fn header<'a>(answer: &'a Response, name: &str) -> &'a str {
    answer.headers().get(name).map_or("", |value| value.to_str().unwrap())
}

fn text<'v>(value: &'v Value, pointer: &str) -> &'v str {
    value.pointer(pointer).and_then(Value::as_str).unwrap_or_else(|| panic!("{pointer} in {value}"))
}

async fn every_link_of_a_task_is_absolute() {
    let real = RealServer::start().await;
    let base = format!("http://{}", real.address);
    let form = [("action", "import_issues"), ("payload", "[{\"created_at\":1}]")];
    let answer = real.request(Method::POST, TASKS).form(&form).send().await.unwrap();
    let location = header(&answer, "location").to_owned();
    let accepted: Value = answer.json().await.unwrap();
    let this = format!("{base}{TASKS}/{}", text(&accepted, "/task_id"));
    assert_eq!(location, this);
    let completed = real.completed(&this).await;
    let list = real.request(Method::GET, &format!("{TASKS}?page-size=1")).send().await.unwrap();
    let first = format!("<{base}{TASKS}?page-size=1&page=1>; rel=\"first\"");
    assert!(header(&list, "link").starts_with(&first), "{}", header(&list, "link"));
    let list: Value = list.json().await.unwrap();
    let events = real.request(Method::GET, &this).header("Accept", "text/event-stream");
    let events = events.send().await.unwrap().text().await.unwrap();
    let event = events.lines().find_map(|line| line.strip_prefix("data: ")).unwrap();
    let event: Value = serde_json::from_str(event).unwrap();
    for task in [&accepted, &completed, &list["tasks"][0], &event] {
        assert_eq!(text(task, "/links/self"), this);
        assert_eq!(text(task, "/links/results"), format!("{this}/results"));
        assert_eq!(text(task, "/links/errors"), format!("{this}/errors"));
    }
    real.stop().await;
}

/// Makes an issue with a file; its answer.
async fn with_file(real: &RealServer, host: Option<&str>, key: &str) -> Response {
    let file = || Part::text("hello").file_name("a.txt");
    let form = Form::new().text("message-body", "x").part("attachment", file());
    let mut post =
        real.request(Method::POST, ISSUES).multipart(form).header("Idempotency-Key", key);
    if let Some(host) = host {
        post = post.header("Host", host);
    }
    post.send().await.unwrap()
}

/// The answer to a GET with another `Host`.
async fn under(real: &RealServer, host: &str, path: &str, accept: &str) -> String {
    let get = real.request(Method::GET, path).header("Host", host).header("Accept", accept);
    get.send().await.unwrap().text().await.unwrap()
}

async fn every_url_of_an_attachment_is_absolute_and_stored_as_a_path() {
    let real = RealServer::start().await;
    let base = format!("http://{}", real.address);
    let answer = with_file(&real, None, "k").await;
    assert_eq!(header(&answer, "location"), format!("{base}{ISSUES}/1"));
    let made: Value = answer.json().await.unwrap();
    let url = text(&made, "/attachment/url").to_owned();
    assert_eq!(text(&made, "/attachments/0/url"), url);
    assert!(url.starts_with(&format!("{base}/v1/acme/attachments/")), "{url}");
    assert_eq!(real.text(&url).await, "hello", "the URL is that of the file");
    let file = Part::text("more").file_name("b.txt");
    let form = Form::new().text("message-body", "y").part("attachments", file);
    let path = format!("{ISSUES}/1/messages");
    let (status, added) = send(real.request(Method::POST, &path).multipart(form)).await;
    assert_eq!(status, 201, "{added}");
    let second = text(&added, "/added-message/attachment/url").to_owned();
    assert_eq!(text(&added, "/added-message/attachments/0/url"), second);
    assert_eq!(real.text(&second).await, "more");
    for (path, accept) in [
        (format!("{ISSUES}/1"), "application/json"),
        (ISSUES.to_owned(), "application/json"),
        (format!("{ISSUES}?cursor=&timestamp-format=iso-8601"), "application/json"),
        (ISSUES.to_owned(), "application/x-ndjson"),
        (format!("{ISSUES}/1/messages"), "application/json"),
        (format!("{ISSUES}/1/messages?cursor=&timestamp-format=iso-8601"), "application/json"),
    ] {
        let own = under(&real, &real.address.to_string(), &path, accept).await;
        for url in [&url, &second] {
            let quoted = format!("\"url\":\"{url}\"");
            assert_eq!(own.matches(&quoted).count(), 2, "{path}: {own}");
        }
        let other = under(&real, "Desk.example:81", &path, accept).await;
        assert_eq!(other, own.replace(&base, "http://desk.example:81"), "{path}");
        let none = under(&real, "", &path, accept).await;
        assert_eq!(none, own.replace(&base, ""), "{path}");
    }
    assert_eq!(real.store.check().await.unwrap().faults, Vec::<String>::new());
    real.stop().await;
}

async fn a_replayed_answer_has_the_host_of_the_repeat() {
    let real = RealServer::start().await;
    let first = with_file(&real, Some("one.example"), "k").await;
    let (location, first_body) =
        (header(&first, "location").to_owned(), first.text().await.unwrap());
    assert_eq!(location, format!("http://one.example{ISSUES}/1"));
    let again = with_file(&real, Some("two.example"), "k").await;
    assert_eq!(header(&again, "location"), format!("http://two.example{ISSUES}/1"));
    let again = again.text().await.unwrap();
    assert_eq!(again, first_body.replace("http://one.example/", "http://two.example/"));
    assert_ne!(again, first_body);
    let task = |host: &'static str| {
        let form = [("action", "import_issues"), ("payload", "[{\"created_at\":1}]")];
        let post = real.request(Method::POST, TASKS).form(&form).header("Idempotency-Key", "t");
        async move { send(post.header("Host", host)).await.1 }
    };
    let (one, two) = (task("one.example").await, task("two.example").await);
    assert_eq!(one["task_id"], two["task_id"]);
    for name in ["self", "results", "errors"] {
        let (one, two) = (text(&one["links"], &format!("/{name}")), &two["links"][name]);
        assert_eq!(
            one.replace("http://one.example/", "http://two.example/"),
            two.as_str().unwrap()
        );
        assert!(one.starts_with("http://one.example/v2/"), "{one}");
    }
    real.stop().await;
}

/// An issue with one attachment of this URL.
fn entry(id: u64, url: &str) -> String {
    let message = json!({"id": "m", "body": "b", "created_at": id, "origin": "end-user",
        "author": {"name": "", "id": "p", "emails": []}, "attachments": [{"url": url}]});
    json!({"id": id, "title": "t", "created_at": id, "messages": [message]}).to_string()
}

async fn an_import_takes_this_servers_own_address_off() {
    let real = RealServer::start().await;
    let port = real.address.port();
    let path = "/v1/acme/attachments/acme_attachment_1";
    let urls = [
        (format!("http://127.0.0.1:{port}{path}"), true),
        (format!("http://localhost:{port}{path}"), false),
        (path.to_owned(), true),
        (format!("http://127.0.0.1:{port}/files/1"), false),
        (format!("https://elsewhere.example{path}"), false),
        (format!("http://127.0.0.1:{port}0{path}"), false),
    ];
    let entries: Vec<String> = urls.iter().zip(1..).map(|((url, _), id)| entry(id, url)).collect();
    // PHP writes slashes with backslashes.
    let lines = entries.join("\n").replacen("http://", "http:\\/\\/", 1);
    let task = real.run("issues", "import_issues", &lines).await;
    assert_eq!(task["outcome"], "succeeded", "{task}");
    for ((url, is_own), id) in urls.iter().zip(1..) {
        let issue = under(&real, "other.example", &format!("{ISSUES}/{id}"), "*/*").await;
        let shown: Value = serde_json::from_str(&issue).unwrap();
        let shown = text(&shown, "/issues/0/messages/0/attachments/0/url").to_owned();
        let expected = if *is_own { format!("http://other.example{path}") } else { url.clone() };
        assert_eq!(shown, expected);
    }
    // The same issues, as they were exported.
    let own = real.address.to_string();
    let exported = under(&real, &own, ISSUES, "application/x-ndjson").await;
    let lines: Vec<&str> = exported.lines().filter(|line| !line.contains("\"end\":true")).collect();
    assert_eq!(lines.len(), urls.len());
    let again = real.run("issues", "import_issues", &lines.join("\n")).await;
    let results = real.lines(&again, "results").await;
    assert_eq!(results.matches("\"unchanged\"").count(), urls.len(), "{results}");
    real.stop().await;
}

async fn an_exported_issue_is_exported_as_the_same_bytes_by_another_server() {
    let (one, two) = (RealServer::start().await, RealServer::start().await);
    with_file(&one, None, "k").await;
    let lines = entry(7, "https://elsewhere.example/v1/acme/attachments/x");
    one.run("issues", "import_issues", &lines).await;
    let query = format!("{ISSUES}?sort-order=asc&includes={ALL}");
    let export = async |real: &RealServer| {
        let host = real.address.to_string();
        let all = under(real, &host, &query, "application/x-ndjson").await;
        let issues = all.lines().filter(|line| !line.contains("\"end\":true"));
        issues.collect::<Vec<_>>().join("\n")
    };
    let first = export(&one).await;
    assert!(first.contains(&format!("http://{}/v1/acme/attachments/", one.address)), "{first}");
    let task = two.run("issues", "import_issues", &first).await;
    assert_eq!(task["outcome"], "succeeded", "{task}");
    assert_eq!(export(&two).await, first);
    one.stop().await;
    two.stop().await;
}

async fn a_tag_belongs_to_the_host_of_the_request() {
    let real = RealServer::start().await;
    with_file(&real, None, "k").await;
    for path in [ISSUES, "/v1/acme/issues/1", "/v1/acme/issues/1/messages"] {
        let get = |host: &'static str, tag: &str| {
            let get = real.request(Method::GET, path).header("Host", host);
            get.header("If-None-Match", tag).send()
        };
        let answer = get("one.example", "\"none\"").await.unwrap();
        let tag = header(&answer, "etag").to_owned();
        assert_eq!(get("one.example", &tag).await.unwrap().status(), 304, "{path}");
        assert_eq!(get("two.example", &tag).await.unwrap().status(), 200, "{path}");
    }
    real.stop().await;
}

#[tokio::test]
async fn with_a_public_url_every_link_begins_with_it() {
    let public_url = Some("https://example.org/desk/".parse().unwrap());
    let server = Server::configured(ApiConfig { public_url, ..ApiConfig::default() }).await;
    let list = server.get("/v1/acme/issues/?page-size=5").await;
    let first = "<https://example.org/desk/v1/acme/issues?page-size=5&page=1>; rel=\"first\"";
    assert!(header(&list, "link").starts_with(first), "{}", header(&list, "link"));
    let form = [("action", "create_core_profiles"), ("payload", "[{}]")];
    let post = server.request(Method::POST, "/v2/acme/identity/bulk_actions").form(&form);
    let answer = post.send().await.unwrap();
    let path = "https://example.org/desk/v2/acme/identity/bulk_actions/";
    assert!(header(&answer, "location").starts_with(path), "{}", header(&answer, "location"));
    let task: Value = answer.json().await.unwrap();
    assert!(text(&task, "/links/errors").starts_with(path), "{task}");
    let problem: Value = server.get("/v1/acme/issues?x=1").await.json().await.unwrap();
    assert_eq!(
        problem["type"], "/problems/unknown_parameter",
        "the type of a problem stays a path"
    );
}

#[tokio::test]
async fn a_trusted_proxy_says_how_the_caller_addressed_the_server() {
    let trusted_proxies: TrustedProxies = "127.0.0.0/8".parse().unwrap();
    let trusting = ApiConfig { trusted_proxies, ..ApiConfig::default() };
    for (config, base) in [(trusting, "https://desk.example"), (ApiConfig::default(), "")] {
        let server = Server::configured(config).await;
        let own = format!("http://{}", server.address);
        let base = if base.is_empty() { &own } else { base };
        for headers in [
            &[("Forwarded", "for=1.2.3.4;host=desk.example;proto=https")][..],
            &[("X-Forwarded-Host", "desk.example"), ("X-Forwarded-Proto", "https")],
        ] {
            let get = server.request(Method::GET, "/v1/acme/issues");
            let get = headers.iter().fold(get, |get, (name, value)| get.header(*name, *value));
            let list = get.send().await.unwrap();
            let link = header(&list, "link");
            assert!(link.starts_with(&format!("<{base}/v1/acme/issues?")), "{headers:?}: {link}");
        }
    }
}

#[tokio::test]
async fn an_invalid_host_is_refused_and_without_a_host_links_are_paths() {
    let server = Server::start().await;
    let list = |version: &str, hosts: &str| {
        format!(
            "GET /v1/acme/issues HTTP/{version}\r\n{hosts}Authorization: Bearer {WRITE}\r\n\
             Connection: close\r\n\r\n"
        )
    };
    for (version, hosts, status, link) in [
        ("1.1", "Host: desk.example\r\n", "200", "link: <http://desk.example/v1/"),
        ("1.1", "Host: a(b)\r\n", "400", "not a host"),
        ("1.1", "Host:\r\n", "200", "link: </v1/"),
        ("1.0", "", "200", "link: </v1/"),
        ("1.0", "Host: desk.example\r\n", "200", "link: <http://desk.example/v1/"),
        ("1.1", "", "400", "the header Host is missing"),
        ("1.1", "Host: a\r\nHost: a\r\n", "400", "more than once"),
        ("1.1", "Host: a b\r\n", "400", "not a host"),
        ("1.1", "Host: a/b\r\n", "400", "not a host"),
        ("1.1", "Host: <script>\r\n", "400", "not a host"),
        ("1.1", "Host: a:b\r\n", "400", "not a host"),
        ("1.0", "Host: a\"b\r\n", "400", "not a host"),
    ] {
        let answer = exchange(&server, &list(version, hosts)).await;
        assert!(answer.starts_with(&format!("HTTP/{version} {status}")), "{hosts:?}: {answer}");
        assert!(answer.contains(link), "{hosts:?}: {answer}");
        assert!(answer.contains("x-rate-limit-remaining"), "{hosts:?}: {answer}");
    }
}
