//! The memory of all requests together, apart from the page caches of the store. Pages, answers
//! that are not yet sent, forms, uploads and decoders take their memory from one budget, and each
//! piece returns it when it is dropped: the bytes of an answer hold theirs until the network has
//! them. Who finds the budget empty waits up to [`WAIT`], then the request is refused.
//!
//! Connections have half of the budget at most. The rest has one share for each domain that holds
//! some, and one more for the next domain. A domain may exceed its share while a share, or a
//! quarter if that is less, is free. If a domain below its share waits, the slowest answers of the
//! domain with the most end, one after another. Invariant: each domain can have its share.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use axum::body::Bytes;
use caseload_model::ids::DomainId;
use caseload_store::StoreError;
use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::http::log_limiter::{Event, LogLimiter, Origin};
use crate::http::problem::Problem;

/// How long a request waits for memory.
pub(crate) const WAIT: Duration = Duration::from_secs(1);
/// How long a stream that has begun waits for memory, because it can no longer be refused.
pub(crate) const STREAM_WAIT: Duration = Duration::from_secs(30);
/// How long a domain below its share waits before the slowest answer of another one ends, and then
/// before the next one does: memory that is in use comes back sooner by itself.
const RECLAIM_EVERY: Duration = Duration::from_millis(50);

/// Bytes that have more unused room than they are long, and more than this, are moved into less.
const UNUSED_BYTES_MAX: usize = 1 << 20;

/// Ends answers whose memory others need.
pub(crate) trait Reclaim: Send + Sync + std::fmt::Debug {
    /// Ends the request of the domain that has waited longest for its client to take or send bytes.
    /// Returns false if there is none.
    fn end_slowest(&self, domain: DomainId) -> bool;
}

/// The budget.
#[derive(Debug)]
pub(crate) struct MemoryBudget {
    bytes_max: usize,
    in_use: Mutex<MemoryInUse>,
    reclaim: Arc<dyn Reclaim>,
    /// Some memory was returned.
    returned: Notify,
    log_limiter: Arc<LogLimiter>,
}

#[derive(Debug, Default)]
struct MemoryInUse {
    bytes: usize,
    by_owner: HashMap<Option<DomainId>, usize>,
    /// When the slowest answer of a domain was ended.
    reclaimed_at: Option<Instant>,
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
    pub(crate) fn new(
        bytes_max: usize,
        reclaim: Arc<dyn Reclaim>,
        log_limiter: Arc<LogLimiter>,
    ) -> Self {
        let (in_use, returned) = (Mutex::default(), Notify::new());
        Self { bytes_max, in_use, reclaim, returned, log_limiter }
    }

    /// The bytes in use, and the most.
    pub(crate) fn used_and_budget(&self) -> (usize, usize) {
        (self.in_use.lock().bytes, self.bytes_max)
    }

    /// The most that counts for one request.
    const fn request_max(&self) -> usize {
        self.bytes_max / 8 * 5
    }

    /// Takes memory for a request of a domain, or of a caller without one. A larger request counts
    /// as five eighths of the budget, so that every allowed request has its turn.
    pub(crate) async fn take(
        self: &Arc<Self>,
        owner: Option<DomainId>,
        bytes: usize,
    ) -> Result<Memory, Problem> {
        self.take_within(owner, bytes, WAIT).await.ok_or_else(|| StoreError::NoMemory.into())
    }

