//! Naming and opening a store: `sqlite:PATH`. The scheme chooses the backend once, here; nothing
//! after it branches on the backend.

use std::fmt;
use std::path::PathBuf;
use std::str::FromStr;
use std::sync::Arc;

use crate::{Store, StoreError, sqlite};

/// Where a store is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum StoreLocation {
    /// A SQLite database file; missing folders and the file are made.
    Sqlite(PathBuf),
}

impl StoreLocation {
    /// Whether there is a store already, as far as that can be told without opening it.
    pub fn exists(&self) -> bool {
        match self {
            Self::Sqlite(path) => path.try_exists().unwrap_or(true),
        }
    }
}

impl fmt::Display for StoreLocation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Sqlite(path) => write!(f, "sqlite:{}", path.display()),
        }
    }
}

/// A text that names no store.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{0:?} names no store; write sqlite:PATH, for example sqlite:caseload-data/caseload.db")]
pub struct InvalidLocation(pub String);

impl FromStr for StoreLocation {
    type Err = InvalidLocation;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.strip_prefix("sqlite:") {
            Some(path) if !path.is_empty() => Ok(Self::Sqlite(path.into())),
            _ => Err(InvalidLocation(text.to_owned())),
        }
    }
}

/// What the opening program is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OpenMode {
    /// The one server of an embedded store; a second one is refused.
    Server,
    /// A command that runs beside a server.
    Admin,
}

/// Opens a store and brings its tables up to date. Blocks: call it outside of async code or from a
/// blocking task.
pub fn open(location: &StoreLocation, mode: OpenMode) -> Result<Arc<dyn Store>, StoreError> {
    match location {
        StoreLocation::Sqlite(path) => Ok(Arc::new(sqlite::SqliteStore::open(path, mode)?)),
    }
}
