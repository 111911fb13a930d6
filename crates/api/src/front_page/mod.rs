//! `GET /`: a short page for people who open the server's address, and the pages of the
//! documentation that it links to, as they were when the program was built. Nothing here needs a
//! key or shows data of a domain. The HTML has no script, no style and no picture, and its headers
//! forbid them.

pub(crate) mod openapi;

use axum::Json;
use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::response::{Html, IntoResponse, Response};
use caseload_model::error_code::ErrorCode;
use http::{HeaderMap, header};
use serde_json::json;

use crate::http::accept::Accept;
use crate::http::base_url::BaseUrl;
use crate::http::problem::Problem;

const NAME: &str = "Caseload";
const VERSION: &str = env!("CARGO_PKG_VERSION");
const SUMMARY: &str =
    "A server for support-desk data: bulk actions on end-user profiles, and issues.";

/// The pages of the documentation, by name.
const PAGES: [(&str, &str); 7] = [
    ("how-do-i.md", include_str!("../../../../docs/how-do-i.md")),
    ("testing.md", include_str!("../../../../docs/testing.md")),
    ("console.md", include_str!("../../../../docs/console.md")),
    ("api.md", include_str!("../../../../docs/api.md")),
    ("program.md", include_str!("../../../../docs/program.md")),
    ("operating.md", include_str!("../../../../docs/operating.md")),
    ("reference.md", include_str!("../../../../docs/reference.md")),
];

/// `GET /`: HTML for browsers, JSON for everyone else.
pub(crate) async fn front_page(base: BaseUrl, headers: HeaderMap) -> Response {
    let page = if prefers_html(&headers) {
        Html(html(&base)).into_response()
    } else {
        let url = |path: &str| base.of_path(path);
        let links = json!({
            "openapi": url("/openapi.json"),
            "docs": url("/docs/api.md"),
            "health": url("/healthz"),
            "readiness": url("/readyz"),
        });
        let page =
            json!({"name": NAME, "version": VERSION, "description": SUMMARY, "links": links});
        Json(page).into_response()
    };
    let headers = [
        (
            header::CONTENT_SECURITY_POLICY,
            "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
        ),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::REFERRER_POLICY, "no-referrer"),
        (header::CACHE_CONTROL, "no-cache"),
        (header::VARY, "Accept"),
    ];
    (headers, page).into_response()
}

/// `GET /docs/{page}`: a page of the documentation, in Markdown.
pub(crate) async fn docs(path: Result<Path<String>, PathRejection>) -> Result<Response, Problem> {
    let wanted = path.map(|Path(page)| page).unwrap_or_default();
    let Some((_, text)) = PAGES.iter().find(|(name, _)| *name == wanted) else {
        let names = PAGES.map(|(name, _)| name).join(", ");
        let detail = format!("there is no such page; the pages are {names}");
        return Err(Problem::new(ErrorCode::NotFound, detail));
    };
    let headers = [
        (header::CONTENT_TYPE, "text/markdown; charset=utf-8"),
        (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (header::CACHE_CONTROL, "no-cache"),
    ];
    Ok((headers, *text).into_response())
}

/// Whether `Accept` prefers HTML to JSON, as browsers do.
fn prefers_html(headers: &HeaderMap) -> bool {
    let (_, chosen) = Accept::of(headers).preferred(&[&["application/json"], &["text/html"]]);
    chosen == "text/html"
}

/// The base URL has no character that HTML would need to escape.
fn html(base: &BaseUrl) -> String {
    let pages = PAGES.map(|(name, text)| {
        let title = text.lines().next().unwrap_or_default().trim_start_matches('#').trim();
        format!("<li><a href=\"{base}/docs/{name}\">{title}</a></li>\n")
    });
    format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta name=\"color-scheme\" content=\"light dark\">\n\
         <title>{NAME} {VERSION}</title>\n</head>\n<body>\n\
         <h1>{NAME} {VERSION}</h1>\n<p>{SUMMARY}</p>\n<ul>\n\
         <li><a href=\"{base}/console/\">The console: /console/</a></li>\n\
         <li><a href=\"{base}/openapi.json\">The API in OpenAPI: /openapi.json</a></li>\n\
         {}</ul>\n</body>\n</html>\n",
        pages.concat()
    )
}
