//! Whether the store can be written, for those who ask all the time: load balancers and operators.
//! An answer costs a commit at most once a second, whoever asks; a write that fails elsewhere is
//! told for some seconds, so that a disk with room for small writes only does not pass for sound.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::engine::Engine;
use crate::Fault;
use caseload_store::StoreError;

/// How long a write that was probed counts.
const PROBE_COUNTS: Duration = Duration::from_secs(1);
/// How long a failed write is told.
const FAULT_COUNTS: Duration = Duration::from_secs(5);

/// When a write was last seen to work.
#[derive(Debug, Default)]
pub(super) struct Probe(Mutex<Option<Instant>>);

impl Probe {
    pub(super) async fn ready(&self, engine: &Engine) -> Result<(), Fault> {
        if let Some(ago) = engine.last_fault().filter(|ago| *ago < FAULT_COUNTS) {
            return Err(
                StoreError::NotWritten(format!("a write failed {} s ago", ago.as_secs())).into()
            );
        }
        let probed = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if probed.is_some_and(|at| at.elapsed() < PROBE_COUNTS) {
            // The writer answers; whether it can write was just seen.
            return engine.write(|_, _| Ok(())).await;
        }
        engine
            .write(|conn, _| {
                conn.prepare_cached("UPDATE probe SET writes = writes + 1")?.execute([])?;
                Ok(())
            })
            .await?;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        Ok(())
    }
}
