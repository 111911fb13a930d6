//! The locks of a server. One is on the database file itself, so that a second server is refused
//! under any name of the file; one is on a lock file next to it, which also marks the name
//! under which the store is used. The operating system releases both when the process ends.
//! Invariants: the lock file is never deleted, because one process could hold the deleted file
//! while another one creates a new file; a database file that was opened here is never closed,
//! because that would release the locks that SQLite has on it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::{File, TryLockError};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use parking_lot::Mutex;

use crate::Fault;
use caseload_store::{OpenMode, StoreError};

/// The mode of files that this program makes: only their owner may use them.
pub(super) const FILE_MODE: u32 = 0o600;
/// The suffixes of the two lock files. One of them is next to every store that this program made.
const SERVER_SUFFIX: &str = ".lock";
const MIGRATION_SUFFIX: &str = ".migration-lock";

/// The locks of a server; empty for admin commands.
#[derive(Debug)]
pub(crate) struct ServerLock {
    path: PathBuf,
    named: Mutex<Option<File>>,
    inode: Mutex<Option<InodeLock>>,
}

impl ServerLock {
    /// Locks the name of the file. [`ServerLock::take_file`] locks the file once it is there.
    pub(super) fn take(path: &Path, mode: OpenMode) -> Result<Self, Fault> {
        let lock = Self { path: path.to_owned(), named: Mutex::default(), inode: Mutex::default() };
        if mode != OpenMode::Server {
            return Ok(lock);
        }
        let file = open_lock_file(path, SERVER_SUFFIX)?;
        match file.try_lock() {
            Ok(()) => *lock.named.lock() = Some(file),
            Err(TryLockError::WouldBlock) => return Err(running(path)),
            Err(TryLockError::Error(e)) => return Err(cannot_lock(path, &e).into()),
        }
        if path.exists() {
            lock.take_file()?;
        }
        Ok(lock)
    }

    /// Locks the file itself, unless it is locked or the lock is that of an admin command.
    pub(super) fn take_file(&self) -> Result<(), Fault> {
        let mut inode = self.inode.lock();
        if self.named.lock().is_some() && inode.is_none() {
            *inode = Some(InodeLock::take(&self.path)?);
        }
        Ok(())
    }

    pub(crate) fn release(&self) {
        drop(self.inode.lock().take());
        drop(self.named.lock().take());
    }
}

/// Device and number of a file.
type Inode = (u64, u64);

/// The lock on a database file.
#[derive(Debug)]
struct InodeLock {
    file: Arc<File>,
    inode: Inode,
}

/// The database files that servers of this process have locked. They share a handle, so that the
/// system sees one lock.
static LOCKED: Mutex<Vec<Inode>> = Mutex::new(Vec::new());

impl InodeLock {
    fn take(path: &Path) -> Result<Self, Fault> {
        let (file, inode) = database_file(path)?;
        let mut locked = LOCKED.lock();
        if locked.contains(&inode) {
            return Err(running(path));
        }
        match file.try_lock() {
            Ok(()) => {
                locked.push(inode);
                Ok(Self { file, inode })
            }
            Err(TryLockError::WouldBlock) => Err(running(path)),
            Err(TryLockError::Error(e)) => Err(cannot_lock(path, &e).into()),
        }
    }
}

impl Drop for InodeLock {
    fn drop(&mut self) {
        if let Err(error) = self.file.unlock() {
            tracing::warn!(%error, "the store stays locked until this process ends");
        }
        LOCKED.lock().retain(|inode| *inode != self.inode);
    }
}

/// A handle of the database file for locking and syncing it without SQLite. It stays open until the
/// process ends: closing it would release the POSIX locks that SQLite holds on the same file.
pub(super) fn database_file(path: &Path) -> Result<(Arc<File>, Inode), Fault> {
    static OPENED: Mutex<BTreeMap<Inode, Arc<File>>> = Mutex::new(BTreeMap::new());
    let cannot = |e| StoreError::Unavailable(format!("{} cannot be opened: {e}", path.display()));
    let found = std::fs::metadata(path).map_err(cannot)?;
    let inode = (found.dev(), found.ino());
    let mut opened = OPENED.lock();
    let file = match opened.entry(inode) {
        Entry::Occupied(file) => file.get().clone(),
        Entry::Vacant(place) => place.insert(Arc::new(File::open(path).map_err(cannot)?)).clone(),
    };
    Ok((file, inode))
}

/// Fails if the file has several names and the store was never used under this one. The log of a
/// store is next to one of its names: under another name, writes in the log would be lost.
pub(super) fn refuse_second_name(path: &Path) -> Result<(), Fault> {
    let links = match std::fs::metadata(path) {
        Ok(file) if file.is_file() => file.nlink(),
        // Opening it says why it cannot be looked at.
        Ok(_) | Err(_) => return Ok(()),
    };
    if links < 2 || has_lock_file(path) {
        return Ok(());
    }
    Err(StoreError::NotOpened {
        store: format!("sqlite:{}", path.display()),
        reason: format!(
            "the file has {links} names (hard links), and the store is in use under another one; \
             a part of it may be in the log next to that name"
        ),
        hint: Some("name the store as it was named when it was made, or copy the file".to_owned()),
    }
    .into())
}

/// Whether a lock file of this program is next to the file.
pub(super) fn has_lock_file(path: &Path) -> bool {
    [SERVER_SUFFIX, MIGRATION_SUFFIX].iter().any(|suffix| with_suffix(path, suffix).exists())
}

/// Waits until no other process migrates the tables.
pub(super) fn lock_for_migration(path: &Path) -> Result<File, Fault> {
    let file = open_lock_file(path, MIGRATION_SUFFIX)?;
    file.lock().map_err(|e| cannot_lock(path, &e))?;
    Ok(file)
}

fn open_lock_file(path: &Path, suffix: &str) -> Result<File, Fault> {
    let lock_path = with_suffix(path, suffix);
    Ok(File::options()
        .create(true)
        .truncate(false)
        .write(true)
        .mode(FILE_MODE)
        .open(&lock_path)
        .map_err(|e| cannot_lock(&lock_path, &e))?)
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn running(path: &Path) -> Fault {
    StoreError::ServerRunning { path: path.to_owned() }.into()
}

fn cannot_lock(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Unavailable(format!("{} cannot be locked: {error}", path.display()))
}
