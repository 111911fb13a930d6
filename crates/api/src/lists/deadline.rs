//! The limits of reads for callers: a deadline, and memory for the result. The store ends a read
//! that exceeds its time. If the store fails to do so, the read fails here, shortly after the
//! deadline. Many reads may wait for their turn at the store, so a read takes its memory when its
//! turn has come.

use std::sync::Arc;
use std::time::Duration;

use caseload_model::ids::DomainId;
use caseload_store::{ReadBudget, ResultMemory, StoreError};
use parking_lot::Mutex;

use crate::http::memory::{Memory, MemoryBudget};
use crate::state::AppState;

/// How much longer than its deadline a read may take to give up.
const GRACE: Duration = Duration::from_millis(500);

/// Fails a read that has not ended shortly after its time.
pub(crate) async fn in_time<T>(
    time: Duration,
    read: impl Future<Output = Result<T, StoreError>>,
) -> Result<T, StoreError> {
    let limit = time.saturating_add(GRACE);
    tokio::time::timeout(limit, read).await.unwrap_or(Err(StoreError::DeadlinePassed))
}

/// The memory of a result, once the read has taken it.
#[derive(Debug)]
struct MemoryOfRead {
    budget: Arc<MemoryBudget>,
    owner: Option<DomainId>,
    bytes: usize,
    taken: Mutex<Option<Memory>>,
}

impl ResultMemory for MemoryOfRead {
    fn take(&self) -> bool {
        let mut taken = self.taken.lock();
        if taken.is_none() {
            *taken = self.budget.try_take(self.owner, self.bytes);
        }
        taken.is_some()
    }
}

/// Reads a result of about this many bytes at most, in time. A read whose turn comes when there is
/// no memory gives the turn up, waits for memory and begins again.
pub(crate) async fn read_into_memory<T, R>(
    state: &AppState,
    domain: DomainId,
    (bytes, wait): (usize, Duration),
    read: impl Fn(ReadBudget) -> R,
) -> Result<(T, Memory), StoreError>
where
    R: Future<Output = Result<T, StoreError>>,
{
    let (budget, owner, time) = (&state.memory, Some(domain), state.config.query_timeout);
    let memory = MemoryOfRead { budget: budget.clone(), owner, bytes, taken: Mutex::default() };
    let memory = Arc::new(memory);
    let limits = ReadBudget::with_memory(time, memory.clone());
    let mut found = in_time(time, read(limits.clone())).await;
    if matches!(found, Err(StoreError::NoMemory)) {
        let taken = budget.take_within(owner, bytes, wait).await;
        *memory.taken.lock() = Some(taken.ok_or(StoreError::NoMemory)?);
        found = in_time(time, read(limits)).await;
    }
    let taken = memory.taken.lock().take();
    Ok((found?, taken.unwrap_or_else(|| budget.overdraw(owner, 0))))
}
