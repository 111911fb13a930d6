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

/// Reads the value of `--log`.
pub(crate) fn parse_filter(text: &str) -> Result<Targets, String> {
    let written = text.split(',').filter(|directive| !directive.trim().is_empty());
    let directives: Vec<_> = QUIET.split(',').chain(written).collect();
    directives.join(",").parse().map_err(|error| {
        format!("{error}; write a level (error, warn, info, debug, trace) or target=level,…")
    })
}

/// Starts logging for the rest of the process.
pub(crate) fn start(filter: Targets, format: LogFormat) -> Result<(), Failure> {
    let has_color = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let lines = tracing_subscriber::fmt::layer()
        .with_ansi(has_color && std::io::stderr().is_terminal())
        .with_writer(std::io::stderr);
    let lines = match format {
        LogFormat::Text => lines.boxed(),
        LogFormat::Json => lines.json().boxed(),
    };
    let started = tracing_subscriber::registry().with(lines.with_filter(filter)).try_init();
    started.map_err(|error| Failure::server(format!("cannot start logging: {error}")))
}
