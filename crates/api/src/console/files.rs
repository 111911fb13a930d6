//! The files of the console, as they were when the program was built. The path of a file has a hash
//! of all of them, so that a browser may keep it for ever; the page itself is asked for each time.
//! The build packed each file with gzip (`build.rs`), so that the first answer waits for nothing.
//! Every browser takes gzip, and the first load is within its budget with it.

use std::sync::LazyLock;

use axum::body::Bytes;
use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::response::{IntoResponse, Response};
use caseload_model::error_code::ErrorCode;
use http::{HeaderMap, HeaderValue, header};
use sha2::{Digest, Sha256};

use crate::http::compression::takes_gzip;
use crate::http::etag::{has_already, unchanged};
use crate::http::problem::Problem;
use crate::http::random::hex;

/// The name of a file, its text, and its text in gzip.
type PackedFile = (&'static str, &'static [u8], &'static [u8]);

/// All files, by name.
static FILES: &[PackedFile] = include!(concat!(env!("OUT_DIR"), "/console.rs"));

/// The page: the only file whose text is completed.
const PAGE: &str = include_str!("../../../../console/index.html");
/// The place of the hash in the page.
const PLACE: &str = "VERSION";

/// The page, and the hash in the paths of the files.
struct Console {
    version: String,
    page: String,
}

static CONSOLE: LazyLock<Console> = LazyLock::new(|| {
    let mut digest = Sha256::new();
    for (name, text, _) in FILES {
        digest.update(name);
        digest.update(text);
    }
    let version = hex(&digest.finalize()[..8]);
    Console { page: PAGE.replace(PLACE, &version), version }
});

/// An answer with a strong tag, of a text of this type.
fn answer(headers: &HeaderMap, body: &'static [u8], (tag, kind): (&str, &'static str)) -> Response {
    let tag = format!("\"{tag}\"");
    let mut response = if has_already(headers, &tag) {
        unchanged(&tag)
    } else {
        ([(header::ETAG, tag.as_str())], Bytes::from_static(body)).into_response()
    };
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(kind));
    response
}

fn kind(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        _ => "text/html; charset=utf-8",
    }
}

/// `GET /console/`
pub(crate) async fn page(headers: HeaderMap) -> Response {
    let Console { version, page } = &*CONSOLE;
    let mut response = answer(&headers, page.as_bytes(), (version, kind("index.html")));
    response.headers_mut().insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}

/// `GET /console/{version}/{file}`
pub(crate) async fn file(
    path: Result<Path<(String, String)>, PathRejection>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let (wanted, name) = path.map(|Path(parts)| parts).unwrap_or_default();
    let Console { version, .. } = &*CONSOLE;
    let found = FILES.iter().find(|file| wanted == *version && file.0 == name);
    let Some((name, text, packed)) = found else {
        let detail = "the console has no such file; a page of an earlier version has to be loaded \
                      again";
        return Err(Problem::new(ErrorCode::NotFound, detail));
    };
    let gzip = takes_gzip(&headers);
    let (body, tag) = if gzip { (packed, "-gzip") } else { (text, "") };
    let tag = format!("{version}-{name}{tag}");
    let mut response = answer(&headers, body, (&tag, kind(name)));
    let answered = response.headers_mut();
    let immutable = HeaderValue::from_static("public, max-age=31536000, immutable");
    answered.insert(header::CACHE_CONTROL, immutable);
    answered.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    if gzip {
        answered.insert(header::CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    }
    Ok(response)
}
