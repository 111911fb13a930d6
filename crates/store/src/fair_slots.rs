//! Turns of domains, and slots that domains take in turns. A domain with very many commands waits
//! for itself: the next free slot goes to the waiting domain that has the fewest, and one domain
//! never has all of them. Within a domain, commands go in the order of arrival. Invariant: a slot
//! that is free is given to a waiting command that may have it.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;

use caseload_model::ids::DomainId;
use parking_lot::Mutex;
use tokio::sync::oneshot;

use crate::StoreError;

/// The domain of commands that belong to no domain, such as looking up a key. No domain has this
/// id.
pub const NO_DOMAIN: DomainId = DomainId(0);

/// Waiting commands by domain, none without one. The domain that was served last is at the end.
#[derive(Debug)]
pub struct Turns<T>(VecDeque<(DomainId, VecDeque<T>)>);

impl<T> Default for Turns<T> {
    fn default() -> Self {
        Self(VecDeque::new())
    }
}

impl<T> Turns<T> {
    pub fn push(&mut self, domain: DomainId, command: T) {
        match self.0.iter_mut().find(|(waiting, _)| *waiting == domain) {
            Some((_, commands)) => commands.push_back(command),
            None => self.0.push_back((domain, VecDeque::from([command]))),
        }
    }

    /// The first command of the domain whose turn it is.
    pub fn pop(&mut self) -> Option<T> {
        self.take(0).map(|(_, command)| command)
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub fn len(&self) -> usize {
        self.0.iter().map(|(_, commands)| commands.len()).sum()
    }

    /// The first command of the domain at this place, which was its turn.
    fn take(&mut self, at: usize) -> Option<(DomainId, T)> {
        let (domain, mut commands) = self.0.remove(at)?;
        let command = commands.pop_front()?;
        if !commands.is_empty() {
            self.0.push_back((domain, commands));
        }
        Some((domain, command))
    }
}

/// Some slots.
#[derive(Debug, Clone)]
pub struct FairSlots(Arc<Mutex<State>>);

#[derive(Debug)]
struct State {
    free: usize,
    /// The most slots of one domain.
    each_max: usize,
    taken: HashMap<DomainId, usize>,
    waiting: Turns<oneshot::Sender<Slot>>,
    closed: bool,
}

/// A slot, until it is dropped.
#[derive(Debug)]
pub struct Slot {
    slots: FairSlots,
    domain: DomainId,
}

impl FairSlots {
    /// One domain may have at most `each_max` of the slots.
    pub fn new(slots: usize, each_max: usize) -> Self {
        Self(Arc::new(Mutex::new(State {
            free: slots,
            each_max,
            taken: HashMap::new(),
            waiting: Turns::default(),
            closed: false,
        })))
    }

    /// Waits for a slot. Dropping the future gives up the place in the queue.
    pub async fn take(&self, domain: DomainId) -> Result<Slot, StoreError> {
        let granted = {
            let mut state = self.0.lock();
            if state.closed {
                return Err(StoreError::Closed);
            }
            let (grant, granted) = oneshot::channel();
            state.waiting.push(domain, grant);
            granted
        };
        self.grant();
        granted.await.map_err(|_| StoreError::Closed)
    }

    /// A further slot if no command waits and more than `spared` are free.
    pub fn try_further(&self, domain: DomainId, spared: usize) -> Option<Slot> {
        let mut state = self.0.lock();
        let taken = state.taken.get(&domain).copied().unwrap_or_default();
        let is_open = !state.closed && state.waiting.is_empty();
        if !is_open || state.free <= spared || taken >= state.each_max {
            return None;
        }
        state.note_taken(domain);
        Some(Slot { slots: self.clone(), domain })
    }

    /// Refuses all commands that wait or come.
    pub fn close(&self) {
        let mut state = self.0.lock();
        state.closed = true;
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        drop(waiting);
    }

