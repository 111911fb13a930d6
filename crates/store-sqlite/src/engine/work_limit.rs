//! The limit on the time that one chunk may have the writer for itself. The statements of a chunk
//! look at it, so that a chunk ends between two statements, its savepoint is rolled back, and the
//! other commands of its group are not touched. Every other writer of the file, other processes
//! included, waits for the writer no longer than this. Commands without a limit are not concerned.

use std::cell::Cell;
use std::time::{Duration, Instant};

use caseload_store::StoreError;

thread_local! {
    /// When the command of this thread began, and how long it may take.
    static LIMIT: Cell<Option<(Instant, Duration)>> = const { Cell::new(None) };
}

/// Limits the work of this thread until it is dropped.
#[derive(Debug)]
pub(crate) struct WorkLimit {
    began: Instant,
}

impl WorkLimit {
    pub(crate) fn begin(longest: Duration) -> Self {
        let began = Instant::now();
        LIMIT.set(Some((began, longest)));
        Self { began }
    }

    /// The time since the work began.
    pub(crate) fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    /// Fails once the work of this thread has taken too long.
    pub(crate) fn check() -> Result<(), StoreError> {
        let Some((began, longest)) = LIMIT.get() else { return Ok(()) };
        let worked = began.elapsed();
        if worked < longest { Ok(()) } else { Err(StoreError::ChunkInterrupted { worked }) }
    }
}

impl Drop for WorkLimit {
    fn drop(&mut self) {
        LIMIT.set(None);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn work_ends_at_its_limit_and_work_without_a_limit_does_not() {
        assert!(WorkLimit::check().is_ok());
        let limit = WorkLimit::begin(Duration::MAX);
        assert!(WorkLimit::check().is_ok());
        drop(limit);
        let limit = WorkLimit::begin(Duration::ZERO);
        assert!(matches!(WorkLimit::check(), Err(StoreError::ChunkInterrupted { .. })));
        drop(limit);
        assert!(WorkLimit::check().is_ok());
    }
}
