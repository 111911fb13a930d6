//! Which connections are open, and which one ends to make room for another. A connection is unknown
//! until a request on it has a working key. A tenth of all connections is for known ones, and one
//! address has at most a quarter in unknown ones, unless a key was used from there lately. A new
//! connection is always accepted: if all places are taken, the oldest unknown one ends. So clients
//! that open connections and leave them lock out no others. Invariant: there are never more
//! connections than the limit, and always some for newcomers.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use parking_lot::Mutex;
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::http::log_limiter::{Event, LogLimiter, Origin};

/// The most connections that stay free for newcomers; a small limit has fewer.
const NEWCOMERS_MAX: usize = 16;
/// How long an address is known after the last connection with a key from there has ended.
const KNOWN_FOR: Duration = Duration::from_mins(10);
/// The most addresses that are remembered.
const KNOWN_MAX: usize = 10_000;

/// All connections of a listener.
#[derive(Debug)]
pub(crate) struct Slots {
    max: usize,
    /// The most unknown connections of one address.
    per_address: usize,
    open: Mutex<Open>,
    log_limiter: Arc<LogLimiter>,
}

#[derive(Debug, Default)]
struct Open {
    /// The number of the next connection.
    next: u64,
    /// Unknown connections, oldest first.
    unknown: BTreeMap<u64, (IpAddr, Arc<Notify>)>,
    of_address: HashMap<IpAddr, BTreeSet<u64>>,
    known: usize,
    known_addresses: HashMap<IpAddr, KnownAddress>,
}

#[derive(Debug)]
struct KnownAddress {
    connections: usize,
    /// When its last connection ended.
    ended_at: Instant,
}

/// One connection, from its acceptance to its end.
#[derive(Debug)]
pub(crate) struct Slot {
    slots: Arc<Slots>,
    number: u64,
    address: IpAddr,
    is_known: AtomicBool,
    ended: Arc<Notify>,
}

impl Slots {
    pub(crate) fn new(max: usize, log_limiter: Arc<LogLimiter>) -> Arc<Self> {
        let per_address = (max / 4).max(1);
        Arc::new(Self { max: max.max(2), per_address, open: Mutex::default(), log_limiter })
    }

    /// Connections that only operators reach, from few addresses.
    pub(crate) fn of_operators(max: usize, log_limiter: Arc<LogLimiter>) -> Arc<Self> {
        Arc::new(Self { max, per_address: max, open: Mutex::default(), log_limiter })
    }

    /// The connections that always stay free for newcomers.
    fn newcomers(&self) -> usize {
        (self.max / 8).clamp(1, NEWCOMERS_MAX)
    }

    /// The most unknown connections while this many are known.
    fn unknown_max(&self, known: usize) -> usize {
        let reserved = (self.max / 10).max(1);
        self.max.saturating_sub(known.max(reserved)).max(self.newcomers())
    }

    /// A new connection. It may make an older one end.
    pub(crate) fn accept(self: &Arc<Self>, address: IpAddr) -> Slot {
        let mut open = self.open.lock();
        let of_address = open.of_address.get(&address);
        let oldest_there = of_address
            .filter(|numbers| numbers.len() >= self.per_address)
            .and_then(|numbers| numbers.first().copied())
            .filter(|_| !open.is_known(address, Instant::now()));
        let is_full = open.unknown.len() >= self.unknown_max(open.known);
        let oldest = open.unknown.first_key_value().map(|(number, _)| *number);
        if let Some(number) = oldest_there.or(oldest.filter(|_| is_full))
            && let Some((address, ended)) = open.forget(number)
        {
            ended.notify_one();
            self.log(address, oldest_there.is_some());
        }
        let number = open.next;
        open.next += 1;
        let ended = Arc::new(Notify::new());
        open.unknown.insert(number, (address, ended.clone()));
        open.of_address.entry(address).or_default().insert(number);
        drop(open);
        Slot { slots: self.clone(), number, address, is_known: AtomicBool::new(false), ended }
    }

    fn log(&self, address: IpAddr, is_share: bool) {
        let Some(left_out) =
            self.log_limiter.line(Event::ConnectionLimit, Origin::Address(address))
        else {
            return;
        };
        let limit = if is_share { self.per_address } else { self.max };
        tracing::warn!(%address, limit, left_out, "a connection without a key ended to make room");
    }
}

