//! Backup of a store in use. All pages are copied in one read transaction, so that the backup is a
//! snapshot with every write that was acknowledged before it. Writers continue, and their log grows
//! until the copy is done. The copy is written to a temporary file, checked and synced, and gets
//! its final name last. Invariant: under the final name there is a sound backup or the older file.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use rusqlite::backup::{Backup, StepResult};
use rusqlite::{Connection, OpenFlags};

use caseload_store::fair_slots::NO_DOMAIN;
use caseload_store::part_file::{PartFile, SIDE_FILES, folder_of, with_suffix};
use caseload_store::{BackupReport, CreateBackup, StoreError};

use crate::engine::{Engine, FILE_MODE, on_blocking_thread, open_reader};
use crate::{Fault, check};

/// Pages to copy between two checks whether the caller still waits.
const STEP_PAGES: i32 = 2048;

/// Makes the backup and checks it.
pub(super) async fn run(
    engine: &Arc<Engine>,
    command: CreateBackup,
) -> Result<BackupReport, Fault> {
    refuse_to_overwrite(engine, &command)?;
    let CreateBackup { file, overwrite } = command;
    let failed = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::AlreadyExists => {
            StoreError::AlreadyExists { what: file.display().to_string() }
        }
        _ => unavailable(&file.display().to_string(), &error),
    };
    let part = PartFile::create(&file, FILE_MODE).map_err(failed)?;
    // If the caller drops this future, the copy ends at its next step.
    let stop_on_drop = StopOnDrop(Arc::new(AtomicBool::new(false)));
    let (target, stop) = (part.part().to_owned(), Arc::clone(&stop_on_drop.0));
    engine
        .readers()
        .read(NO_DOMAIN, None, false, move |conn, _| copy(conn, &target, &stop))
        .await?;
    let target = part.part().to_owned();
    let check = on_blocking_thread(move || Ok(check::run_on(&open_reader(&target)?))).await?;
    if let Some(fault) = check.faults.first() {
        let faults = check.faults.len();
        return Err(StoreError::Corrupt(format!(
            "the backup was discarded: its check found {faults} faults; the first one: {fault}"
        ))
        .into());
    }
    // SQLite would replay the log of the old file into the new one.
    for suffix in SIDE_FILES {
        match std::fs::remove_file(with_suffix(&file, suffix)) {
            Err(e) if e.kind() != std::io::ErrorKind::NotFound => return Err(failed(e).into()),
            _ => {}
        }
    }
    let bytes = part.publish(overwrite).map_err(failed)?;
    Ok(BackupReport { bytes, check })
}

/// Refuses a target that would overwrite data without permission.
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
    let side_files = SIDE_FILES.iter().map(|suffix| with_suffix(file, suffix));
    let in_the_way = std::iter::once(file.clone()).chain(side_files).find(|path| exists(path));
    if let Some(in_the_way) = in_the_way
        && !command.overwrite
    {
        return Err(StoreError::AlreadyExists { what: in_the_way.display().to_string() }.into());
    }
    // A server that has the file open would continue with the deleted file.
    if exists(&with_suffix(file, ".lock")) { Engine::refuse_if_served(file) } else { Ok(()) }
}

fn copy(conn: &Connection, target: &Path, stop: &AtomicBool) -> Result<(), Fault> {
    // The snapshot of a read transaction begins with its first read.
    conn.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get::<_, i64>(0))?;
    let flags = OpenFlags::SQLITE_OPEN_READ_WRITE | OpenFlags::SQLITE_OPEN_NO_MUTEX;
    let mut copied = Connection::open_with_flags(target, flags)
        .map_err(|e| unavailable(&format!("{} cannot be made", target.display()), &e))?;
    // The copy is synced as a whole at the end, and deleted if it does not get there.
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

/// Stops the copying thread when the caller drops the backup.
struct StopOnDrop(Arc<AtomicBool>);

impl Drop for StopOnDrop {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

fn unavailable(what: &str, error: &dyn std::fmt::Display) -> StoreError {
    StoreError::Unavailable(format!("{what}: {error}"))
}
