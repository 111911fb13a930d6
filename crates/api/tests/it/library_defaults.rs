//! Requests as HTTP libraries send lists, booleans, dates and empty values by default. Each row is
//! one request, byte for byte, and a test of its own; docs/api.md, "Requests of libraries", has the
//! same rows in words.

use caseload_model::issue_query::{IssueQuery, parse_list};
use caseload_teststore::Backend;
use reqwest::Method;
use reqwest::multipart::{Form, Part};
use serde_json::{Value, json};

use crate::issues::support::{ISSUES, desk, json_of, send};
use crate::real_server::RealServer;
use crate::server::Server;

const LIST: &str = "/v1/acme/issues";
/// 2023-11-14T22:13:20Z
const AT: &str = "1700000000000";

/// Parameters in the form that the reference describes first.
type Plain = &'static [(&'static str, &'static str)];

const STATES: Plain = &[("state", r#"["new","resolved"]"#)];
const TAGS: Plain = &[("tags", r#"{"or":["a","b, c"]}"#)];
const SINCE: Plain = &[("created-since", AT)];

fn query_of(plain: Plain) -> IssueQuery {
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    parse_list(&plain.iter().map(owned).collect::<Vec<_>>()).unwrap().query
}

/// The query string, as it is on the wire, means the same as the plain parameters.
async fn means(sent: &str, plain: Plain) {
    let server = Server::start().await;
    let answer = server.get(&format!("{LIST}?{sent}")).await;
    assert_eq!(answer.status(), 200, "{sent}: {}", answer.text().await.unwrap());
    let listed = server.store.listed.lock().unwrap();
    assert_eq!(listed[0].query, query_of(plain), "{sent}");
}

/// The query string is refused, with advice that contains `said`.
async fn is_refused(sent: &str, said: &str) {
    let server = Server::start().await;
    let (status, body) = json_of(server.get(&format!("{LIST}?{sent}")).await).await;
    assert_eq!(status, 400, "{sent}: {body}");
    for fault in body["errors"].as_array().unwrap() {
        assert!(fault["detail"].as_str().unwrap().contains(said), "{sent}: {body}");
    }
    assert!(server.store.listed.lock().unwrap().is_empty());
}

/// The query string begins a walk by cursor.
async fn begins_a_walk(sent: &str) {
    let real = real().await;
    let page = real.json(&format!("{LIST}?{sent}")).await;
    assert_eq!((page.get("total-hits"), &page["next-cursor"]), (None, &Value::Null), "{page}");
    real.stop().await;
}

async fn real() -> RealServer {
    Backend::Sqlite.under(desk()).await
}

/// The urlencoded body makes an issue with these tags.
async fn makes_tags(body: &str, tags: &[&str]) {
    let real = real().await;
    let request = real.request(Method::POST, ISSUES).body(format!("message-body=x&{body}"));
    let request = request.header("Content-Type", "application/x-www-form-urlencoded");
    let (status, made) = send(request).await;
    assert_eq!((status, &made["tags"]), (201, &json!(tags)), "{body}: {made}");
    real.stop().await;
}

/// The multipart form makes an issue with two tags and two files.
async fn makes_files(tag: &'static str, file: &'static str) {
    let real = real().await;
    let part = |text: &'static str| Part::text(text).file_name(text);
    let number = |name: &str, n: usize| name.replace('N', &n.to_string());
    let form = Form::new()
        .text("message-body", "x")
        .text(number(tag, 0), "a")
        .text(number(tag, 1), "b")
        .part(number(file, 0), part("1.txt"))
        .part(number(file, 1), part("2.txt"));
    let (status, made) = send(real.request(Method::POST, ISSUES).multipart(form)).await;
    assert_eq!((status, &made["tags"]), (201, &json!(["a", "b"])), "{made}");
    assert_eq!(made["attachments"][1]["file_name"], "2.txt", "{made}");
    real.stop().await;
}

/// The urlencoded body of a task is a dry run, or is not.
async fn is_dry_run(field: &str, dry_run: bool) {
    let server = Server::start().await;
    let path = "/v2/acme/identity/bulk_actions";
    let body = format!("action=create_core_profiles&payload=%5B%7B%7D%5D&{field}");
    let request = server.request(Method::POST, path).body(body);
    let request = request.header("Content-Type", "application/x-www-form-urlencoded");
    let (status, task) = send(request).await;
    assert_eq!((status, &task["dry_run"]), (201, &json!(dry_run)), "{field}: {task}");
}

/// A test for each row: its name, a check, and the arguments of the check.
macro_rules! rows {
    ($($name:ident: $check:ident($($argument:expr),+);)+) => {
        $(#[tokio::test]
        async fn $name() {
            $check($($argument),+).await;
        })+
    };
}

// Lists, in a query. JSON text always works; in the rows, a library encodes a list of its own.
rows! {
    requests_repeats_the_name_for_a_list: means("state=new&state=resolved", STATES);
    requests_sends_a_list_of_one_as_a_bare_text:
        means("tags=vip", &[("tags", r#"{"or":["vip"]}"#)]);
    requests_leaves_commas_in_texts: means("tags=a&tags=b%2C+c", TAGS);
    requests_sends_ids_as_numbers: means("ids=28&ids=29", &[("ids", "[28,29]")]);
    httpx_repeats_the_name_for_a_list: means("state=new&state=resolved", STATES);
    axios_adds_brackets_to_a_list: means("state[]=new&state[]=resolved", STATES);
    axios_escapes_brackets_in_some_versions: means("tags%5B%5D=a&tags%5B%5D=b,+c", TAGS);
    axios_with_indexes_numbers_a_list: means("state[0]=new&state[1]=resolved", STATES);
    php_numbers_a_list: means("state%5B0%5D=new&state%5B1%5D=resolved", STATES);
    php_numbers_texts_with_commas: means("tags%5B0%5D=a&tags%5B1%5D=b%2C+c", TAGS);
    httparty_adds_brackets_to_a_list: means("state[]=new&state[]=resolved", STATES);
    go_values_repeat_the_name: means("state=new&state=resolved", STATES);
    curl_escapes_json: means("tags=%7B%22or%22%3A%5B%22a%22%2C%22b%2C%20c%22%5D%7D", TAGS);
    curl_escapes_a_comma_list: means("state=new%2Cresolved", STATES);
    curl_escapes_blanks_around_commas: means("state=new%2C%20resolved", STATES);
    singer_sends_json_text_of_its_configuration:
        means("state=%5B%22new%22%2C+%22resolved%22%5D", STATES);
}

// Maps, in a query: some libraries take them apart, and the answer names the right form.
rows! {
    axios_takes_a_map_apart: is_refused("tags[or][]=a", "a map is sent as JSON: tags={");
    php_takes_a_map_apart: is_refused("tags%5Bor%5D%5B0%5D=a", "a map is sent as JSON: tags={");
    httparty_takes_a_map_apart: is_refused("tags[or][]=a", "a map is sent as JSON: tags={");
    requests_sends_only_the_keys_of_a_map: is_refused("tags=or", "\"or\" is a key of a map");
}

// Booleans, in a query.
rows! {
    requests_writes_true_with_a_capital: means("redacted=True", &[("redacted", "true")]);
    requests_writes_false_with_a_capital: means("redacted=False", &[("redacted", "false")]);
    httpx_writes_booleans_as_json_does: means("redacted=true", &[("redacted", "true")]);
    axios_writes_booleans_as_json_does: means("redacted=false", &[("redacted", "false")]);
    php_writes_true_as_one: means("redacted=1", &[("redacted", "true")]);
    php_writes_false_as_zero: means("redacted=0", &[("redacted", "false")]);
    httparty_writes_booleans_as_json_does: means("redacted=true", &[("redacted", "true")]);
    go_writes_booleans_as_json_does: means("redacted=false", &[("redacted", "false")]);
    python_text_of_a_boolean_in_a_map:
        means("tags=%7B%22exists%22%3A+%22True%22%7D", &[("tags", r#"{"exists":true}"#)]);
}

// Dates and times, in a query.
rows! {
    requests_prints_a_datetime_with_a_blank:
        means("created-since=2023-11-14+22%3A13%3A20%2B00%3A00", SINCE);
    requests_prints_a_naive_datetime: means("created-since=2023-11-14+22%3A13%3A20", SINCE);
    requests_prints_microseconds:
        means("created-since=2023-11-14+22%3A13%3A19.999500%2B00%3A00", SINCE);
    python_isoformat: means("created-since=2023-11-14T22%3A13%3A20%2B00%3A00", SINCE);
    requests_prints_a_float: means("created-since=1700000000000.0", SINCE);
    httpx_escapes_the_blank_of_a_datetime:
        means("created-since=2023-11-14%2022%3A13%3A20%2B00%3A00", SINCE);
    axios_prints_a_date_in_iso: means("created-since=2023-11-14T22:13:20.000Z", SINCE);
    php_date_atom: means("created-since=2023-11-14T22%3A13%3A20%2B00%3A00", SINCE);
    php_float: means("created-since=1.7E%2B12", SINCE);
    httparty_prints_a_time_in_utc: means("created-since=2023-11-14%2022%3A13%3A20%20UTC", SINCE);
    httparty_prints_a_local_time:
        means("created-since=2023-11-15%2000%3A13%3A20%20%2B0200", SINCE);
    ruby_iso8601: means("created-since=2023-11-14T22%3A13%3A20Z", SINCE);
    go_rfc3339: means("created-since=2023-11-14T22%3A13%3A20Z", SINCE);
    go_rfc3339_with_nanoseconds: means("created-since=2023-11-14T22%3A13%3A19.999000001Z", SINCE);
    go_prints_a_float_with_an_exponent: means("created-since=1.7e%2B12", SINCE);
    curl_escapes_an_offset: means("created-since=2023-11-15T00%3A13%3A20%2B02%3A00", SINCE);
    curl_without_escapes_turns_a_plus_into_a_blank:
        means("created-since=2023-11-15T00:13:20+02:00", SINCE);
    singer_prints_its_bookmark:
        means("updated_since=2023-11-14T22%3A13%3A20%2B00%3A00", &[("updated_since", AT)]);
    singer_multiplies_a_timestamp: means("updated_since=1700000000000.0", &[("updated_since", AT)]);
}

// Empty values, in a query. A parameter that a library drops is not there: `cursor=*` is the
// beginning for such a library.
rows! {
    requests_sends_an_empty_text: begins_a_walk("cursor=");
    httpx_sends_none_as_an_empty_text: begins_a_walk("cursor=");
    singer_drops_an_empty_text_and_sends_a_star: begins_a_walk("cursor=%2A");
    go_sends_an_empty_text: begins_a_walk("cursor=");
    requests_drops_none_and_an_empty_list: means("", &[]);
    httparty_sends_an_empty_list_as_brackets: means("ids[]=", &[("ids", "[]")]);
    httparty_sends_an_empty_condition_as_brackets: means("tags[]=", &[("tags", r#"{"or":[]}"#)]);
    curl_sends_an_empty_list_as_json: means("tags=%5B%5D", &[("tags", r#"{"or":[]}"#)]);
    httpx_sends_none_as_an_empty_filter: is_refused("ids=", "leave ids out to list everything");
    httparty_sends_nil_as_an_empty_bound: is_refused("created-since=", "is not a time");
    go_sends_an_empty_boolean: is_refused("redacted=", "is neither true nor false");
}

// Forms.
rows! {
    requests_repeats_a_field_for_a_list: makes_tags("tags=a&tags=b%2C+c", &["a", "b, c"]);
    httpx_repeats_a_field_for_a_list: makes_tags("tags=a&tags=b", &["a", "b"]);
    axios_adds_brackets_to_a_field: makes_tags("tags%5B%5D=a&tags%5B%5D=b", &["a", "b"]);
    php_numbers_a_field: makes_tags("tags%5B0%5D=a&tags%5B1%5D=b", &["a", "b"]);
    php_encodes_an_empty_map_as_an_array: makes_tags("meta=%5B%5D&custom_fields=%5B%5D", &[]);
    httparty_adds_brackets_to_a_field: makes_tags("tags[]=a&tags[]=b", &["a", "b"]);
    httparty_sends_an_empty_field_list: makes_tags("tags[]=", &[]);
    httparty_sends_nil_as_an_empty_field: makes_tags("tags=&title=", &[]);
    go_repeats_a_field: makes_tags("tags=a&tags=b", &["a", "b"]);
    curl_sends_a_field_twice: makes_tags("tags=a&tags=b", &["a", "b"]);
    curl_sends_a_field_as_json: makes_tags("tags=%5B%22a%22%2C%22b%22%5D", &["a", "b"]);
    requests_repeats_the_parts_of_a_form: makes_files("tags", "attachments");
    axios_adds_brackets_to_the_parts_of_a_form: makes_files("tags[]", "attachments[]");
    php_numbers_the_parts_of_a_form: makes_files("tags[N]", "attachments[N]");
    requests_sends_a_boolean_field_with_a_capital: is_dry_run("dry_run=True", true);
    requests_sends_a_false_field_with_a_capital: is_dry_run("dry_run=False", false);
    php_sends_a_boolean_field_as_a_digit: is_dry_run("dry_run=1", true);
    php_sends_a_false_field_as_a_digit: is_dry_run("dry_run=0", false);
    httpx_sends_a_boolean_field_as_json_does: is_dry_run("dry_run=true", true);
    a_form_that_repeats_an_equal_field:
        is_dry_run("dry_run=true&dry-run=true&action=create_core_profiles", true);
}

/// Profile entries as `json_encode` writes maps without members, and a country that PHP's own
/// list of countries has.
#[tokio::test]
async fn php_entries_have_empty_arrays_for_empty_maps() {
    Backend::Sqlite
        .under(async {
            let real = RealServer::start().await;
            let entry =
                r#"{"identities":[{"uid":"u"}],"names":[],"custom_fields":[],"last_country":"XK"}"#;
            let task = real.run("identity", "create_core_profiles", entry).await;
            assert_eq!(task["outcome"], "succeeded", "{task}");
            let made: Value =
                serde_json::from_str(real.lines(&task, "results").await.trim()).unwrap();
            let id = &made["core-profile-id"];
            let patch = json!({"core-profile-id": id, "names": [], "custom_fields": []});
            let task = real.run("identity", "update_core_profiles", &patch.to_string()).await;
            let outcome = real.lines(&task, "results").await;
            assert!(outcome.contains("\"unchanged\""), "{outcome}");
            let get = json!({"core-profile-id": id}).to_string();
            let task = real.run("identity", "get_core_profiles", &get).await;
            let profile: Value =
                serde_json::from_str(real.lines(&task, "results").await.trim()).unwrap();
            assert_eq!((&profile["names"], &profile["custom_fields"]), (&json!({}), &json!({})));
            let issue = r#"{"created_at":1,"meta":[],"custom_fields":[]}"#;
            let task = real.run("issues", "import_issues", issue).await;
            assert_eq!(task["outcome"], "succeeded", "{task}");
            let issue = real.json("/v1/acme/issues/1").await["issues"][0].take();
            assert_eq!((&issue["meta"], &issue["custom_fields"]), (&json!({}), &json!({})));
            real.stop().await;
        })
        .await;
}
