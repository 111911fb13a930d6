//! Explains to the operator why connecting failed. Temporary faults (no answer, a server that
//! starts, a standby) may go away by waiting; lasting faults (a wrong password, a missing database,
//! an untrusted certificate) need a change.

use std::error::Error as _;
use std::io::ErrorKind;

use tokio_postgres::Error;
use tokio_postgres::error::SqlState;

use super::PostgresAddress;
use caseload_store::StoreError;

/// How to give a password without showing it to other users.
const PASSWORD_HINT: &str = "give the user's password in PGPASSWORD, in a file named by \
                             ?passfile=FILE, or in CASELOAD_STORE";

impl PostgresAddress {
    /// The error for a failed connection.
    pub(crate) fn not_connected(&self, error: &Error) -> StoreError {
        match self.lasting(error) {
            Some((reason, hint)) => self.not_opened(reason, hint),
            None => StoreError::Unreachable(passing(error)),
        }
    }

    /// The error for a database that is not a store, or not accessible to this user.
    pub(crate) fn not_opened(
        &self,
        reason: impl Into<String>,
        hint: impl Into<Option<String>>,
    ) -> StoreError {
        StoreError::NotOpened { store: self.to_string(), reason: reason.into(), hint: hint.into() }
    }

    /// The error for a database in which there is no store.
    pub(crate) fn no_store(&self, reason: String) -> StoreError {
        StoreError::NoStore { place: self.to_string(), reason: Some(reason) }
    }

    /// The reason and a hint, if waiting does not help.
    fn lasting(&self, error: &Error) -> Option<(String, Option<String>)> {
        if let Some(fault) = error.as_db_error() {
            let code = fault.code();
            let message = fault.message();
            let hint = if *code == SqlState::INVALID_PASSWORD {
                PASSWORD_HINT.to_owned()
            } else if *code == SqlState::INVALID_CATALOG_NAME {
                let name = self.config.get_dbname().unwrap_or_default();
                format!("create it: `createdb {name}`, or CREATE DATABASE in psql")
            } else if *code == SqlState::INVALID_AUTHORIZATION_SPECIFICATION {
                "the database decides about users and their access: see its roles and pg_hba.conf"
                    .to_owned()
            } else if *code == SqlState::INSUFFICIENT_PRIVILEGE {
                "the user needs the privilege CONNECT on the database".to_owned()
            } else if message.contains("unsupported startup parameter") {
                "a pooler in between does not accept a parameter of the address".to_owned()
            } else {
                return None;
            };
            return Some((message.to_owned(), Some(hint)));
        }
        let cause = error.source()?;
        match error.to_string().as_str() {
            // The driver distinguishes these faults only by their texts.
            "invalid configuration" if cause.to_string() == "password missing" => {
                let reason = "the database asks for a password, and none is given".to_owned();
                Some((reason, Some(PASSWORD_HINT.to_owned())))
            }
            "invalid configuration" | "authentication error" => Some((cause.to_string(), None)),
            "error performing TLS handshake" => tls(cause),
            _ => None,
        }
    }
}

/// An untrusted certificate is a lasting fault; a broken connection is not.
fn tls(cause: &(dyn std::error::Error + 'static)) -> Option<(String, Option<String>)> {
    let io = cause.downcast_ref::<std::io::Error>();
    if io.is_some_and(|error| error.kind() != ErrorKind::InvalidData) {
        return None;
    }
    let hint = "sslmode says how much of the database's certificate is verified, sslrootcert \
                names the trusted roots";
    Some((format!("no encrypted connection: {cause}"), Some(hint.to_owned())))
}

/// The reason of a temporary fault.
fn passing(error: &Error) -> String {
    if let Some(fault) = error.as_db_error() {
        return format!("{} ({})", fault.message(), fault.code().code());
    }
    let io = error.source().and_then(|cause| cause.downcast_ref::<std::io::Error>());
    match (io, error.source()) {
        (Some(cause), _) if cause.kind() == ErrorKind::PermissionDenied => {
            "the database is a read-only standby".to_owned()
        }
        (_, Some(cause)) => format!("no connection to the database: {cause}"),
        (_, None) => format!("no connection to the database: {error}"),
    }
}
