//! Refuses writes that a browser sends in the name of another site. A browser adds the credentials
//! that it knows to every request, also to one that a foreign page has caused. It names the
//! origin of the request in `Sec-Fetch-Site`, and in `Origin`. Other clients send neither.

use axum::extract::Request;
use caseload_model::error_code::ErrorCode;
use http::{HeaderMap, HeaderValue, Method, header};

use crate::config::ApiConfig;
use crate::http::base_url::OwnUrls;
use crate::http::problem::Problem;

/// Refuses a write of another site.
pub(crate) fn check(request: &Request, config: &ApiConfig) -> Result<(), Problem> {
    let reads = [Method::GET, Method::HEAD, Method::OPTIONS, Method::TRACE];
    if reads.contains(request.method()) {
        return Ok(());
    }
    if is_own(request.headers(), || own_urls(request, config)) {
        return Ok(());
    }
    let detail = "a browser sent this request for a page of another site, which may not write; \
                  send it from a page of the server itself, or from a program";
    Err(Problem::new(ErrorCode::CrossSite, detail))
}

/// Whether a page of this server sent the request, so that the cookie of a session counts. On plain
/// HTTP a browser sends `Origin` with writes only; no foreign page can see the answers to reads.
pub(crate) fn is_of_own_page(request: &Request, config: &ApiConfig) -> bool {
    let headers = request.headers();
    if let Some(site) = headers.get("sec-fetch-site") {
        return site == "same-origin";
    }
    let reads = [Method::GET, Method::HEAD].contains(request.method());
    if !headers.contains_key(header::ORIGIN) {
        return reads;
    }
    is_own(headers, || own_urls(request, config))
}

fn own_urls(request: &Request, config: &ApiConfig) -> OwnUrls {
    OwnUrls::of(request.uri(), request.headers(), request.extensions(), config)
}

/// Whether the request comes from the server's own site or from a program. `own` are the URLs of
/// the server.
fn is_own(headers: &HeaderMap, own: impl FnOnce() -> OwnUrls) -> bool {
    let site = headers.get("sec-fetch-site").map(HeaderValue::as_bytes);
    match site {
        Some(b"cross-site") => return false,
        // The browser has compared the addresses as it knows them.
        Some(b"same-origin" | b"none") => return true,
        _ => {}
    }
    let mut origins = headers.get_all(header::ORIGIN).iter();
    let Some(origin) = origins.next() else { return true };
    let Ok(origin) = origin.to_str() else { return false };
    let Some((scheme, host)) = origin.split_once("://") else { return false };
    let host = without_usual_port(&host.to_ascii_lowercase(), scheme);
    origins.next().is_none()
        && own()
            .authorities()
            .any(|own| without_usual_port(&own.to_ascii_lowercase(), scheme) == host)
}

/// The host without the port that the scheme implies.
fn without_usual_port(host: &str, scheme: &str) -> String {
    let port = if scheme == "https" { ":443" } else { ":80" };
    host.strip_suffix(port).unwrap_or(host).to_owned()
}

#[cfg(test)]
mod tests {
    use http::{Extensions, Uri};

    use super::*;

    #[test]
    fn a_write_comes_from_the_own_site_or_from_a_program() {
        for (site, origin, is_allowed) in [
            ("", "", true),
            ("", "http://desk.example", true),
            ("", "https://desk.example", true),
            ("", "https://Desk.Example:443", true),
            ("", "http://desk.example:80", true),
            ("", "http://desk.example:8080", false),
            ("", "https://evil.example", false),
            ("", "http://desk.example.evil.example", false),
            ("", "null", false),
            ("", "desk.example", false),
            ("cross-site", "", false),
            ("cross-site", "https://desk.example", false),
            ("same-site", "https://other.example", false),
            ("same-site", "https://desk.example", true),
            ("same-origin", "https://desk.example", true),
            ("none", "", true),
        ] {
            let mut headers = HeaderMap::new();
            for (name, value) in [("sec-fetch-site", site), ("origin", origin)] {
                if !value.is_empty() {
                    headers.insert(name, HeaderValue::from_static(value));
                }
            }
            headers.insert(header::HOST, HeaderValue::from_static("desk.example"));
            let config = ApiConfig::default();
            let own = || OwnUrls::of(&Uri::default(), &headers, &Extensions::new(), &config);
            assert_eq!(is_own(&headers, own), is_allowed, "{site:?} {origin:?}");
        }
    }
}
