//! One file per family of commands. A command gets its arguments and the printer, does one thing,
//! and says how it ended; the runtimes they run on are made here.

pub(crate) mod admin;
pub(crate) mod backup;
pub(crate) mod bulk;
pub(crate) mod check;
pub(crate) mod copy;
pub(crate) mod demo;
pub(crate) mod domain;
pub(crate) mod issues;
pub(crate) mod key;
pub(crate) mod openapi;
pub(crate) mod serve;

use std::future::Future;
use std::sync::Arc;

use caseload_location::StoreLocation;
use caseload_model::ids::DomainName;
use caseload_store::{Domain, OpenMode, Store, StoreError};

use crate::args::Command;
use crate::failure::{Done, Failure};
use crate::printer::Printer;

/// Runs one command to its end.
pub(crate) fn run(command: Command, printer: &mut Printer) -> Result<Done, Failure> {
    match command {
        Command::Demo(args) => demo::run(&args, printer),
        Command::Serve(args) => serve::run(&args),
        Command::Domain(command) => domain::run(command, printer),
        Command::Key(command) => key::run(command, printer),
        Command::App(command) => admin::run_app(command, printer),
        Command::Agent(command) => admin::run_agent(command, printer),
        Command::Backup(args) => backup::run(&args, printer),
        Command::Check(args) => check::run(&args, printer),
        Command::Copy(args) => copy::run(&args, printer),
        Command::Openapi => openapi::run(printer),
        Command::Bulk(command) => bulk::run(command, printer),
        Command::Issues(command) => issues::run(command, printer),
    }
}

/// Runs a command that needs no more than one thread.
fn block_on<T>(work: impl Future<Output = Result<T, Failure>>) -> Result<T, Failure> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.map_err(|error| Failure::server(format!("cannot start: {error}")))?.block_on(work)
}

/// Opens a store beside whatever server runs on it, works on it and closes it again.
fn with_store<T, F>(
    location: &StoreLocation,
    work: impl FnOnce(Arc<dyn Store>) -> F,
) -> Result<T, Failure>
where
    F: Future<Output = Result<T, Failure>>,
{
    block_on(async {
        let store = caseload_location::open(location, OpenMode::Admin).await?;
        let done = work(Arc::clone(&store)).await;
        store.close().await?;
        done
    })
}

/// The domain of that name.
async fn domain_named(store: &dyn Store, name: &DomainName) -> Result<Domain, Failure> {
    store.domain(name).await?.ok_or_else(|| {
        let missing = StoreError::NotFound { what: format!("domain {name}") };
        Failure::from(missing).with_hint(format!(
            "`caseload domain list` shows the domains, `caseload domain create {name}` makes one"
        ))
    })
}
