//! Decompression of request bodies with `Content-Encoding: gzip` or `zstd`, while they arrive. The
//! limit on a body applies twice: here to the bytes as sent, and in the readers of forms to the
//! decompressed bytes. Memory is bounded by the window of the coding, never by the body.

use std::error::Error;
use std::io;

use async_compression::tokio::bufread::{GzipDecoder, ZstdDecoder};
use async_compression::zstd::DParameter;
use axum::RequestExt;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use caseload_model::error_code::ErrorCode;
use futures_util::{Stream, TryStreamExt};
use http::{HeaderValue, header};
use tokio::io::AsyncRead;
use tokio_util::io::{ReaderStream, StreamReader};

use crate::problem::Problem;

/// The accepted codings, for the `Accept-Encoding` of a refusal.
const CODINGS: &str = "gzip, zstd";
/// The largest window of a zstd body, as a power of two: the 8 MiB of RFC 9659.
const ZSTD_WINDOW_LOG_MAX: u32 = 23;
/// The largest decompressed piece.
const PIECE_BYTES_MAX: usize = 64 << 10;

/// The body does not match its coding, or ends within it.
#[derive(Debug, thiserror::Error)]
#[error("the body cannot be decompressed")]
pub(crate) struct BrokenCompression;

/// The request with its body decompressed.
pub(crate) fn decompressed(request: Request) -> Result<Request, Problem> {
    let mut codings = request.headers().get_all(header::CONTENT_ENCODING).iter();
    let coding = codings.next().map(|value| value.as_bytes().trim_ascii().to_ascii_lowercase());
    if codings.next().is_some() {
        return Err(unsupported("several Content-Encodings"));
    }
    match coding.as_deref() {
        None | Some(b"" | b"identity") => Ok(request),
        Some(b"gzip" | b"x-gzip") => Ok(with_body(request, |body| {
            let mut decoder = GzipDecoder::new(body);
            decoder.multiple_members(true);
            decoder
        })),
        Some(b"zstd") => Ok(with_body(request, |body| {
            let window = DParameter::window_log_max(ZSTD_WINDOW_LOG_MAX);
            let mut decoder = ZstdDecoder::with_params(body, &[window]);
            decoder.multiple_members(true);
            decoder
        })),
        Some(other) => {
            let shown: String = String::from_utf8_lossy(other).chars().take(100).collect();
            Err(unsupported(&format!("the Content-Encoding {shown:?}")))
        }
    }
}

type CompressedBody =
    StreamReader<std::pin::Pin<Box<dyn Stream<Item = io::Result<Bytes>> + Send>>, Bytes>;

fn with_body<D>(request: Request, decoder: impl FnOnce(CompressedBody) -> D) -> Request
where
    D: AsyncRead + Send + 'static,
{
    let (mut parts, body) = request.with_limited_body().into_parts();
    let body = body.into_data_stream().map_err(io::Error::other);
    let plain =
        ReaderStream::with_capacity(decoder(StreamReader::new(Box::pin(body))), PIECE_BYTES_MAX);
    parts.headers.remove(header::CONTENT_ENCODING);
    parts.headers.remove(header::CONTENT_LENGTH);
    Request::from_parts(parts, Body::from_stream(plain.map_err(explain)))
}

/// Distinguishes a body that did not arrive or is too long from one with broken compression.
fn explain(error: io::Error) -> io::Error {
    let of_the_body = error.get_ref().is_some_and(<dyn Error + Send + Sync>::is::<axum::Error>);
    if of_the_body { error } else { io::Error::other(BrokenCompression) }
}

fn unsupported(what: &str) -> Problem {
    let detail = format!("{what} is not supported; send the body uncompressed, as gzip or as zstd");
    Problem::new(ErrorCode::UnsupportedMediaType, detail)
        .header(header::ACCEPT_ENCODING, HeaderValue::from_static(CODINGS))
}

/// Whether a `T` is `error` or among its causes.
pub(crate) fn caused_by<T: Error + 'static>(error: &(dyn Error + 'static)) -> bool {
    let mut cause = Some(error);
    while let Some(error) = cause {
        if error.is::<T>() {
            return true;
        }
        // An I/O error does not return the error inside it as its source, only the source of that
        // error.
        let inside = error.downcast_ref::<io::Error>().and_then(io::Error::get_ref);
        cause = match inside {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    false
}
