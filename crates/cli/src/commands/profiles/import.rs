//! `caseload profiles import`: imports a file of people. The flags decide about the action; the
//! server reads the file.

use std::path::PathBuf;

use caseload_model::task::Action;
use clap::Args;

use super::kind::KindArg;
use crate::args::{AgainArg, ServerArgs};
use crate::commands::import::{FileUpload, OutputArgs, TableArgs, import};
use crate::commands::session::block_on_or;
use crate::failure::{Done, Failure};
use crate::printer::Printer;

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// Lines of JSON, a JSON array, a table (CSV) whose first row names the fields, or a workbook
    /// (.xlsx); may be packed with gzip or zstd. - is standard input
    file: PathBuf,
    /// Update the profile that has an identity of the entry; create one only if none has
    #[arg(long)]
    upsert: bool,
    /// Update the profile that has an identity or the id of the entry; an entry without one fails
    #[arg(long)]
    update: bool,
    #[command(flatten)]
    kind: KindArg,
    /// Change nothing, but report what the import would do; `caseload bulk run` then does it
    #[arg(long)]
    dry_run: bool,
    #[command(flatten)]
    again: AgainArg,
    #[command(flatten)]
    table: TableArgs,
    #[command(flatten)]
    outputs: OutputArgs,
    #[command(flatten)]
    server: ServerArgs,
}

pub(crate) fn run(args: &ImportArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let action = args.action()?;
    let mut upload = FileUpload::new(action, &args.file)?;
    upload.set("dry_run", args.dry_run);
    upload.set("again", args.again.again);
    args.table.push(upload.options());
    let client = args.server.client()?;
    let of = (&client, action);
    block_on_or(import(of, &upload, &args.outputs, printer), || upload.interrupted())
}

impl ImportArgs {
    fn action(&self) -> Result<Action, Failure> {
        match (self.kind.app, self.upsert, self.update) {
            (_, true, true) => Err(Failure::usage("--upsert and --update exclude each other")),
            (true, true, false) => Err(Failure::usage(
                "--upsert is for core profiles; app profiles come from issues and are only updated",
            )),
            (true, false, _) => Ok(Action::UpdateAppProfiles),
            (false, true, false) => Ok(Action::UpsertCoreProfiles),
            (false, false, true) => Ok(Action::UpdateCoreProfiles),
            (false, false, false) => Ok(Action::CreateCoreProfiles),
        }
    }
}
