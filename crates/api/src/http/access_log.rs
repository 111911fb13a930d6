//! The line of the log at the end of each request: when its answer is given to the network, or when
//! the caller leaves. Its target is `access` and its level `info`. If that is not logged, a request
//! costs a look at the level, and only an answer of unknown length is wrapped, so that its lines
//! name the request. The line has neither the query nor any header but `X-Request-Id`, and the id
//! of a key, never the key.

use std::net::IpAddr;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};

use axum::body::{Body, Bytes, HttpBody};
use axum::extract::{MatchedPath, Request};
use axum::response::Response;
use caseload_store::KeyGrant;
use hyper::body::{Frame, SizeHint};
use tokio::time::Instant;
use tracing::Level;

use crate::http::current_request::CurrentRequest;

type PolledFrame = Poll<Option<Result<Frame<Bytes>, axum::Error>>>;

/// The parts of a line that inner layers know.
#[derive(Debug, Default)]
pub(crate) struct Facts {
    route: OnceLock<Box<str>>,
    /// Domain and key id.
    caller: OnceLock<(Box<str>, Box<str>)>,
    received: AtomicU64,
}

impl Facts {
    /// Notes the template of the path, once the router knows it.
    pub(crate) fn note_route(request: &Request) {
        let known = request.extensions();
        if let (Some(facts), Some(route)) = (known.get::<Arc<Self>>(), known.get::<MatchedPath>()) {
            let _ = facts.route.set(route.as_str().into());
        }
    }

    /// Notes whose request it is.
    pub(crate) fn note_caller(request: &Request, grant: &KeyGrant) {
        if let Some(facts) = request.extensions().get::<Arc<Self>>() {
            let caller = (grant.domain_name.as_str().into(), grant.key.id.as_str().into());
            let _ = facts.caller.set(caller);
        }
    }
}

/// A request that has not ended. Its line is written when this is dropped.
#[derive(Debug)]
pub(crate) struct AccessLine {
    request: Arc<CurrentRequest>,
    facts: Arc<Facts>,
    client: IpAddr,
    begun: Instant,
    status: Option<u16>,
    sent: u64,
    /// The whole answer was given to the network.
    is_whole: bool,
}

impl AccessLine {
    /// Begins the line of a request, if such lines are logged.
    pub(crate) fn begin(
        current: &Arc<CurrentRequest>,
        request: &mut Request,
        client: impl FnOnce(&Request) -> IpAddr,
    ) -> Option<Self> {
        if !tracing::enabled!(target: "access", Level::INFO) {
            return None;
        }
        let facts = Arc::<Facts>::default();
        let client = client(request);
        request.extensions_mut().insert(facts.clone());
        let body = std::mem::take(request.body_mut());
        *request.body_mut() = Body::new(ReceivedBody { body, facts: facts.clone() });
        Some(Self {
            request: current.clone(),
            facts,
            client,
            begun: Instant::now(),
            status: None,
            sent: 0,
            is_whole: false,
        })
    }
}

impl Drop for AccessLine {
    fn drop(&mut self) {
        let (domain, key) =
            self.facts.caller.get().map(|(domain, key)| (&**domain, &**key)).unzip();
        let cut = (!self.is_whole).then_some(true);
        self.request.around(|| {
            tracing::info!(
                target: "access",
                domain,
                key,
                route = self.facts.route.get().map(|route| &**route),
                status = self.status,
                duration_ms = self.begun.elapsed().as_millis() as u64,
                received = self.facts.received.load(Ordering::Relaxed),
                sent = self.sent,
                client = %self.client,
                cut,
                "a request ended"
            );
        });
    }
}

