//! The calls that came, for the assertions of tests, in the order in which they came. The oldest
//! go first if there are too many. Keys are blotted out, because the lists end up in the logs of
//! test runners.

use std::collections::VecDeque;

use axum::body::{Body, Bytes};
use axum::extract::Request;
use futures_util::{StreamExt as _, stream};
use http::{HeaderMap, HeaderName, StatusCode, header};
use http_body_util::BodyExt as _;
use parking_lot::Mutex;
use serde_json::{Map, Value, json};

use crate::admin::KEY_PREFIX;

/// The most bytes of a body that are recorded.
const BODY_BYTES_MAX: usize = 64 << 10;
/// The most calls and bytes of bodies that are recorded.
const CALLS_MAX: usize = 10_000;
const BYTES_MAX: usize = 64 << 20;
/// The text in place of a key.
const BLOT: &str = "[key]";
/// The hexadecimal digits of a key that the server makes, after its prefix.
const KEY_DIGITS: usize = 64;
/// Headers that are credentials.
const CREDENTIALS: [HeaderName; 3] =
    [header::AUTHORIZATION, header::PROXY_AUTHORIZATION, header::COOKIE];

#[derive(Debug)]
pub(super) struct Calls {
    /// The key with which the server began.
    key: String,
    recorded: Mutex<Recorded>,
}

#[derive(Debug, Default)]
struct Recorded {
    /// The number of the oldest call.
    first: u64,
    calls: VecDeque<Call>,
    bytes: usize,
    /// How many were left out because there were too many.
    dropped: u64,
}

#[derive(Debug)]
struct Call {
    method: String,
    path: String,
    /// `None` until it is answered.
    status: Option<u16>,
    headers: Map<String, Value>,
    body: String,
}

impl Calls {
    pub(super) fn new(key: String) -> Self {
        Self { key, recorded: Mutex::default() }
    }

    /// Records a call, of which it reads the beginning of the body. Returns its number.
    pub(super) async fn begin(&self, request: Request) -> (u64, Request) {
        let (head, body) = request.into_parts();
        let (beginning, body) = read_beginning(body).await;
        let path = head.uri.path_and_query().map_or("/", |path| path.as_str());
        let call = Call {
            method: head.method.to_string(),
            path: self.blotted(path),
            status: None,
            headers: self.shown(&head.headers),
            body: self.blotted(&String::from_utf8_lossy(&beginning)),
        };
        (self.recorded.lock().add(call), Request::from_parts(head, body))
    }

    /// Records the answer to a call.
    pub(super) fn end(&self, number: u64, status: StatusCode) {
        let mut recorded = self.recorded.lock();
        let at = number.checked_sub(recorded.first).and_then(|at| usize::try_from(at).ok());
        if let Some(call) = at.and_then(|at| recorded.calls.get_mut(at)) {
            call.status = Some(status.as_u16());
        }
    }

    pub(super) fn clear(&self) {
        let mut recorded = self.recorded.lock();
        let first = recorded.first + recorded.calls.len() as u64;
        *recorded = Recorded { first, ..Recorded::default() };
    }

    pub(super) fn list(&self) -> Value {
        let recorded = self.recorded.lock();
        let calls: Vec<Value> = recorded.calls.iter().map(Call::shown).collect();
        json!({"calls": calls, "dropped": recorded.dropped})
    }

    fn shown(&self, headers: &HeaderMap) -> Map<String, Value> {
        let mut shown = Map::new();
        for name in headers.keys() {
            let values = headers.get_all(name).iter();
            let text: Vec<_> = values.map(|one| String::from_utf8_lossy(one.as_bytes())).collect();
            let text = text.join(", ");
            let text = match text.split_once(' ') {
                Some((scheme, _)) if CREDENTIALS[..2].contains(name) => format!("{scheme} {BLOT}"),
                _ if CREDENTIALS.contains(name) => BLOT.to_owned(),
                _ => self.blotted(&text),
            };
            shown.insert(name.as_str().to_owned(), text.into());
        }
        shown
    }

    /// The text without keys.
    fn blotted(&self, text: &str) -> String {
        let mut text = text.replace(&self.key, BLOT);
        let mut from = 0;
        while let Some(at) = text[from..].find(KEY_PREFIX) {
            let digits = from + at + KEY_PREFIX.len();
            let found = text[digits..].bytes().take_while(u8::is_ascii_hexdigit).count();
            if found >= KEY_DIGITS {
                text.replace_range(from + at..digits + found, BLOT);
                from += at + BLOT.len();
            } else {
                from = digits;
            }
        }
        text
    }
}

impl Recorded {
    fn add(&mut self, call: Call) -> u64 {
        self.bytes += call.body.len();
        self.calls.push_back(call);
        while self.calls.len() > CALLS_MAX || self.bytes > BYTES_MAX {
            let Some(oldest) = self.calls.pop_front() else { break };
            self.bytes -= oldest.body.len();
            self.first += 1;
            self.dropped += 1;
        }
        self.first + self.calls.len() as u64 - 1
    }
}

impl Call {
    fn shown(&self) -> Value {
        let Self { method, path, status, headers, body } = self;
        json!({"method": method, "path": path, "status": status, "headers": headers, "body": body})
    }
}

/// The beginning of a body, and the whole body.
async fn read_beginning(mut body: Body) -> (Vec<u8>, Body) {
    let (mut pieces, mut bytes) = (Vec::<Result<Bytes, axum::Error>>::new(), 0);
    while bytes < BODY_BYTES_MAX {
        match body.frame().await {
            Some(Ok(frame)) => {
                let data = frame.into_data().unwrap_or_default();
                bytes += data.len();
                pieces.push(Ok(data));
            }
            Some(Err(error)) => {
                pieces.push(Err(error));
                break;
            }
            None => {
                let whole: Vec<u8> = pieces.into_iter().flatten().flatten().collect();
                let mut beginning = whole.clone();
                beginning.truncate(BODY_BYTES_MAX);
                return (beginning, Body::from(whole));
            }
        }
    }
    let mut beginning: Vec<u8> = pieces.iter().flatten().flatten().copied().collect();
    beginning.truncate(BODY_BYTES_MAX);
    let rest = stream::iter(pieces).chain(body.into_data_stream());
    (beginning, Body::from_stream(rest))
}
