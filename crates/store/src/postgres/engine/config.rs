//! How the database is connected to: what its address says, and beside it times after which a
//! connection counts as lost, so that a database that went away without a word is noticed.

use std::time::Duration;

use tokio_postgres::Config;

use super::CONNECTION_WAIT;
use crate::StoreError;

/// How long a connection may be silent before the other side is asked whether it is there.
const KEEPALIVE_IDLE: Duration = Duration::from_secs(5);
const KEEPALIVE_INTERVAL: Duration = Duration::from_secs(2);
const KEEPALIVE_RETRIES: u32 = 3;
/// How long what was sent may go unacknowledged.
const UNACKNOWLEDGED_MAX: Duration = Duration::from_secs(10);

/// The address, in any form that libpq knows. What is wrong with it is said without it: it may hold
/// a password.
pub(super) fn read(url: &str) -> Result<Config, StoreError> {
    let mut config: Config = url.parse().map_err(|_| {
        StoreError::Unavailable("the store is no address of a PostgreSQL database".to_owned())
    })?;
    if config.get_application_name().is_none() {
        config.application_name("caseload");
    }
    if config.get_connect_timeout().is_none() {
        config.connect_timeout(CONNECTION_WAIT);
    }
    if config.get_tcp_user_timeout().is_none() {
        config.tcp_user_timeout(UNACKNOWLEDGED_MAX);
    }
    config.keepalives_idle(KEEPALIVE_IDLE);
    config.keepalives_interval(KEEPALIVE_INTERVAL);
    config.keepalives_retries(KEEPALIVE_RETRIES);
    Ok(config)
}
