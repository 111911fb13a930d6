//! Who folds deltas: a task of the store that hears of each domain that was pending to, lets the
//! writes come to a pause so that one fold serves many and keeps out of their way, and folds until
//! nothing is left. WriteTimes that never pause are folded all the same, a step at a time in turns
//! with those of other domains, so that reads never have more than some seconds' deltas to add up.
//! What a server that ended left is folded by any other's housekeeping. Nothing depends on it but
//! the speed of reads.

use std::collections::{HashMap, VecDeque};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use caseload_model::ids::DomainId;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::super::domains;
use super::super::engine::Engine;
use super::compaction;
use caseload_store::StoreError;

/// Time without a write of the domain after which its deltas are folded.
const PAUSE: Duration = Duration::from_millis(500);
/// Time after the first of them at which they are folded though writes go on.
const PAUSE_WAIT_MAX: Duration = Duration::from_secs(2);

/// When a domain that has deltas was pending to, first and last.
#[derive(Debug, Clone, Copy)]
struct WriteTimes {
    first: Instant,
    last: Instant,
}

impl WriteTimes {
    /// When they are to be folded.
    fn due(&self) -> Instant {
        (self.last + PAUSE).min(self.first + PAUSE_WAIT_MAX)
    }
}

/// Domains that were pending to.
#[derive(Debug, Default)]
struct PendingDomains {
    domains: Mutex<HashMap<DomainId, WriteTimes>>,
    some: Notify,
}

impl PendingDomains {
    fn domains(&self) -> MutexGuard<'_, HashMap<DomainId, WriteTimes>> {
        self.domains.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn note(&self, domain: DomainId, now: Instant) {
        let mut domains = self.domains();
        domains.entry(domain).or_insert(WriteTimes { first: now, last: now }).last = now;
        let is_only = domains.len() == 1;
        drop(domains);
        // Whoever waits for another domain looks again when that one is due.
        if is_only {
            self.some.notify_one();
        }
    }

    /// Takes out the domain that is due first, or says when it will be.
    fn next(&self, now: Instant) -> Next {
        let mut domains = self.domains();
        let first = domains.iter().min_by_key(|(_, writes)| writes.due());
        let Some((&domain, writes)) = first else { return Next::Nothing };
        let due = writes.due();
        if due > now {
            return Next::Later(due);
        }
        domains.remove(&domain);
        Next::Due(domain)
    }
}

/// What there is to do.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    Due(DomainId),
    Later(Instant),
    Nothing,
}

/// Folds until it is dropped.
#[derive(Debug)]
pub(crate) struct Compactor {
    pending: Arc<PendingDomains>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Compactor {
    pub(crate) fn start(engine: &Arc<Engine>) -> Self {
        let pending = Arc::new(PendingDomains::default());
        let task = tokio::spawn(run(Arc::clone(engine), Arc::clone(&pending)));
        Self { pending, task: Mutex::new(Some(task)) }
    }

    /// Says that issues of a domain were pending.
    pub(crate) fn note(&self, domain: DomainId) {
        self.pending.note(domain, Instant::now());
    }

    /// Folds nothing more; what it used is closed when this is done.
    pub(crate) async fn stop(&self) {
        if let Some(task) = self.end() {
            drop(task.await);
        }
    }

    fn end(&self) -> Option<JoinHandle<()>> {
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        task.inspect(JoinHandle::abort)
    }
}

impl Drop for Compactor {
    fn drop(&mut self) {
        self.end();
    }
}

async fn run(engine: Arc<Engine>, pending: Arc<PendingDomains>) {
    // Domains in the middle of their fold, that of the longest wait first.
    let mut open = VecDeque::new();
    loop {
        match pending.next(Instant::now()) {
            Next::Due(domain) => open.push_back(domain),
            Next::Later(due) if open.is_empty() => tokio::time::sleep_until(due.into()).await,
            Next::Nothing if open.is_empty() => pending.some.notified().await,
            Next::Later(_) | Next::Nothing => {}
        }
        let Some(domain) = open.pop_front() else { continue };
        match compact_step(&engine, domain).await {
            Ok(true) => open.push_back(domain),
            Ok(false) => {}
            Err(StoreError::Closed) => return,
            // Whoever writes next, or keeps house, folds it.
            Err(error) => tracing::debug!(%error, "deltas are folded later"),
        }
    }
}

async fn compact_step(engine: &Engine, domain: DomainId) -> Result<bool, StoreError> {
    engine.write(domain, |client, domain| Box::pin(compaction::step(client, *domain))).await
}

/// A step for each domain that has deltas; true where one may have more.
pub(crate) async fn compact_remaining(engine: &Engine) -> Result<bool, StoreError> {
    let domains = engine.read(None, (), |client, ()| Box::pin(compaction::domains(client))).await?;
    let mut more = false;
    for domain in domains {
        more |= compact_step(engine, domain).await?;
    }
    Ok(more)
}

/// Makes one part of the parts of each sparse term.
pub(crate) async fn join_parts(engine: &Engine) -> Result<(), StoreError> {
    let domains = engine.read(None, (), |client, ()| Box::pin(domains::all(client))).await?;
    for domain in domains {
        let mut behind = Some((i16::MIN, 0, Vec::new()));
        while let Some(from) = behind {
            let joined = engine.write((domain.id, from), |client, (domain, from)| {
                Box::pin(compaction::join_parts(client, *domain, from))
            });
            behind = joined.await?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn deltas_are_folded_in_a_pause_of_their_domain_or_after_a_while() {
        let begun = Instant::now();
        let at = |millis| begun + Duration::from_millis(millis);
        let (one, two) = (DomainId(1), DomainId(2));
        let pending = PendingDomains::default();
        assert_eq!(pending.next(at(0)), Next::Nothing);
        pending.note(one, at(0));
        pending.note(two, at(300));
        assert_eq!(pending.next(at(499)), Next::Later(at(500)));
        // WriteTimes go on in one of them.
        for n in 1..=20 {
            pending.note(one, at(n * 100));
        }
        assert_eq!(pending.next(at(799)), Next::Later(at(800)));
        assert_eq!(pending.next(at(800)), Next::Due(two));
        assert_eq!(pending.next(at(1999)), Next::Later(at(2000)));
        assert_eq!(pending.next(at(2000)), Next::Due(one));
        assert_eq!(pending.next(at(9000)), Next::Nothing, "each is taken once");
        pending.note(one, at(9000));
        assert_eq!(pending.next(at(9000)), Next::Later(at(9500)));
    }
}
