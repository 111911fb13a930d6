//! The memory of all requests together, apart from the page caches of the store. Pages, answers
//! that are not yet sent, forms, uploads and decoders take their memory from one budget, and each
//! piece returns it when it is dropped: the bytes of an answer hold theirs until the network has
//! them. Who finds the budget empty waits up to [`WAIT`], then the request is refused. Invariant:
//! one domain never takes more than three quarters, so that there is always room for the others.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use caseload_model::error_code::ErrorCode;
use caseload_model::ids::DomainId;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::http::log_limiter::{Event, LogLimiter, Origin};
use crate::http::problem::Problem;

/// How long a request waits for memory.
const WAIT: Duration = Duration::from_secs(1);
/// How long a stream that has begun waits for memory, because it can no longer be refused.
const STREAM_WAIT: Duration = Duration::from_secs(30);
/// `Retry-After` of a request that finds no memory, in seconds.
const RETRY_MEMORY_SECONDS: u64 = 2;

/// Bytes that have more unused room than they are long, and more than this, are moved into less.
const UNUSED_BYTES_MAX: usize = 1 << 20;

/// The budget.
#[derive(Debug)]
pub(crate) struct MemoryBudget {
    bytes_max: usize,
    in_use: Mutex<MemoryInUse>,
    /// Some memory was returned.
    returned: Notify,
    log_limiter: Arc<LogLimiter>,
}

#[derive(Debug, Default)]
struct MemoryInUse {
    bytes: usize,
    by_owner: HashMap<Option<DomainId>, usize>,
}

/// Memory that was taken from the budget.
#[derive(Debug)]
pub(crate) struct Memory {
    budget: Arc<MemoryBudget>,
    owner: Option<DomainId>,
    bytes: usize,
}

/// Bytes that hold their memory.
struct HeldBytes {
    bytes: Vec<u8>,
    _memory: Memory,
}

impl AsRef<[u8]> for HeldBytes {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl MemoryBudget {
    pub(crate) fn new(bytes_max: usize, log_limiter: Arc<LogLimiter>) -> Self {
        Self { bytes_max, in_use: Mutex::default(), returned: Notify::new(), log_limiter }
    }

    /// The most that one domain may take.
    const fn share_max(&self) -> usize {
        self.bytes_max / 4 * 3
    }

    /// Takes memory for a request of a domain, or of a caller without one. More than the share of a
    /// domain counts as the whole share, so that every allowed request has its turn.
    pub(crate) async fn take(
        self: &Arc<Self>,
        owner: Option<DomainId>,
        bytes: usize,
    ) -> Result<Memory, Problem> {
        self.take_within(owner, bytes, WAIT).await.ok_or_else(refusal)
    }

    /// Takes memory for the next part of a stream.
    pub(crate) async fn take_for_stream(
        self: &Arc<Self>,
        owner: Option<DomainId>,
        bytes: usize,
    ) -> std::io::Result<Memory> {
        let taken = self.take_within(owner, bytes, STREAM_WAIT).await;
        taken.ok_or_else(|| std::io::Error::other("the memory for requests is used up"))
    }

    /// Takes memory if there is some now.
    pub(crate) fn try_take(
        self: &Arc<Self>,
        owner: Option<DomainId>,
        bytes: usize,
    ) -> Option<Memory> {
        let bytes = bytes.min(self.share_max());
        let mut in_use = self.in_use.lock();
        let own = in_use.by_owner.get(&owner).copied().unwrap_or_default();
        if in_use.bytes + bytes > self.bytes_max || own + bytes > self.share_max() {
            return None;
        }
        in_use.add(owner, bytes);
        Some(Memory { budget: self.clone(), owner, bytes })
    }

    /// Takes memory whether there is some or not, for bytes that are there already.
    pub(crate) fn overdraw(self: &Arc<Self>, owner: Option<DomainId>, bytes: usize) -> Memory {
        self.in_use.lock().add(owner, bytes);
        Memory { budget: self.clone(), owner, bytes }
    }

    async fn take_within(
        self: &Arc<Self>,
        owner: Option<DomainId>,
        bytes: usize,
        wait: Duration,
    ) -> Option<Memory> {
        if let Some(memory) = self.try_take(owner, bytes) {
            return Some(memory);
        }
        let deadline = Instant::now() + wait;
        loop {
            let mut returned = std::pin::pin!(self.returned.notified());
            // From here on no return is missed.
            returned.as_mut().enable();
            if let Some(memory) = self.try_take(owner, bytes) {
                return Some(memory);
            }
            if timeout_at(deadline, returned).await.is_err() {
                self.log(owner, bytes);
                return None;
            }
        }
    }

    fn log(&self, owner: Option<DomainId>, bytes: usize) {
        let origin = owner.map_or(Origin::Everyone, Origin::Domain);
        let Some(left_out) = self.log_limiter.line(Event::MemoryLimit, origin) else { return };
        let (taken, bytes_max) = (self.in_use.lock().bytes, self.bytes_max);
        let domain_id = owner.map(|domain| domain.0);
        tracing::warn!(
            domain_id,
            bytes,
            taken,
            bytes_max,
            left_out,
            "the memory budget is used up"
        );
    }
}

impl MemoryInUse {
    fn add(&mut self, owner: Option<DomainId>, bytes: usize) {
        if bytes > 0 {
            self.bytes += bytes;
            *self.by_owner.entry(owner).or_default() += bytes;
        }
    }

