//! Which connections are open, and which one ends to make room for another. A place is a stranger's
//! until the server admits a request on it: one with a working key that is within its limits. Then
//! the place is the key's and its domain's. It is a stranger's again if the key is over its limits.
//!
//! A tenth of all places is for keys. One address has at most a quarter as a stranger, unless a key
//! was used from there lately, and one domain has at most its share. A new connection is always
//! accepted: if the places are taken, the oldest stranger ends. If the share of a domain is taken,
//! or all places for keys are, the connection of the largest holder ends that has been idle
//! longest. Invariant: there are never more connections than the limit, and always some for
//! newcomers.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use caseload_model::ids::DomainId;
use parking_lot::Mutex;
use tokio::time::Instant;

use super::exchange::Exchange;
use crate::http::log_limiter::{Event, LogLimiter, Origin};
use crate::http::memory::Reclaim;

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
    /// The most strangers of one address.
    per_address: usize,
    /// The most places of one domain.
    per_domain: usize,
    open: Mutex<Open>,
    log_limiter: Arc<LogLimiter>,
}

#[derive(Debug, Default)]
struct Open {
    /// The number of the next connection.
    next: u64,
    /// Oldest first.
    strangers: BTreeMap<u64, (IpAddr, Arc<Exchange>)>,
    of_address: HashMap<IpAddr, BTreeSet<u64>>,
    domains: HashMap<DomainId, DomainPlaces>,
    /// The places of all domains.
    admitted: usize,
    known_addresses: HashMap<IpAddr, KnownAddress>,
}

/// The places of a domain.
#[derive(Debug, Default)]
struct DomainPlaces {
    places: HashMap<u64, Place>,
    of_key: HashMap<Arc<str>, usize>,
}

#[derive(Debug)]
struct Place {
    key: Arc<str>,
    exchange: Arc<Exchange>,
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
    exchange: Arc<Exchange>,
    /// Whose place it is; `None` for a stranger's.
    holder: Mutex<Option<(DomainId, Arc<str>)>>,
}

impl Slots {
    /// `per_domain` is a quarter by default.
    pub(crate) fn new(
        max: usize,
        per_domain: Option<usize>,
        log_limiter: Arc<LogLimiter>,
    ) -> Arc<Self> {
        let quarter = (max / 4).max(1);
        let (max, per_domain) = (max.max(2), per_domain.unwrap_or(quarter));
        Self { max, per_domain, ..Self::of_operators(quarter, log_limiter) }.into()
    }

    /// Connections that only operators reach, from few addresses.
    pub(crate) fn of_operators(max: usize, log_limiter: Arc<LogLimiter>) -> Self {
        Self { max, per_address: max, per_domain: max, open: Mutex::default(), log_limiter }
    }

    /// How many connections are open, and the most.
    pub(crate) fn open_and_max(&self) -> (usize, usize) {
        let open = self.open.lock();
        (open.strangers.len() + open.admitted, self.max)
    }

    /// Whether the first request of a connection is on the way.
    pub(crate) fn have_newcomers(&self) -> bool {
        self.open.lock().strangers.values().any(|(_, exchange)| exchange.is_new())
    }

    /// The connections that always stay free for newcomers.
    fn newcomers(&self) -> usize {
        (self.max / 8).clamp(1, NEWCOMERS_MAX)
    }

    /// The most strangers while domains have this many places.
    fn strangers_max(&self, admitted: usize) -> usize {
        let reserved = (self.max / 10).max(1);
        self.max.saturating_sub(admitted.max(reserved)).max(self.newcomers())
    }

    /// A new connection. It may make older ones end.
    pub(crate) fn accept(self: &Arc<Self>, address: IpAddr, exchange: Arc<Exchange>) -> Slot {
        let mut open = self.open.lock();
        let of_address = open.of_address.get(&address);
        let oldest_there = of_address
            .filter(|numbers| numbers.len() >= self.per_address)
            .and_then(|numbers| numbers.first().copied())
            .filter(|_| !open.is_known(address, Instant::now()));
        if let Some(number) = oldest_there {
            self.end_stranger(&mut open, number, self.per_address);
        }
        while open.strangers.len() >= self.strangers_max(open.admitted)
            && let Some((&number, _)) = open.strangers.first_key_value()
        {
            self.end_stranger(&mut open, number, self.max);
        }
        let number = open.next;
        open.next += 1;
        open.add_stranger(number, address, exchange.clone());
        drop(open);
        Slot { slots: self.clone(), number, address, exchange, holder: Mutex::default() }
    }

