//! `caseload bulk submit`: submits a file and prints the id of its task, if it is a short file of
//! JSON lines, or else of its import. An action that only reads is always a task.

use std::io;
use std::path::PathBuf;

use bytes::Bytes;
use caseload_client::{Client, FileSource, SubmitOptions, Task};
use caseload_model::task::{Action, PAYLOAD_ENTRIES_MAX};
use caseload_model::time::UnixMillis;
use clap::Args;
use clap::builder::PossibleValuesParser;
use sha2::{Digest, Sha256};

use crate::args::{AgainArg, KeyArg, ServerArgs};
use crate::clock::readable;
use crate::commands::follow::follow;
use crate::commands::import::FileUpload;
use crate::commands::session::block_on_or;
use crate::failure::{Done, Failure};
use crate::printer::{Printer, note};

/// A longer file is an import.
const TASK_BYTES_MAX: u64 = 32 << 20;

#[derive(Debug, Args)]
pub(crate) struct SubmitArgs {
    /// Action for each entry
    #[arg(value_parser = PossibleValuesParser::new(accepted()))]
    action: String,
    /// Lines of JSON, a JSON array, a table (CSV) whose first row names the fields, or a workbook
    /// (.xlsx); may be packed with gzip or zstd. - is standard input
    file: PathBuf,
    /// Wait for the end, and show the progress; the exit status is then 1 if entries failed
    #[arg(long)]
    wait: bool,
    /// Change nothing, but have the results and the errors of a real run
    #[arg(long)]
    dry_run: bool,
    /// Replace an issue that has the id of the entry; only the import of issues takes this
    #[arg(long)]
    upsert: bool,
    #[command(flatten)]
    again: AgainArg,
    #[command(flatten)]
    key: KeyArg,
    #[command(flatten)]
    server: ServerArgs,
}

/// The words of the actions that take a file.
fn accepted() -> impl Iterator<Item = &'static str> {
    let taken = |action: &&Action| action.is_taken_by(action.family());
    Action::ALL.iter().filter(taken).map(|action| action.as_str())
}

/// A file, as a task or as an import.
enum Content {
    /// All of it.
    Task(Bytes),
    Import(FileSource),
}

pub(crate) fn run(args: &SubmitArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let action = Action::parse(&args.action)
        .ok_or_else(|| Failure::usage(format!("{:?} is not an action", args.action)))?;
    if args.again.again && args.key.idempotency_key.is_some() {
        return Err(Failure::usage("--again chooses a new key; leave --idempotency-key out"));
    }
    if args.upsert && action != Action::ImportIssues {
        let action = action.as_str();
        let why = format!("--upsert belongs to import_issues; {action} does not take it");
        return Err(Failure::usage(why));
    }
    let mut upload = FileUpload::new(action, &args.file)?;
    upload.set("upsert", args.upsert);
    upload.set("dry_run", args.dry_run);
    upload.set("again", args.again.again && action.writes());
    if let Some(key) = &args.key.idempotency_key {
        upload.set_key(key);
    }
    let client = args.server.client()?;
    let work = submit((args, action), &client, &upload, printer);
    block_on_or(work, || upload.interrupted())
}

async fn submit(
    (args, action): (&SubmitArgs, Action),
    client: &Client,
    upload: &FileUpload,
    printer: &mut Printer,
) -> Result<Done, Failure> {
    let content = read(action, upload).await.map_err(|error| upload.unreadable(&error))?;
    let (task, bulk) = match content? {
        Content::Task(lines) => {
            let task = submit_task((args, action), client, upload, lines).await?;
            (task, client.bulk(action.family()))
        }
        Content::Import(source) => {
            (upload.send(client, source).await?, client.imports(action.family()))
        }
    };
    printer.line(&task.task_id)?;
    if !args.wait {
        return Ok(Done::Good);
    }
    follow(bulk, &task).await.map_err(|failure| upload.stopped(failure))
}

/// Opens the file, and reads all of it if it is for a task.
async fn read(action: Action, upload: &FileUpload) -> io::Result<Result<Content, Failure>> {
    let source = match upload.open().await {
        Ok(source) => source,
        Err(failure) => return Ok(Err(failure)),
    };
    let (head, source) = source.peek(TASK_BYTES_MAX).await?;
    let is_whole = (head.len() as u64) < TASK_BYTES_MAX;
    let first = head.iter().find(|byte| !byte.is_ascii_whitespace());
    let lines = head.split(|byte| *byte == b'\n').count() - 1;
    let is_short = is_whole && first == Some(&b'{') && lines <= PAYLOAD_ENTRIES_MAX;
    Ok(match (action.writes(), is_whole) {
        (true, _) if !is_short => Ok(Content::Import(source)),
        (false, false) => {
            let (action, max) = (action.as_str(), TASK_BYTES_MAX >> 20);
            let why = format!("{action} takes a file of at most {max} MiB; split the file");
            Err(Failure::usage(why))
        }
        _ => Ok(Content::Task(head)),
    })
}

async fn submit_task(
    (args, action): (&SubmitArgs, Action),
    client: &Client,
    upload: &FileUpload,
    lines: Bytes,
) -> Result<Task, Failure> {
    let form = upload.form();
    let creates =
        action == Action::CreateCoreProfiles || action == Action::ImportIssues && !args.upsert;
    let is_once = creates && !args.dry_run && !args.again.again;
    let has_own_key = args.key.idempotency_key.is_some();
    let key = if is_once && !has_own_key {
        format!("{}-{}", action.as_str(), hex::encode(Sha256::digest(&lines)))
    } else {
        form.idempotency_key.clone()
    };
    let options = SubmitOptions {
        dry_run: args.dry_run,
        upsert: args.upsert,
        file_name: form.file_name.clone(),
        idempotency_key: Some(key),
    };
    upload.set_whole();
    let task = client.bulk(action.family()).submit_keyed(action, lines, &options).await?;
    upload.set_accepted("task", &task);
    if task.replayed {
        let (id, when) = (&task.task_id, readable(UnixMillis(task.created_at)));
        let hint = if has_own_key { "" } else { ". To submit it again: --again" };
        note(format_args!(
            "this file was submitted before, on {when}, as task {id}; nothing was submitted \
             again{hint}"
        ));
    }
    Ok(task)
}