    fn remove(&mut self, owner: Option<DomainId>, bytes: usize) {
        self.bytes -= bytes;
        if let Some(own) = self.by_owner.get_mut(&owner) {
            *own -= bytes;
            if *own == 0 {
                self.by_owner.remove(&owner);
            }
        }
    }
}

impl Memory {
    /// Takes more for the same request, so that it has `bytes` at least.
    pub(crate) async fn grow_to(&mut self, bytes: usize) -> Result<(), Problem> {
        let bytes = bytes.min(self.budget.share_max());
        if bytes > self.bytes {
            self.add(self.budget.take(self.owner, bytes - self.bytes).await?);
        }
        Ok(())
    }

    /// Adds memory of the same owner.
    pub(crate) fn add(&mut self, mut more: Self) {
        debug_assert_eq!(self.owner, more.owner, "memory moves to another owner");
        self.bytes += std::mem::take(&mut more.bytes);
    }

    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    /// The memory is `bytes` from now on, the need that the work has turned out to have.
    pub(crate) fn set(&mut self, bytes: usize) {
        let is_less = bytes < self.bytes;
        let mut in_use = self.budget.in_use.lock();
        in_use.remove(self.owner, self.bytes);
        in_use.add(self.owner, bytes);
        drop(in_use);
        self.bytes = bytes;
        if is_less {
            self.budget.returned.notify_waiters();
        }
    }

    /// These bytes, which hold as much memory as they need until the last copy of them is dropped.
    pub(crate) fn hold(mut self, mut bytes: Vec<u8>) -> Bytes {
        if bytes.capacity() > UNUSED_BYTES_MAX + 2 * bytes.len() {
            bytes.shrink_to_fit();
        }
        self.set(bytes.capacity());
        Bytes::from_owner(HeldBytes { bytes, _memory: self })
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.bytes > 0 {
            self.budget.in_use.lock().remove(self.owner, self.bytes);
            self.budget.returned.notify_waiters();
        }
    }
}

/// The refusal of a request that finds no memory.
fn refusal() -> Problem {
    let detail = "the memory that the server has for requests is used up now; try again, with \
                  fewer requests at once or a smaller page-size";
    Problem::new(ErrorCode::Unavailable, detail).retry_after(RETRY_MEMORY_SECONDS)
}

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Option<DomainId> = Some(DomainId(1));
    const TWO: Option<DomainId> = Some(DomainId(2));

    fn budget() -> Arc<MemoryBudget> {
        Arc::new(MemoryBudget::new(1000, Arc::default()))
    }

    #[tokio::test]
    async fn a_request_waits_a_second_for_memory_and_is_then_refused() {
        let budget = budget();
        let all = budget.take(ONE, 700).await.expect("there is room");
        let begun = Instant::now();
        let refused = budget.take(ONE, 100).await.expect_err("there is none");
        assert_eq!(refused.status(), 503);
        assert!(begun.elapsed() >= WAIT);
        let returned = async {
            tokio::task::yield_now().await;
            drop(all);
        };
        let (memory, ()) = tokio::join!(budget.take(ONE, 100), returned);
        assert!(memory.is_ok_and(|memory| memory.bytes == 100), "it gets the returned memory");
        assert_eq!(budget.in_use.lock().bytes, 0);
        assert!(budget.in_use.lock().by_owner.is_empty());
    }

    #[tokio::test]
    async fn one_domain_leaves_a_quarter_to_the_others() {
        let budget = budget();
        let own = budget.take(ONE, 10_000).await.expect("more than the share is the share");
        assert_eq!(own.bytes, 750);
        assert!(budget.try_take(ONE, 1).is_none());
        let others = budget.try_take(TWO, 250).expect("a quarter is left");
        assert!(budget.try_take(None, 1).is_none());
        drop((own, others));
        assert_eq!(budget.in_use.lock().bytes, 0);
    }

    #[tokio::test]
    async fn bytes_that_are_there_already_count_even_if_there_is_no_room() {
        let budget = budget();
        let own = budget.overdraw(ONE, 1200);
        assert!(budget.try_take(TWO, 1).is_none());
        drop(own);
        assert!(budget.try_take(TWO, 1).is_some());
    }

    #[tokio::test]
    async fn bytes_hold_their_memory_until_their_last_copy_is_dropped() {
        let budget = budget();
        let memory = budget.take(ONE, 500).await.expect("there is room");
        let mut vec = Vec::with_capacity(120);
        vec.extend([7; 100]);
        let bytes = memory.hold(vec);
        assert_eq!(budget.in_use.lock().bytes, 120, "their unused room counts, too");
        let part = bytes.slice(5..6);
        drop(bytes);
        assert_eq!(budget.in_use.lock().bytes, 120);
        drop(part);
        assert_eq!(budget.in_use.lock().bytes, 0);
    }

    #[tokio::test]
    async fn a_form_that_grows_takes_more() {
        let budget = budget();
        let mut memory = budget.take(ONE, 100).await.expect("there is room");
        memory.grow_to(300).await.expect("there is room");
        memory.grow_to(200).await.expect("it has more");
        assert_eq!((memory.bytes, budget.in_use.lock().bytes), (300, 300));
        let other = budget.take(ONE, 400).await.expect("there is room");
        assert!(memory.grow_to(400).await.is_err());
        drop((memory, other));
        assert_eq!(budget.in_use.lock().bytes, 0);
    }
}
