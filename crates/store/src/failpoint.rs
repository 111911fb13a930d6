//! Failpoints: named places in the code at which a test can abort the process, as a kill at the
//! worst moment would. A test plans one failpoint ([`plan`]) and a backend passes it ([`reached`]).
//! Without a plan, and in every release build, failpoints do nothing. For backends.

/// A place at which the process can be aborted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failpoint {
    /// Blocks of an upload are stored and not committed.
    Staging,
    /// Blocks of an upload are committed, and its task is not created.
    Staged,
    /// Blocks of an upload without a task are removed, and this is not committed.
    Discarding,
    /// A task is created, and the caller has no answer.
    Accepted,
    /// Tasks are leased, and their server does not know it.
    Claimed,
    /// A chunk took effect; its records are not stored.
    Effects,
    /// A chunk's effects and records are stored and not committed.
    Recorded,
    /// A chunk is committed, and its worker has no answer.
    Committed,
    /// A task is ending, and its retry payload is being stored.
    Completing,
    /// A cancellation is stored and not committed.
    Cancelling,
    /// Expired records are removed, and this is not committed.
    Expiring,
    /// The removal of expired records is committed.
    Expired,
    /// Rows of a copy are stored and not committed.
    Copying,
    /// Rows of a copy are committed with the position of the copy.
    Copied,
    /// All rows of a copy are stored, and the copy is not finished.
    Derived,
}

impl Failpoint {
    /// The failpoints of a copy.
    pub const OF_A_COPY: [Self; 3] = [Self::Copying, Self::Copied, Self::Derived];

    /// The failpoints of a server.
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
static PLANNED: parking_lot::Mutex<Option<(Failpoint, u32)>> = parking_lot::Mutex::new(None);

/// Plans that the process aborts when it reaches `failpoint` for the `nth` time, counted from 1.
#[cfg(debug_assertions)]
pub fn plan(failpoint: Failpoint, nth: u32) {
    *PLANNED.lock() = Some((failpoint, nth));
}

/// Aborts the process if a test planned that for this failpoint.
#[cfg(debug_assertions)]
pub fn reached(failpoint: Failpoint) {
    if let Some((_, left)) = PLANNED.lock().as_mut().filter(|(planned, _)| *planned == failpoint) {
        *left -= 1;
        if *left == 0 {
            std::process::abort();
        }
    }
}

#[cfg(not(debug_assertions))]
pub const fn reached(_: Failpoint) {}
