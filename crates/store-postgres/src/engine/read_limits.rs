//! The limits that all reads of one server share. Domains take turns: one with very many reads does
//! not keep another one waiting. Reads leave some connections to writes, and short reads slow long
//! ones down.

use std::sync::Arc;

use caseload_store::fair_slots::FairSlots;
use caseload_store::throttle::ReadLoad;

#[derive(Debug)]
pub(super) struct ReadLimits {
    /// The connections that short and long reads may use at a time.
    pub(super) short_slots: FairSlots,
    pub(super) long_slots: FairSlots,
    pub(super) load: Arc<ReadLoad>,
}

impl ReadLimits {
    pub(super) fn new(connections: usize) -> Self {
        // One more than a domain may have.
        let (short_slots, long_slots) =
            (FairSlots::new(connections / 2 + 1), FairSlots::new(connections / 4 + 1));
        Self { short_slots, long_slots, load: Arc::default() }
    }
}
