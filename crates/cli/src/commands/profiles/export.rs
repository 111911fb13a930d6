//! `caseload profiles export`: walks over the list by its cursor and writes each profile as a line,
//! or copies the server's table. A file gets its name only when it is complete.

use std::path::PathBuf;

use caseload_client::{Client, Params};
use clap::Args;

use super::kind::KindArg;
use crate::args::ServerArgs;
use crate::commands::part_file::PartFile;
use crate::commands::wire::{FilterArgs, Form, line_of};
use crate::failure::{Done, Failure};
use crate::printer::{Printer, counted, note};
use crate::progress::{Progress, Unit};

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    kind: KindArg,
    #[command(flatten)]
    filters: FilterArgs,
    /// The form: JSON Lines, oldest profile first, or a table
    #[arg(long, env = "CASELOAD_FORMAT", value_name = "FORMAT", default_value = "jsonl")]
    format: Form,
    /// The columns of csv, with commas between them, such as core-profile-id,identities,tags
    #[arg(long, env = "CASELOAD_COLUMNS", value_name = "COLUMNS")]
    columns: Option<String>,
    /// File to write; without it, standard output
    #[arg(short, long, env = "CASELOAD_OUTPUT", value_name = "FILE")]
    output: Option<PathBuf>,
    #[command(flatten)]
    server: ServerArgs,
}

pub(crate) async fn run(args: ExportArgs, printer: &mut Printer) -> Result<Done, Failure> {
    if args.columns.is_some() && args.format == Form::Jsonl {
        return Err(Failure::usage("--columns belongs to --format csv"));
    }
    let client = args.server.client()?;
    let Some(path) = &args.output else {
        let said = export(&args, &client, |bytes| printer.data(bytes)).await?;
        printer.flush()?;
        note(said);
        return Ok(Done::Good);
    };
    let mut part = PartFile::create(path)?;
    let said = export(&args, &client, |bytes| part.write(bytes)).await?;
    part.complete()?;
    note(format_args!("{said} to {}", path.display()));
    Ok(Done::Good)
}

/// Hands out the export piece by piece; the answer is a message about its end.
async fn export(
    args: &ExportArgs,
    client: &Client,
    mut write: impl FnMut(&[u8]) -> Result<(), Failure>,
) -> Result<String, Failure> {
    let (kind, (one, many)) = (args.kind.kind(), args.kind.nouns());
    let mut params = Params::default();
    params.extend(args.filters.params.clone());
    params.push_given("columns", args.columns.as_deref());
    if args.format == Form::Csv {
        let mut table = client.profile_table(kind, params).await?;
        let mut progress = Progress::new("exporting a table", None, Unit::Bytes);
        let mut bytes = 0;
        while let Some(chunk) = table.chunk().await? {
            write(&chunk)?;
            bytes += chunk.len() as u64;
            progress.reached(bytes);
        }
        progress.finish();
        return Ok(format!("exported a table of {many}"));
    }
    let mut walk = client.walk_profiles(kind, params);
    let mut progress = None;
    while let Some(profiles) = walk.next().await? {
        for profile in &profiles {
            write(&line_of(profile))?;
        }
        let progress = progress
            .get_or_insert_with(|| Progress::new("exporting profiles", walk.total(), Unit::Count));
        progress.reached(walk.received());
    }
    drop(progress);
    Ok(format!("exported {}", counted(walk.received(), one, many)))
}
