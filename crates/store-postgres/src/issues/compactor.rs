//! The compactor: a background task of the store. Each write of issues notifies it. It waits for a
//! pause in the domain's writes, so one compaction serves many writes, and then compacts until no
//! delta remains. If the writes never pause, it compacts anyway, one step at a time, in turn with
//! other domains, so readers add up the deltas of a few seconds at most. The purge loop of any
//! server compacts the deltas of a server that stopped. Only the speed of reads depends on the
//! compactor.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::time::{Duration, Instant};

use caseload_model::ids::DomainId;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;

use super::compaction;
use crate::background::Background;
use crate::domains;
use crate::engine::Engine;
use caseload_store::StoreError;

/// Time without a write of the domain after which it is compacted.
const PAUSE: Duration = Duration::from_millis(500);
/// Time after the first write at which the domain is compacted even if writes continue.
const PAUSE_WAIT_MAX: Duration = Duration::from_secs(2);

/// The first and the last write of a domain with deltas.
#[derive(Debug, Clone, Copy)]
struct WriteTimes {
    first: Instant,
    last: Instant,
}

impl WriteTimes {
    /// When the domain is to be compacted.
    fn due(&self) -> Instant {
        (self.last + PAUSE).min(self.first + PAUSE_WAIT_MAX)
    }
}

/// Domains with writes that are not compacted yet.
#[derive(Debug, Default)]
struct PendingDomains {
    domains: Mutex<HashMap<DomainId, WriteTimes>>,
    some: Notify,
}

impl PendingDomains {
    fn domains(&self) -> MutexGuard<'_, HashMap<DomainId, WriteTimes>> {
        self.domains.lock()
    }

    fn note(&self, domain: DomainId, now: Instant) {
        let mut domains = self.domains();
        domains.entry(domain).or_insert(WriteTimes { first: now, last: now }).last = now;
        let is_only = domains.len() == 1;
        drop(domains);
        // A compactor that waits for another domain looks again when that one is due.
        if is_only {
            self.some.notify_one();
        }
    }

    /// Takes the domain that is due first, or returns when it will be due.
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

/// The next thing to do.
#[derive(Debug, PartialEq, Eq)]
enum Next {
    Due(DomainId),
    Later(Instant),
    Nothing,
}

/// Lets the compactor know of writes.
#[derive(Debug)]
pub(crate) struct Compactor(Arc<PendingDomains>);

impl Compactor {
    /// Starts the compactor, which runs as long as the task.
    pub(crate) fn start(engine: &Arc<Engine>) -> (Self, Background) {
        let pending = Arc::new(PendingDomains::default());
        let task = Background::start(run(Arc::clone(engine), Arc::clone(&pending)));
        (Self(pending), task)
    }

    /// Notes a write of issues in a domain.
    pub(crate) fn note(&self, domain: DomainId) {
        self.0.note(domain, Instant::now());
    }
}

async fn run(engine: Arc<Engine>, pending: Arc<PendingDomains>) {
    // Domains that are being compacted, the longest wait first.
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
            // The next write, or the purge loop, compacts it.
            Err(error) => tracing::debug!(%error, "deltas are compacted later"),
        }
    }
}

async fn compact_step(engine: &Engine, domain: DomainId) -> Result<bool, StoreError> {
    engine.write(domain, |client, domain| Box::pin(compaction::step(client, *domain))).await
}

/// One step for each domain that has deltas. Returns whether deltas may remain.
pub(crate) async fn compact_remaining(engine: &Engine) -> Result<bool, StoreError> {
    let domains = engine.read(None, (), |client, ()| Box::pin(compaction::domains(client))).await?;
    let mut more = false;
    for domain in domains {
        more |= compact_step(engine, domain).await?;
    }
    Ok(more)
}

/// Joins the parts of each sparse term.
pub(crate) async fn join_parts(engine: &Engine) -> Result<(), StoreError> {
    let domains = engine.read(None, (), |client, ()| Box::pin(domains::ids_and_names(client)));
    for (domain, _) in domains.await? {
        let mut behind = Some((i16::MIN, 0, Vec::new()));
        while let Some(from) = behind {
            let joined = engine.write((DomainId(domain), from), |client, (domain, from)| {
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
    fn deltas_are_compacted_in_a_pause_of_their_domain_or_after_two_seconds() {
        let begun = Instant::now();
        let at = |millis| begun + Duration::from_millis(millis);
        let (one, two) = (DomainId(1), DomainId(2));
        let pending = PendingDomains::default();
        assert_eq!(pending.next(at(0)), Next::Nothing);
        pending.note(one, at(0));
        pending.note(two, at(300));
        assert_eq!(pending.next(at(499)), Next::Later(at(500)));
        // The writes of one domain continue.
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