    fn end_stranger(&self, open: &mut Open, number: u64, limit: usize) {
        let Some((address, exchange)) = open.remove_stranger(number) else { return };
        exchange.end();
        if let Some(left_out) =
            self.log_limiter.line(Event::ConnectionLimit, Origin::Address(address))
        {
            tracing::warn!(%address, limit, left_out, "a connection without a key ended");
        }
    }

    /// Makes a place free for a connection of a key. Returns false if none of the largest holder
    /// waits for its client.
    fn make_room(&self, open: &mut Open, domain: DomainId, key: &str) -> bool {
        let own = open.domains.get(&domain).map_or(0, |own| own.places.len());
        if own >= self.per_domain {
            let keys = &open.domains[&domain].of_key;
            let of_key = keys.get(key).copied().unwrap_or_default();
            let may_end = |is_idle, places_of_key| is_idle || places_of_key > of_key + 1;
            return self.end_one_of(open, domain, may_end);
        }
        if open.admitted < self.max - self.newcomers() {
            return true;
        }
        let largest = open.domains.iter().max_by_key(|(_, places)| places.places.len());
        let Some((&largest, places)) = largest else { return false };
        let is_larger = places.places.len() > own + 1;
        self.end_one_of(open, largest, |is_idle, _| is_idle || is_larger)
    }

    /// Ends the connection of a domain that waits for its client, preferably an idle one, of the
    /// key that has the most; of these the one that has waited longest. `may_end` gets whether it
    /// is idle, and the number of places of its key.
    fn end_one_of(
        &self,
        open: &mut Open,
        domain: DomainId,
        may_end: impl Fn(bool, usize) -> bool,
    ) -> bool {
        let Some(places) = open.domains.get(&domain) else { return false };
        let waiting = places.places.iter().filter_map(|(&number, place)| {
            let waiting = place.exchange.waiting()?;
            let of_key = places.of_key[&place.key];
            let order = (waiting.is_idle, of_key, Reverse(waiting.since));
            may_end(waiting.is_idle, of_key).then_some((order, number))
        });
        let Some((_, number)) = waiting.max() else { return false };
        if let Some(exchange) = open.remove_place(domain, number) {
            exchange.end();
        }
        if let Some(left_out) =
            self.log_limiter.line(Event::ConnectionLimit, Origin::Domain(domain))
        {
            tracing::warn!(
                domain_id = domain.0,
                left_out,
                "a connection of a domain ended, because others need its place or its memory"
            );
        }
        true
    }
}

impl Reclaim for Slots {
    fn end_slowest(&self, domain: DomainId) -> bool {
        self.end_one_of(&mut self.open.lock(), domain, |is_idle, _| !is_idle)
    }
}

impl Open {
    fn add_stranger(&mut self, number: u64, address: IpAddr, exchange: Arc<Exchange>) {
        self.strangers.insert(number, (address, exchange));
        self.of_address.entry(address).or_default().insert(number);
    }

    fn remove_stranger(&mut self, number: u64) -> Option<(IpAddr, Arc<Exchange>)> {
        let (address, exchange) = self.strangers.remove(&number)?;
        if let Some(numbers) = self.of_address.get_mut(&address) {
            numbers.remove(&number);
            if numbers.is_empty() {
                self.of_address.remove(&address);
            }
        }
        Some((address, exchange))
    }

    fn add_place(&mut self, domain: DomainId, number: u64, place: Place) {
        let of_domain = self.domains.entry(domain).or_default();
        *of_domain.of_key.entry(place.key.clone()).or_default() += 1;
        of_domain.places.insert(number, place);
        self.admitted += 1;
    }

    fn remove_place(&mut self, domain: DomainId, number: u64) -> Option<Arc<Exchange>> {
        let of_domain = self.domains.get_mut(&domain)?;
        let place = of_domain.places.remove(&number)?;
        if let Some(of_key) = of_domain.of_key.get_mut(&place.key) {
            *of_key -= 1;
            if *of_key == 0 {
                of_domain.of_key.remove(&place.key);
            }
        }
        if of_domain.places.is_empty() {
            self.domains.remove(&domain);
        }
        self.admitted -= 1;
        Some(place.exchange)
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
    }

