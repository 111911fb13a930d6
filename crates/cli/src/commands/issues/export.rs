//! `caseload issues export`: streams issues and writes each as a line with all its fields, or
//! copies the server's table. After a broken connection the client continues the stream of lines;
//! the export is complete when the server's end line has arrived.

use caseload_client::{INCLUDES_ALL, IssueStream, Params};
use clap::Args;

use crate::args::ServerArgs;
use crate::commands::output::{Form, OutputArgs, copy_table};
use crate::commands::wire::FilterArgs;
use crate::failure::{Done, Failure};
use crate::printer::{Printer, counted};
use crate::progress::{Progress, Unit};

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    /// Only issues created at or after this time: Unix milliseconds, or ISO 8601 such as
    /// 2026-01-31T00:00:00Z
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    since: Option<String>,
    /// Only issues created at or before this time; a date alone includes its day
    #[arg(long, value_name = "TIME", allow_negative_numbers = true)]
    until: Option<String>,
    #[command(flatten)]
    filters: FilterArgs,
    #[command(flatten)]
    output: OutputArgs,
    #[command(flatten)]
    server: ServerArgs,
}

pub(crate) async fn run(args: ExportArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let form = args.output.form()?;
    let client = args.server.client()?;
    args.output.file.redirect(printer)?;
    let mut params = params(&args);
    if form == Form::Csv {
        args.output.extend(&mut params);
        copy_table(client.issue_table(params).await?, printer).await?;
        printer.complete("exported a table of issues")?;
        return Ok(Done::Good);
    }
    params.push_default("includes", INCLUDES_ALL);
    let exported = export(client.stream_issues(params), printer).await?;
    printer.complete(format_args!("exported {}", counted(exported, "issue", "issues")))?;
    Ok(Done::Good)
}

fn params(args: &ExportArgs) -> Params {
    let mut params = Params::default();
    params.extend(args.filters.params.clone());
    params.push_given("created_since", args.since.as_deref());
    params.push_given("created_until", args.until.as_deref());
    params
}

/// Writes each issue as a line; the answer is their number.
async fn export(mut issues: IssueStream<'_>, printer: &mut Printer) -> Result<u64, Failure> {
    let mut progress = Progress::new("exporting issues", None, Unit::Count);
    while let Some(issue) = issues.next().await? {
        printer.data(&issue)?;
        printer.data(b"\n")?;
        progress.reached(issues.received());
    }
    progress.finish();
    Ok(issues.received())
}
