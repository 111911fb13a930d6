//! A stopped clock. The server measures time by tokio's clock; here that moves only if
//! the test turns it, so that the speed of the machine changes nothing. Everything else runs as
//! usual: connections, and threads that block.

use std::sync::mpsc::{SyncSender, sync_channel};
use std::time::Duration;

use tokio::task::{JoinHandle, spawn_blocking, yield_now};

use crate::server::PATIENCE;

/// Tokio's clock is stopped until this is dropped.
pub(crate) struct StillClock {
    /// While a blocking task runs, tokio does not turn its stopped clock to the next timer.
    holding: JoinHandle<()>,
    _held: SyncSender<()>,
}

impl StillClock {
    pub(crate) fn new() -> Self {
        let (held, release) = sync_channel::<()>(1);
        let holding = spawn_blocking(move || {
            let _ = release.recv_timeout(PATIENCE);
        });
        tokio::time::pause();
        Self { holding, _held: held }
    }

    /// Turns the clock forward.
    pub(crate) async fn pass(&self, time: Duration) {
        tokio::time::advance(time).await;
    }

    /// The result of work for which no time has to pass.
    pub(crate) async fn at_once<T>(&mut self, work: impl Future<Output = T>) -> T {
        tokio::select! {
            biased;
            done = work => done,
            _ = &mut self.holding => panic!("it does not happen while the clock is stopped"),
        }
    }

    /// Waits until a condition holds, for which no time has to pass.
    pub(crate) async fn until(&mut self, is_so: impl Fn() -> bool) {
        let so = async {
            while !is_so() {
                yield_now().await;
            }
        };
        self.at_once(so).await;
    }
}

impl Drop for StillClock {
    fn drop(&mut self) {
        tokio::time::resume();
    }
}
