//! The limits of a caller's read: a time, and memory for its result. Many reads may wait for their
//! turn, so a read takes its memory when the turn has come. The one who counts the memory is not
//! known here.

use std::fmt::Debug;
use std::sync::Arc;
use std::time::Duration;

use super::StoreError;

/// The limits of one read.
#[derive(Debug, Clone)]
pub struct ReadBudget {
    /// The time that it may take, with the wait for its turn.
    pub time: Duration,
    memory: Option<Arc<dyn ResultMemory>>,
}

/// Memory for the result of a read.
pub trait ResultMemory: Debug + Send + Sync {
    /// Takes it, unless it is taken already. Returns false if there is none now.
    fn take(&self) -> bool;
}

impl ReadBudget {
    /// A read whose result is short, or whose memory the caller has.
    pub const fn of_time(time: Duration) -> Self {
        Self { time, memory: None }
    }

    /// A read that takes memory.
    pub fn with_memory(time: Duration, memory: Arc<dyn ResultMemory>) -> Self {
        Self { time, memory: Some(memory) }
    }

    /// The turn of the read has come. Fails with [`StoreError::NoMemory`] if there is none.
    pub fn begin(&self) -> Result<(), StoreError> {
        let has_memory = self.memory.as_ref().is_none_or(|memory| memory.take());
        if has_memory { Ok(()) } else { Err(StoreError::NoMemory) }
    }
}

impl From<Duration> for ReadBudget {
    fn from(time: Duration) -> Self {
        Self::of_time(time)
    }
}
