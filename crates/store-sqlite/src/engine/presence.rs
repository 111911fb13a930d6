//! Whether there is a store at a path, and who may read it. Commands that work on an existing store
//! ask before they open it, so that a mistyped path makes no file; those that make stores ask, too,
//! so that no other file becomes one. Invariant: asking creates nothing.

use std::fs::{DirBuilder, File, Metadata};
use std::io::ErrorKind;
use std::os::unix::fs::{
    DirBuilderExt as _, FileExt as _, OpenOptionsExt as _, PermissionsExt as _,
};
use std::path::{Path, PathBuf};

use rusqlite::{Connection, OpenFlags};

use super::connection::{self, BUSY_TIMEOUT};
use super::lock::{FILE_MODE, database_file, has_lock_file, is_served, refuse_second_name};
use super::migrate::{is_a_store, versions};
use crate::Fault;
use caseload_store::StoreError;
use caseload_store::migrations::StoreState;
use caseload_store::part_file::{folder_of, with_suffix};

/// The mode of folders that this program makes: only their owner may use them.
const FOLDER_MODE: u32 = 0o700;
/// The permissions of others than the owner.
const OTHERS: u32 = 0o077;
/// The first bytes of a database.
const MAGIC: &[u8; 16] = b"SQLite format 3\0";
/// Symbolic links that are followed one after another.
const LINKS_MAX: usize = 40;

/// The file that a path leads to, without symbolic links, so that files next to it are next to
/// itself under any name. A path that leads nowhere yet is the path of the file to make.
pub(super) fn resolved(path: &Path) -> PathBuf {
    let mut path = path.to_owned();
    for _ in 0..LINKS_MAX {
        if let Ok(found) = path.canonicalize() {
            return found;
        }
        let Ok(target) = std::fs::read_link(&path) else { break };
        path = folder_of(&path).join(target);
    }
    match (folder_of(&path).canonicalize(), path.file_name()) {
        (Ok(folder), Some(name)) => folder.join(name),
        _ => path,
    }
}

/// Fails with [`StoreError::NoStore`] unless the file has the tables of a store.
pub(super) fn require(path: &Path) -> Result<(), Fault> {
    match std::fs::metadata(path) {
        Ok(found) if found.is_dir() => return missing(path, Some("it is a folder")),
        Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) => {
            return missing(path, None);
        }
        // A file that cannot be looked at is opened for its error.
        Ok(_) | Err(_) => {}
    }
    refuse_other_format(path)?;
    if is_a_store(&open(path)?)? { Ok(()) } else { missing(path, Some(NO_TABLES)) }
}

const NO_TABLES: &str = "the file has no tables of a store";

/// The state of a store. Opening it would bring it up to date.
pub fn look(path: &Path) -> Result<StoreState, StoreError> {
    Ok(look_at(path)?)
}

fn look_at(path: &Path) -> Result<StoreState, Fault> {
    require(path)?;
    let path = resolved(path);
    refuse_second_name(&path)?;
    let (database, log) = file_bytes(&path);
    Ok(StoreState {
        versions: versions(&open(&path)?)?,
        servers: u64::from(is_served(&path)?),
        bytes: database + log,
        free_bytes: disk_free_bytes(&path),
    })
}

/// The bytes of the database and of its log.
pub(super) fn file_bytes(path: &Path) -> (u64, u64) {
    let size = |path: &Path| std::fs::metadata(path).map_or(0, |file| file.len());
    (size(path), size(&with_suffix(path, "-wal")))
}

/// Bytes that the file may still take on its disk.
pub(super) fn disk_free_bytes(path: &Path) -> Option<u64> {
    let disk = rustix::fs::statvfs(path).ok()?;
    Some(disk.f_bavail.saturating_mul(disk.f_frsize))
}

fn open(path: &Path) -> Result<Connection, Fault> {
    let flags = OpenFlags::SQLITE_OPEN_READ_ONLY | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let conn = Connection::open_with_flags(path, flags)
        .map_err(|e| connection::unavailable(&path.display().to_string(), &e))?;
    conn.busy_timeout(BUSY_TIMEOUT)?;
    Ok(conn)
}

