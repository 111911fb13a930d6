//! The caseload program: server, administration and client in one binary. This crate reads
//! arguments, environment and files, wires the other crates together, and prints; it decides
//! nothing about profiles, issues or tasks. Standard output carries data only. Exit status: 0 all
//! good, 1 some entries failed, 2 usage, 3 server, network or store.

mod args;
mod clock;
mod commands;
mod failure;
mod logging;
mod printer;
mod progress;
mod samples;
mod secret;
mod server;
mod store;

use std::process::ExitCode;

use caseload_location::StoreLocation;
use clap::Parser;
use clap::error::{ContextKind, ContextValue};

use crate::args::Program;
use crate::failure::Failure;
use crate::printer::{Printer, note};

/// Entries are read on some threads and written on others, in thousands of small pieces: the
/// system's allocator spends a sixth of an import on handing memory between threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let program = Program::try_parse().unwrap_or_else(|error| without_password(error).exit());
    let mut printer = Printer::new();
    let done = commands::run(program.command, &mut printer);
    match done.and_then(|done| printer.flush().map(|()| done)) {
        Ok(done) => done.into(),
        Err(failure) => report(&failure),
    }
}

/// A mistake in the command line is told with the value it is in. Where that is the address of a
/// store, it may hold a password.
fn without_password(mut error: clap::Error) -> clap::Error {
    if let Some(ContextValue::String(value)) = error.get(ContextKind::InvalidValue)
        && value.contains("://")
    {
        let shown = StoreLocation::shown(value);
        error.insert(ContextKind::InvalidValue, ContextValue::String(shown));
    }
    error
}

/// Tells why a command failed and gives its exit status.
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
