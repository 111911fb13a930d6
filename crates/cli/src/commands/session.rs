//! The surroundings in which most commands work: a runtime with one thread, an open store, and a
//! domain found by its name.

use std::future::Future;
use std::sync::Arc;

use caseload_location::StoreLocation;
use caseload_model::ids::DomainName;
use caseload_store::{Domain, OpenMode, Store, StoreError};

use crate::failure::Failure;

/// Runs a command on a runtime with one thread.
pub(crate) fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Failure::server(format!("cannot start: {error}")))?.block_on(work)
}

/// Opens an existing store, on which a server may be running, works on it and closes it.
pub(crate) fn with_store<T, F>(
    location: &StoreLocation,
    work: impl FnOnce(Arc<dyn Store>) -> F,
) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    in_store(location, OpenMode::Admin, work)
}

/// Does the same, and makes the store if there is none.
pub(crate) fn with_new_store<T, F>(
    location: &StoreLocation,
    work: impl FnOnce(Arc<dyn Store>) -> F,
) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    in_store(location, OpenMode::Create, work)
}

fn in_store<T, F>(
    location: &StoreLocation,
    mode: OpenMode,
    work: impl FnOnce(Arc<dyn Store>) -> F,
) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    block_on(async {
        let store = caseload_location::open(location, mode).await?;
        let done = work(Arc::clone(&store)).await;
        store.close().await?;
        done
    })
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