fn missing(path: &Path, reason: Option<&str>) -> Result<(), Fault> {
    let place = path.display().to_string();
    Err(StoreError::NoStore { place, reason: reason.map(str::to_owned) }.into())
}

/// Fails if something is at the path that is not a database, so that a command that makes stores
/// does not make one of it. The beginning of a store, which a crash left, is empty and has lock
/// files next to it.
pub(super) fn refuse_foreign(path: &Path) -> Result<(), Fault> {
    // A missing file is made; one that cannot be looked at is opened for its error.
    let Ok(found) = std::fs::metadata(path) else { return Ok(()) };
    if !found.is_file() {
        return refuse(path, "it is not a file", "choose another path");
    }
    if found.len() == 0 && !has_lock_file(&resolved(path)) {
        let hint = "remove the file, or choose another path; a new store makes its own file";
        return refuse(path, "the file is empty", hint);
    }
    refuse_other_format(path)
}

/// Fails if the file has bytes, but not those at the beginning of a database.
fn refuse_other_format(path: &Path) -> Result<(), Fault> {
    let mut magic = [0; 16];
    // A file that cannot be read is opened for its error.
    let Ok((file, _)) = database_file(path) else { return Ok(()) };
    let Ok(bytes) = file.read_at(&mut magic, 0) else { return Ok(()) };
    if bytes > 0 && magic[..bytes] != MAGIC[..] {
        return refuse(path, "the file is not a SQLite database", "choose another path");
    }
    Ok(())
}

/// Fails if the database has tables, but not those of a store.
pub(super) fn refuse_foreign_tables(path: &Path) -> Result<(), Fault> {
    let is_begun = std::fs::metadata(path).is_ok_and(|file| file.len() > 0);
    // A store whose last program was killed cannot be read before its log is: it is ours.
    let is_a_store = open(path).and_then(|conn| is_a_store(&conn)).unwrap_or(true);
    if is_begun && !is_a_store && has_other_tables(path)? {
        let hint = "choose another path; a store has its file for itself";
        return refuse(path, "the database has tables, but not those of a store", hint);
    }
    Ok(())
}

fn has_other_tables(path: &Path) -> Result<bool, Fault> {
    let tables = "SELECT 1 FROM sqlite_schema WHERE name NOT GLOB 'sqlite_*'";
    Ok(open(path)?.prepare(tables)?.exists([])?)
}

fn refuse(path: &Path, reason: &str, hint: &str) -> Result<(), Fault> {
    let store = format!("sqlite:{}", path.display());
    let (reason, hint) = (reason.to_owned(), Some(hint.to_owned()));
    Err(StoreError::NotOpened { store, reason, hint }.into())
}

/// Creates the folders of `path`.
pub(super) fn make_folders(path: &Path) -> Result<(), Fault> {
    match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => {
            let made = DirBuilder::new().recursive(true).mode(FOLDER_MODE).create(folder);
            let of_path = || format!("the folder of {}", path.display());
            Ok(made.map_err(|e| connection::unavailable(&of_path(), &e))?)
        }
        _ => Ok(()),
    }
}

/// Creates the file if it is missing, for its owner alone. SQLite gives the files next to it the
/// same mode.
pub(super) fn make_file(path: &Path) -> Result<(), Fault> {
    match File::options().write(true).create_new(true).mode(FILE_MODE).open(path) {
        Err(e) if e.kind() != ErrorKind::AlreadyExists => {
            Err(connection::unavailable(&path.display().to_string(), &e).into())
        }
        _ => Ok(()),
    }
}

/// Logs if others than the owner may use the file or its folder.
pub(super) fn report_lax_modes(path: &Path) {
    let mode = |found: Metadata| found.permissions().mode() & 0o777;
    for (place, kind, wanted) in
        [(path, "file", FILE_MODE), (folder_of(path), "folder", FOLDER_MODE)]
    {
        let Ok(found) = std::fs::metadata(place).map(mode) else { continue };
        if found & OTHERS != 0 {
            tracing::warn!(
                path = %place.display(),
                mode = format!("{found:04o}"),
                "others than the owner may use the {kind} of the store; chmod {wanted:04o} \
                 prevents that"
            );
        }
    }
}
