//! Whether the store can be written, for those who ask all the time: load balancers and operators.
//! An answer costs a commit at most once a second, whoever asks. A standby, and a database that is
//! not there, are told at once.

use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::engine::Engine;
use caseload_store::StoreError;

/// How long a write that was probed counts.
const PROBE_COUNTS: Duration = Duration::from_secs(1);

/// When a write was last seen to work.
#[derive(Debug, Default)]
pub(super) struct Probe(Mutex<Option<Instant>>);

impl Probe {
    pub(super) async fn ready(&self, engine: &Engine) -> Result<(), StoreError> {
        let probed = *self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if probed.is_some_and(|at| at.elapsed() < PROBE_COUNTS) {
            // The database answers; whether it can be written was just seen.
            return engine
                .read(Some(PROBE_COUNTS), (), |client, ()| Box::pin(client.batch("SELECT 1")))
                .await;
        }
        // A transaction with a number of its own is written to the log when it commits.
        engine
            .write((), |client, ()| Box::pin(client.batch("SELECT pg_current_xact_id()")))
            .await?;
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        Ok(())
    }
}
