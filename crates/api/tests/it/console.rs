//! The console: its headers and files, signing in, the cookie, and the administration that needs an
//! admin key.

use std::time::Duration;

use caseload_api::ApiConfig;
use caseload_model::key::Access;
use caseload_store::{CreateKey, CreateSession, SessionKind};
use caseload_teststore::on_each_store;
use reqwest::{Method, RequestBuilder, Response};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use crate::real_server::RealServer;
use crate::server::{READ, Server, WRITE, http_client};
use crate::still_clock::StillClock;

const ADMIN: &str = "admin-key";

async fn with_admin() -> RealServer {
    configured(ApiConfig::default()).await
}

async fn configured(config: ApiConfig) -> RealServer {
    let server = RealServer::without_runner(config).await;
    let key = CreateKey {
        domain: server.domain,
        id: "key-admin".to_owned(),
        hash: Sha256::digest(ADMIN).into(),
        name: "admin".to_owned(),
        access: Access::Admin,
        origin: server.clock.now().into(),
        expires_at: None,
    };
    server.store.create_key(key).await.unwrap();
    server
}

/// A request without a key.
fn bare(server: &RealServer, method: Method, path: &str) -> RequestBuilder {
    server.client.request(method, server.url(path))
}

async fn sign_in(server: &RealServer, body: &Value) -> Response {
    bare(server, Method::POST, "/console/session").json(body).send().await.unwrap()
}

/// The cookie that an answer sets, as a request sends it.
fn cookie(answer: &Response) -> String {
    let set = answer.headers()["set-cookie"].to_str().unwrap();
    set.split(';').next().unwrap().to_owned()
}

async fn make_code(server: &RealServer, text: &str, ms: i64) {
    let now = server.clock.now();
    let command = CreateSession {
        domain: server.domain,
        hash: Sha256::digest(text).into(),
        key_id: "key-admin".to_owned(),
        kind: SessionKind::Code,
        now,
        expires_at: caseload_model::time::UnixMillis(now.0 + ms),
    };
    server.store.create_session(command).await.unwrap();
}

#[tokio::test]
async fn files_are_packed_and_immutable_and_the_page_is_not() {
    let server = Server::start().await;
    let get = |path: String| server.bare(Method::GET, &path);
    let page = get("/console/".to_owned()).send().await.unwrap();
    assert_eq!(page.status(), 200);
    assert_eq!(page.headers()["cache-control"], "no-cache");
    let policy = page.headers()["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none'; script-src 'self'"), "{policy}");
    assert!(policy.ends_with("require-trusted-types-for 'script'; trusted-types 'none'"));
    for name in ["cross-origin-opener-policy", "cross-origin-resource-policy"] {
        assert_eq!(page.headers()[name], "same-origin");
    }
    let text = page.text().await.unwrap();
    let start = text.find("src=\"").unwrap() + 5;
    let app = format!("/console/{}", &text[start..start + text[start..].find('"').unwrap()]);
    for (encoding, tag_end) in
        [("gzip", "-gzip\""), ("zstd, gzip", "-gzip\""), ("identity", "js\"")]
    {
        let answer = get(app.clone()).header("Accept-Encoding", encoding).send().await.unwrap();
        assert_eq!(answer.status(), 200, "{app}");
        let tag = answer.headers()["etag"].to_str().unwrap().to_owned();
        assert!(tag.starts_with('"') && tag.ends_with(tag_end), "{tag}");
        let cache = answer.headers()["cache-control"].to_str().unwrap();
        assert_eq!(cache, "public, max-age=31536000, immutable");
        assert_eq!(answer.headers()["content-type"], "text/javascript; charset=utf-8");
        let again = get(app.clone()).header("Accept-Encoding", encoding);
        let again = again.header("If-None-Match", &tag).send().await.unwrap();
        assert_eq!(
            (again.status().as_u16(), &again.headers()["etag"]),
            (304, &tag.parse().unwrap())
        );
    }
    for path in ["/console/0000/app.js", "/console/app.js", "/console/x/../style.css"] {
        let answer = get(path.to_owned()).send().await.unwrap();
        assert_eq!(answer.status(), 404, "{path}");
        assert!(answer.headers().contains_key("content-security-policy"), "{path}");
    }
}

#[tokio::test]
async fn the_address_without_a_slash_leads_to_the_one_with_it() {
    let server = Server::start().await;
    let client = http_client().redirect(reqwest::redirect::Policy::none());
    let answer = client.build().unwrap().get(server.url("/console")).send().await.unwrap();
    let location = answer.headers()["location"].to_str().unwrap();
    assert_eq!((answer.status().as_u16(), location), (308, "console/"));
}

