//! The error type of this backend. It translates errors of SQLite to those of the contract: a
//! passed deadline, damage, values that the database refuses, or a store that cannot answer now.
//! Expected conflicts do not appear here, because commands check before they write.

use std::fmt;

use caseload_store::{StoreError, StoreFuture};
use rusqlite::ErrorCode;

/// Why work on the database failed, in the words of the contract. Functions of this backend return
/// it so that `?` takes errors of SQLite and of the shared rules alike.
#[derive(Debug)]
pub struct Fault(pub(crate) StoreError);

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl From<StoreError> for Fault {
    fn from(error: StoreError) -> Self {
        Self(error)
    }
}

impl From<rusqlite::Error> for Fault {
    fn from(error: rusqlite::Error) -> Self {
        Self(store_error(error))
    }
}

impl From<Fault> for StoreError {
    fn from(fault: Fault) -> Self {
        fault.0
    }
}

/// Translates an error of SQLite to one of the contract.
#[expect(clippy::needless_pass_by_value, reason = "passed to `map_err`")]
pub(crate) fn store_error(error: rusqlite::Error) -> StoreError {
    match &error {
        rusqlite::Error::SqliteFailure(failure, _) => match failure.code {
            ErrorCode::OperationInterrupted => StoreError::DeadlinePassed,
            ErrorCode::DatabaseCorrupt | ErrorCode::NotADatabase => {
                StoreError::Corrupt(error.to_string())
            }
            ErrorCode::ConstraintViolation | ErrorCode::TooBig | ErrorCode::TypeMismatch => {
                StoreError::ValuesRefused(error.to_string())
            }
            ErrorCode::DiskFull => StoreError::NotWritten(error.to_string()),
            _ => StoreError::Unavailable(error.to_string()),
        },
        rusqlite::Error::FromSqlConversionFailure(..)
        | rusqlite::Error::IntegralValueOutOfRange(..)
        | rusqlite::Error::InvalidColumnType(..)
        | rusqlite::Error::QueryReturnedNoRows => StoreError::Corrupt(error.to_string()),
        _ => StoreError::Unavailable(error.to_string()),
    }
}

/// Boxes a command of this backend as the contract returns it.
pub(crate) fn boxed<'a, T>(
    command: impl Future<Output = Result<T, Fault>> + Send + 'a,
) -> StoreFuture<'a, T> {
    Box::pin(async move { Ok(command.await?) })
}
