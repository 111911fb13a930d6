//! `caseload profiles export`: walks over the list by its cursor and writes each profile as a line,
//! or copies the server's table.

use caseload_client::{Client, Params};
use clap::Args;

use super::kind::KindArg;
use crate::args::ServerArgs;
use crate::commands::output::{Form, OutputArgs, copy_table};
use crate::commands::wire::{FilterArgs, line_of};
use crate::failure::{Done, Failure};
use crate::printer::{Printer, counted};
use crate::progress::{Progress, Unit};

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    kind: KindArg,
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
    let said = export(&args, form, &client, printer).await?;
    printer.complete(said)?;
    Ok(Done::Good)
}

/// Writes the export; the answer is a message about its end.
async fn export(
    args: &ExportArgs,
    form: Form,
    client: &Client,
    printer: &mut Printer,
) -> Result<String, Failure> {
    let (kind, (one, many)) = (args.kind.kind(), args.kind.nouns());
    let mut params = Params::default();
    params.extend(args.filters.params.clone());
    args.output.extend(&mut params);
    if form == Form::Csv {
        copy_table(client.profile_table(kind, params).await?, printer).await?;
        return Ok(format!("exported a table of {many}"));
    }
    let mut walk = client.walk_profiles(kind, params);
    let mut progress = None;
    while let Some(profiles) = walk.next().await? {
        for profile in &profiles {
            printer.data(&line_of(profile))?;
        }
        let progress = progress
            .get_or_insert_with(|| Progress::new("exporting profiles", walk.total(), Unit::Count));
        progress.reached(walk.received());
    }
    drop(progress);
    Ok(format!("exported {}", counted(walk.received(), one, many)))
}