on_each_store!(
    a_session_opens_the_api_to_pages_of_the_server_until_it_is_ended,
    over_tls_only_the_cookie_that_no_other_host_can_set_counts,
    a_code_signs_in_once_and_for_its_time,
    a_sign_in_counts_as_a_request,
    a_session_ends_with_its_key,
    a_page_is_not_offered_basic,
    an_admin_key_makes_keys_apps_agents_and_queues_and_changes_the_desk,
);

async fn a_session_opens_the_api_to_pages_of_the_server_until_it_is_ended() {
    let server = with_admin().await;
    let answer = sign_in(&server, &json!({"key": WRITE})).await;
    assert_eq!(answer.status(), 201);
    let set = answer.headers()["set-cookie"].to_str().unwrap().to_owned();
    assert!(set.ends_with("; Path=/; Max-Age=28800; HttpOnly; SameSite=Strict"), "{set}");
    let cookie = cookie(&answer);
    let session: Value = answer.json().await.unwrap();
    assert_eq!((&session["access"], &session["domain"]), (&json!("write"), &json!("acme")));
    let own = format!("http://{}", server.address);
    let call = |method: Method, name: &'static str, value: String| {
        let (server, cookie) = (&server, &cookie);
        async move {
            let path = "/v1/acme/issues";
            let mut request = bare(server, method.clone(), path).header("Cookie", cookie);
            if method == Method::POST {
                request = request.form(&[("message-body", "hello")]);
            }
            if !name.is_empty() {
                request = request.header(name, value);
            }
            request.send().await.unwrap()
        }
    };
    for (method, name, value, status) in [
        (Method::GET, "", "", 200),
        (Method::GET, "Sec-Fetch-Site", "same-origin", 200),
        (Method::GET, "Sec-Fetch-Site", "none", 401),
        (Method::GET, "Sec-Fetch-Site", "same-site", 401),
        (Method::GET, "Sec-Fetch-Site", "cross-site", 401),
        (Method::GET, "Origin", "https://evil.example", 401),
        (Method::POST, "", "", 401),
        (Method::POST, "Sec-Fetch-Site", "same-origin", 201),
        (Method::POST, "Origin", own.as_str(), 201),
        (Method::POST, "Origin", "null", 401),
    ] {
        let answer = call(method.clone(), name, value.to_owned()).await;
        assert_eq!(answer.status(), status, "{method} {name}: {value}");
    }
    // The text of a session is not a key.
    let text = cookie.split('=').nth(1).unwrap();
    let as_key = bare(&server, Method::GET, "/v1/acme/issues").bearer_auth(text);
    assert_eq!(as_key.send().await.unwrap().status(), 401);
    let of = |method| bare(&server, method, "/console/session").header("Cookie", &cookie);
    assert_eq!(of(Method::GET).send().await.unwrap().status(), 200);
    let own = of(Method::DELETE).header("Sec-Fetch-Site", "same-origin");
    assert_eq!(own.send().await.unwrap().status(), 204);
    let after = of(Method::GET).send().await.unwrap();
    assert_eq!(after.status(), 401);
    assert_eq!(after.headers()["www-authenticate"], "Bearer");
    assert_eq!(call(Method::GET, "", String::new()).await.status(), 401);
    server.stop().await;
}

async fn over_tls_only_the_cookie_that_no_other_host_can_set_counts() {
    let public_url = Some("https://desk.example/support".parse().unwrap());
    let server = configured(ApiConfig { public_url, ..ApiConfig::default() }).await;
    let answer = sign_in(&server, &json!({"key": WRITE})).await;
    let set = answer.headers()["set-cookie"].to_str().unwrap();
    let rest = "; Path=/; Max-Age=28800; HttpOnly; SameSite=Strict; Secure";
    assert!(set.starts_with("__Host-caseload_session=") && set.ends_with(rest), "{set}");
    let own = cookie(&answer);
    let plain = own.trim_start_matches("__Host-").to_owned();
    let planted = "__Host-caseload_session=planted";
    for (cookies, status, says) in [
        (own.clone(), 200, ""),
        (format!("{plain}; {own}"), 200, ""),
        (format!("caseload_session=planted; {own}"), 200, ""),
        (plain, 401, "there is no session"),
        (format!("{planted}; {own}"), 401, "two cookies of a session"),
        (format!("{own}; {planted}"), 401, "two cookies of a session"),
    ] {
        let get = |path| bare(&server, Method::GET, path).header("Cookie", &cookies).send();
        assert_eq!(get("/v1/acme/issues").await.unwrap().status(), status, "{cookies}");
        let session = get("/console/session").await.unwrap();
        assert_eq!(session.status(), status, "{cookies}");
        assert!(session.text().await.unwrap().contains(says), "{cookies}");
    }
    let out = bare(&server, Method::DELETE, "/console/session").header("Cookie", own);
    let out = out.header("Sec-Fetch-Site", "same-origin").send().await.unwrap();
    let cleared: Vec<_> = out.headers().get_all("set-cookie").iter().collect();
    let end = "; Max-Age=0; HttpOnly; SameSite=Strict";
    assert_eq!(
        cleared,
        [
            &format!("__Host-caseload_session=; Path=/{end}; Secure"),
            &format!("caseload_session=; Path=/support/{end}"),
        ]
    );
    server.stop().await;
}

