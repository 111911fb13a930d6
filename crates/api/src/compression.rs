//! Packed answers: zstd or gzip, as `Accept-Encoding` prefers, for every body from
//! [`PACKED_BYTES_MIN`] on and for streams. Left alone: parts of a body, event streams, files that
//! are packed already, and whatever has a `Content-Encoding`. A strong `ETag` becomes weak when the
//! body is packed, because it names the bytes of the plain one. Nothing is ever refused for its
//! encoding: where none is acceptable the body goes out as it is.

use std::io;

use async_compression::Level;
use async_compression::tokio::bufread::{GzipEncoder, ZstdEncoder};
use axum::body::{Body, Bytes, HttpBody};
use axum::extract::Request;
use axum::middleware::Next;
use axum::response::Response;
use futures_util::{Stream, TryStreamExt};
use http::header::{self, HeaderMap, HeaderValue};
use http::{Method, StatusCode};
use tokio::io::AsyncRead;
use tokio_util::io::{ReaderStream, StreamReader};

use crate::accept::{weight_of, weighted};

/// Bytes from which on an answer is packed.
const PACKED_BYTES_MIN: u64 = 4 << 10;
/// The levels: the cheapest ones, which still shrink records to a fifth.
const ZSTD_LEVEL: Level = Level::Precise(1);
const GZIP_LEVEL: Level = Level::Precise(1);
/// Bytes that a packed piece of a body has at most.
const PIECE_BYTES: usize = 32 << 10;

/// How a body is packed.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Coding {
    Zstd,
    Gzip,
}

impl Coding {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Zstd => "zstd",
            Self::Gzip => "gzip",
        }
    }
}

/// What a caller takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Wish {
    coding: Option<Coding>,
    /// Whether a body as it is will do; else small ones are packed too.
    plain: bool,
}

/// Packs the answer where the caller takes that and it is worth it.
pub(crate) async fn pack(request: Request, next: Next) -> Response {
    let wish = wish(request.headers());
    let head = *request.method() == Method::HEAD;
    let mut response = next.run(request).await;
    if !may_be_packed(&response) || (wish.plain && is_small(&response)) {
        return response;
    }
    response.headers_mut().append(header::VARY, HeaderValue::from_static("Accept-Encoding"));
    let Some(coding) = wish.coding else { return response };
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_ENCODING, HeaderValue::from_static(coding.as_str()));
    headers.remove(header::CONTENT_LENGTH);
    headers.remove(header::ACCEPT_RANGES);
    weaken(headers);
    if head {
        return response;
    }
    response.map(|body| match coding {
        Coding::Zstd => packed(ZstdEncoder::with_quality(reader(body), ZSTD_LEVEL)),
        Coding::Gzip => packed(GzipEncoder::with_quality(reader(body), GZIP_LEVEL)),
    })
}

/// A gzip file of the pieces of `plain`.
pub(crate) fn gzip_file(plain: impl Stream<Item = io::Result<Bytes>> + Send + 'static) -> Body {
    packed(GzipEncoder::with_quality(StreamReader::new(Box::pin(plain)), GZIP_LEVEL))
}

/// The coding that the caller prefers; zstd where several are equal, none where it prefers that.
fn wish(headers: &HeaderMap) -> Wish {
    let list = weighted(headers, &header::ACCEPT_ENCODING);
    let any = weight_of(&list, &["*"]);
    let weight = |names: &[&str]| weight_of(&list, names).or(any).unwrap_or(0.0);
    let (zstd, gzip) = (weight(&["zstd"]), weight(&["gzip", "x-gzip"]));
    let plain = weight_of(&list, &["identity"]);
    let coding = if zstd >= gzip { Coding::Zstd } else { Coding::Gzip };
    let packed = zstd.max(gzip);
    let wanted = packed > 0.0 && plain.is_none_or(|plain| packed >= plain);
    Wish {
        coding: wanted.then_some(coding),
        plain: plain.or(any).is_none_or(|weight| weight > 0.0),
    }
}

fn may_be_packed(response: &Response) -> bool {
    let headers = response.headers();
    let done = headers.contains_key(header::CONTENT_ENCODING)
        || headers.contains_key(header::CONTENT_RANGE)
        || matches!(response.status(), StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED);
    let left = [&b"text/event-stream"[..], b"application/gzip"];
    let kind = headers.get(header::CONTENT_TYPE).map(HeaderValue::as_bytes);
    !done && kind.is_some_and(|kind| !left.iter().any(|left| kind.starts_with(left)))
}

/// A body of unknown length is a stream, and counts as large.
fn is_small(response: &Response) -> bool {
    let length = response.headers().get(header::CONTENT_LENGTH);
    let told = length.and_then(|length| length.to_str().ok()?.parse::<u64>().ok());
    let size = told.or_else(|| response.body().size_hint().exact());
    size.is_some_and(|size| size < PACKED_BYTES_MIN)
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

fn packed(encoder: impl AsyncRead + Send + 'static) -> Body {
    Body::from_stream(ReaderStream::with_capacity(encoder, PIECE_BYTES))
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
            assert_eq!(wish(&headers), Wish { coding, plain }, "{accept}");
        }
        assert_eq!(wish(&HeaderMap::new()), Wish { coding: None, plain: true });
    }
}
