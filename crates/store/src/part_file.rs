//! A file that gets its name only when it is complete and on disk. Until then its name ends in
//! [`SUFFIX`], and a lock, which the operating system releases when the process ends, shows that it
//! is being written. A program that is killed leaves the file, which may have customers' data: the
//! next one that writes a file to the same folder removes it.
//! Invariant: files of a folder are made and removed in turn, so that no program finds a new one
//! unlocked.

use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

/// The end of the name of an incomplete file.
const SUFFIX: &str = ".caseload-part";
/// Suffixes of the files that SQLite may leave next to a database.
pub const SIDE_FILES: [&str; 3] = ["-wal", "-shm", "-journal"];

/// A file on its way to its name. Dropping an incomplete one removes it.
#[derive(Debug)]
pub struct PartFile {
    name: PathBuf,
    part: PathBuf,
    file: File,
}

impl PartFile {
    /// Makes the file, after removing those that killed programs left in its folder. Fails if
    /// another program writes a file of this name.
    pub fn create(name: &Path, mode: u32) -> io::Result<Self> {
        let part = with_suffix(name, SUFFIX);
        let turn = File::open(folder_of(name))?;
        // A file system without locks has leftovers.
        let _ = turn.lock();
        remove_leftovers(folder_of(name));
        let file = File::options().read(true).write(true).create_new(true).mode(mode).open(&part);
        let file = file.map_err(|error| match error.kind() {
            io::ErrorKind::AlreadyExists => {
                let busy = format!("another program is writing {}", part.display());
                io::Error::new(io::ErrorKind::ResourceBusy, busy)
            }
            _ => error,
        })?;
        let _ = file.try_lock();
        Ok(Self { name: name.to_owned(), part, file })
    }

    /// Where the file is now.
    pub fn part(&self) -> &Path {
        &self.part
    }

    /// Syncs the file and gives it its name; its size. Fails if a file has that name, unless it may
    /// be replaced.
    pub fn publish(self, replace: bool) -> io::Result<u64> {
        self.file.sync_all()?;
        // Unlike a rename, a link never replaces a file that appeared in the meantime.
        match if replace { None } else { Some(fs::hard_link(&self.part, &self.name)) } {
            Some(Ok(())) => {}
            Some(Err(error)) if error.kind() == io::ErrorKind::AlreadyExists => return Err(error),
            // Some file systems have no links.
            Some(Err(_)) | None => fs::rename(&self.part, &self.name)?,
        }
        File::open(folder_of(&self.name))?.sync_all()?;
        Ok(self.file.metadata()?.len())
    }
}

impl Write for PartFile {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.file.flush()
    }
}

impl Drop for PartFile {
    fn drop(&mut self) {
        // After a rename, another program may have a file of this name.
        if is_at(&self.file, &self.part) {
            remove(&self.part);
        }
    }
}

/// Removes the incomplete files in a folder that no program is writing.
fn remove_leftovers(folder: &Path) {
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_part = entry.file_name().as_encoded_bytes().ends_with(SUFFIX.as_bytes());
        // Opening something else, such as a pipe, could block.
        let Some(found) = entry.metadata().ok().filter(|found| is_part && found.is_file()) else {
            continue;
        };
        let path = entry.path();
        let is_free = || File::open(&path).is_ok_and(|file| file.try_lock().is_ok());
        // One with a second name is complete.
        if found.nlink() > 1 || is_free() {
            tracing::info!(path = %path.display(), "removing the rest of a killed program");
            remove(&path);
        }
    }
}

fn is_at(file: &File, path: &Path) -> bool {
    let (Ok(here), Ok(there)) = (file.metadata(), fs::symlink_metadata(path)) else { return false };
    (here.dev(), here.ino()) == (there.dev(), there.ino())
}

/// Removes an incomplete file, after those next to it: a later run finds them by its name.
fn remove(part: &Path) {
    for suffix in SIDE_FILES.iter().chain(&[""]) {
        let _ = fs::remove_file(with_suffix(part, suffix));
    }
}

/// The folder of a file.
pub fn folder_of(file: &Path) -> &Path {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

/// The path of a file next to another one.
pub fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}
