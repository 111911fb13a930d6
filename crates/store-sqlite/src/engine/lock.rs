//! The lock file next to the database. While a server holds its lock, a second server is refused.
//! The operating system releases the lock however the process ends. Invariant: the file is never
//! deleted, because one process could hold the deleted file while another one creates a new file.

use std::fs::{File, TryLockError};
use std::path::{Path, PathBuf};

use parking_lot::Mutex;

use crate::Fault;
use caseload_store::{OpenMode, StoreError};

/// The lock of a server; empty for admin commands.
#[derive(Debug)]
pub(crate) struct ServerLock(Mutex<Option<File>>);

impl ServerLock {
    pub(super) fn take(path: &Path, mode: OpenMode) -> Result<Self, Fault> {
        if mode != OpenMode::Server {
            return Ok(Self(Mutex::new(None)));
        }
        let file = open_lock_file(path, ".lock")?;
        match file.try_lock() {
            Ok(()) => Ok(Self(Mutex::new(Some(file)))),
            Err(TryLockError::WouldBlock) => {
                Err(StoreError::ServerRunning { path: path.to_owned() }.into())
            }
            Err(TryLockError::Error(e)) => Err(cannot_lock(path, &e).into()),
        }
    }

    pub(crate) fn release(&self) {
        drop(self.0.lock().take());
    }
}

/// Waits until no other process migrates the tables.
pub(super) fn lock_for_migration(path: &Path) -> Result<File, Fault> {
    let file = open_lock_file(path, ".migration-lock")?;
    file.lock().map_err(|e| cannot_lock(path, &e))?;
    Ok(file)
}

fn open_lock_file(path: &Path, suffix: &str) -> Result<File, Fault> {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    let lock_path = PathBuf::from(name);
    Ok(File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .open(&lock_path)
        .map_err(|e| cannot_lock(&lock_path, &e))?)
}

fn cannot_lock(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Unavailable(format!("{} cannot be locked: {error}", path.display()))
}
