//! `caseload issues export`: streams issues and writes each as a line with all its fields. After a
//! broken connection the client continues the stream; the export is complete when the server's end
//! line has arrived. A file gets its name only when it is complete and on disk; until then the name
//! ends in `.caseload-part`, and an interrupted export removes that file.

use std::path::PathBuf;

use caseload_client::{INCLUDES_ALL, IssueStream, Params};
use clap::Args;

use crate::args::ServerArgs;
use crate::commands::part_file::PartFile;
use crate::commands::wire::FilterArgs;
use crate::failure::{Done, Failure};
use crate::printer::{Printer, counted, note};
use crate::progress::{Progress, Unit};

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Only issues created at or after this time: Unix milliseconds, or ISO 8601 such as
    /// 2026-01-31T00:00:00Z
    #[arg(long, env = "CASELOAD_SINCE", value_name = "TIME", allow_negative_numbers = true)]
    since: Option<String>,
    /// Only issues created at or before this time; a date alone includes its day
    #[arg(long, env = "CASELOAD_UNTIL", value_name = "TIME", allow_negative_numbers = true)]
    until: Option<String>,
    #[command(flatten)]
    filters: FilterArgs,
    /// File to write; without it, standard output
    #[arg(short, long, env = "CASELOAD_OUTPUT", value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    server: ServerArgs,
}

pub(crate) async fn run(args: ExportArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let client = args.server.client()?;
    let issues = client.stream_issues(params(&args));
    let Some(path) = &args.output else {
        let exported = export(issues, |bytes| printer.data(bytes)).await?;
        printer.flush()?;
        note(format_args!("exported {}", counted(exported, "issue", "issues")));
        return Ok(Done::Good);
    };
    let mut part = PartFile::create(path)?;
    let exported = export(issues, |bytes| part.write(bytes)).await?;
    part.complete()?;
    note(format_args!("exported {} to {}", counted(exported, "issue", "issues"), path.display()));
    Ok(Done::Good)
}

fn params(args: &ExportArgs) -> Params {
    let mut params = Params::default();
    params.extend(args.filters.params.clone());
    params.push_given("created_since", args.since.as_deref());
    params.push_given("created_until", args.until.as_deref());
    params.push_default("includes", INCLUDES_ALL);
    params
}

/// Hands out each issue as a line; the answer is their number.
async fn export(
    mut issues: IssueStream<'_>,
    mut write: impl FnMut(&[u8]) -> Result<(), Failure>,
) -> Result<u64, Failure> {
    let mut progress = Progress::new("exporting issues", None, Unit::Count);
    while let Some(issue) = issues.next().await? {
        write(&issue)?;
        write(b"\n")?;
        progress.reached(issues.received());
    }
    progress.finish();
    Ok(issues.received())
}
