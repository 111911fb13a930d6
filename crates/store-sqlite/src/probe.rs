//! The readiness check for load balancers and operators: can the store be written? It costs at most
//! one commit a second, however often it is called. A failed write of any kind is reported for a
//! few seconds, so that a disk with room for small writes only does not look healthy. Damage is
//! reported until the store is opened again.

use std::time::{Duration, Instant};

use super::engine::Engine;
use crate::Fault;
use caseload_store::StoreError;
use parking_lot::Mutex;

/// How long a successful probe counts.
const PROBE_COUNTS: Duration = Duration::from_secs(1);
/// How long a failed write is reported.
const FAULT_COUNTS: Duration = Duration::from_secs(5);

/// The time of the last successful probe.
#[derive(Debug, Default)]
pub(super) struct Probe(Mutex<Option<Instant>>);

impl Probe {
    pub(super) async fn ready(&self, engine: &Engine) -> Result<(), Fault> {
        engine.require_undamaged()?;
        if let Some(ago) = engine.last_fault().filter(|ago| *ago < FAULT_COUNTS) {
            return Err(
                StoreError::NotWritten(format!("a write failed {} s ago", ago.as_secs())).into()
            );
        }
        let probed = *self.0.lock();
        if probed.is_some_and(|at| at.elapsed() < PROBE_COUNTS) {
            // A recent probe has written; this checks that the writer still answers.
            return engine.write(|_, _| Ok(())).await;
        }
        engine
            .write(|conn, _| {
                conn.prepare_cached("UPDATE probe SET writes = writes + 1")?.execute([])?;
                Ok(())
            })
            .await?;
        *self.0.lock() = Some(Instant::now());
        Ok(())
    }
}
