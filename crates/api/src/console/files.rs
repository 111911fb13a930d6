//! The files of the console, as they were when the program was built. The path of a file has a hash
//! of all of them, so that a browser may keep it for ever; the page itself is asked for each time.
//! Each file is packed once, when the first one is asked for, by zstd and gzip. Browsers without
//! zstd take gzip, and the first load is within its budget with it: brotli would add a library and
//! nothing else.

use std::io::Write as _;
use std::sync::LazyLock;

use axum::body::Bytes;
use axum::extract::Path;
use axum::extract::rejection::PathRejection;
use axum::response::{IntoResponse, Response};
use caseload_model::error_code::ErrorCode;
use flate2::Compression;
use flate2::write::GzEncoder;
use http::{HeaderMap, HeaderValue, header};
use sha2::{Digest, Sha256};

use crate::http::compression::{Coding, preferred_coding};
use crate::http::etag::{has_already, unchanged};
use crate::http::problem::Problem;
use crate::http::random::hex;

/// The table of the files, by name. A test compares it with the folder.
macro_rules! files {
    ($($name:literal)+) => {
        &[$(($name, include_bytes!(concat!("../../../../console/", $name)))),+]
    };
}

static FILES: &[(&str, &[u8])] = files! {
    "actions.js"
    "activity.js"
    "api.js"
    "app.js"
    "author.js"
    "change_rows.js"
    "change_words.js"
    "changes.js"
    "charts.js"
    "compose.js"
    "download.js"
    "drafts.js"
    "entities.js"
    "erase.js"
    "exports.js"
    "fault_groups.js"
    "faults.js"
    "fields.js"
    "format.js"
    "history.js"
    "html.js"
    "icon.svg"
    "imports.js"
    "issue.js"
    "issues.js"
    "json.js"
    "list.js"
    "mending.js"
    "message.js"
    "new_import.js"
    "one_entry.js"
    "overview.js"
    "pages.js"
    "people.js"
    "people_found.js"
    "person.js"
    "person_controls.js"
    "person_form.js"
    "person_issues.js"
    "pointer.js"
    "preview.js"
    "profile.js"
    "read_options.js"
    "rows.js"
    "secret.js"
    "settings.js"
    "style.css"
    "task.js"
    "ui.js"
    "upload.js"
    "view.js"
    "walk.js"
    "warnings.js"
    "webhook.js"
    "webhooks.js"
};

/// The page: the only file whose text is completed.
const PAGE: &[u8] = include_bytes!("../../../../console/index.html");
/// The place of the hash in the page.
const PLACE: &str = "VERSION";
const ZSTD_LEVEL: i32 = 19;

/// A file in each coding.
struct Packed {
    name: &'static str,
    kind: &'static str,
    plain: Bytes,
    gzip: Bytes,
    zstd: Bytes,
    /// The strong tag without its quotes.
    tag: String,
}

impl Packed {
    fn new(name: &'static str, text: Vec<u8>) -> Self {
        let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
        // Writing to memory does not fail.
        let gzip = gzip.write_all(&text).and_then(|()| gzip.finish()).unwrap_or_default();
        let zstd = zstd::encode_all(&text[..], ZSTD_LEVEL).unwrap_or_default();
        let tag = hex(&Sha256::digest(&text)[..12]);
        let kind = kind(name);
        Self { name, kind, plain: text.into(), gzip: gzip.into(), zstd: zstd.into(), tag }
    }

    /// The answer in the coding that the caller prefers. Each coding has its own strong tag.
    fn answer(&self, headers: &HeaderMap, cache: &'static str) -> Response {
        let coding = preferred_coding(headers);
        let (bytes, coded) = match coding {
            Some(Coding::Zstd) => (&self.zstd, "-zstd"),
            Some(Coding::Gzip) => (&self.gzip, "-gzip"),
            None => (&self.plain, ""),
        };
        let tag = format!("\"{}{coded}\"", self.tag);
        let mut response = if has_already(headers, &tag) {
            unchanged(&tag)
        } else {
            ([(header::ETAG, tag.as_str())], bytes.clone()).into_response()
        };
        let answered = response.headers_mut();
        answered.insert(header::CACHE_CONTROL, HeaderValue::from_static(cache));
        answered.insert(header::CONTENT_TYPE, HeaderValue::from_static(self.kind));
        answered.insert(header::VARY, HeaderValue::from_static("Accept-Encoding"));
        if let Some(coding) = coding {
            let name = HeaderValue::from_static(coding.as_str());
            answered.insert(header::CONTENT_ENCODING, name);
        }
        response
    }
}

/// All files, packed, and the hash in their paths.
struct Bundle {
    version: String,
    page: Packed,
    files: Vec<Packed>,
}

static BUNDLE: LazyLock<Bundle> = LazyLock::new(|| {
    let mut digest = Sha256::new_with_prefix(PAGE);
    for (name, bytes) in FILES {
        digest.update(name);
        digest.update(bytes);
    }
    let version = hex(&digest.finalize()[..8]);
    let page = String::from_utf8_lossy(PAGE).replace(PLACE, &version);
    Bundle {
        page: Packed::new("index.html", page.into_bytes()),
        files: FILES.iter().map(|(name, bytes)| Packed::new(name, bytes.to_vec())).collect(),
        version,
    }
});

fn kind(name: &str) -> &'static str {
    match name.rsplit('.').next() {
        Some("js") => "text/javascript; charset=utf-8",
        Some("css") => "text/css; charset=utf-8",
        Some("svg") => "image/svg+xml",
        _ => "text/html; charset=utf-8",
    }
}

/// `GET /console/`
pub(crate) async fn page(headers: HeaderMap) -> Response {
    BUNDLE.page.answer(&headers, "no-cache")
}

/// `GET /console/{version}/{file}`
pub(crate) async fn file(
    path: Result<Path<(String, String)>, PathRejection>,
    headers: HeaderMap,
) -> Result<Response, Problem> {
    let (version, wanted) = path.map(|Path(parts)| parts).unwrap_or_default();
    let found = BUNDLE.files.iter().find(|file| version == BUNDLE.version && file.name == wanted);
    let Some(found) = found else {
        let detail = "the console has no such file; a page of an earlier version has to be loaded \
                      again";
        return Err(Problem::new(ErrorCode::NotFound, detail));
    };
    Ok(found.answer(&headers, "public, max-age=31536000, immutable"))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_served() {
        let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../console");
        let names = std::fs::read_dir(folder).unwrap();
        let mut found: Vec<String> =
            names.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
        found.retain(|name| name != "index.html");
        found.sort();
        assert_eq!(found, FILES.iter().map(|(name, _)| *name).collect::<Vec<_>>());
    }
}