    fn remove_known(&mut self, address: IpAddr) {
        if let Some(known) = self.known_addresses.get_mut(&address) {
            known.connections -= 1;
            known.ended_at = Instant::now();
        }
    }
}

impl Slot {
    pub(super) fn exchange(&self) -> &Arc<Exchange> {
        &self.exchange
    }

    /// A request on this connection has a working key that is within its limits. Returns false if
    /// neither the domain nor the server has a place for it.
    pub(crate) fn admit(&self, domain: DomainId, key: &str) -> bool {
        let mut holder = self.holder.lock();
        if matches!(&*holder, Some((its, of)) if *its == domain && **of == *key) {
            return true;
        }
        let mut open = self.slots.open.lock();
        self.give_up(&mut open, &mut holder);
        // A connection that has to end has left the table.
        let Some((address, exchange)) = open.remove_stranger(self.number) else { return true };
        let has_room = self.slots.make_room(&mut open, domain, key);
        if has_room {
            let key = Arc::<str>::from(key);
            open.add_known(address);
            open.add_place(domain, self.number, Place { key: key.clone(), exchange });
            *holder = Some((domain, key));
        } else {
            open.add_stranger(self.number, address, exchange);
        }
        has_room
    }

    /// The key of a request on this connection is over its limits: the place is a stranger's.
    pub(crate) fn dismiss(&self) {
        let mut holder = self.holder.lock();
        self.give_up(&mut self.slots.open.lock(), &mut holder);
    }

