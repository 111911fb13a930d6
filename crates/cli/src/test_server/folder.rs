//! The folder of a store that ends with its server. It is in the folder for temporary files, and
//! goes with the server. A server that is killed leaves it, and the next one removes it: the lock
//! of a server that runs shows that its folder is in use.

use std::fs::{self, DirBuilder, File};
use std::io;
use std::os::unix::fs::{DirBuilderExt as _, MetadataExt as _};
use std::path::{Path, PathBuf};
use std::thread;

use crate::failure::Failure;
use crate::secret::random_bytes;

/// The beginning of the names of these folders.
const PREFIX: &str = "caseload-ephemeral-";
/// The file in a folder that its server locks.
const LOCK: &str = "lock";
/// Only the owner may use them.
const FOLDER_MODE: u32 = 0o700;
/// A folder may lose its lock file to another server that takes it for a leftover.
const TRIES: usize = 10;

/// A folder that is removed when this is dropped.
#[derive(Debug)]
pub(crate) struct Folder {
    path: PathBuf,
    _lock: File,
}

impl Folder {
    /// Makes a folder, and removes those of servers that were killed.
    pub(crate) fn create() -> Result<Self, Failure> {
        let parent = std::env::temp_dir();
        let cannot = |error: &io::Error| Failure::file("write", &parent, error);
        for _ in 0..TRIES {
            let path = parent.join(format!("{PREFIX}{}", hex::encode(random_bytes::<8>()?)));
            make(&path).map_err(|error| cannot(&error))?;
            if let Some(lock) = lock(&path) {
                // It may take longer than the start.
                thread::spawn(move || remove_leftovers(&parent));
                return Ok(Self { path, _lock: lock });
            }
        }
        let message = format!("no folder could be made in {}", parent.display());
        Err(Failure::server(message).with_hint("set TMPDIR to another folder"))
    }

    /// Makes a folder in it.
    pub(crate) fn inside(&self, name: &str) -> io::Result<PathBuf> {
        inside(&self.path, name)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Makes a folder in another one.
pub(crate) fn inside(folder: &Path, name: &str) -> io::Result<PathBuf> {
    let path = folder.join(name);
    make(&path)?;
    Ok(path)
}

fn make(path: &Path) -> io::Result<()> {
    DirBuilder::new().mode(FOLDER_MODE).create(path)
}

/// The lock of a new folder; `None` if another server has just removed it.
fn lock(folder: &Path) -> Option<File> {
    let path = folder.join(LOCK);
    let file = File::create_new(&path).ok()?;
    file.try_lock().ok()?;
    let is_there = fs::metadata(&path).is_ok_and(|found| {
        file.metadata().is_ok_and(|own| (own.dev(), own.ino()) == (found.dev(), found.ino()))
    });
    is_there.then_some(file)
}

/// Removes the folders that no server has locked.
fn remove_leftovers(parent: &Path) {
    let Ok(entries) = fs::read_dir(parent) else { return };
    for entry in entries.flatten() {
        if !entry.file_name().to_string_lossy().starts_with(PREFIX) {
            continue;
        }
        let folder = entry.path();
        // A folder without this file has just been made.
        let Ok(lock) = File::open(folder.join(LOCK)) else { continue };
        if lock.try_lock().is_ok() {
            let _ = fs::remove_dir_all(&folder);
        }
    }
}
