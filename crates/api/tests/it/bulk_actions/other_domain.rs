//! Two domains of one server: the key of one finds nothing of the other, neither on the other's
//! paths nor by its ids on paths of its own. Each path that takes the id of a task, a profile or an
//! issue is tried.

use caseload_model::ids::DomainName;
use caseload_model::key::Access;
use caseload_store::{CreateDomain, CreateKey};
use caseload_teststore::on_each_store;
use reqwest::{Method, StatusCode};
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::support::{ISSUES, PATH, submit, this};
use crate::real_server::RealServer;

on_each_store!(
    the_key_of_another_domain_finds_nothing,
    domains_have_the_same_person_without_a_conflict,
);

const BETA: &str = "beta-key";
const SECRET: &str = "ada@secret.example";
const PERSON: &str = r#"{"identities":[{"email":"ada@secret.example"}],"age":30}"#;
const ISSUE: &str =
    r#"{"id":7,"title":"secret","created_at":1,"author_email":"ada@secret.example"}"#;

/// Adds the domain `beta` with a key.
async fn add_beta(real: &RealServer) {
    let (name, now) = (DomainName::parse("beta").unwrap(), real.clock.now());
    let domain = real
        .store
        .create_domain(CreateDomain { name, origin: now.into(), random: 2 })
        .await
        .unwrap()
        .id;
    let (id, hash) = ("key-beta".to_owned(), Sha256::digest(BETA).into());
    let key = CreateKey {
        domain,
        id,
        hash,
        name: BETA.to_owned(),
        access: Access::Write,
        origin: now.into(),
        expires_at: None,
    };
    real.store.create_key(key).await.unwrap();
}

/// Status and body of a call with the key of beta.
async fn by_beta(real: &RealServer, method: Method, path: &str) -> (StatusCode, String) {
    let request = real.client.request(method, real.url(path)).bearer_auth(BETA);
    let answer = request.send().await.unwrap();
    let status = answer.status();
    (status, answer.text().await.unwrap())
}

/// The paths that have the ids of acme's things, below their domain.
async fn fill_acme(real: &RealServer) -> Vec<(Method, String)> {
    let created = real.run("identity", "create_core_profiles", PERSON).await;
    let id = real.json(&format!("{}/results", this(&created))).await[0]["core-profile-id"].clone();
    let import = real.run("issues", "import_issues", ISSUE).await;
    let faulty = format!("[{PERSON},{PERSON}]");
    let fields = [("action", "create_core_profiles"), ("payload", &faulty), ("dry_run", "true")];
    let dry = submit(real, PATH, &fields).await.1;
    real.completed(&this(&dry)).await;
    let pid = real.json("/v2/acme/identity/app_profiles").await["app_profiles"][0]["pid"].clone();
    let (id, pid) = (id.as_str().unwrap(), pid.as_str().unwrap());
    let mut paths = Vec::new();
    for (family, task) in [("identity", &created), ("identity", &dry), ("issues", &import)] {
        let task = task["task_id"].as_str().unwrap();
        let at = |rest: &str| format!("v2 {family}/bulk_actions/{task}{rest}");
        for rest in [
            "",
            "/results",
            "/errors",
            "/errors?page=1",
            "/errors/summary",
            "/warnings/summary",
            "/payload",
        ] {
            paths.push((Method::GET, at(rest)));
        }
        for rest in ["/run", "/retry", "/cancel"] {
            paths.push((Method::POST, at(rest)));
        }
    }
    paths.push((Method::GET, format!("v2 identity/core_profiles/{id}")));
    paths.push((Method::GET, format!("v2 identity/app_profiles/{pid}")));
    paths.push((Method::GET, "v1 issues/7".to_owned()));
    paths.push((Method::GET, "v1 issues/7/messages".to_owned()));
    for list in [
        format!("v2 identity/core_profiles?identity=email:{SECRET}"),
        format!("v2 identity/core_profiles?ids={id}"),
        format!("v2 identity/app_profiles?pids={pid}"),
        format!("v2 identity/app_profiles?identity=email:{SECRET}&includes=core_profile"),
        format!("v1 issues?core-profile-id={id}"),
        format!("v1 issues?core-profile-id={id}&cursor=*&count=true"),
        format!("v1 issues/counts?group-by=state&core-profile-id={id}"),
        "v1 issues?text=secret".to_owned(),
        "v1 issues?ids=7".to_owned(),
    ] {
        paths.push((Method::GET, list));
    }
    paths
}

async fn the_key_of_another_domain_finds_nothing() {
    let real = RealServer::start().await;
    add_beta(&real).await;
    let in_domain = |path: &str, domain: &str| {
        let (version, rest) = path.split_once(' ').unwrap();
        format!("/{version}/{domain}/{rest}")
    };
    for (method, path) in fill_acme(&real).await {
        let acme = in_domain(&path, "acme");
        let (status, body) = by_beta(&real, method.clone(), &acme).await;
        assert_eq!(status, StatusCode::FORBIDDEN, "{acme}: {body}");
        assert!(!body.contains(SECRET), "{acme}: {body}");
        let beta = in_domain(&path, "beta");
        let (status, body) = by_beta(&real, method, &beta).await;
        assert!(!body.contains(SECRET), "{beta}: {body}");
        if path.contains('=') && !path.contains("/errors") {
            assert_eq!(status, StatusCode::OK, "{beta}: {body}");
            let total = &serde_json::from_str::<Value>(&body).unwrap()["total-hits"];
            assert_eq!(*total, 0, "{beta}: {body}");
        } else {
            assert_eq!(status, StatusCode::NOT_FOUND, "{beta}: {body}");
        }
    }
    let tasks = real.json(PATH).await["total-hits"].clone();
    assert_eq!(tasks, 2, "no call made a task");
    real.stop().await;
}

async fn domains_have_the_same_person_without_a_conflict() {
    let real = RealServer::start().await;
    add_beta(&real).await;
    fill_acme(&real).await;
    for (path, action, entry) in
        [(PATH, "upsert_core_profiles", PERSON), (ISSUES, "import_issues", ISSUE)]
    {
        let path = path.replace("acme", "beta");
        let mut form = reqwest::multipart::Form::new()
            .text("action", action)
            .text("payload", format!("[{entry}]"));
        if action == "import_issues" {
            form = form.text("upsert", "true");
        }
        let request = real.client.post(real.url(&path)).bearer_auth(BETA).multipart(form);
        let task: Value = request.send().await.unwrap().json().await.unwrap();
        let url = format!("{path}/{}", task["task_id"].as_str().unwrap());
        let wait = format!("{url}?wait=5");
        while !by_beta(&real, Method::GET, &wait).await.1.contains("\"completed\"") {}
        let (_, results) = by_beta(&real, Method::GET, &format!("{url}/results")).await;
        let results: Value = serde_json::from_str(&results).unwrap();
        assert_eq!(results[0]["outcome"], json!("created"), "{results}");
    }
    let core = real.json("/v2/acme/identity/core_profiles?includes=app_profiles").await;
    assert_eq!(core["core_profiles"][0]["app_profile_pids"].as_array().unwrap().len(), 1);
    assert_eq!(core["total-hits"], 1);
    assert_eq!(real.store.check().await.unwrap().faults, Vec::<String>::new());
    real.stop().await;
}
