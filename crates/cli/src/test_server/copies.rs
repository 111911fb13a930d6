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

    pub(super) async fn next(&self) -> Result<Copy, StoreError> {
        let next = self.0.lock().await.recv().await;
        next.unwrap_or_else(|| Err(StoreError::Unavailable("the server ends".to_owned())))
    }
}

async fn copy(folder: &Path, first: &Path, number: u64) -> Result<Copy, StoreError> {
    let (folder, first) = (folder.to_owned(), first.to_owned());
    let copied = tokio::task::spawn_blocking(move || {
        let folder = inside(&folder, &number.to_string())?;
        std::fs::copy(first, folder.join(DATABASE))?;
        Ok::<_, std::io::Error>(folder)
    });
    let failed = |reason: &dyn std::fmt::Display| {
        StoreError::Unavailable(format!("the first state could not be copied: {reason}"))
    };
    let folder = copied.await.map_err(|error| failed(&error))?.map_err(|error| failed(&error))?;
    let location = StoreLocation::Sqlite(folder.join(DATABASE));
    Ok((caseload_location::open(&location, OpenMode::Ephemeral).await?, folder))
}