async fn a_sign_in_counts_as_a_request() {
    let server = configured(ApiConfig { rate_limit: 3, ..ApiConfig::default() }).await;
    let key = json!({"key": WRITE});
    for left in ["2", "1"] {
        let answer = sign_in(&server, &key).await;
        assert_eq!(
            (answer.status().as_u16(), &answer.headers()["x-rate-limit-remaining"]),
            (201, &left.parse().unwrap())
        );
    }
    let request = || bare(&server, Method::GET, "/v1/acme/issues").bearer_auth(WRITE).send();
    assert_eq!(request().await.unwrap().status(), 200);
    let refused = sign_in(&server, &key).await;
    assert_eq!(refused.status(), 429);
    for name in ["retry-after", "x-rate-limit-limit", "ratelimit"] {
        assert!(refused.headers().contains_key(name), "{name}");
    }
    assert_eq!(request().await.unwrap().status(), 429);
    // A code that meets the limit of its key is not used up.
    make_code(&server, "later", 600_000).await;
    let code = json!({"code": "later"});
    let as_admin = bare(&server, Method::GET, "/v1/acme/issues").bearer_auth(ADMIN);
    for _ in 0..3 {
        assert_eq!(as_admin.try_clone().unwrap().send().await.unwrap().status(), 200);
    }
    assert_eq!(sign_in(&server, &code).await.status(), 429);
    server.turned.fetch_add(60_000, std::sync::atomic::Ordering::SeqCst);
    assert_eq!(sign_in(&server, &code).await.status(), 201);
    server.stop().await;
}

async fn a_code_signs_in_once_and_for_its_time() {
    let server = with_admin().await;
    make_code(&server, "one", 60_000).await;
    make_code(&server, "old", 1).await;
    let answers = [
        sign_in(&server, &json!({"code": "one"})).await,
        sign_in(&server, &json!({"code": "one"})).await,
        sign_in(&server, &json!({"code": "old"})).await,
        sign_in(&server, &json!({"code": "other"})).await,
        sign_in(&server, &json!({"key": "other"})).await,
        sign_in(&server, &json!({"key": WRITE, "code": "one"})).await,
        sign_in(&server, &json!({})).await,
    ];
    let statuses = answers.each_ref().map(|answer| answer.status().as_u16());
    assert_eq!(statuses, [201, 401, 401, 401, 401, 400, 400]);
    assert_eq!(answers[1].headers()["www-authenticate"], "Bearer");
    // A code is not the text of a session.
    make_code(&server, "code", 60_000).await;
    let request = bare(&server, Method::GET, "/v1/acme/issues");
    let request = request.header("Cookie", "caseload_session=code");
    assert_eq!(request.send().await.unwrap().status(), 401);
    server.stop().await;
}

async fn a_session_ends_with_its_key() {
    let server = with_admin().await;
    let cookie = cookie(&sign_in(&server, &json!({"key": WRITE})).await);
    let id = format!("/v1/acme/keys/key-{WRITE}");
    let revoked = bare(&server, Method::DELETE, &id).bearer_auth(ADMIN).send().await.unwrap();
    assert_eq!(revoked.status(), 204);
    let mut clock = StillClock::new();
    clock.pass(Duration::from_secs(5)).await;
    let request = bare(&server, Method::GET, "/v1/acme/issues").header("Cookie", &cookie);
    assert_eq!(clock.at_once(request.send()).await.unwrap().status(), 401);
    drop(clock);
    server.stop().await;
}

