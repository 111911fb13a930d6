//! Named places at which a test may have the process end on the spot, as a kill at the worst
//! moment would. A test plans one place; without a plan, and in every release build, the places do
//! nothing.

/// Where the process can be made to end.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Place {
    /// A part of an upload is stored and not committed.
    Staging,
    /// A part of an upload is committed and its task is not accepted.
    Staged,
    /// A part of an upload without task is removed and not committed.
    Discarding,
    /// A task is accepted and not answered.
    Accepted,
    /// Tasks are leased and nobody knows.
    Claimed,
    /// A chunk took effect; its records are not stored.
    Effects,
    /// A chunk's effects and records are stored and not committed.
    Recorded,
    /// A chunk is committed and not answered.
    Committed,
    /// A task is ending: what a retry needs is picked out of its payload.
    Completing,
    /// The end of a task is asked for and not committed.
    Cancelling,
    /// Something that expired is removed and not committed.
    Expiring,
    /// A step of the removal is committed.
    Expired,
    /// Rows of a copy are stored and not committed.
    Copying,
    /// Rows of a copy are committed with its position.
    Copied,
    /// All rows of a copy are there, and it is not finished.
    Settled,
}

impl Place {
    /// Those of a copy.
    pub const OF_A_COPY: [Self; 3] = [Self::Copying, Self::Copied, Self::Settled];

    /// Those of a server.
    pub const OF_A_SERVER: [Self; 12] = [
        Self::Staging,
        Self::Staged,
        Self::Discarding,
        Self::Accepted,
        Self::Claimed,
        Self::Effects,
        Self::Recorded,
        Self::Committed,
        Self::Completing,
        Self::Cancelling,
        Self::Expiring,
        Self::Expired,
    ];
}

#[cfg(debug_assertions)]
static PLANNED: std::sync::Mutex<Option<(Place, u32)>> = std::sync::Mutex::new(None);

/// Has the process end when it comes to `place` for the `nth` time, counted from 1.
#[cfg(debug_assertions)]
pub fn plan(place: Place, nth: u32) {
    *PLANNED.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = Some((place, nth));
}

/// Ends the process where that is planned.
#[cfg(debug_assertions)]
pub(crate) fn reached(place: Place) {
    let mut planned = PLANNED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some((_, left)) = planned.as_mut().filter(|(at, _)| *at == place) {
        *left -= 1;
        if *left == 0 {
            std::process::abort();
        }
    }
}

#[cfg(not(debug_assertions))]
pub(crate) const fn reached(_: Place) {}
