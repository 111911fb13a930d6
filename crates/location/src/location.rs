//! The location of a store: `sqlite:PATH` or `postgres://USER@HOST/DATABASE`. The scheme chooses
//! the backend once, here; nothing after it branches on the backend.

use std::fmt;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::sync::Arc;

use caseload_store::migrations::StoreState;
use caseload_store::{InvalidLocation, OpenMode, Store, StoreError};
use caseload_store_postgres::{ADDRESS_EXAMPLE, PostgresAddress, PostgresStore, shown};
use caseload_store_sqlite::SqliteStore;
use tokio::task::spawn_blocking;

/// The location of a store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreLocation {
    /// A SQLite database file. Servers make the file and missing folders.
    Sqlite(PathBuf),
    /// An existing PostgreSQL database. Servers make its tables.
    Postgres(Box<PostgresAddress>),
}

impl StoreLocation {
    /// The same location, with this password if its address has none.
    #[must_use]
    pub fn or_password(self, password: &str) -> Self {
        match self {
            Self::Postgres(address) => Self::Postgres(Box::new(address.or_password(password))),
            Self::Sqlite(_) => self,
        }
    }

    /// A text that may be a location, without anything that may be a password.
    pub fn shown(text: &str) -> String {
        shown(text)
    }

    /// Whether both locations are known to be the same store, without opening them.
    pub fn is_same(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Sqlite(one), Self::Sqlite(two)) => {
                one == two
                    || matches!((one.canonicalize(), two.canonicalize()), (Ok(a), Ok(b)) if a == b)
            }
            (Self::Postgres(one), Self::Postgres(two)) => one == two,
            _ => false,
        }
    }
}

impl fmt::Display for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
            Self::Postgres(address) => address.fmt(f),
        }
    }
}

impl FromStr for StoreLocation {
    type Err = InvalidLocation;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        if PostgresAddress::is_meant(text) {
            return Ok(Self::Postgres(Box::new(PostgresAddress::parse(text)?)));
        }
        match text.strip_prefix("sqlite:") {
            Some(path) if !path.is_empty() => Ok(Self::Sqlite(path.into())),
            _ => Err(InvalidLocation {
                shown: shown(text),
                reason: format!("write sqlite:PATH or {ADDRESS_EXAMPLE}"),
            }),
        }
    }
}

/// Opens a store and brings its tables up to date. The mode says whether a missing store is made.
/// Its background work runs on the current runtime.
pub async fn open(location: &StoreLocation, mode: OpenMode) -> Result<Arc<dyn Store>, StoreError> {
    match location {
        StoreLocation::Sqlite(path) => {
            let path = path.clone();
            let opened = spawn_blocking(move || SqliteStore::open(&path, mode)).await;
            let opened = opened.map_err(|ended| StoreError::Unavailable(ended.to_string()))??;
            Ok(caseload_store_sqlite::shared(opened))
        }
        StoreLocation::Postgres(address) => {
            let opened = PostgresStore::open(address, mode).await?;
            Ok(caseload_store_postgres::shared(opened))
        }
    }
}

/// Removes all tasks and imports of a SQLite file that no program has open, and leaves the
/// records that these have stored. Blocks.
pub fn forget_tasks(path: &Path) -> Result<(), StoreError> {
    caseload_store_sqlite::forget_tasks(path)
}

/// The state of a store, which stays as it is: an opened one would be brought up to date.
pub async fn look(location: &StoreLocation) -> Result<StoreState, StoreError> {
    match location {
        StoreLocation::Sqlite(path) => {
            let path = path.clone();
            let looked = spawn_blocking(move || caseload_store_sqlite::look(&path)).await;
            looked.map_err(|ended| StoreError::Unavailable(ended.to_string()))?
        }
        StoreLocation::Postgres(address) => caseload_store_postgres::look(address).await,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_location_shows_no_password() {
        let text = "postgres://u:secret@h/d?password=secret";
        let location: StoreLocation = text.parse().expect("a location");
        for text in [format!("{location}"), format!("{location:?}"), format!("{location:#?}")] {
            assert!(!text.contains("secret"), "{text}");
        }
    }
}
