//! The errors of a call, for programs to match on and for people to read. A problem document from
//! the server becomes a [`Problem`] with all of its faults. Any other unsuccessful answer is that
//! of a proxy, if its status says so, or becomes an error with its status and the beginning of its
//! text. No error contains the API key.

use std::fmt;

use serde::Deserialize;

/// How many characters of an unexpected answer an error shows.
const TEXT_CHARS_MAX: usize = 200;

/// A call that did not succeed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    #[error("{url:?} is not the address of a server: {reason}")]
    InvalidUrl { url: String, reason: String },
    #[error(transparent)]
    InvalidDomain(#[from] caseload_model::ids::InvalidDomainName),
    #[error("the API key cannot be sent in a header: it holds a control character or a colon")]
    InvalidKey,
    #[error("the idempotency key cannot be sent in a header: it holds a control character")]
    InvalidIdempotencyKey,
    #[error(
        "the file of authorities has no certificate that can be read; it is a PEM file, and each \
         certificate begins with -----BEGIN CERTIFICATE-----"
    )]
    InvalidAuthorities,
    /// The server refused the call and said why.
    #[error(transparent)]
    Problem(Box<Problem>),
    /// The connection could not be made, or it broke.
    #[error("cannot reach {url}: {reason}")]
    Unreachable { url: String, reason: String },
    /// A proxy in front of the server refused the body of the call, or got no answer.
    #[error("a proxy in front of {url} answered {status}: {reason}")]
    Proxy { url: String, status: u16, reason: &'static str },
    /// The server, or a proxy in front of it, answered in a form that this API does not have.
    #[error("{url} did not answer as a Caseload server does: {reason}")]
    Unexpected { url: String, status: Option<u16>, reason: String },
    /// A stream of issues broke off, and again each time the client resumed it.
    #[error(
        "the stream of issues from {url} broke off after {issues} issues and could not be resumed"
    )]
    Cut { url: String, issues: u64 },
    #[error(transparent)]
    CursorStuck(#[from] crate::CursorStuck),
    /// The client could not read the payload.
    #[error("cannot read the payload: {0}")]
    Payload(std::io::Error),
}

impl ClientError {
    /// The HTTP status of a refusal.
    pub fn status(&self) -> Option<u16> {
        match self {
            Self::Problem(problem) => Some(problem.status),
            Self::Proxy { status, .. } => Some(*status),
            Self::Unexpected { status, .. } => *status,
            _ => None,
        }
    }

    /// Whether the same call may succeed in a moment: there was no answer, or only that of a proxy.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Unreachable { .. }) || matches!(self.status(), Some(502..=504))
    }

    /// Whether the server itself did not answer: the connection failed, or a proxy says so.
    pub const fn is_unanswered(&self) -> bool {
        matches!(self, Self::Unreachable { .. } | Self::Proxy { status: 502..=504, .. })
    }

    /// The code of the problem, if the server answered with one.
    pub fn code(&self) -> Option<&str> {
        match self {
            Self::Problem(problem) => Some(&problem.code),
            _ => None,
        }
    }
}

/// A problem document (RFC 9457) as Caseload sends it.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct Problem {
    pub status: u16,
    pub code: String,
    #[serde(default)]
    pub title: String,
    #[serde(default)]
    pub detail: String,
    #[serde(default)]
    pub request_id: Option<String>,
    /// Every fault that the server found in the request.
    #[serde(default, rename = "errors")]
    pub faults: Vec<ProblemFault>,
}

/// One fault of a request: where, which rule, and the right form.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct ProblemFault {
    #[serde(default)]
    pub parameter: Option<String>,
    #[serde(default)]
    pub pointer: Option<String>,
    #[serde(default)]
    pub line: Option<u64>,
    pub code: String,
    #[serde(default)]
    pub detail: String,
}

impl std::error::Error for Problem {}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = if self.detail.is_empty() { &self.title } else { &self.detail };
        write!(f, "the server answered {} {}: ", self.status, self.code)?;
        match self.faults.as_slice() {
            [] => return f.write_str(text),
            [only] if only.detail == *text => return write!(f, "{only}"),
            [_] => f.write_str(text)?,
            all => write!(f, "{} faults", all.len())?,
        }
        self.faults.iter().try_for_each(|fault| write!(f, "\n  {fault}"))
    }
}

impl fmt::Display for ProblemFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.parameter, &self.pointer, self.line) {
            (Some(parameter), _, Some(line)) => write!(f, "{parameter}, line {line}: ")?,
            (Some(parameter), ..) => write!(f, "{parameter}: ")?,
            (None, Some(pointer), _) => write!(f, "{pointer}: ")?,
            (None, None, Some(line)) => write!(f, "line {line}: ")?,
            (None, None, None) => {}
        }
        let text = if self.detail.is_empty() { &self.code } else { &self.detail };
        f.write_str(text)
    }
}

