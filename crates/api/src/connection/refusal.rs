//! The answer to a request that hyper refuses before it has parsed it. hyper writes a status line,
//! a date and no body. This module makes a problem of it, in the form of every other error.

use caseload_model::error_code::ErrorCode;
use http::{HeaderMap, HeaderValue, header};

use crate::memory::{self, RETRY_MEMORY_SECONDS};
use crate::problem::Problem;
use crate::request_id::new_request_id;

/// The most bytes of the head of a request: twice the longest target that the server reads, because
/// filters are part of the target.
pub(crate) const HEAD_BYTES_MAX: usize = 128 << 10;
/// The most bytes that are received of a connection before they are read. A whole head fits.
pub(crate) const CONNECTION_BUFFER_BYTES_MAX: usize = 256 << 10;
/// The most bytes of a target; a longer one does not fit into hyper's form of it.
const TARGET_BYTES_MAX: usize = u16::MAX as usize - 1;
/// The most headers of a request: hyper's default.
const HEADERS_MAX: usize = 100;

/// The status line of a request with an unknown transfer coding.
const NOT_IMPLEMENTED: &str = "HTTP/1.1 501 Not Implemented";
/// The status line of a request that finds no memory.
const UNAVAILABLE: &str = "HTTP/1.1 503 Service Unavailable";

/// The bytes that are sent in place of hyper's own answer, `written`, to a request whose head
/// begins with `request`. A starved head found no memory, and is not at fault itself.
pub(super) fn answer_instead_of(written: &[u8], request: &[u8], is_starved: bool) -> Vec<u8> {
    let head = String::from_utf8_lossy(written);
    let mut lines = head.split("\r\n");
    let status_line = lines.next().unwrap_or_default();
    let status = status_line.split(' ').nth(1).and_then(|word| word.parse().ok()).unwrap_or(400);
    let date = lines.find(|line| line.to_ascii_lowercase().starts_with("date:"));
    let id = new_request_id();
    let id = id.to_str().unwrap_or_default();
    tracing::debug!(id, status, "a request was refused before it was parsed");
    let (status_line, problem) = match unknown_coding_in(request) {
        _ if is_starved => (UNAVAILABLE, memory::refusal()),
        Some(coding) if status == 400 => (NOT_IMPLEMENTED, unknown_coding(&coding)),
        _ => (status_line, problem(status)),
    };
    let body = problem.body(id);
    let mut answer = format!(
        "{status_line}\r\ncontent-type: application/problem+json\r\ncontent-length: {}\r\n\
         x-request-id: {id}\r\nconnection: close\r\n",
        body.len()
    );
    if is_starved {
        answer.push_str("retry-after: ");
        answer.push_str(&RETRY_MEMORY_SECONDS.to_string());
        answer.push_str("\r\n");
    }
    if let Some(date) = date {
        answer.push_str(date);
        answer.push_str("\r\n");
    }
    answer.push_str("\r\n");
    let mut answer = answer.into_bytes();
    answer.extend_from_slice(&body);
    answer
}

/// Refuses a request with a transfer coding other than `chunked`, which is the only one that the
/// server knows.
pub(crate) fn check_transfer_coding(headers: &HeaderMap) -> Result<(), Problem> {
    let fields = headers.get_all(header::TRANSFER_ENCODING).iter();
    let codings: Vec<_> = fields.map(|field| String::from_utf8_lossy(field.as_bytes())).collect();
    let coding = codings.join(", ");
    if codings.is_empty() || is_chunked(&coding) { Ok(()) } else { Err(unknown_coding(&coding)) }
}

/// The unknown transfer coding in a head that hyper has refused.
fn unknown_coding_in(head: &[u8]) -> Option<String> {
    let mut lines = head.split(|byte| *byte == b'\n').skip(1);
    lines.find_map(|line| {
        let colon = memchr::memchr(b':', line)?;
        let is_coding = line[..colon].eq_ignore_ascii_case(b"transfer-encoding");
        let coding = String::from_utf8_lossy(line[colon + 1..].trim_ascii()).into_owned();
        (is_coding && !is_chunked(&coding)).then_some(coding)
    })
}

fn is_chunked(coding: &str) -> bool {
    coding.trim().eq_ignore_ascii_case("chunked")
}

fn unknown_coding(coding: &str) -> Problem {
    let shown: String = coding.chars().take(100).collect();
    let detail = format!(
        "the server does not know the transfer coding {shown:?}; send the body with a \
         Content-Length or in chunks, and a compressed one with Content-Encoding"
    );
    Problem::new(ErrorCode::UnknownCoding, detail)
        .header(header::CONNECTION, HeaderValue::from_static("close"))
}

fn problem(status: u16) -> Problem {
    if status == ErrorCode::TargetTooLong.status() {
        let detail = format!(
            "the target of the request has more than {TARGET_BYTES_MAX} bytes; send a shorter \
             query, for example long lists of ids in several requests"
        );
        return Problem::new(ErrorCode::TargetTooLong, detail);
    }
    if status == ErrorCode::HeadTooLarge.status() {
        let detail = format!(
            "the head of the request has more than {HEAD_BYTES_MAX} bytes or more than \
             {HEADERS_MAX} headers; send fewer and shorter headers, and long lists in several \
             requests"
        );
        return Problem::new(ErrorCode::HeadTooLarge, detail);
    }
    let detail = "the head of the request cannot be read as HTTP/1.1: the first line is a method, \
                  a target and HTTP/1.1 with one space between them, and each header is one line \
                  NAME: VALUE. Percent-encode special characters of the target: a space is %20, \
                  a quote %22, < is %3C, > is %3E";
    Problem::new(ErrorCode::InvalidRequest, detail)
}
