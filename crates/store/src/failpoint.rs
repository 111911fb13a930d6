//! Failpoints: named places in the code at which a test can abort the process, as a kill at the
//! worst moment would. A test plans one failpoint ([`plan`]) and a backend passes it ([`reached`]).
//! Without a plan, and in every release build, failpoints do nothing. For backends.

/// A place at which the process can be aborted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Failpoint {
    /// Blocks of an upload are written but not committed.
    StageBeforeCommit,
    /// Blocks of an upload are committed; their task is not accepted yet.
    StageAfterCommit,
    /// Blocks of a discarded upload are deleted but not committed.
    DiscardBeforeCommit,
    /// A task is accepted; its caller has no answer yet.
    CreateTaskAfterCommit,
    /// An import and its tasks are written but not committed.
    ImportBeforeCommit,
    /// An import is committed; its caller has no answer yet.
    ImportAfterCommit,
    /// Tasks are leased; their server does not know yet.
    ClaimAfterCommit,
    /// The effects of a chunk are written; its records are not.
    ChunkAfterEffects,
    /// The effects and records of a chunk are written but not committed.
    ChunkBeforeCommit,
    /// A chunk is committed; its caller has no answer yet.
    ChunkAfterCommit,
    /// A task is ending: its payload is being reduced to the entries that a retry needs.
    TaskEnding,
    /// A cancellation is written but not committed.
    CancelBeforeCommit,
    /// Expired data is deleted but not committed.
    PurgeBeforeCommit,
    /// A step of a purge is committed.
    PurgeAfterCommit,
    /// A segment of the text index is written but not committed.
    IndexTextsBeforeCommit,
    /// A segment of the text index is committed.
    IndexTextsAfterCommit,
    /// Rows of a copy are written but not committed.
    CopyBeforeCommit,
    /// Rows of a copy are committed with its progress.
    CopyAfterCommit,
    /// All rows of a copy are committed; it is not finished yet.
    CopyBeforeFinish,
}

impl Failpoint {
    /// The failpoints of a copy.
    pub const OF_A_COPY: [Self; 3] =
        [Self::CopyBeforeCommit, Self::CopyAfterCommit, Self::CopyBeforeFinish];

    /// The failpoints of indexing texts.
    pub const OF_TEXT_INDEXING: [Self; 2] =
        [Self::IndexTextsBeforeCommit, Self::IndexTextsAfterCommit];

    /// The failpoints of a server.
    pub const OF_A_SERVER: [Self; 14] = [
        Self::StageBeforeCommit,
        Self::StageAfterCommit,
        Self::DiscardBeforeCommit,
        Self::CreateTaskAfterCommit,
        Self::ImportBeforeCommit,
        Self::ImportAfterCommit,
        Self::ClaimAfterCommit,
        Self::ChunkAfterEffects,
        Self::ChunkBeforeCommit,
        Self::ChunkAfterCommit,
        Self::TaskEnding,
        Self::CancelBeforeCommit,
        Self::PurgeBeforeCommit,
        Self::PurgeAfterCommit,
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
