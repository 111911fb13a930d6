//! The log: goes to standard error, as text or as one JSON map per line. `CASELOAD_LOG` is its
//! filter in the usual `target=level` form. A server logs its requests and tasks, and each command
//! of an administrator the change that it makes.

use std::io::IsTerminal;

use clap::ValueEnum;
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::util::SubscriberInitExt as _;

use crate::failure::Failure;

/// The format of a log line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LogFormat {
    Text,
    Json,
}

/// Default for the library that reports each notice of the database.
const QUIET: &str = "tokio_postgres=warn";

/// Starts logging for the rest of the process.
pub(crate) fn start(filter: &str, format: LogFormat) -> Result<(), Failure> {
    let written = filter.split(',').filter(|directive| !directive.trim().is_empty());
    let directives: Vec<_> = QUIET.split(',').chain(written).collect();
    let filter: Targets = directives.join(",").parse().map_err(|error| {
        Failure::usage(format!("the log filter {filter:?} is not valid: {error}"))
            .with_hint("write a level (error, warn, info, debug, trace) or target=level,…")
    })?;
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    let lines = match format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().boxed(),
    };
    let started = tracing_subscriber::registry().with(lines.with_filter(filter)).try_init();
    started.map_err(|error| Failure::server(format!("cannot start logging: {error}")))
}
