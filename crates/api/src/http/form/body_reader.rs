//! The body of a request while it arrives, decompressed. It ends with a refusal if it is too long,
//! before or after unpacking, if it cannot be unpacked, or if its client is too slow. The memory of
//! the decoder comes from the budget.

use std::sync::Arc;

use axum::body::{BodyDataStream, Bytes, HttpBody};
use axum::extract::Request;
use caseload_model::error_code::ErrorCode;
use caseload_model::ids::DomainId;
use futures_util::StreamExt;
use tokio::time::Instant;

use super::unpack::Unpacker;
use crate::config::ApiConfig;
use crate::http::cpu::CpuPool;
use crate::http::log_limiter::{Event, LogLimiter, Origin};
use crate::http::memory::Memory;
use crate::http::minimum_rate::MinimumRate;
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
    minimum_rate: MinimumRate,
    /// When the body must have ended; an upload has no such time.
    deadline: Option<Instant>,
    cpu: CpuPool,
    log_limiter: Arc<LogLimiter>,
    owner: Option<DomainId>,
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
            minimum_rate: MinimumRate::new(state.config.minimum_rate),
            deadline: None,
            cpu: state.cpu.clone(),
            log_limiter: state.log_limiter.clone(),
            owner: Some(owner),
        })
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
            let begun = Instant::now();
            let mut left = self.minimum_rate.left();
            if let Some(deadline) = self.deadline {
                left = left.min(deadline.saturating_duration_since(begun));
            }
            let piece = tokio::time::timeout(left, self.body.next()).await;
            let bytes = match &piece {
                Ok(Some(Ok(piece))) => piece.len(),
                _ => 0,
            };
            let is_fast = self.minimum_rate.add(begun.elapsed(), bytes);
            let is_late = self.deadline.is_some_and(|deadline| Instant::now() >= deadline);
            match piece {
                Ok(Some(Ok(piece))) => {
                    self.received += piece.len() as u64;
                    if self.received > self.bytes_max {
                        return Err(too_large(self.bytes_max));
                    }
                    if !piece.is_empty() {
                        return Ok(Some(piece));
                    }
                }
                Ok(Some(Err(error))) => {
                    tracing::debug!(%error, "a body broke off");
                    let detail = "the body ended before it was complete; send it again";
                    return Err(Problem::new(ErrorCode::InvalidRequest, detail));
                }
                Ok(None) => self.has_ended = true,
                Err(_) => {}
            }
            if (!is_fast || is_late) && !self.has_ended {
                return Err(self.too_slow());
            }
        }
        Ok(None)
    }

    fn too_slow(&self) -> Problem {
        let origin = self.owner.map_or(Origin::Everyone, Origin::Domain);
        if let Some(left_out) = self.log_limiter.line(Event::TooSlow, origin) {
            let domain_id = self.owner.map(|domain| domain.0);
            tracing::warn!(domain_id, received = self.received, left_out, "a body came too slowly");
        }
        let detail = "the body arrived too slowly; send at least 1 KiB a second, and a form within \
                      30 minutes";
        Problem::new(ErrorCode::TooSlow, detail)
    }
}

/// Refuses a body whose stated length is too large, before any of it is read.
pub(crate) fn check_length(request: &Request, config: &ApiConfig) -> Result<(), Problem> {
    let length = request.body().size_hint().exact();
    let bytes_max = config.body_bytes_max as u64;
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
