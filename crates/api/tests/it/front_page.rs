//! `GET /`: a page for browsers and JSON for everyone else, and the documentation that it links to.

use caseload_api::ApiConfig;
use reqwest::{Method, Response};
use serde_json::Value;

use crate::server::Server;

/// The `Accept` of a browser.
const BROWSER: &str = "text/html,application/xhtml+xml,application/xml;q=0.9,*/*;q=0.8";

async fn open(server: &Server, accept: Option<&str>) -> Response {
    let mut get = server.bare(Method::GET, "/");
    if let Some(accept) = accept {
        get = get.header("Accept", accept);
    }
    get.send().await.unwrap()
}

/// Every target of a link in a page.
fn links(html: &str) -> Vec<&str> {
    html.split("href=\"").skip(1).map(|rest| rest.split('"').next().unwrap()).collect()
}

#[tokio::test]
async fn browsers_get_a_page_that_names_product_version_description_and_docs() {
    let server = Server::start().await;
    let answer = open(&server, Some(BROWSER)).await;
    assert_eq!(answer.status(), 200);
    for (name, value) in [
        ("content-type", "text/html; charset=utf-8"),
        ("x-content-type-options", "nosniff"),
        ("referrer-policy", "no-referrer"),
        ("vary", "Accept"),
    ] {
        assert_eq!(answer.headers()[name], value);
    }
    let policy = answer.headers()["content-security-policy"].to_str().unwrap();
    assert!(policy.starts_with("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
    assert!(answer.headers().contains_key("x-request-id"));
    let page = answer.text().await.unwrap();
    for word in ["Caseload", env!("CARGO_PKG_VERSION"), "/openapi.json", "/docs/api.md"] {
        assert!(page.contains(word), "{word} in {page}");
    }
    for word in ["<script", "<style", "<img", "src="] {
        assert!(!page.contains(word), "{word} in {page}");
    }
    let links = links(&page);
    assert!(links.len() > 2, "{links:?}");
    for link in links {
        let target = server.bare(Method::GET, link).send().await.unwrap();
        assert_eq!(target.status(), 200, "{link}");
    }
}

#[tokio::test]
async fn everyone_else_gets_json_with_the_same_links() {
    let server = Server::start().await;
    for accept in [None, Some("*/*"), Some("application/json"), Some("text/html;q=0.5, */*")] {
        let answer = open(&server, accept).await;
        assert_eq!(
            answer.headers()["content-type"],
            "application/json; charset=utf-8",
            "{accept:?}"
        );
        let page: Value = answer.json().await.unwrap();
        assert_eq!(
            (&page["name"], &page["version"]),
            (&"Caseload".into(), &env!("CARGO_PKG_VERSION").into())
        );
        for link in page["links"].as_object().unwrap().values() {
            let target = server.bare(Method::GET, link.as_str().unwrap()).send().await.unwrap();
            assert_ne!(target.status(), 404, "{link}");
        }
    }
    let head = server.bare(Method::HEAD, "/").send().await.unwrap();
    assert_eq!(head.status(), 200);
}

#[tokio::test]
async fn the_links_of_the_page_have_the_public_url() {
    let public_url = Some("https://example.org/desk".parse().unwrap());
    let server = Server::configured(ApiConfig { public_url, ..ApiConfig::default() }).await;
    let page = open(&server, Some(BROWSER)).await.text().await.unwrap();
    let links = links(&page);
    assert!(links.iter().all(|link| link.starts_with("https://example.org/desk/")), "{links:?}");
}

#[tokio::test]
async fn the_documentation_is_that_of_the_program() {
    let server = Server::start().await;
    let answer = server.bare(Method::GET, "/docs/api.md").send().await.unwrap();
    assert_eq!(answer.headers()["content-type"], "text/markdown; charset=utf-8");
    assert_eq!(answer.text().await.unwrap(), include_str!("../../../../docs/api.md"));
    let answer = server.bare(Method::GET, "/docs/..%2fREADME.md").send().await.unwrap();
    assert_eq!(answer.status(), 404);
}
