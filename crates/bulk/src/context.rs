//! The values that the loops and workers of one runner share: the store, the clock, limits, and the
//! signal to stop. Cloning it is cheap.

use std::sync::Arc;
use std::time::Duration;

use caseload_model::time::Clock;
use caseload_store::Work;
use tokio::sync::watch;

use crate::entry_queue::QueueLimits;
use crate::outage::Outage;
use crate::work_in_progress::WorkInProgress;

#[derive(Clone)]
pub(crate) struct Context {
    pub(crate) store: Arc<dyn Work>,
    pub(crate) clock: Clock,
    /// True once the runner stops.
    pub(crate) stopping: watch::Receiver<bool>,
    pub(crate) queue_limits: QueueLimits,
    pub(crate) outage: Arc<Outage>,
    pub(crate) work: WorkInProgress,
    /// See [`crate::RunnerConfig::work_max`].
    pub(crate) work_max: Duration,
    /// See [`crate::RunnerConfig::one_thread`].
    pub(crate) one_thread: bool,
}
