//! The surroundings in which most commands work: a runtime with one thread, an open store, and a
//! domain found by its name. A signal ends each of these commands.

use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use caseload_location::StoreLocation;
use caseload_model::change::Author;
use caseload_model::ids::DomainName;
use caseload_store::{AdminOrigin, Domain, OpenMode, Store, StoreError};

use crate::clock::now;
use crate::failure::Failure;
use crate::interruption::interruptible;
use crate::printer::note;

/// After this time the program says that it waits for the store.
const SAY_AFTER: Duration = Duration::from_secs(3);

/// Runs a command on a runtime with one thread.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    block_on_or(work, Failure::interrupted)
}

/// Runs a command on a runtime with one thread. After a signal, `failure` says how far it came.
pub(crate) fn block_on_or<T>(
    work: impl Future<Output = Result<T, Failure>>,
    failure: impl FnOnce() -> Failure,
) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| Failure::server(format!("cannot start: {error}")))?;
    let done = runtime.block_on(interruptible(work, failure));
    // A thread may still wait for standard input.
    runtime.shutdown_background();
    done
}

/// Opens an existing store, on which a server may be running, works on it and closes it.
pub(crate) fn with_store<T, F>(
    location: &StoreLocation,
    work: impl FnOnce(Arc<dyn Store>) -> F,
) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    with_store_in(location, OpenMode::Admin, work)
}

/// Opens a store, works on it and closes it.
pub(crate) fn with_store_in<T, F>(
    location: &StoreLocation,
    mode: OpenMode,
    work: impl FnOnce(Arc<dyn Store>) -> F,
) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    block_on(async {
        let opening = caseload_location::open(location, mode);
        let store = saying(&format!("waiting for the store {location}"), opening).await?;
        let done = work(Arc::clone(&store)).await;
        store.close().await?;
        done
    })
}

/// Waits for the work; says so if it takes long.
async fn saying<T>(what: &str, work: impl Future<Output = T>) -> T {
    let mut work = pin!(work);
    if let Ok(done) = tokio::time::timeout(SAY_AFTER, &mut work).await {
        return done;
    }
    note(what);
    work.await
}

/// Finds a domain by its name.
pub(crate) async fn domain_named(store: &dyn Store, name: &DomainName) -> Result<Domain, Failure> {
    store.domain(name).await?.ok_or_else(|| {
        let missing = StoreError::NotFound { what: format!("domain {name}") };
        Failure::from(missing).with_hint(format!(
            "`caseload domain list` shows the domains, `caseload domain create {name}` creates it"
        ))
    })
}

/// The origin of a command that works on a store. The log of changes has its words without its
/// arguments, because those may have a password.
pub(crate) fn origin(words: &str) -> AdminOrigin {
    let by = Author::Command { line: format!("caseload {words}") };
    AdminOrigin { by, ..now().into() }
}
