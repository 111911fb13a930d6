//! The tasks that run next to the commands of an opened store. Invariant: none outlives its store.

use tokio::task::JoinHandle;

/// A task that runs until it is stopped or dropped.
#[derive(Debug)]
pub(crate) struct Background(JoinHandle<()>);

impl Background {
    pub(crate) fn start(work: impl Future<Output = ()> + Send + 'static) -> Self {
        Self(tokio::spawn(work))
    }

    /// Stops. Afterwards its connection is closed, even one that was still opening.
    pub(crate) async fn stop(mut self) {
        self.0.abort();
        drop((&mut self.0).await);
    }
}

impl Drop for Background {
    fn drop(&mut self) {
        self.0.abort();
    }
}