impl Open {
    /// Removes an unknown connection.
    fn forget(&mut self, number: u64) -> Option<(IpAddr, Arc<Notify>)> {
        let (address, ended) = self.unknown.remove(&number)?;
        if let Some(numbers) = self.of_address.get_mut(&address) {
            numbers.remove(&number);
            if numbers.is_empty() {
                self.of_address.remove(&address);
            }
        }
        Some((address, ended))
    }

    /// Whether a key was used from this address lately.
    fn is_known(&self, address: IpAddr, now: Instant) -> bool {
        let known = self.known_addresses.get(&address);
        known.is_some_and(|known| known.connections > 0 || now < known.ended_at + KNOWN_FOR)
    }

    fn add_known(&mut self, address: IpAddr) {
        if self.known_addresses.len() >= KNOWN_MAX {
            self.known_addresses.retain(|_, known| known.connections > 0);
        }
        let new = || KnownAddress { connections: 0, ended_at: Instant::now() };
        self.known_addresses.entry(address).or_insert_with(new).connections += 1;
        self.known += 1;
    }

    fn remove_known(&mut self, address: IpAddr) {
        self.known -= 1;
        if let Some(known) = self.known_addresses.get_mut(&address) {
            known.connections -= 1;
            known.ended_at = Instant::now();
        }
    }
}

impl Slot {
    /// A request on this connection has a working key. Returns false if all connections for those
    /// are in use.
    pub(crate) fn authenticate(&self) -> bool {
        if self.is_known.load(Ordering::Relaxed) {
            return true;
        }
        let mut open = self.slots.open.lock();
        if open.known >= self.slots.max - self.slots.newcomers() {
            return false;
        }
        // A connection that has to end has left the count.
        if open.forget(self.number).is_some() {
            open.add_known(self.address);
            self.is_known.store(true, Ordering::Relaxed);
        }
        true
    }

    /// Waits until the connection has to make room.
    pub(crate) async fn ended(&self) {
        self.ended.notified().await;
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut open = self.slots.open.lock();
        if self.is_known.load(Ordering::Relaxed) {
            open.remove_known(self.address);
        } else {
            open.forget(self.number);
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    fn has_ended(slot: &Slot) -> bool {
        slot.ended().now_or_never().is_some()
    }

    fn count(slots: &Arc<Slots>) -> (usize, usize) {
        let open = slots.open.lock();
        (open.unknown.len(), open.known)
    }

    #[test]
    fn one_address_without_a_key_has_a_quarter_and_its_oldest_make_room() {
        let slots = Slots::new(100, Arc::default());
        let all: Vec<_> = (0..40).map(|_| slots.accept(address(1))).collect();
        assert_eq!(count(&slots), (25, 0));
        for (n, slot) in all.iter().enumerate() {
            assert_eq!(has_ended(slot), n < 15, "{n}");
        }
        let other = slots.accept(address(2));
        assert!(!has_ended(&other) && !has_ended(&all[15]), "others have their own share");
        drop(all);
        assert_eq!(count(&slots), (1, 0));
    }

    #[test]
    fn a_tenth_is_for_connections_with_a_key_and_newcomers_are_always_accepted() {
        let slots = Slots::new(100, Arc::default());
        let strangers: Vec<_> = (0..200).map(|n| slots.accept(address(n))).collect();
        assert_eq!(count(&slots), (90, 0));
        assert!(has_ended(&strangers[109]) && !has_ended(&strangers[110]));
        let known: Vec<_> = (0..200_u8)
            .filter_map(|n| {
                let slot = slots.accept(address(n));
                slot.authenticate().then_some(slot)
            })
            .collect();
        assert_eq!(known.len(), 88, "some stay free for newcomers");
        assert!(known.iter().all(|slot| !has_ended(slot)), "no known connection ends");
        let (unknown, known_now) = count(&slots);
        assert!(unknown + known_now <= 100, "{unknown} {known_now}");
        assert!(!has_ended(&slots.accept(address(7))));
        drop((strangers, known));
        assert_eq!(count(&slots), (0, 0));
    }

    #[test]
    fn an_address_that_has_used_a_key_may_have_more() {
        let slots = Slots::new(100, Arc::default());
        let known = slots.accept(address(1));
        assert!(known.authenticate() && known.authenticate());
        let more: Vec<_> = (0..60).map(|_| slots.accept(address(1))).collect();
        assert!(more.iter().all(|slot| !has_ended(slot)));
        drop((known, more));
        let open = slots.open.lock();
        assert!(
            open.is_known(address(1), Instant::now()) && !open.is_known(address(2), Instant::now())
        );
        assert!(!open.is_known(address(1), Instant::now() + KNOWN_FOR), "not for ever");
    }
}
