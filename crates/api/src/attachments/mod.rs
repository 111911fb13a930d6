//! `GET /v1/{domain}/attachments/{id}`: the bytes of a file attached to a message. A browser must
//! never run them with the rights of the server: they come as an attachment, with a content type
//! that is safe to show. An attachment never changes, so its id is its tag, and any range of its
//! bytes may be requested.

pub(crate) mod openapi;

use std::ops::Range;

use axum::body::{Body, Bytes};
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use axum::response::{IntoResponse, Response};
use caseload_model::error_code::ErrorCode;
use caseload_model::ids::DomainId;
use caseload_model::issue::write::{Attachment, served_type};
use caseload_store::{ATTACHMENT_PIECE_BYTES, StoreError};
use futures_util::StreamExt as _;
use http::{HeaderMap, HeaderValue, Method, header};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

use crate::http::auth::Caller;
use crate::http::connection::LongAnswer;
use crate::http::etag::{has_already, unchanged};
use crate::http::memory::{Memory, STREAM_WAIT};
use crate::http::middleware::CallersFile;
use crate::http::problem::Problem;
use crate::http::range::{self, ByteRange};
use crate::state::AppState;

/// The bytes that RFC 8187 does not allow in an extended value.
const NO_ATTR_CHAR: &AsciiSet = &NON_ALPHANUMERIC
    .remove(b'!')
    .remove(b'#')
    .remove(b'$')
    .remove(b'&')
    .remove(b'+')
    .remove(b'-')
    .remove(b'.')
    .remove(b'^')
    .remove(b'_')
    .remove(b'`')
    .remove(b'|')
    .remove(b'~');

/// An answer of at most this many bytes is verified before its first byte is sent, except for the
/// first piece, which is read then in any case. Damage in a longer one cuts it.
const VERIFIED_BYTES_MAX: u64 = 32 << 20;
const PIECE_BYTES: u64 = ATTACHMENT_PIECE_BYTES as u64;

/// Streams the file, or a range of it.
pub(crate) async fn get(
    State(state): State<AppState>,
    caller: Caller,
    path: Result<Path<(String, String)>, PathRejection>,
    method: Method,
    request_headers: HeaderMap,
) -> Result<Response, Problem> {
    let unknown = || Problem::new(ErrorCode::NotFound, "the domain has no attachment with that id");
    let Ok(Path((_, id))) = path else { return Err(unknown()) };
    let file = state.store.attachment(caller.domain_id, &id).await?.ok_or_else(unknown)?;
    let tag = format!("\"{}\"", file.id);
    if has_already(&request_headers, &tag) {
        return Ok(unchanged(&tag));
    }
    let mut partial = None;
    if let Some(range) = ByteRange::requested(&method, &request_headers, &tag) {
        partial = range.within(file.size);
        if partial.is_none() {
            return Ok(range::unsatisfiable(file.size));
        }
    }
    let headers = headers(&file, &tag)?;
    let memory = state.memory.take(Some(caller.domain_id), ATTACHMENT_PIECE_BYTES).await?;
    let (size, bytes) = (file.size, partial.map_or(0..file.size, |(first, last)| first..last + 1));
    if method == Method::GET {
        verify(&state, caller.domain_id, &file.id, &bytes).await?;
    }
    // The first piece is read at once, so that damage then is an error answer and not a cut body.
    let mut pieces = Box::pin(pieces(state, caller.domain_id, file, bytes, memory));
    let first = pieces.next().await.transpose()?;
    let first = futures_util::stream::iter(first.map(Ok::<_, StoreError>));
    let body = Body::from_stream(first.chain(pieces));
    let mut response = (headers, body).into_response();
    response.extensions_mut().insert(LongAnswer);
    response.extensions_mut().insert(CallersFile);
    if let Some(part) = partial {
        range::mark_partial(&mut response, part, size);
    }
    Ok(response)
}

/// Reads the pieces after the first one, and fails if one is damaged.
async fn verify(
    state: &AppState,
    domain: DomainId,
    id: &str,
    bytes: &Range<u64>,
) -> Result<(), StoreError> {
    if bytes.end.saturating_sub(bytes.start) > VERIFIED_BYTES_MAX {
        return Ok(());
    }
    for number in bytes.start / PIECE_BYTES + 1..bytes.end.div_ceil(PIECE_BYTES) {
        let end = PIECE_BYTES.min(bytes.end - number * PIECE_BYTES);
        piece(state, domain, id, number, end as usize).await?;
    }
    Ok(())
}

