//! A receiver on a port of this machine, which answers by the script of a test.

use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use axum::Router;
use axum::body::Bytes;
use axum::extract::State;
use axum::http::{HeaderMap, StatusCode};
use axum::response::{IntoResponse as _, Response};
use parking_lot::Mutex;
use serde_json::Value;
use tokio::net::TcpListener;

/// How the receiver answers.
#[derive(Debug, Clone)]
pub(super) enum Reply {
    Status(u16),
    After(Duration),
    /// To this URL.
    Redirect(String),
    Never,
}

#[derive(Debug, Clone)]
pub(super) struct Request {
    pub(super) headers: HeaderMap,
    pub(super) body: Bytes,
}

impl Request {
    pub(super) fn json(&self) -> Value {
        serde_json::from_slice(&self.body).unwrap()
    }

    pub(super) fn positions(&self) -> Vec<u64> {
        let json = self.json();
        let changes = json["changes"].as_array().unwrap();
        changes.iter().map(|one| one["position"].as_str().unwrap().parse().unwrap()).collect()
    }

    pub(super) fn header(&self, name: &str) -> &str {
        self.headers.get(name).unwrap().to_str().unwrap()
    }
}

#[derive(Default)]
struct Shared {
    requests: Mutex<Vec<Request>>,
    replies: Mutex<VecDeque<Reply>>,
    in_flight: AtomicUsize,
    in_flight_max: AtomicUsize,
}

pub(super) struct Receiver {
    shared: Arc<Shared>,
    pub(super) port: u16,
}

impl Receiver {
    /// Answers with these one after another; the last one is repeated.
    pub(super) async fn start(replies: impl IntoIterator<Item = Reply>) -> Self {
        let shared = Arc::new(Shared::default());
        shared.replies.lock().extend(replies);
        let app = Router::new().fallback(receive).with_state(shared.clone());
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async { axum::serve(listener, app).await });
        Self { shared, port }
    }

    pub(super) fn url(&self) -> String {
        format!("http://127.0.0.1:{}/hook?a=b", self.port)
    }

    pub(super) fn requests(&self) -> Vec<Request> {
        self.shared.requests.lock().clone()
    }

    /// The most requests that were here at the same time.
    pub(super) fn in_flight_max(&self) -> usize {
        self.shared.in_flight_max.load(Ordering::SeqCst)
    }
}

async fn receive(State(shared): State<Arc<Shared>>, headers: HeaderMap, body: Bytes) -> Response {
    let now = shared.in_flight.fetch_add(1, Ordering::SeqCst) + 1;
    shared.in_flight_max.fetch_max(now, Ordering::SeqCst);
    shared.requests.lock().push(Request { headers, body });
    let reply = {
        let mut replies = shared.replies.lock();
        if replies.len() > 1 { replies.pop_front() } else { replies.front().cloned() }
    };
    let response = match reply {
        None => StatusCode::OK.into_response(),
        Some(Reply::Status(status)) => {
            (StatusCode::from_u16(status).unwrap(), format!("this is {status}")).into_response()
        }
        Some(Reply::After(time)) => {
            tokio::time::sleep(time).await;
            StatusCode::NO_CONTENT.into_response()
        }
        Some(Reply::Redirect(url)) => {
            (StatusCode::TEMPORARY_REDIRECT, [("location", url)]).into_response()
        }
        Some(Reply::Never) => std::future::pending().await,
    };
    shared.in_flight.fetch_sub(1, Ordering::SeqCst);
    response
}
