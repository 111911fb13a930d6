//! The caseload program: server, administration and client in one binary. This crate reads
//! arguments, environment and files, wires the other crates together, and prints. It has no rules
//! for profiles, issues or tasks. Standard output carries data only. `failure` has the exit
//! statuses.

mod args;
mod clock;
mod commands;
mod config_file;
mod descriptors;
mod environment;
mod failure;
mod guide;
mod interruption;
mod logging;
mod part_file;
mod printer;
mod program;
mod progress;
mod samples;
mod secret;
mod server;
mod store;
mod supervisor;
mod test_server;
mod tls;

use std::process::ExitCode;

use caseload_location::StoreLocation;
use clap::error::{ContextKind, ContextValue};

use crate::failure::Failure;
use crate::printer::{Printer, note};

/// One thread allocates an entry's small pieces and another frees them; with the system's allocator
/// that took a sixth of an import's time.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let mut printer = Printer::new();
    let done = program::parse(|error| without_password(error).exit())
        .and_then(|(program, file)| program::run(program, file.as_ref(), &mut printer));
    match done.and_then(|done| printer.finish().map(|()| done)) {
        Ok(done) => done.into(),
        Err(failure) => report(&failure),
    }
}

/// Removes the password from an error about the command line: such an error quotes the faulty
/// value, which may be the address of a store.
fn without_password(mut error: clap::Error) -> clap::Error {
    if let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue)
        && value.contains("://")
    {
        let shown = StoreLocation::shown(value);
        error.insert(ContextKind::InvalidValue, ContextValue::String(shown));
    }
    error
}

/// Prints why a command failed; returns its exit status.
fn report(failure: &Failure) -> ExitCode {
    if failure.quiet {
        return ExitCode::SUCCESS;
    }
    note(format_args!("error: {}", failure.message));
    if let Some(hint) = &failure.hint {
        note(format_args!("hint: {hint}"));
    }
    ExitCode::from(failure.exit)
}