async fn an_admin_key_makes_keys_apps_agents_and_queues_and_changes_the_desk() {
    let server = with_admin().await;
    let call = |key: &'static str, method: Method, path: &str, body: Value| {
        let path = format!("/v1/acme/{path}");
        let request = bare(&server, method, &path).bearer_auth(key);
        let request = if body.is_null() { request } else { request.json(&body) };
        async move {
            let answer = request.send().await.unwrap();
            let status = answer.status().as_u16();
            (status, answer.json::<Value>().await.unwrap_or_default())
        }
    };
    for (method, path, body) in [
        (Method::GET, "keys", Value::Null),
        (Method::POST, "keys", json!({"name": "x"})),
        (Method::DELETE, "keys/key-admin", Value::Null),
        (Method::POST, "apps", json!({"title": "x"})),
        (Method::POST, "agents", json!({"name": "x", "email": "x@example.org"})),
        (Method::POST, "queues", json!({"name": "x"})),
        (Method::GET, "settings", Value::Null),
        (Method::PUT, "settings", json!({"desk_name": "x"})),
    ] {
        for key in [READ, WRITE] {
            let (status, problem) = call(key, method.clone(), path, body.clone()).await;
            assert_eq!((status, &problem["code"]), (403, &json!("forbidden")), "{path}");
        }
    }
    let (status, made) =
        call(ADMIN, Method::POST, "keys", json!({"name": "n", "access": "admin"})).await;
    assert_eq!((status, &made["access"], &made["state"]), (201, &json!("admin"), &json!("active")));
    let secret = made["secret"].as_str().unwrap();
    let request = bare(&server, Method::GET, "/v1/acme/keys").bearer_auth(secret);
    let keys: Value = request.send().await.unwrap().json().await.unwrap();
    assert_eq!(keys["keys"].as_array().unwrap().len(), 4);
    assert!(!keys.to_string().contains(secret));
    for (path, body, list, at) in [
        ("apps", json!({"title": "Web shop"}), "apps", "/apps/1/title"),
        ("agents", json!({"name": "Ada", "email": "a@b"}), "agents", "/profiles/0/name"),
        ("queues", json!({"name": "Returns"}), "queues", "/queues/0/name"),
    ] {
        let (status, made) = call(ADMIN, Method::POST, path, body.clone()).await;
        assert_eq!(status, 201, "{made}");
        let (_, listed) = call(ADMIN, Method::GET, list, Value::Null).await;
        let first = body.as_object().unwrap().values().next().unwrap();
        assert_eq!(listed.pointer(at), Some(first), "{listed}");
    }
    let (_, settings) = call(ADMIN, Method::PUT, "settings", json!({"desk_name": "Team"})).await;
    assert_eq!(settings["desk_name"], "Team");
    assert_eq!(settings["desk_email"], "desk@acme.invalid");
    let empty = json!({"desk_name": "", "desk_email": ""});
    let (status, settings) = call(ADMIN, Method::PUT, "settings", empty).await;
    assert_eq!((status, &settings["desk_name"]), (200, &json!("Desk")), "the default again");
    let (status, problem) = call(
        ADMIN,
        Method::POST,
        "keys",
        json!({"name": " ", "access": "all", "expires_at": 1, "nam": "x"}),
    )
    .await;
    let codes: Vec<_> = problem["errors"]
        .as_array()
        .unwrap()
        .iter()
        .map(|fault| fault["parameter"].as_str().unwrap())
        .collect();
    assert_eq!((status, codes), (400, vec!["nam", "name", "access", "expires_at"]));
    let (status, _) = call(ADMIN, Method::DELETE, "keys/none", Value::Null).await;
    assert_eq!(status, 404);
    assert!(server.store.check().await.unwrap().faults.is_empty());
    server.stop().await;
}

async fn a_page_is_not_offered_basic() {
    let server = with_admin().await;
    let basic = "Basic realm=\"caseload\", Bearer";
    for (name, value, offered) in [
        ("Sec-Fetch-Dest", "empty", "Bearer"),
        // A link to a download, whose session has ended.
        ("Sec-Fetch-Site", "same-origin", "Bearer"),
        // The same on plain HTTP.
        ("Cookie", "a=b; caseload_session=ended", "Bearer"),
        ("Caseload-Console", "1", "Bearer"),
        // A user typed the address, or a program sent it.
        ("Sec-Fetch-Site", "none", basic),
        ("Cookie", "a=b", basic),
    ] {
        let request = bare(&server, Method::GET, "/v1/acme/issues").header(name, value);
        let answer = request.send().await.unwrap();
        assert_eq!(
            (answer.status().as_u16(), answer.headers()["www-authenticate"].to_str().unwrap()),
            (401, offered),
            "{name}: {value}"
        );
    }
    server.stop().await;
}
