//! Copies of the first state of a store, one for each start: the server works on one, and the next
//! ones are open and wait, so that a reset neither copies nor opens. Nothing is synced, because all
//! of it is temporary.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use caseload_location::StoreLocation;
use caseload_store::{OpenMode, Store, StoreError};
use tokio::sync::{Mutex, mpsc};

use super::folder::inside;

/// The copies that wait, in addition to one that is offered. Four resets in a row copy nothing.
const WAITING: usize = 3;
/// The name of the database in its folder.
pub(super) const DATABASE: &str = "caseload.db";

/// A store that is open, and the folder that it is alone in using.
type Copy = (Arc<dyn Store>, PathBuf);

/// The copies that are made ahead.
#[derive(Debug)]
pub(super) struct Copies(Mutex<mpsc::Receiver<Result<Copy, StoreError>>>);

impl Copies {
    /// Copies the store `first`, which no program has open, into folders in `folder`.
    pub(super) fn start(folder: &Path, first: &Path) -> Self {
        let (sender, receiver) = mpsc::channel(WAITING);
        let (folder, first) = (folder.to_owned(), first.to_owned());
        tokio::spawn(async move {
            for number in 1_u64.. {
                let copied = copy(&folder, &first, number).await;
                if sender.send(copied).await.is_err() {
                    return;
                }
            }
        });
        Self(Mutex::new(receiver))
    }

    /// The next copy. Copies that failed while they waited, say on a full disk, are passed over:
    /// the last of these tries begins after this call.
    pub(super) async fn next(&self) -> Result<Copy, StoreError> {
        let mut copies = self.0.lock().await;
        let mut next = None;
        for _ in 0..WAITING + 2 {
            next = copies.recv().await;
            if !matches!(next, Some(Err(_))) {
                break;
            }
        }
        next.unwrap_or_else(|| Err(StoreError::Unavailable("the server ends".to_owned())))
    }
}

async fn copy(folder: &Path, first: &Path, number: u64) -> Result<Copy, StoreError> {
    let failed = |reason: &dyn std::fmt::Display| {
        StoreError::Unavailable(format!("the first state could not be copied: {reason}"))
    };
    let folder = inside(folder, &number.to_string()).map_err(|error| failed(&error))?;
    let (first, database) = (first.to_owned(), folder.join(DATABASE));
    let location = StoreLocation::Sqlite(database.clone());
    let copied = tokio::task::spawn_blocking(move || std::fs::copy(first, database)).await;
    let opened = match copied {
        Ok(Ok(_)) => caseload_location::open(&location, OpenMode::Ephemeral).await,
        Ok(Err(error)) => Err(failed(&error)),
        Err(error) => Err(failed(&error)),
    };
    if opened.is_err() {
        // On a full disk, the part that was written would take room from the next try.
        _ = std::fs::remove_dir_all(&folder);
    }
    Ok((opened?, folder))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]

    use super::*;

    #[tokio::test]
    async fn a_copy_that_failed_earlier_is_passed_over() {
        let folder = tempfile::tempdir().unwrap();
        let first = folder.path().join("first.db");
        let copies = Copies::start(folder.path(), &first);
        let failed = copies.next().await.map(drop).unwrap_err().to_string();
        assert!(failed.contains("could not be copied"), "{failed}");
        while copies.0.lock().await.len() < WAITING {
            tokio::task::yield_now().await;
        }
        let location = StoreLocation::Sqlite(first);
        let store = caseload_location::open(&location, OpenMode::Ephemeral).await.unwrap();
        store.close().await.unwrap();
        let (_, copied) = copies.next().await.unwrap();
        assert!(copied.join(DATABASE).exists());
        assert!(!folder.path().join("1").exists(), "the rest of a failed copy stays");
    }
}
