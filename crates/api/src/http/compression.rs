//! Compression of answers with zstd or gzip, as `Accept-Encoding` prefers. It applies to bodies of
//! at least [`COMPRESSED_BYTES_MIN`] and to streams. It does not apply to partial content, event
//! streams, gzip files, and answers with a `Content-Encoding`. A strong `ETag` becomes weak,
//! because it names the bytes of the plain body. No request is refused for its encodings: if the
//! server has no acceptable one, it sends the body uncompressed.

use std::io;
use std::sync::Arc;

use async_compression::Level;
use async_compression::tokio::bufread::{GzipEncoder, ZstdEncoder};
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{Request, State};
use axum::middleware::Next;
use axum::response::Response;
use futures_util::{Stream, TryStreamExt};
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use tokio::io::AsyncRead;
use tokio_util::io::{ReaderStream, StreamReader};

use crate::http::accept::{weight_of, weighted};
use crate::http::memory::{Memory, MemoryBudget};
use crate::http::problem::Problem;

/// The smallest answer that is compressed.
const COMPRESSED_BYTES_MIN: u64 = 4 << 10;
/// The cheapest levels; they still shrink records to a fifth.
const ZSTD_LEVEL: Level = Level::Precise(1);
const GZIP_LEVEL: Level = Level::Precise(1);
/// The largest piece of a compressed body.
const PIECE_BYTES_MAX: usize = 32 << 10;

/// A content coding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Coding {
    Zstd,
    Gzip,
}

impl Coding {
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
        }
    }

    /// The memory of a coder and its pieces.
    const fn memory_bytes(self) -> usize {
        match self {
            Self::Zstd => 2 << 20,
            Self::Gzip => 512 << 10,
        }
    }
}

/// The preference of a caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct CodingPreference {
    coding: Option<Coding>,
    /// Whether a plain body is acceptable. If not, small bodies are compressed too.
    plain: bool,
}

/// Compresses the answer if the caller accepts that and the body is large enough.
pub(crate) async fn compress(
    State(budget): State<Arc<MemoryBudget>>,
    request: Request,
    next: Next,
) -> Response {
    let preference = preference(request.headers());
    let head = *request.method() == Method::HEAD;
    let mut response = next.run(request).await;
    if !is_compressible(&response) || (preference.plain && is_small(&response)) {
        return response;
    }
    response.headers_mut().append(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    let Some(coding) = preference.coding else { return response };
    // An answer without memory for a coder is sent as it is.
    let Some(memory) = budget.try_take(None, coding.memory_bytes()) else { return response };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding.as_str()));
    headers.remove(header::CONTENT_LENGTH);
    headers.remove(header::ACCEPT_RANGES);
    weaken(headers);
    if head {
        return response;
    }
    response.map(|body| match coding {
        Coding::Zstd => compressed(ZstdEncoder::with_quality(reader(body), ZSTD_LEVEL), memory),
        Coding::Gzip => compressed(GzipEncoder::with_quality(reader(body), GZIP_LEVEL), memory),
    })
}

/// `plain` as a gzip file.
pub(crate) async fn gzip_file(
    budget: &Arc<MemoryBudget>,
    plain: impl Stream<Item = io::Result<Bytes>> + Send + 'static,
) -> Result<Body, Problem> {
    let memory = budget.take(None, Coding::Gzip.memory_bytes()).await?;
    let encoder = GzipEncoder::with_quality(StreamReader::new(Box::pin(plain)), GZIP_LEVEL);
    Ok(compressed(encoder, memory))
}

/// The weights that a caller gives to codings; 0 refuses one.
struct Weights {
    zstd: f32,
    gzip: f32,
    /// Of a plain body, if the caller names it.
    plain: Option<f32>,
    any: Option<f32>,
}

impl Weights {
    fn of(headers: &HeaderMap) -> Self {
        let list = weighted(headers, &header::ACCEPT_ENCODING);
        let any = weight_of(&list, &["*"]);
        let weight = |names: &[&str]| weight_of(&list, names).or(any).unwrap_or(0.0);
        Self {
            zstd: weight(&["zstd"]),
            gzip: weight(&["gzip", "x-gzip"]),
            plain: weight_of(&list, &["identity"]),
            any,
        }
    }