/// Lets an answer go on as part of its request, until its end.
pub(crate) fn follow(
    current: Arc<CurrentRequest>,
    mut line: Option<AccessLine>,
    is_head: bool,
    response: Response,
) -> Response {
    // A body of a known length is there already.
    if line.is_none() && response.body().size_hint().exact().is_some() {
        return response;
    }
    let status = response.status().as_u16();
    response.map(|body| {
        let expected = body.size_hint().exact();
        let is_whole = is_head || body.is_end_stream();
        if let Some(line) = &mut line {
            (line.status, line.is_whole) = (Some(status), is_whole);
        }
        Body::new(SentBody { body, current, line, expected })
    })
}

/// The body of a request, whose bytes are counted.
struct ReceivedBody {
    body: Body,
    facts: Arc<Facts>,
}

impl HttpBody for ReceivedBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> PolledFrame {
        let polled = Pin::new(&mut self.body).poll_frame(context);
        self.facts.received.fetch_add(bytes_of(&polled), Ordering::Relaxed);
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// The body of an answer, which is still work on its request.
struct SentBody {
    body: Body,
    current: Arc<CurrentRequest>,
    line: Option<AccessLine>,
    /// Its length, if that was known at the beginning.
    expected: Option<u64>,
}

impl HttpBody for SentBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> PolledFrame {
        let Self { body, current, line, expected } = &mut *self;
        let polled = current.around(|| Pin::new(&mut *body).poll_frame(context));
        if let Some(line) = line {
            line.sent += bytes_of(&polled);
            let is_last = matches!(polled, Poll::Ready(None)) || body.is_end_stream();
            line.is_whole |= is_last || *expected == Some(line.sent);
        }
        polled
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

fn bytes_of(polled: &PolledFrame) -> u64 {
    let Poll::Ready(Some(Ok(frame))) = polled else { return 0 };
    frame.data_ref().map_or(0, Bytes::len) as u64
}

#[cfg(test)]
mod tests {
    use http_body_util::BodyExt as _;

    use super::*;

    fn answer(body: Body) -> SentBody {
        let request = Request::new(Body::empty());
        let current = CurrentRequest::new(&http::HeaderValue::from_static("mine"), &request);
        let line = AccessLine {
            request: current.clone(),
            facts: Arc::default(),
            client: [127, 0, 0, 1].into(),
            begun: Instant::now(),
            status: Some(200),
            sent: 0,
            is_whole: false,
        };
        let expected = body.size_hint().exact();
        SentBody { body, current, line: Some(line), expected }
    }

    async fn after_frames(mut body: SentBody, frames: usize) -> (u64, bool) {
        for _ in 0..frames {
            let _ = body.frame().await;
        }
        let line = body.line.take().expect("it has a line");
        (line.sent, line.is_whole)
    }

    #[tokio::test]
    async fn an_answer_is_cut_until_all_of_its_bytes_are_taken() {
        let stream = || {
            let pieces = ["one", "three"].map(Ok::<_, axum::Error>);
            answer(Body::from_stream(futures_util::stream::iter(pieces)))
        };
        for (frames, state) in [(0, (0, false)), (1, (3, false)), (2, (8, false)), (3, (8, true))] {
            assert_eq!(after_frames(stream(), frames).await, state, "{frames}");
        }
        assert_eq!(after_frames(answer(Body::from("four")), 0).await, (0, false));
        assert_eq!(after_frames(answer(Body::from("four")), 1).await, (4, true));
    }

    #[tokio::test]
    async fn a_stream_and_a_carried_task_are_work_on_the_request() {
        let id = || CurrentRequest::now().map(|current| current.id().to_owned());
        let asks = || {
            futures_util::stream::once(
                async move { Ok::<_, axum::Error>(id().unwrap_or_default()) },
            )
        };
        let frame = answer(Body::from_stream(asks())).frame().await.expect("a frame");
        let bytes = frame.expect("bytes").into_data().expect("bytes");
        assert_eq!(&*bytes, b"mine");
        let current = answer(Body::empty()).current.clone();
        let carried = async {
            tokio::spawn(crate::http::current_request::carried(async move { id() })).await
        };
        assert_eq!(current.during(carried).await.expect("it ends").as_deref(), Some("mine"));
        assert_eq!(id(), None);
    }
}
