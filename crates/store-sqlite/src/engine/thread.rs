//! Threads: a named background thread that its owner stops and joins, and blocking work on a thread
//! of the runtime.

use std::thread::JoinHandle;

use caseload_store::StoreError;
use parking_lot::Mutex;

use crate::Fault;

#[derive(Debug)]
pub(super) struct WorkerThread {
    name: &'static str,
    handle: Mutex<Option<JoinHandle<()>>>,
}

impl WorkerThread {
    pub(super) fn start(
        name: &'static str,
        work: impl FnOnce() + Send + 'static,
    ) -> Result<Self, StoreError> {
        let thread = std::thread::Builder::new().name(name.to_owned()).spawn(work);
        let handle = thread.map_err(|e| {
            StoreError::Unavailable(format!("no thread {name} could be started: {e}"))
        })?;
        Ok(Self { name, handle: Mutex::new(Some(handle)) })
    }

    /// Waits for the end of the thread. Returns false if it was joined before.
    pub(super) fn join(&self) -> bool {
        let Some(handle) = self.handle.lock().take() else { return false };
        if handle.join().is_err() {
            tracing::error!("the thread {} had panicked", self.name);
        }
        true
    }
}

/// Starts blocking work on a thread of the runtime. The future returns its result.
pub(crate) fn on_blocking_thread<T: Send + 'static, F>(
    work: F,
) -> impl Future<Output = Result<T, Fault>> + use<T, F>
where
    F: FnOnce() -> Result<T, Fault> + Send + 'static,
{
    let running = tokio::task::spawn_blocking(work);
    async move {
        running.await.unwrap_or_else(|e| {
            Err(StoreError::Unavailable(format!("work on the store panicked: {e}")).into())
        })
    }
}