/// A piece, of which the bytes until `end` are needed.
async fn piece(
    state: &AppState,
    domain: DomainId,
    id: &str,
    number: u64,
    end: usize,
) -> Result<Vec<u8>, StoreError> {
    let piece = state.store.attachment_piece(domain, id, number as u32).await?;
    let deleted = || StoreError::NotFound { what: format!("attachment {id}, which was deleted") };
    let piece = piece.ok_or_else(deleted)?;
    if piece.len() < end {
        return Err(StoreError::Corrupt(format!("attachment {id} has a short piece")));
    }
    Ok(piece)
}

fn headers(file: &Attachment, tag: &str) -> Result<HeaderMap, Problem> {
    let mut headers = HeaderMap::new();
    let value = |text: &str| HeaderValue::from_str(text).map_err(|_| Problem::internal());
    headers.insert(header::CONTENT_TYPE, value(served_type(&file.content_type))?);
    headers.insert(header::CONTENT_LENGTH, HeaderValue::from(file.size));
    headers.insert(header::CONTENT_DISPOSITION, value(&disposition(&file.file_name))?);
    let policy = HeaderValue::from_static("default-src 'none'; sandbox");
    headers.insert(header::CONTENT_SECURITY_POLICY, policy);
    headers.insert(header::ETAG, value(tag)?);
    headers.insert(header::ACCEPT_RANGES, HeaderValue::from_static("bytes"));
    Ok(headers)
}

/// These bytes of a file, read piece by piece while they are sent. A missing or short piece cuts
/// the answer.
fn pieces(
    state: AppState,
    domain: DomainId,
    file: Attachment,
    bytes: Range<u64>,
    memory: Memory,
) -> impl futures_util::Stream<Item = Result<Bytes, StoreError>> {
    futures_util::stream::unfold((bytes.start, Some(memory)), move |(at, memory)| {
        let (state, id, end) = (state.clone(), file.id.clone(), bytes.end);
        async move {
            if at >= end {
                return None;
            }
            let memory = if memory.is_some() {
                memory
            } else {
                let bytes = ATTACHMENT_PIECE_BYTES;
                state.memory.take_within(Some(domain), bytes, STREAM_WAIT).await
            };
            let (number, start) = (at / PIECE_BYTES, at % PIECE_BYTES);
            let next = end.min((number + 1) * PIECE_BYTES);
            let within = start as usize..(start + next - at) as usize;
            let piece = piece(&state, domain, &id, number, within.end).await;
            let piece = piece.and_then(|piece| {
                Ok(memory.ok_or(StoreError::NoMemory)?.hold(piece).slice(within))
            });
            if let Err(error) = &piece {
                tracing::error!(%error, "an attachment was cut");
            }
            Some((piece, (next, None)))
        }
    })
}

/// The name in ASCII, for clients that read only that, and the full name.
fn disposition(name: &str) -> String {
    let plain = |c: char| if c.is_ascii_graphic() || c == ' ' { c } else { '_' };
    let ascii: String =
        name.chars().map(|c| if matches!(c, '"' | '\\' | '%') { '_' } else { plain(c) }).collect();
    let encoded = utf8_percent_encode(name, NO_ATTR_CHAR);
    format!("attachment; filename=\"{ascii}\"; filename*=UTF-8''{encoded}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_cannot_leave_its_quotes() {
        for (name, expected) in [
            ("a.txt", "attachment; filename=\"a.txt\"; filename*=UTF-8''a.txt"),
            (
                "a\"; x=\\y.txt",
                "attachment; filename=\"a_; x=_y.txt\"; filename*=UTF-8''a%22%3B%20x%3D%5Cy.txt",
            ),
            ("ä\r\n.txt", "attachment; filename=\"___.txt\"; filename*=UTF-8''%C3%A4%0D%0A.txt"),
        ] {
            assert_eq!(disposition(name), expected);
        }
    }
}
