//! The locks of an opened store. A server locks a file next to the database, so that a second one
//! is refused. Every program, also a command, shares a lock of the database file itself and one of
//! a file next to it. The log is next to the path under which a file is used, so all programs have
//! to use the same path: a program that finds the database locked, but not the file next to it, is
//! refused. The operating system releases all locks when the process ends.
//! Invariants: a lock file is never deleted, because one process could hold the deleted file while
//! another one creates a new file; a database file that was opened here is not closed as long as
//! SQLite may have it open, because that would release the locks that SQLite has on it.

use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::fs::{File, TryLockError};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use parking_lot::Mutex;

use crate::Fault;
use caseload_store::StoreError;
use caseload_store::part_file::with_suffix;

/// The mode of files that this program makes: only their owner may use them.
pub(crate) const FILE_MODE: u32 = 0o600;
/// The suffixes of the lock files. The second is next to every store that this program opened.
const SERVER_SUFFIX: &str = ".lock";
const MIGRATION_SUFFIX: &str = ".migration-lock";
const PLACE_SUFFIX: &str = ".place-lock";

/// How often, and how long after one another, a program looks whether the database is locked under
/// another path before it gives up.
const ADMISSION_LOOKS: usize = 25;
const LOOK_EVERY: Duration = Duration::from_millis(20);
/// How often a server tries to lock its path.
const SERVER_LOOKS: usize = 5;

/// The locks of an opened store: of its place, and of its server.
#[derive(Debug)]
pub(crate) struct Locks(Mutex<Option<(PlaceLock, Option<File>)>>);

impl Locks {
    pub(super) fn new(place: PlaceLock, server: Option<File>) -> Self {
        Self(Mutex::new(Some((place, server))))
    }

    pub(crate) fn release(&self) {
        drop(self.0.lock().take());
    }
}

/// Locks the path for a server. A command that asks whether one runs has the lock for a moment.
pub(super) fn lock_for_server(path: &Path) -> Result<File, Fault> {
    let file = open_lock_file(path, SERVER_SUFFIX)?;
    for _ in 0..SERVER_LOOKS {
        if is_alone(&file, path)? {
            return Ok(file);
        }
        std::thread::sleep(LOOK_EVERY);
    }
    Err(StoreError::ServerRunning { path: path.to_owned() }.into())
}

/// Whether a server has locked the path. Asking makes no lock file.
pub(super) fn is_served(path: &Path) -> Result<bool, Fault> {
    Ok(with_suffix(path, SERVER_SUFFIX).exists()
        && !is_alone(&open_lock_file(path, SERVER_SUFFIX)?, path)?)
}

/// Device and number of a file.
type Inode = (u64, u64);

/// The path under which this process uses a database file.
struct Place {
    path: PathBuf,
    next_to_it: File,
    uses: usize,
}

/// The database files that this process uses. All uses share one lock of the system.
static PLACES: Mutex<BTreeMap<Inode, Place>> = Mutex::new(BTreeMap::new());

/// The lock of every program that uses a store: it admits programs at the same path only.
#[derive(Debug)]
pub(super) struct PlaceLock {
    file: Arc<File>,
    inode: Inode,
}

impl PlaceLock {
    /// Locks an existing file. `_turn` shows that no other program is between the two locks at this
    /// path, so that a locked file next to the database has an admitted holder.
    pub(super) fn take(path: &Path, _turn: &File) -> Result<Self, Fault> {
        let (file, inode) = database_file(path)?;
        match PLACES.lock().entry(inode) {
            Entry::Occupied(place) if place.get().path != path => return Err(elsewhere(path)),
            Entry::Occupied(mut place) => place.get_mut().uses += 1,
            Entry::Vacant(vacant) => {
                let next_to_it = lock_next_to(path, &file)?;
                vacant.insert(Place { path: path.to_owned(), next_to_it, uses: 1 });
            }
        }
        Ok(Self { file, inode })
    }
}

/// Locks the database, and returns a locked file next to it. A program that is about to end
/// may have only one of the two locks for a moment.
fn lock_next_to(path: &Path, database: &File) -> Result<File, Fault> {
    let cannot = |error| cannot_lock(path, &error);
    let next_to_it = open_lock_file(path, PLACE_SUFFIX)?;
    for _ in 0..ADMISSION_LOOKS {
        // From here on, no other program finds the database unlocked.
        database.lock_shared().map_err(cannot)?;
        if !is_alone(&next_to_it, path)? || is_alone(database, path)? {
            database.lock_shared().map_err(cannot)?;
            next_to_it.lock_shared().map_err(cannot)?;
            return Ok(next_to_it);
        }
        database.unlock().map_err(cannot)?;
        next_to_it.unlock().map_err(cannot)?;
        std::thread::sleep(LOOK_EVERY);
    }
    Err(elsewhere(path))
}

impl Drop for PlaceLock {
    fn drop(&mut self) {
        let mut places = PLACES.lock();
        if let Entry::Occupied(mut place) = places.entry(self.inode) {
            place.get_mut().uses -= 1;
            if place.get().uses > 0 {
                return;
            }
            // First, so that the database is locked as long as the file next to it.
            drop(place.remove().next_to_it);
        }
        if let Err(error) = self.file.unlock() {
            tracing::warn!(%error, "the store stays locked until this process ends");
        }
    }
}

fn elsewhere(path: &Path) -> Fault {
    StoreError::NotOpened {
        store: format!("sqlite:{}", path.display()),
        reason: "another program uses the file under another path (a bind mount or a hard link); \
                 the latest writes are in the log next to that path"
            .to_owned(),
        hint: Some("use the path that the other program uses, or stop that program".to_owned()),
    }
    .into()
}

/// Whether no other program has a lock of the file: locks it alone.
fn is_alone(file: &File, path: &Path) -> Result<bool, Fault> {
    match file.try_lock() {
        Ok(()) => Ok(true),
        Err(TryLockError::WouldBlock) => Ok(false),
        Err(TryLockError::Error(e)) => Err(cannot_lock(path, &e).into()),
    }
}

/// The database files that were opened here.
static OPENED: Mutex<BTreeMap<Inode, Arc<File>>> = Mutex::new(BTreeMap::new());

/// Closes a database file that this process will not open again.
pub(super) fn forget(path: &Path) {
    if let Ok(found) = std::fs::metadata(path) {
        OPENED.lock().remove(&(found.dev(), found.ino()));
    }
}

/// A handle of the database file for locking and syncing it without SQLite. It stays open until the
/// process ends: closing it would release the POSIX locks that SQLite holds on the same file.
pub(super) fn database_file(path: &Path) -> Result<(Arc<File>, Inode), Fault> {
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

fn cannot_lock(path: &Path, error: &std::io::Error) -> StoreError {
    StoreError::Unavailable(format!("{} cannot be locked: {error}", path.display()))
}
