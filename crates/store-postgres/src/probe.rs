//! The readiness check for load balancers and operators: can the store be written? It costs at most
//! one commit a second, however often it is called. A standby and a missing database are reported
//! at once, damage until the store is opened again.

use std::time::{Duration, Instant};

use super::engine::Engine;
use caseload_store::StoreError;
use parking_lot::Mutex;

/// How long a successful probe counts.
const PROBE_COUNTS: Duration = Duration::from_secs(1);

/// The time of the last successful probe.
#[derive(Debug, Default)]
pub(super) struct Probe(Mutex<Option<Instant>>);

impl Probe {
    pub(super) async fn ready(&self, engine: &Engine) -> Result<(), StoreError> {
        engine.require_undamaged()?;
        let probed = *self.0.lock();
        if probed.is_some_and(|at| at.elapsed() < PROBE_COUNTS) {
            // A recent probe has written; this checks that the database still answers.
            return engine
                .read(Some(PROBE_COUNTS.into()), (), |client, ()| {
                    Box::pin(client.batch("SELECT 1"))
                })
                .await;
        }
        // A transaction with an id of its own writes a log record when it commits.
        engine
            .write((), |client, ()| Box::pin(client.batch("SELECT pg_current_xact_id()")))
            .await?;
        *self.0.lock() = Some(Instant::now());
        Ok(())
    }
}