    /// Gives free slots to waiting commands.
    fn grant(&self) {
        loop {
            let Some((domain, grant)) = self.0.lock().next() else { return };
            // A command that gave up in this moment drops the slot, which comes back.
            drop(grant.send(Slot { slots: self.clone(), domain }));
        }
    }
}

impl State {
    /// Takes a slot for the command that comes next.
    fn next(&mut self) -> Option<(DomainId, oneshot::Sender<Slot>)> {
        self.waiting.0.retain_mut(|(_, commands)| {
            commands.retain(|command| !command.is_closed());
            !commands.is_empty()
        });
        if self.free == 0 {
            return None;
        }
        let taken = |domain: &DomainId| self.taken.get(domain).copied().unwrap_or_default();
        let may = |(_, (domain, _)): &(usize, &(DomainId, _))| taken(domain) < self.each_max;
        let waiting = self.waiting.0.iter().enumerate().filter(may);
        let (at, _) = waiting.min_by_key(|(at, (domain, _))| (taken(domain), *at))?;
        let (domain, command) = self.waiting.take(at)?;
        self.note_taken(domain);
        Some((domain, command))
    }

    fn note_taken(&mut self, domain: DomainId) {
        self.free -= 1;
        *self.taken.entry(domain).or_default() += 1;
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut state = self.slots.0.lock();
        state.free += 1;
        if let Some(taken) = state.taken.get_mut(&self.domain) {
            *taken -= 1;
            if *taken == 0 {
                state.taken.remove(&self.domain);
            }
        }
        drop(state);
        self.slots.grant();
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    const LOUD: DomainId = DomainId(1);
    const QUIET: DomainId = DomainId(2);

    #[test]
    fn a_domain_with_very_many_reads_lets_another_one_go_next() {
        let slots = FairSlots::new(3, 2);
        let mut loud: VecDeque<_> = (0..200).map(|_| Box::pin(slots.take(LOUD))).collect();
        let running: Vec<_> =
            loud.iter_mut().filter_map(FutureExt::now_or_never).map(Result::unwrap).collect();
        assert_eq!(running.len(), 2, "one domain never has all slots");
        let mut quiet = [0; 2].map(|_| Box::pin(slots.take(QUIET)));
        let first = (&mut quiet[0]).now_or_never().unwrap().unwrap();
        assert!((&mut quiet[1]).now_or_never().is_none(), "all slots are taken");
        // The next free slot goes to the domain with fewer.
        drop(running);
        drop((&mut quiet[1]).now_or_never().unwrap().unwrap());
        drop(first);
        let served = loud.iter_mut().skip(2).filter_map(FutureExt::now_or_never).count();
        assert_eq!(served, 198, "everyone is served in the end");
    }

    #[test]
    fn domains_that_wait_take_turns() {
        let slots = FairSlots::new(1, 1);
        let held = slots.take(LOUD).now_or_never().unwrap().unwrap();
        let domains = [LOUD, LOUD, LOUD, QUIET, QUIET, DomainId(3)];
        let mut reads: Vec<_> =
            domains.iter().map(|domain| Some(Box::pin(slots.take(*domain)))).collect();
        for read in reads.iter_mut().flatten() {
            assert!(read.now_or_never().is_none());
        }
        drop(held);
        let mut order = Vec::new();
        for _ in &domains {
            for (domain, read) in domains.iter().zip(&mut reads) {
                if let Some(slot) = read.as_mut().and_then(FutureExt::now_or_never) {
                    *read = None;
                    order.push(domain.0);
                    drop(slot.unwrap());
                    break;
                }
            }
        }
        assert_eq!(order, [1, 2, 3, 1, 2, 1]);
    }

    #[test]
    fn a_read_that_gives_up_leaves_its_place_to_the_next_one() {
        let slots = FairSlots::new(1, 1);
        let held = slots.take(LOUD).now_or_never().unwrap().unwrap();
        let mut given_up = Box::pin(slots.take(QUIET));
        assert!((&mut given_up).now_or_never().is_none());
        let mut next = Box::pin(slots.take(QUIET));
        assert!((&mut next).now_or_never().is_none());
        drop(given_up);
        drop(held);
        assert!(next.now_or_never().is_some());
        slots.close();
        assert!(matches!(slots.take(LOUD).now_or_never(), Some(Err(StoreError::Closed))));
    }
}
