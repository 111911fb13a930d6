//! The log: goes to standard error, as text or as one JSON map per line. `CASELOAD_LOG` is its
//! filter in the usual `target=level` form. A server logs its requests and tasks, and each command
//! of an administrator the change that it makes.

use std::fmt::{self, Write as _};
use std::io::IsTerminal;

use caseload_api::{CurrentRequest, with_current_request};
use clap::ValueEnum;
use serde_json::json;
use tracing::{Event, Subscriber};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer, format};
use tracing_subscriber::fmt::{FmtContext, layer};
use tracing_subscriber::layer::{Layer as _, SubscriberExt as _};
use tracing_subscriber::registry::LookupSpan;
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
pub(crate) fn start(filter: Targets, log_format: LogFormat) -> Result<(), Failure> {
    let has_color = std::env::var_os("NO_COLOR").is_none_or(|value| value.is_empty());
    let ansi = has_color && std::io::stderr().is_terminal();
    let lines = layer().with_ansi(ansi).with_writer(std::io::stderr);
    let lines = match log_format {
        LogFormat::Text => lines.event_format(WithRequest(format().with_ansi(ansi), text)).boxed(),
        LogFormat::Json => {
            lines.json().map_event_format(|inner| WithRequest(inner, as_json)).boxed()
        }
    };
    let started = tracing_subscriber::registry().with(lines.with_filter(filter)).try_init();
    started.map_err(|error| Failure::server(format!("cannot start logging: {error}")))
}

/// Adds the request to each line that is written while one is worked on. The function adds it to a
/// line without its end.
struct WithRequest<F>(F, fn(&mut String, &CurrentRequest));

impl<S, N, F> FormatEvent<S, N> for WithRequest<F>
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
    F: FormatEvent<S, N>,
{
    fn format_event(
        &self,
        context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = String::new();
        self.0.format_event(context, Writer::new(&mut line), event)?;
        with_current_request(|request| {
            line.truncate(line.trim_end().len());
            (self.1)(&mut line, request);
            line.push('\n');
        });
        writer.write_str(&line)
    }
}

fn text(line: &mut String, request: &CurrentRequest) {
    let (id, method, path) = (request.id(), request.method, request.path());
    // Writing to memory cannot fail.
    let _ = write!(line, " request_id={id:?} method={method} path={path:?}");
}

/// The line is a map.
fn as_json(line: &mut String, request: &CurrentRequest) {
    let (id, method, path) = (request.id(), request.method, request.path());
    let members = json!({"request_id": id, "method": method, "path": path}).to_string();
    line.pop();
    let _ = write!(line, ",{}", &members[1..]);
}
