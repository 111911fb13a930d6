//! What an error of SQLite's means to the contract: a passed deadline, damage, or a store that
//! cannot answer now. Expected conflicts are not errors: commands look before they write.

use rusqlite::ErrorCode;

use crate::StoreError;

impl From<rusqlite::Error> for StoreError {
    fn from(error: rusqlite::Error) -> Self {
        match &error {
            rusqlite::Error::SqliteFailure(failure, _) => match failure.code {
                ErrorCode::OperationInterrupted => Self::DeadlinePassed,
                ErrorCode::DatabaseCorrupt
                | ErrorCode::NotADatabase
                | ErrorCode::ConstraintViolation => Self::Corrupt(error.to_string()),
                ErrorCode::DiskFull => Self::NotWritten(error.to_string()),
                _ => Self::Unavailable(error.to_string()),
            },
            rusqlite::Error::FromSqlConversionFailure(..)
            | rusqlite::Error::IntegralValueOutOfRange(..)
            | rusqlite::Error::InvalidColumnType(..)
            | rusqlite::Error::QueryReturnedNoRows => Self::Corrupt(error.to_string()),
            _ => Self::Unavailable(error.to_string()),
        }
    }
}
