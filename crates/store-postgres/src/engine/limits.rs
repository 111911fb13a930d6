//! The limits that all reads and writes of one server share. Domains take turns: one with very many
//! commands does not delay another one. Reads leave some connections to writes, and short
//! reads slow long ones down. Writes of one domain wait for its clock, each with a connection; so
//! only a few of them begin.

use std::sync::Arc;

use caseload_store::fair_slots::FairSlots;
use caseload_store::throttle::ReadLoad;

#[derive(Debug)]
pub(super) struct Limits {
    /// The connections that short reads, long reads and writes of domains may use at a time.
    pub(super) short_slots: FairSlots,
    pub(super) long_slots: FairSlots,
    pub(super) write_slots: FairSlots,
    pub(super) load: Arc<ReadLoad>,
}

impl Limits {
    pub(super) fn new(connections: usize) -> Self {
        let (half, quarter) = (connections / 2, connections / 4);
        Self {
            short_slots: FairSlots::new(half + 1, half),
            long_slots: FairSlots::new(quarter + 1, quarter),
            write_slots: FairSlots::new(half, quarter),
            load: Arc::default(),
        }
    }
}
