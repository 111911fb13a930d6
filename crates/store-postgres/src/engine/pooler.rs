//! Detects a pooler that assigns database connections per transaction (`PgBouncer` in transaction
//! mode). Behind such a pooler, sessions have no state: notifications do not arrive, and prepared
//! statements work only if the pooler forwards them to each connection. A pooler that does not is
//! refused. A pooler is detected by two connections that the same database process serves.

use std::time::Duration;

use tokio_postgres::error::SqlState;
use tokio_postgres::types::Type;
use tokio_postgres::{Client, Error};

use super::error::store_error;
use crate::address::PostgresAddress;
use caseload_store::StoreError;

/// How often the two connections are compared. A busy pooler may assign different database
/// connections to them.
const LOOKS: u32 = 4;
/// How long a statement may wait for a connection of the pooler.
const WAIT_MAX: Duration = Duration::from_secs(5);

/// Returns whether two connections come from such a pooler. Refuses a pooler that cannot be used.
pub(super) async fn pooled(
    first: &Client,
    second: &Client,
    address: &PostgresAddress,
) -> Result<bool, StoreError> {
    let pooled = shared(first, second).await.map_err(store_error)?;
    let forwarded = if pooled { forwards_statements(first, second).await } else { Ok(true) };
    match forwarded {
        Ok(true) => Ok(pooled),
        Ok(false) => Err(address.not_opened(
            "a pooler in transaction mode is in front of the database, and it does not forward \
             prepared statements",
            "connect to the database itself or to a pool in session mode, or use PgBouncer 1.21 or \
             later with max_prepared_statements set"
                .to_owned(),
        )),
        Err(error) => Err(store_error(error)),
    }
}

async fn shared(first: &Client, second: &Client) -> Result<bool, Error> {
    let own = backend(first).await?;
    for _ in 0..LOOKS {
        if backend(second).await? == own || backend(first).await? != own {
            return Ok(true);
        }
    }
    Ok(false)
}

/// The database process that serves a connection now, asked without a prepared statement.
async fn backend(client: &Client) -> Result<i32, Error> {
    let nothing: &[(&(dyn tokio_postgres::types::ToSql + Sync), Type)] = &[];
    let rows = client.query_typed("SELECT pg_backend_pid()", nothing).await?;
    rows.first().map_or(Ok(0), |row| row.try_get(0))
}

/// Prepares a statement, occupies the database connection, and runs the statement on another one.
async fn forwards_statements(first: &Client, second: &Client) -> Result<bool, Error> {
    let Ok(statement) = first.prepare("SELECT pg_backend_pid()").await else {
        return Ok(false);
    };
    second.batch_execute("BEGIN; SELECT 1").await?;
    let tried = tokio::time::timeout(WAIT_MAX, first.query(&statement, &[])).await;
    second.batch_execute("ROLLBACK").await?;
    match tried {
        Ok(Ok(_)) => Ok(true),
        Ok(Err(error))
            if error.code().is_some_and(|code| {
                [SqlState::INVALID_SQL_STATEMENT_NAME, SqlState::DUPLICATE_PSTATEMENT]
                    .contains(code)
            }) =>
        {
            Ok(false)
        }
        Ok(Err(error)) => Err(error),
        Err(_) => Ok(false),
    }
}
