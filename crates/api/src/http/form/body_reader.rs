//! The body of a request while it arrives, decompressed. It ends with a refusal if it is too long,
//! before or after unpacking, if it cannot be unpacked, or if its client is too slow, which the
//! connection measures. The memory of the decoder comes from the budget.

use std::error::Error;
use std::sync::Arc;

use axum::body::{Body, BodyDataStream, Bytes, HttpBody};
use axum::extract::Request;
use caseload_model::error_code::ErrorCode;
use caseload_model::ids::DomainId;
use futures_util::StreamExt;
use tokio::time::Instant;

use super::unpack::Unpacker;
use crate::http::connection::TooSlow;
use crate::http::cpu::CpuPool;
use crate::http::log_limiter::{Event, LogLimiter, Origin};
use crate::http::memory::Memory;
use crate::http::problem::Problem;
use crate::state::AppState;

/// A request body.
pub(crate) struct BodyReader {
    body: BodyDataStream,
    bytes_max: u64,
    /// Bytes as sent, and unpacked.
    received: u64,
    plain: u64,
    unpacker: Option<(Unpacker, Memory)>,
    /// Received and not unpacked.
    packed: Bytes,
    has_ended: bool,
    /// When the body must have ended; an upload has no such time.
    deadline: Option<Instant>,
    cpu: CpuPool,
    log_limiter: Arc<LogLimiter>,
    owner: DomainId,
}

impl BodyReader {
    /// The body of a form, which must arrive as a whole within a time.
    pub(crate) async fn of_form(
        state: &AppState,
        owner: DomainId,
        request: Request,
    ) -> Result<Self, Problem> {
        let mut body = Self::of_upload(state, owner, request).await?;
        body.deadline = Instant::now().checked_add(state.config.minimum_rate.whole);
        Ok(body)
    }

    /// The body of an upload, which may take any time at the minimum rate.
    pub(crate) async fn of_upload(
        state: &AppState,
        owner: DomainId,
        request: Request,
    ) -> Result<Self, Problem> {
        let unpacker = Unpacker::of(request.headers())?;
        let unpacker = match unpacker {
            Some(unpacker) => {
                let memory = state.memory.take(Some(owner), unpacker.memory_bytes()).await?;
                Some((unpacker, memory))
            }
            None => None,
        };
        Ok(Self {
            body: request.into_body().into_data_stream(),
            bytes_max: state.config.body_bytes_max as u64,
            received: 0,
            plain: 0,
            unpacker,
            packed: Bytes::new(),
            has_ended: false,
            deadline: None,
            cpu: state.cpu.clone(),
            log_limiter: state.log_limiter.clone(),
            owner,
        })
    }

    /// The same body with another limit than that of most calls.
    pub(crate) const fn with_limit(mut self, bytes_max: u64) -> Self {
        self.bytes_max = bytes_max;
        self
    }

    /// The next plain bytes, of bounded length; `None` at the end.
    pub(crate) async fn next(&mut self) -> Result<Option<Bytes>, Problem> {
        let piece =
            if self.unpacker.is_some() { self.unpacked().await? } else { self.receive().await? };
        self.plain += piece.as_ref().map_or(0, Bytes::len) as u64;
        if self.plain > self.bytes_max { Err(too_large(self.bytes_max)) } else { Ok(piece) }
    }

    async fn unpacked(&mut self) -> Result<Option<Bytes>, Problem> {
        loop {
            let Some((mut unpacker, memory)) = self.unpacker.take() else { return Ok(None) };
            if self.packed.is_empty() && !unpacker.has_more() {
                match self.receive().await? {
                    Some(piece) => self.packed = piece,
                    None => return unpacker.finish().map(|()| None).map_err(Problem::from),
                }
            }
            let mut packed = std::mem::take(&mut self.packed);
            let work = move || {
                let plain = unpacker.step(&mut packed);
                (unpacker, packed, plain)
            };
            // A small body may be long once it is unpacked, but a step is short.
            let (unpacker, packed, plain) = self.cpu.run(work).await?;
            (self.unpacker, self.packed) = (Some((unpacker, memory)), packed);
            let plain = plain.map_err(Problem::from)?;
            if !plain.is_empty() {
                return Ok(Some(plain.into()));
            }
        }
    }

    /// The next bytes as they were sent.
    async fn receive(&mut self) -> Result<Option<Bytes>, Problem> {
        while !self.has_ended {
            let next = self.body.next();
            let piece = match self.deadline {
                None => next.await,
                Some(deadline) => match tokio::time::timeout_at(deadline, next).await {
                    Ok(piece) => piece,
                    Err(_) => return Err(self.too_slow()),
                },
            };
            match piece {
                Some(Ok(piece)) => {
                    self.received += piece.len() as u64;
                    if self.received > self.bytes_max {
                        return Err(too_large(self.bytes_max));
                    }
                    if !piece.is_empty() {
                        return Ok(Some(piece));
                    }
                }
                Some(Err(error)) if is_too_slow(&error) => return Err(self.too_slow()),
                Some(Err(error)) => {
                    tracing::debug!(%error, "a body broke off");
                    let detail = "the body ended before it was complete; send it again";
                    return Err(Problem::new(ErrorCode::InvalidRequest, detail));
                }
                None => self.has_ended = true,
            }
        }
        Ok(None)
    }

    fn too_slow(&self) -> Problem {
        if let Some(left_out) = self.log_limiter.line(Event::TooSlow, Origin::Domain(self.owner)) {
            let domain_id = self.owner.0;
            tracing::warn!(domain_id, received = self.received, left_out, "a body came too slowly");
        }
        too_slow()
    }
}

/// Reads a short body as a whole; nothing if it is longer than `bytes_max` or broke off.
pub(crate) async fn read_short(body: Body, bytes_max: usize) -> Result<Bytes, Problem> {
    match axum::body::to_bytes(body, bytes_max).await {
        Err(error) if is_too_slow(&error) => Err(too_slow()),
        read => Ok(read.unwrap_or_default()),
    }
}

fn is_too_slow(error: &axum::Error) -> bool {
    let first: &dyn Error = error;
    std::iter::successors(Some(first), |&error| error.source()).any(<dyn Error>::is::<TooSlow>)
}

fn too_slow() -> Problem {
    let detail = "the body arrived too slowly; send at least 1 KiB a second, and a form within \
                  30 minutes";
    Problem::new(ErrorCode::TooSlow, detail)
}

/// Refuses a body whose stated length is too large, before any of it is read.
pub(crate) fn check_length(request: &Request, bytes_max: u64) -> Result<(), Problem> {
    let length = request.body().size_hint().exact();
    if length.is_some_and(|length| length > bytes_max) {
        return Err(too_large(bytes_max));
    }
    Ok(())
}

fn too_large(bytes_max: u64) -> Problem {
    let detail = format!(
        "the body has more than {bytes_max} bytes, compressed or decompressed; send less in one \
         request"
    );
    Problem::new(ErrorCode::TooLarge, detail)
}