/// Turns the body of an unsuccessful answer into an error.
pub(crate) fn error_of_answer(url: &str, status: u16, body: &[u8]) -> ClientError {
    if let Ok(problem) = serde_json::from_slice::<Problem>(body)
        && problem.status == status
    {
        return ClientError::Problem(Box::new(problem));
    }
    let of_proxy = |reason| ClientError::Proxy { url: url.to_owned(), status, reason };
    match status {
        413 => {
            return of_proxy(
                "the body is larger than the proxy lets through; raise its limit \
                 (client_max_body_size in nginx) or split the file",
            );
        }
        502..=504 => return of_proxy("the server does not answer it"),
        _ => {}
    }
    let text = String::from_utf8_lossy(body);
    let text: String = text.trim().chars().take(TEXT_CHARS_MAX).collect();
    let reason = if text.is_empty() { format!("{status}") } else { format!("{status} {text:?}") };
    ClientError::Unexpected { url: url.to_owned(), status: Some(status), reason }
}

/// An error of the connection, with its innermost cause: the outer ones only say "error".
pub(crate) fn transport_error(base: &str, error: &reqwest::Error) -> ClientError {
    if error.is_timeout() && !error.is_connect() {
        return unreachable_server(base, "it did not answer in time");
    }
    let mut cause: &dyn std::error::Error = error;
    while let Some(inner) = cause.source() {
        if let Some(io) = inner.downcast_ref::<std::io::Error>()
            && io.kind() == std::io::ErrorKind::ConnectionRefused
        {
            return unreachable_server(base, "connection refused");
        }
        cause = inner;
    }
    unreachable_server(base, &cause.to_string())
}

fn unreachable_server(base: &str, reason: &str) -> ClientError {
    ClientError::Unreachable { url: base.to_owned(), reason: reason.to_owned() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn problem(body: &str) -> String {
        error_of_answer("http://host", 400, body.as_bytes()).to_string()
    }

    #[test]
    fn a_problem_reads_as_one_line_and_a_line_for_each_further_fault() {
        assert_eq!(
            problem(
                r#"{"type":"/problems/invalid_request","title":"The request is invalid",
                "status":400,"detail":"Correct both parameters.","code":"invalid_request",
                "request_id":"r","errors":[
                {"parameter":"page","code":"out_of_range","detail":"page begins at 1"},
                {"pointer":"/a","code":"required","detail":""},
                {"line":3,"code":"invalid_json","detail":"no JSON"}]}"#
            ),
            "the server answered 400 invalid_request: 3 faults\n  \
             page: page begins at 1\n  /a: required\n  line 3: no JSON"
        );
    }

    #[test]
    fn a_single_fault_that_repeats_the_detail_is_shown_once() {
        assert_eq!(
            problem(
                r#"{"status":400,"code":"unknown_action","detail":"no such action",
                "errors":[{"parameter":"action","code":"unknown_action",
                "detail":"no such action"}]}"#
            ),
            "the server answered 400 unknown_action: action: no such action"
        );
    }

    #[test]
    fn the_page_of_a_proxy_becomes_an_explanation() {
        for (status, reason) in [
            (413, "raise its limit (client_max_body_size in nginx)"),
            (502, "the server does not answer it"),
            (503, "the server does not answer it"),
            (504, "the server does not answer it"),
        ] {
            let error = error_of_answer("https://host", status, b"<html>\r\n<head><title>");
            assert_eq!((error.status(), error.is_unanswered()), (Some(status), status != 413));
            let text = error.to_string();
            let head = format!("a proxy in front of https://host answered {status}: ");
            assert!(text.starts_with(&head) && text.contains(reason), "{text}");
        }
    }

    #[test]
    fn other_answers_are_shown_with_status_and_beginning() {
        for (body, message) in [
            ("", "http://host did not answer as a Caseload server does: 400"),
            ("<html>", "http://host did not answer as a Caseload server does: 400 \"<html>\""),
            (
                r#"{"status":500,"code":"x"}"#,
                concat!(
                    "http://host did not answer as a Caseload server does: ",
                    r#"400 "{\"status\":500,\"code\":\"x\"}""#
                ),
            ),
        ] {
            assert_eq!(problem(body), message);
        }
        let long = problem(&"x".repeat(5000));
        assert!(long.len() < 400, "{long}");
    }
}
