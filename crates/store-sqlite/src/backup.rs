//! A copy of the store while it is in use. The pages are copied from one read transaction, so the
//! copy is the store as it was at one moment, with everything that was acknowledged by then.
//! Writers go on meanwhile; their log grows until the copy is done. The copy is written beside its
//! final name, read back whole by a check, made durable, and only then given its name: under that
//! name there is a sound copy or what was there before.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use super::SqliteStore;
use super::engine::Engine;
use crate::Fault;
use caseload_store::{BackupReport, CreateBackup, OpenMode, Store, StoreError};

/// Pages between two looks at whether the copy is still wanted.
const STEP_PAGES: i32 = 2048;
/// What SQLite and the engine may leave beside a database file.
const SIDE_FILES: [&str; 5] = ["-wal", "-shm", "-journal", ".lock", ".migration-lock"];

/// Makes the copy and checks it.
pub(super) async fn run(
    engine: &Arc<Engine>,
    command: CreateBackup,
) -> Result<BackupReport, Fault> {
    refuse_to_overwrite(engine, &command)?;
    // Two backups to one file must not write to one part.
    let part = Part(with_suffix(&command.file, &format!(".{}.part", std::process::id())));
    part.remove();
    // Dropping the answer ends the copy at its next step.
    let given_up = GivenUp(Arc::new(AtomicBool::new(false)));
    let (target, stop) = (part.0.clone(), Arc::clone(&given_up.0));
    engine.read_within(None, move |conn| copy(conn, &target, &stop)).await?;
    let copied = part.0.clone();
    let opened = move || SqliteStore::open(&copied, OpenMode::Admin);
    let opened = tokio::task::spawn_blocking(opened).await;
    let opened = opened.unwrap_or_else(|e| Err(unavailable("opening the copy", &e).into()))?;
    let check = opened.check().await;
    opened.close().await?;
    drop(opened);
    let check = check?;
    if let Some(fault) = check.faults.first() {
        let faults = check.faults.len();
        return Err(StoreError::Corrupt(format!(
            "the copy was not kept: a check of it found {faults} faults; the first one: {fault}"
        ))
        .into());
    }
    let bytes = part.keep_as(&command.file, command.overwrite)?;
    Ok(BackupReport { bytes, check })
}

/// Refuses where something would be lost that was not given away.
fn refuse_to_overwrite(engine: &Engine, command: &CreateBackup) -> Result<(), Fault> {
    let file = &command.file;
    let refuse = |reason| Err(StoreError::BackupTarget { file: file.clone(), reason }.into());
    if file.file_name().is_none() || file.is_dir() {
        return refuse("it is a folder; name a file");
    }
    if !folder_of(file).is_dir() {
        return refuse("its folder does not exist");
    }
    let same = |a: &Path, b: &Path| match (a.canonicalize(), b.canonicalize()) {
        (Ok(a), Ok(b)) => a == b,
        _ => false,
    };
    if same(file, engine.path()) {
        return refuse("it is the store itself");
    }
    let exists = |path: &Path| path.try_exists().unwrap_or(true);
    let beside = SIDE_FILES[..3].iter().map(|suffix| with_suffix(file, suffix));
    let in_the_way = std::iter::once(file.clone()).chain(beside).find(|path| exists(path));
    if let Some(in_the_way) = in_the_way
        && !command.overwrite
    {
        return Err(StoreError::AlreadyExists { what: in_the_way.display().to_string() }.into());
    }
    // A server that has the file open would go on with what is gone.
    if exists(&with_suffix(file, ".lock")) { Engine::refuse_if_served(file) } else { Ok(()) }
}

fn folder_of(file: &Path) -> &Path {
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty());
    folder.unwrap_or(Path::new("."))
}

fn copy(conn: &Connection, target: &Path, stop: &AtomicBool) -> Result<(), Fault> {
    // The read transaction has begun but sees nothing yet; its first look fixes the moment.
    conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE
        | OpenFlags::SQLITE_OPEN_CREATE
        | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut copied = Connection::open_with_flags(target, flags)
        .map_err(|e| unavailable(&format!("{} cannot be made", target.display()), &e))?;
    // It is made durable as a whole, and thrown away if it does not get that far.
    copied.execute_batch("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF;")?;
    let backup = Backup::new(conn, &mut copied)?;
    loop {
        if stop.load(Ordering::Relaxed) {
            return Err(StoreError::Unavailable("the backup was given up".to_owned()).into());
        }
        match backup.step(STEP_PAGES)? {
            StepResult::Done => return Ok(()),
            StepResult::More => {}
            _ => std::thread::sleep(std::time::Duration::from_millis(10)),
        }
    }
}

/// Tells the copying thread to end when nobody waits for it any more.
struct GivenUp(Arc<AtomicBool>);

impl Drop for GivenUp {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// The copy before it has its name; gone with everything beside it when it does not get one.
struct Part(PathBuf);

impl Part {
    fn remove(&self) {
        let beside = SIDE_FILES.iter().map(|suffix| with_suffix(&self.0, suffix));
        for path in std::iter::once(self.0.clone()).chain(beside) {
            let _ = std::fs::remove_file(path);
        }
    }

    /// Makes the copy durable under its name; its size.
    fn keep_as(&self, name: &Path, overwrite: bool) -> Result<u64, Fault> {
        let failed = |e: std::io::Error| unavailable(&name.display().to_string(), &e);
        let file = File::open(&self.0).map_err(failed)?;
        file.sync_all().map_err(failed)?;
        let bytes = file.metadata().map_err(failed)?.len();
        // A log of the old file would be taken for one of the new.
        for suffix in &SIDE_FILES[..3] {
            match std::fs::remove_file(with_suffix(name, suffix)) {
                Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(failed(e).into()),
                _ => {}
            }
        }
        // Unlike a new name, a link never replaces what came there meanwhile.
        let linked = if overwrite { None } else { Some(std::fs::hard_link(&self.0, name)) };
        match linked {
            Some(Ok(())) => {}
            Some(Err(e)) if e.kind() == std::io::ErrorKind::AlreadyExists => {
                return Err(StoreError::AlreadyExists { what: name.display().to_string() }.into());
            }
            // Not every file system has links.
            Some(Err(_)) | None => std::fs::rename(&self.0, name).map_err(failed)?,
        }
        File::open(folder_of(name)).and_then(|folder| folder.sync_all()).map_err(failed)?;
        Ok(bytes)
    }
}

impl Drop for Part {
    fn drop(&mut self) {
        self.remove();
    }
}

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(suffix);
    PathBuf::from(name)
}

fn unavailable(what: &str, error: &dyn std::fmt::Display) -> StoreError {
    StoreError::Unavailable(format!("{what}: {error}"))
}