    fn give_up(&self, open: &mut Open, holder: &mut Option<(DomainId, Arc<str>)>) {
        let Some((domain, _)) = holder.take() else { return };
        open.remove_known(self.address);
        if let Some(exchange) = open.remove_place(domain, self.number) {
            open.add_stranger(self.number, self.address, exchange);
        }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        let mut open = self.slots.open.lock();
        self.give_up(&mut open, &mut self.holder.lock());
        open.remove_stranger(self.number);
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;
    use crate::config::ApiConfig;
    use crate::http::connection::TimeLimits;

    const ONE: DomainId = DomainId(1);
    const TWO: DomainId = DomainId(2);

    fn address(last: u8) -> IpAddr {
        IpAddr::from([10, 0, 0, last])
    }

    fn accept(slots: &Arc<Slots>, last: u8) -> Slot {
        let limits = TimeLimits::of(&ApiConfig::default());
        slots.accept(address(last), Arc::new(Exchange::new(limits)))
    }

    fn has_ended(slot: &Slot) -> bool {
        slot.exchange.ends().now_or_never().is_some()
    }

    /// Strangers, and places of all domains.
    fn count(slots: &Arc<Slots>) -> (usize, usize) {
        let open = slots.open.lock();
        let of_domains: usize = open.domains.values().map(|domain| domain.places.len()).sum();
        assert_eq!(of_domains, open.admitted);
        (open.strangers.len(), open.admitted)
    }

    /// A connection with a request of this key.
    fn admitted(slots: &Arc<Slots>, domain: DomainId, key: &str) -> Option<Slot> {
        let slot = accept(slots, 1);
        slot.admit(domain, key).then_some(slot)
    }

    #[tokio::test]
    async fn one_address_without_a_key_has_a_quarter_and_its_oldest_make_room() {
        let slots = Slots::new(100, None, Arc::default());
        let all: Vec<_> = (0..40).map(|_| accept(&slots, 1)).collect();
        assert_eq!(count(&slots), (25, 0));
        for (n, slot) in all.iter().enumerate() {
            assert_eq!(has_ended(slot), n < 15, "{n}");
        }
        let other = accept(&slots, 2);
        assert!(!has_ended(&other) && !has_ended(&all[15]), "others have their own share");
        drop(all);
        assert_eq!(count(&slots), (1, 0));
    }

    #[tokio::test]
    async fn a_tenth_is_for_connections_with_a_key_and_newcomers_are_always_accepted() {
        let slots = Slots::new(100, None, Arc::default());
        let strangers: Vec<_> = (0..200).map(|n| accept(&slots, n)).collect();
        assert_eq!(count(&slots), (90, 0));
        assert!(has_ended(&strangers[109]) && !has_ended(&strangers[110]));
        let of_keys: Vec<_> = (0..200_i64)
            .map(|n| {
                let slot = accept(&slots, 0);
                assert!(slot.admit(DomainId(n % 8), "key"), "idle ones make room");
                slot
            })
            .collect();
        let (strangers_now, admitted) = count(&slots);
        assert_eq!(admitted, 88, "some stay free for newcomers");
        assert!(strangers_now + admitted <= 100, "{strangers_now}");
        assert_eq!(of_keys.iter().filter(|slot| has_ended(slot)).count(), 112);
        assert!(!has_ended(&accept(&slots, 7)));
        drop((strangers, of_keys));
        assert_eq!(count(&slots), (0, 0));
    }

    #[tokio::test]
    async fn a_domain_has_its_share_and_its_largest_key_makes_room() {
        let slots = Slots::new(100, None, Arc::default());
        let other = admitted(&slots, TWO, "c").expect("a place");
        let few: Vec<_> = (0..5).filter_map(|_| admitted(&slots, ONE, "b")).collect();
        let many: Vec<_> = (0..60).filter_map(|_| admitted(&slots, ONE, "a")).collect();
        assert_eq!(count(&slots), (0, 26));
        for (n, slot) in many.iter().enumerate() {
            assert_eq!(has_ended(slot), n < 40, "{n}: the oldest");
        }
        assert!(!few.iter().any(has_ended) && !has_ended(&other));
        // The server works on all of them: none can end.
        for slot in few.iter().chain(&many) {
            slot.exchange.begin(false);
        }
        assert!(admitted(&slots, ONE, "a").is_none());
        assert!(admitted(&slots, TWO, "c").is_some());
        // A client that takes no bytes makes room for a key that has fewer.
        many[59].exchange.answer_begins(1, true);
        many[59].exchange.sent(None);
        assert!(admitted(&slots, ONE, "a").is_none(), "not for its own");
        assert!(admitted(&slots, ONE, "b").is_some() && has_ended(&many[59]));
    }

    #[tokio::test]
    async fn a_key_over_its_limits_is_a_stranger_again() {
        let slots = Slots::new(100, None, Arc::default());
        let slot = admitted(&slots, ONE, "a").expect("a place");
        assert!(slot.admit(ONE, "a") && slot.admit(TWO, "b"), "a proxy has many keys");
        assert_eq!(count(&slots), (0, 1));
        slot.dismiss();
        slot.dismiss();
        assert_eq!(count(&slots), (1, 0));
        let newcomers: Vec<_> = (2..92).map(|n| accept(&slots, n)).collect();
        assert!(has_ended(&slot), "it is the oldest stranger");
        assert!(slot.admit(ONE, "a"), "it ends in any case");
        drop((slot, newcomers));
        assert_eq!(count(&slots), (0, 0));
    }

    #[tokio::test]
    async fn the_answer_that_is_not_taken_for_longest_ends_if_others_need_its_memory() {
        let slots = Slots::new(100, None, Arc::default());
        let own: Vec<_> = (0..3).filter_map(|_| admitted(&slots, ONE, "a")).collect();
        assert!(!slots.end_slowest(ONE), "all are idle");
        for slot in own.iter().rev() {
            slot.exchange.begin(false);
            slot.exchange.answer_begins(1, false);
            slot.exchange.sent(None);
        }
        assert!(slots.end_slowest(ONE) && !slots.end_slowest(TWO));
        assert!(has_ended(&own[2]) && !has_ended(&own[0]) && own[2].exchange.is_cut());
    }

    #[tokio::test]
    async fn an_address_that_has_used_a_key_may_have_more() {
        let slots = Slots::new(100, None, Arc::default());
        let known = admitted(&slots, ONE, "a").expect("a place");
        let more: Vec<_> = (0..60).map(|_| accept(&slots, 1)).collect();
        assert!(!more.iter().any(has_ended));
        drop((known, more));
        let open = slots.open.lock();
        assert!(
            open.is_known(address(1), Instant::now()) && !open.is_known(address(2), Instant::now())
        );
        assert!(!open.is_known(address(1), Instant::now() + KNOWN_FOR), "not for ever");
    }
}
