//! Answers that do not arrive: a body that ends early, and an answer of which nothing is sent. Both
//! end the connection, as a network does that breaks.

use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::body::{Body, Bytes, HttpBody};
use axum::response::{IntoResponse as _, Response};
use http::StatusCode;
use hyper::body::{Frame, SizeHint};
use tokio::time::{Sleep, sleep};

/// After a part of a body, so that it is sent before the connection ends.
const SENT_WITHIN: Duration = Duration::from_millis(20);

/// Marks an answer of which nothing may be sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AnswerLost;

/// An answer of which nothing is sent.
pub(super) fn lost_answer() -> Response {
    let mut response = StatusCode::NO_CONTENT.into_response();
    response.extensions_mut().insert(AnswerLost);
    response
}

/// The body, which ends in the middle.
pub(super) fn cut_body(body: Body) -> Body {
    // Of a stream the length is not known: half of its first piece is sent.
    let left = body.size_hint().exact().map(|bytes| bytes / 2);
    Body::new(CutBody { body, left, wait: None })
}

struct CutBody {
    body: Body,
    /// The bytes to be sent; `None` before the first piece of a stream.
    left: Option<u64>,
    /// Until the connection is cut.
    wait: Option<Pin<Box<Sleep>>>,
}

impl HttpBody for CutBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.left == Some(0) {
            let wait = self.wait.get_or_insert_with(|| Box::pin(sleep(SENT_WITHIN)));
            return wait.as_mut().poll(context).map(|()| Some(Err(cut())));
        }
        match Pin::new(&mut self.body).poll_frame(context) {
            Poll::Ready(Some(Ok(frame))) => {
                let mut data = frame.into_data().unwrap_or_default();
                let left = self.left.unwrap_or(data.len() as u64 / 2);
                data.truncate(usize::try_from(left).unwrap_or(usize::MAX));
                self.left = Some(left - data.len() as u64);
                if data.is_empty() {
                    return self.poll_frame(context);
                }
                Poll::Ready(Some(Ok(Frame::data(data))))
            }
            // There was nothing to cut.
            Poll::Ready(None) => {
                self.left = Some(0);
                self.poll_frame(context)
            }
            other => other,
        }
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

fn cut() -> axum::Error {
    axum::Error::new(std::io::Error::other("a fault of this test server cuts the body"))
}