    /// Takes memory if there is some now.
    pub(crate) fn try_take(
        self: &Arc<Self>,
        owner: Option<DomainId>,
        bytes: usize,
    ) -> Option<Memory> {
        let bytes = bytes.min(self.request_max());
        let mut in_use = self.in_use.lock();
        if !in_use.has_room(self.bytes_max, owner, bytes) {
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

    /// Takes memory, after a wait if there is none now.
    pub(crate) async fn take_within(
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
            let until = deadline.min(Instant::now() + RECLAIM_EVERY);
            if timeout_at(until, returned).await.is_ok() {
                continue;
            }
            if until == deadline {
                self.log(owner, bytes);
                return None;
            }
            self.reclaim(owner, bytes);
        }
    }

    /// Ends the slowest answer of the domain with the most memory, if that is more than its share
    /// and a domain below its share needs some.
    fn reclaim(&self, owner: Option<DomainId>, bytes: usize) {
        let mut in_use = self.in_use.lock();
        let share = in_use.share(self.bytes_max, owner);
        let is_due = in_use.reclaimed_at.is_none_or(|at| at.elapsed() >= RECLAIM_EVERY);
        if owner.is_none() || !is_due || in_use.of(owner) + bytes > share {
            return;
        }
        let domains =
            in_use.by_owner.iter().filter_map(|(owner, own)| Some((owner.as_ref()?, own)));
        let largest = domains.max_by_key(|(_, own)| **own);
        let Some((&largest, _)) = largest.filter(|(_, own)| **own > share) else { return };
        in_use.reclaimed_at = Some(Instant::now());
        drop(in_use);
        self.reclaim.end_slowest(largest);
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
    fn of(&self, owner: Option<DomainId>) -> usize {
        self.by_owner.get(&owner).copied().unwrap_or_default()
    }

    /// The share of each domain, with one more that stays for the next one, if `owner` takes some.
    fn share(&self, bytes_max: usize, owner: Option<DomainId>) -> usize {
        let is_new = owner.is_some() && !self.by_owner.contains_key(&owner);
        let connections = usize::from(self.by_owner.contains_key(&None));
        let domains = self.by_owner.len() - connections + usize::from(is_new);
        bytes_max.saturating_sub(self.of(None)) / (domains + 1)
    }

    fn has_room(&self, bytes_max: usize, owner: Option<DomainId>, bytes: usize) -> bool {
        let all = self.bytes + bytes;
        let may_have = if owner.is_none() {
            self.of(None) + bytes <= bytes_max / 2
        } else {
            let share = self.share(bytes_max, owner);
            let spare = share.min(bytes_max.saturating_sub(self.of(None)) / 4);
            self.of(owner) + bytes <= share || all + spare <= bytes_max
        };
        may_have && all <= bytes_max
    }

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
        let bytes = bytes.min(self.budget.request_max());
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

#[cfg(test)]
mod tests {
    use super::*;

    const ONE: Option<DomainId> = Some(DomainId(1));
    const TWO: Option<DomainId> = Some(DomainId(2));

    /// Ends the requests that a test has left to it.
    #[derive(Debug, Default)]
    struct Requests(Mutex<Vec<Memory>>);

    impl Reclaim for Requests {
        fn end_slowest(&self, domain: DomainId) -> bool {
            let mut requests = self.0.lock();
            let at = requests.iter().position(|memory| memory.owner == Some(domain));
            let ended = at.map(|at| requests.remove(at));
            drop(requests);
            ended.is_some()
        }
    }

    fn budget() -> Arc<MemoryBudget> {
        Arc::new(MemoryBudget::new(1000, Arc::<Requests>::default(), Arc::default()))
    }

    #[tokio::test]
    async fn a_request_waits_a_second_for_memory_and_is_then_refused() {
        let budget = budget();
        let all = budget.take(ONE, 600).await.expect("there is room");
        let begun = Instant::now();
        let refused = budget.take(ONE, 200).await.expect_err("there is none");
        assert_eq!(refused.status(), 503);
        assert!(begun.elapsed() >= WAIT);
        let returned = async {
            tokio::task::yield_now().await;
            drop(all);
        };
        let (memory, ()) = tokio::join!(budget.take(ONE, 200), returned);
        assert!(memory.is_ok_and(|memory| memory.bytes == 200), "it gets the returned memory");
        assert_eq!(budget.in_use.lock().bytes, 0);
        assert!(budget.in_use.lock().by_owner.is_empty());
    }

    #[tokio::test]
    async fn one_domain_leaves_a_quarter_to_the_others() {
        let budget = budget();
        let own = budget.take(ONE, 10_000).await.expect("a request has its turn");
        assert_eq!(own.bytes, 625);
        let more = budget.try_take(ONE, 125).expect("up to three quarters");
        assert!(budget.try_take(ONE, 1).is_none());
        let others = budget.try_take(TWO, 250).expect("a quarter is left");
        assert!(budget.try_take(None, 1).is_none());
        drop((own, more, others));
        assert_eq!(budget.in_use.lock().bytes, 0);
    }

    #[tokio::test]
    async fn connections_have_half() {
        let budget = budget();
        let all = budget.try_take(None, 500).expect("half");
        assert!(budget.try_take(None, 1).is_none());
        assert!(budget.try_take(ONE, 376).is_none());
        let own = budget.try_take(ONE, 375).expect("three quarters of the rest");
        drop((all, own));
    }

    /// One domain holds three quarters and another one the rest; a third one needs some.
    #[tokio::test(start_paused = true)]
    async fn a_domain_below_its_share_ends_the_slowest_answers_of_the_largest() {
        let requests = Arc::<Requests>::default();
        let budget = Arc::new(MemoryBudget::new(1000, requests.clone(), Arc::default()));
        for (owner, count) in [(ONE, 7), (TWO, 3)] {
            for _ in 0..count {
                requests.0.lock().push(budget.try_take(owner, 100).expect("room"));
            }
        }
        assert_eq!(budget.in_use.lock().bytes, 1000);
        let third = budget.take(Some(DomainId(3)), 200).await.expect("a share is always there");
        assert_eq!(budget.in_use.lock().of(ONE), 500, "one after another, until there is room");
        assert_eq!(budget.in_use.lock().of(TWO), 300);
        assert!(budget.take(Some(DomainId(3)), 200).await.is_err(), "no more than its share");
        assert_eq!(budget.in_use.lock().of(ONE), 500);
        drop(third);
        assert!(budget.try_take(ONE, 10).is_none(), "the share stays free");
        assert!(budget.try_take(Some(DomainId(3)), 200).is_some());
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
