//! `caseload erase`: erases a person for good, so it needs the additional flag `--yes`, or shows
//! counts and ids with `--dry-run`. It prints the receipt, which has no identity.

use caseload_client::RecordList;
use caseload_model::task::Family;
use clap::Args;

use super::follow::follow;
use crate::args::{KeyArg, PersonArgs, ServerArgs};
use crate::failure::{Done, Failure};
use crate::printer::Printer;

#[derive(Debug, Args)]
pub(crate) struct EraseArgs {
    #[command(flatten)]
    person: PersonArgs,
    /// The end of the issues that the person is the author of: redact takes texts, names,
    /// addresses and files out of them, delete deletes them
    #[arg(long, value_name = "WORD", default_value = "redact", value_parser = ["redact", "delete"])]
    issues: String,
    /// Erase nothing, and print the counts and ids
    #[arg(long)]
    dry_run: bool,
    /// Confirm that the person is erased
    #[arg(long, conflicts_with = "dry_run")]
    yes: bool,
    #[command(flatten)]
    key: KeyArg,
    #[command(flatten)]
    server: ServerArgs,
}

pub(crate) async fn run(args: EraseArgs, printer: &mut Printer) -> Result<Done, Failure> {
    if !args.yes && !args.dry_run {
        let why = "an erasure removes the person and their entries in tasks for good";
        let hint = "try it with --dry-run, then add --yes instead";
        return Err(Failure::usage(why).with_hint(hint));
    }
    let client = args.server.client()?;
    let mut fields = args.person.fields();
    fields.push("issues", args.issues);
    if args.dry_run {
        let body = client.try_erasure(fields).await?;
        printer.line(String::from_utf8_lossy(&body))?;
        return Ok(Done::Good);
    }
    let task = client.erase(&fields, args.key.idempotency_key.as_deref()).await?;
    let bulk = client.bulk(Family::Issues);
    let done = follow(bulk, &task).await?;
    let mut receipt = bulk.records(&task.task_id, RecordList::Results).await?.lines();
    while let Some(line) = receipt.next().await? {
        printer.line(String::from_utf8_lossy(line.trim_ascii_end()))?;
    }
    Ok(done)
}
