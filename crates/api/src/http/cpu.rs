//! Work that occupies a processor for more than a moment: unpacking and reading bodies, packing
//! entries, rendering many faults. It runs on blocking threads, as many pieces at a time as the
//! machine has cores, so that the threads which answer everyone are never occupied by one caller.
//! A piece of work is small: its size is bounded by the piece of a body.

use std::sync::Arc;

use tokio::sync::Semaphore;
use tokio::task::spawn_blocking;

use crate::http::current_request::CurrentRequest;
use crate::http::problem::Problem;

/// Up to this many bytes are worked on at once, because going to another thread takes longer.
pub(crate) const INLINE_BYTES_MAX: usize = 16 << 10;

/// The threads for such work.
#[derive(Debug, Clone)]
pub(crate) struct CpuPool(Arc<Semaphore>);

impl Default for CpuPool {
    fn default() -> Self {
        let cores = std::thread::available_parallelism().map_or(2, std::num::NonZero::get);
        Self(Arc::new(Semaphore::new(cores)))
    }
}

impl CpuPool {
    /// Runs a piece of work when its turn comes. A panic of the work is an internal error.
    pub(crate) async fn run<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> T + Send + 'static,
    ) -> Result<T, Problem> {
        let turn = self.0.clone().acquire_owned().await;
        let current = CurrentRequest::now();
        let done = spawn_blocking(move || {
            let done = match current {
                Some(current) => current.around(work),
                None => work(),
            };
            drop(turn);
            done
        });
        done.await.map_err(|error| {
            tracing::error!(%error, "work on another thread failed");
            Problem::internal()
        })
    }
}
