//! Who folds deltas: a task of the store that hears of each domain that was written to, lets a
//! moment pass so that one fold serves many writers, and folds until nothing is left. What a server
//! that ended left is folded by any other's housekeeping. Nothing depends on it but the speed of
//! reads.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use caseload_model::ids::DomainId;
use tokio::sync::Notify;
use tokio::task::JoinHandle;

use super::super::engine::Engine;
use super::fold;
use crate::StoreError;

/// Time from a write to the fold of its deltas.
const MOMENT: Duration = Duration::from_millis(200);

/// Domains that were written to.
#[derive(Debug, Default)]
struct Written {
    domains: Mutex<HashSet<DomainId>>,
    some: Notify,
}

/// Folds until it is dropped.
#[derive(Debug)]
pub(in crate::postgres) struct Folder {
    written: Arc<Written>,
    task: Mutex<Option<JoinHandle<()>>>,
}

impl Folder {
    pub(in crate::postgres) fn start(engine: &Arc<Engine>) -> Self {
        let written = Arc::new(Written::default());
        let task = tokio::spawn(run(Arc::clone(engine), Arc::clone(&written)));
        Self { written, task: Mutex::new(Some(task)) }
    }

    /// Says that issues of a domain were written.
    pub(in crate::postgres) fn note(&self, domain: DomainId) {
        self.written.domains.lock().unwrap_or_else(PoisonError::into_inner).insert(domain);
        self.written.some.notify_one();
    }

    /// Folds nothing more; what it used is closed when this is done.
    pub(in crate::postgres) async fn stop(&self) {
        if let Some(task) = self.end() {
            drop(task.await);
        }
    }

    fn end(&self) -> Option<JoinHandle<()>> {
        let task = self.task.lock().unwrap_or_else(PoisonError::into_inner).take();
        task.inspect(JoinHandle::abort)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        self.end();
    }
}

async fn run(engine: Arc<Engine>, written: Arc<Written>) {
    loop {
        written.some.notified().await;
        tokio::time::sleep(MOMENT).await;
        let domains =
            std::mem::take(&mut *written.domains.lock().unwrap_or_else(PoisonError::into_inner));
        for domain in domains {
            match fold_all(&engine, domain).await {
                Ok(()) => {}
                Err(StoreError::Closed) => return,
                // Whoever writes next, or keeps house, folds it.
                Err(error) => tracing::debug!(%error, "deltas are folded later"),
            }
        }
    }
}

/// Folds whatever deltas a domain has.
async fn fold_all(engine: &Engine, domain: DomainId) -> Result<(), StoreError> {
    while fold_some(engine, domain).await? {}
    Ok(())
}

async fn fold_some(engine: &Engine, domain: DomainId) -> Result<bool, StoreError> {
    engine.write(domain, |client, domain| Box::pin(fold::step(client, *domain))).await
}

/// A step for each domain that has deltas; true where one may have more.
pub(in crate::postgres) async fn fold_left(engine: &Engine) -> Result<bool, StoreError> {
    let domains = engine.read(None, (), |client, ()| Box::pin(fold::domains(client))).await?;
    let mut more = false;
    for domain in domains {
        more |= fold_some(engine, domain).await?;
    }
    Ok(more)
}
