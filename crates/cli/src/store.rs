//! The store that a command works on: parses `--store`, and waits at server start for a database
//! that is not up yet. If the address has no password, `PGPASSWORD` supplies it, because every user
//! of the machine can read command lines.

use std::sync::Arc;
use std::time::{Duration, Instant};

use caseload_location::StoreLocation;
use caseload_store::{InvalidLocation, OpenMode, Store, StoreError};

use crate::failure::Failure;
use crate::supervisor::tell_waiting;

/// The help text of `--store`.
pub(crate) const STORE_HELP: &str = "The store: sqlite:PATH or postgres://USER@HOST/DATABASE";
/// Pauses between two attempts to open a store: each is twice as long as the one before.
const PAUSE_MIN: Duration = Duration::from_millis(250);
const PAUSE_MAX: Duration = Duration::from_secs(5);

/// Reads the value of `--store`.
pub(crate) fn parse_store(text: &str) -> Result<StoreLocation, InvalidLocation> {
    let location: StoreLocation = text.parse()?;
    Ok(match std::env::var("PGPASSWORD") {
        Ok(password) if !password.is_empty() => location.or_password(&password),
        _ => location,
    })
}

/// Opens the store of a server. Waits for a database that does not answer, because it may be
/// starting together with the server, or failing over. Any other error ends the wait at once.
pub(crate) async fn open_for_server(
    location: &StoreLocation,
    patience: Duration,
) -> Result<Arc<dyn Store>, Failure> {
    let begun = Instant::now();
    let mut pause = PAUSE_MIN;
    loop {
        let opened = caseload_location::open(location, OpenMode::Server).await;
        let reason = match opened.as_ref().err().and_then(StoreError::outage) {
            Some(reason) => reason.to_owned(),
            None => return Ok(opened?),
        };
        if begun.elapsed() + pause > patience {
            let failure = Failure::server(format!("cannot open {location}: {reason}"));
            return Err(failure.with_hint(format!(
                "tried for {} s; --store-wait says how long a server waits for its database",
                begun.elapsed().as_secs()
            )));
        }
        tell_waiting(location, &reason, patience.saturating_sub(begun.elapsed()));
        tracing::warn!(store = %location, reason, "the store does not answer yet; trying again");
        tokio::time::sleep(pause).await;
        pause = (2 * pause).min(PAUSE_MAX);
    }
}