    /// Whether the caller takes a coding of this weight and does not prefer a plain body to it.
    fn takes(&self, weight: f32) -> bool {
        weight > 0.0 && self.plain.is_none_or(|plain| weight >= plain)
    }
}

/// The coding that the caller prefers: zstd if several are equal, none if it prefers a plain body.
fn preference(headers: &HeaderMap) -> CodingPreference {
    let weights = Weights::of(headers);
    let coding = if weights.zstd >= weights.gzip { Coding::Zstd } else { Coding::Gzip };
    CodingPreference {
        coding: weights.takes(weights.zstd.max(weights.gzip)).then_some(coding),
        plain: weights.plain.or(weights.any).is_none_or(|weight| weight > 0.0),
    }
}

/// Whether the caller takes an answer that exists in gzip and as it is in gzip.
pub(crate) fn takes_gzip(headers: &HeaderMap) -> bool {
    let weights = Weights::of(headers);
    weights.takes(weights.gzip)
}

fn is_compressible(response: &Response) -> bool {
    let headers = response.headers();
    let done = headers.contains_key(header::CONTENT_ENCODING)
        || headers.contains_key(header::CONTENT_RANGE)
        || matches!(response.status(), StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    let excluded = [&b"text/event-stream"[..], b"application/gzip"];
    let kind = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    !done && kind.is_some_and(|kind| !excluded.iter().any(|excluded| kind.starts_with(excluded)))
}

/// A body of unknown length is a stream and counts as large.
fn is_small(response: &Response) -> bool {
    let length = response.headers().get(header::CONTENT_LENGTH);
    let stated = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    let size = stated.or_else(|| response.body().size_hint().exact());
    size.is_some_and(|size| size < COMPRESSED_BYTES_MIN)
}

fn weaken(headers: &mut HeaderMap) {
    let Some(tag) = headers.get(header::ETAG).filter(|tag| tag.as_bytes().starts_with(b"\""))
    else {
        return;
    };
    if let Ok(weak) = HeaderValue::from_bytes(&[b"W/", tag.as_bytes()].concat()) {
        headers.insert(header::ETAG, weak);
    }
}

fn reader(body: Body) -> StreamReader<impl Stream<Item = io::Result<Bytes>>, Bytes> {
    StreamReader::new(body.into_data_stream().map_err(io::Error::other))
}

fn compressed(encoder: impl AsyncRead + Send + 'static, memory: Memory) -> Body {
    let pieces = ReaderStream::with_capacity(encoder, PIECE_BYTES_MAX);
    Body::from_stream(pieces.inspect_ok(move |_| {
        // The coder lives as long as this.
        let _ = &memory;
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_preferred_coding_is_taken() {
        let (zstd, gzip) = (Some(Coding::Zstd), Some(Coding::Gzip));
        for (accept, coding, plain) in [
            ("", None, true),
            ("gzip", gzip, true),
            ("X-GZIP", gzip, true),
            ("zstd", zstd, true),
            ("gzip, deflate, br, zstd", zstd, true),
            ("gzip;q=0.9, zstd;q=0.8", gzip, true),
            ("gzip;q=0, zstd;q=0", None, true),
            ("br", None, true),
            ("*", zstd, true),
            ("*, zstd;q=0", gzip, true),
            ("identity", None, true),
            ("identity, gzip;q=0.5", None, true),
            ("identity;q=0.5, gzip", gzip, true),
            ("identity;q=0, gzip", gzip, false),
            ("*;q=0", None, false),
            ("*;q=0, gzip", gzip, false),
            ("*;q=0, identity", None, true),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT_ENCODING, HeaderValue::from_static(accept));
            assert_eq!(preference(&headers), CodingPreference { coding, plain }, "{accept}");
            let takes = coding == gzip || accept.starts_with("gzip, ") || accept == "*";
            assert_eq!(takes_gzip(&headers), takes, "{accept}");
        }
        assert_eq!(preference(&HeaderMap::new()), CodingPreference { coding: None, plain: true });
    }
}
