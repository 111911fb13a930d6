//! `caseload bulk`: submits tasks, follows them and fetches their results and errors. Ids, task
//! records and lists are data; progress is a message. A task is under one of two paths of the API,
//! profiles or issues; the program finds out under which one an id is.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use caseload_client::{Body, Client, ClientError, Payload, RecordList, SubmitOptions, Task};
use caseload_model::task::{Action, Family};
use caseload_model::time::UnixMillis;
use clap::builder::{FalseyValueParser, PossibleValuesParser};
use clap::{Args, Subcommand};

use super::session::block_on;
use crate::args::{ListArgs, ServerArgs};
use crate::clock::readable;
use crate::failure::{Done, Failure};
use crate::printer::{Printer, counted, grouped, note};
use crate::progress::{Progress, Unit};

#[derive(Debug, Subcommand)]
pub(crate) enum BulkCommand {
    /// Submit a task and print its id
    Submit(SubmitArgs),
    /// Print a task's record
    Status(TaskArgs),
    /// Print a completed task's results as JSON Lines
    Results(TaskArgs),
    /// Print a completed task's errors as JSON Lines
    Errors(TaskArgs),
    /// Stop a task at the end of the current chunk and print its record
    Cancel(TaskArgs),
    /// Run a completed task's failed and unprocessed entries again and print the new task's id
    Retry(RetryArgs),
    /// List the tasks of a domain, newest first
    List(TaskListArgs),
}

#[derive(Debug, Args)]
pub(crate) struct SubmitArgs {
    /// Action to apply to the entries
    #[arg(value_parser = PossibleValuesParser::new(Action::ALL.iter().map(|a| a.as_str())))]
    action: String,
    /// File of entries, one JSON map per line; - means standard input
    file: PathBuf,
    /// Wait until the task is completed; the exit status is 1 if entries failed
    #[arg(long, env = "CASELOAD_WAIT", value_parser = FalseyValueParser::new())]
    wait: bool,
    /// Write nothing, but return the results and errors of a real run
    #[arg(long, env = "CASELOAD_DRY_RUN", value_parser = FalseyValueParser::new())]
    dry_run: bool,
    #[command(flatten)]
    key: KeyArg,
    #[command(flatten)]
    server: ServerArgs,
}

/// The idempotency key of a request.
#[derive(Debug, Args)]
pub(crate) struct KeyArg {
    /// Any text, a different one for each task: repeating the command with the same key creates no
    /// second task and prints the id of the first
    #[arg(long, env = "CASELOAD_IDEMPOTENCY_KEY", value_name = "KEY")]
    idempotency_key: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct RetryArgs {
    /// Id of the task to retry
    task: String,
    /// Wait until the new task is completed; the exit status is 1 if entries failed
    #[arg(long, env = "CASELOAD_WAIT", value_parser = FalseyValueParser::new())]
    wait: bool,
    #[command(flatten)]
    key: KeyArg,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct TaskListArgs {
    /// List imports of issues instead of tasks for profiles
    #[arg(long, env = "CASELOAD_ISSUES", value_parser = FalseyValueParser::new())]
    issues: bool,
    /// Only tasks with this status, or with one of several separated by commas
    #[arg(long, env = "CASELOAD_STATUS", value_name = "STATUS")]
    status: Option<String>,
    /// Only tasks of this action, or of one of several separated by commas
    #[arg(long, env = "CASELOAD_ACTION", value_name = "ACTION")]
    action: Option<String>,
    /// Page number, from 1
    #[arg(long, env = "CASELOAD_PAGE", value_name = "NUMBER")]
    page: Option<u64>,
    /// Tasks on a page, 1 to 1000
    #[arg(long, env = "CASELOAD_PAGE_SIZE", value_name = "NUMBER")]
    page_size: Option<u64>,
    #[command(flatten)]
    list: ListArgs,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct TaskArgs {
    /// Id of the task
    task: String,
    #[command(flatten)]
    server: ServerArgs,
}

pub(crate) fn run(command: BulkCommand, printer: &mut Printer) -> Result<Done, Failure> {
    match command {
        BulkCommand::Submit(args) => block_on(submit(args, printer)),
        BulkCommand::Status(args) => block_on(status(args, printer)),
        BulkCommand::Results(args) => block_on(records(args, RecordList::Results, printer)),
        BulkCommand::Errors(args) => block_on(records(args, RecordList::Errors, printer)),
        BulkCommand::Cancel(args) => block_on(cancel(args, printer)),
        BulkCommand::Retry(args) => block_on(retry(args, printer)),
        BulkCommand::List(args) => block_on(list(args, printer)),
    }
}

async fn submit(args: SubmitArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let client = args.server.client()?;
    let action = Action::parse(&args.action)
        .ok_or_else(|| Failure::usage(format!("{:?} is not an action", args.action)))?;
    let payload = payload_of(&args.file).await?;
    let bulk = client.bulk(action.family());
    let options =
        SubmitOptions { dry_run: args.dry_run, idempotency_key: args.key.idempotency_key };
    let task = bulk.submit_with(action, payload, &options).await?;
    printer.line(&task.task_id)?;
    if args.wait { follow(&client, action.family(), &task).await } else { Ok(Done::Good) }
}

/// Waits for a task to complete and prints a summary.
async fn follow(client: &Client, family: Family, task: &Task) -> Result<Done, Failure> {
    let task = wait_with_progress(client, family, task, "entries").await?;
    note(summary(&task));
    if task.is_clean() {
        return Ok(Done::Good);
    }
    if task.errors {
        note(format_args!("hint: `caseload bulk errors {}` lists the faults", task.task_id));
    }
    Ok(Done::SomeFailed)
}

/// Waits for a task and shows its progress.
pub(crate) async fn wait_with_progress(
    client: &Client,
    family: Family,
    task: &Task,
    what: &str,
) -> Result<Task, Failure> {
    let mut progress = Progress::new(what, Some(task.counts.total), Unit::Count);
    let waited = client
        .bulk(family)
        .wait(&task.task_id, |task| {
            progress.reached(task.counts.total - task.counts.unprocessed);
        })
        .await;
    progress.finish();
    Ok(waited?)
}

/// The outcome and the counts of a task, in one line.
pub(crate) fn summary(task: &Task) -> String {
    let counts = &task.counts;
    let outcome = task.outcome.as_deref().unwrap_or(&task.status).replace('_', " ");
    let dry_run = if task.dry_run { "dry run, nothing was written: " } else { "" };
    let mut text = format!(
        "{dry_run}{outcome}: {}, {} succeeded, {} failed",
        counted(counts.total, "entry", "entries"),
        grouped(counts.succeeded),
        grouped(counts.failed)
    );
    if counts.unprocessed > 0 {
        let _ = write!(text, ", {} not processed", grouped(counts.unprocessed));
    }
    if task.warnings > 0 {
        let _ = write!(text, ", {}", counted(task.warnings, "warning", "warnings"));
    }
    text
}

async fn payload_of(file: &Path) -> Result<Payload, Failure> {
    if file == Path::new("-") {
        return Ok(Payload::reader(tokio::io::stdin()));
    }
    let unreadable = |error: std::io::Error| Failure::file("read", file, &error);
    let opened = tokio::fs::File::open(file).await.map_err(unreadable)?;
    if opened.metadata().await.map_err(unreadable)?.is_dir() {
        return Err(Failure::usage(format!("cannot read {}: it is a folder", file.display())));
    }
    Ok(Payload::file(opened).await?)
}

async fn status(args: TaskArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let client = args.server.client()?;
    let (task, _) = find_task(&client, &args.task).await?;
    printer.line(task.record)?;
    Ok(Done::Good)
}

/// Finds a task by its id, and the path that it is under.
async fn find_task(client: &Client, id: &str) -> Result<(Task, Family), ClientError> {
    let refused = match client.bulk(Family::Identity).status(id).await {
        Ok(task) => return Ok((task, Family::Identity)),
        Err(error) if error.status() == Some(404) => error,
        Err(error) => return Err(error),
    };
    match client.bulk(Family::Issues).status(id).await {
        Ok(task) => Ok((task, Family::Issues)),
        Err(error) if error.status() == Some(404) => Err(refused),
        Err(error) => Err(error),
    }
}

async fn records(args: TaskArgs, list: RecordList, printer: &mut Printer) -> Result<Done, Failure> {
    let client = args.server.client()?;
    let (_, family) = find_task(&client, &args.task).await?;
    let body = client.bulk(family).records(&args.task, list).await?;
    copy(body, printer).await?;
    Ok(Done::Good)
}

async fn copy(mut body: Body, printer: &mut Printer) -> Result<(), Failure> {
    while let Some(chunk) = body.chunk().await? {
        printer.data(&chunk)?;
    }
    printer.flush()
}

async fn cancel(args: TaskArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let client = args.server.client()?;
    let (_, family) = find_task(&client, &args.task).await?;
    let task = client.bulk(family).cancel(&args.task).await?;
    printer.line(&task.record)?;
    if !task.is_completed() {
        note("the task stops at the end of the current chunk");
    }
    Ok(Done::Good)
}

async fn retry(args: RetryArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let client = args.server.client()?;
    let (_, family) = find_task(&client, &args.task).await?;
    let task = client.bulk(family).retry(&args.task, args.key.idempotency_key.as_deref()).await?;
    printer.line(&task.task_id)?;
    if args.wait { follow(&client, family, &task).await } else { Ok(Done::Good) }
}

async fn list(args: TaskListArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let client = args.server.client()?;
    let family = if args.issues { Family::Issues } else { Family::Identity };
    let params = [
        ("status", args.status),
        ("action", args.action),
        ("page", args.page.map(|page| page.to_string())),
        ("page-size", args.page_size.map(|size| size.to_string())),
    ];
    let params: Vec<_> = params
        .iter()
        .filter_map(|(name, value)| value.as_deref().map(|value| (*name, value)))
        .collect();
    let page = client.bulk(family).list(&params).await?;
    if args.list.json {
        page.tasks.iter().try_for_each(|task| printer.line(&task.record))?;
    } else {
        let header = ["TASK", "ACTION", "STATUS", "OUTCOME", "ENTRIES", "FAILED", "CREATED"];
        printer.table(&header, &page.tasks.iter().map(row).collect::<Vec<_>>())?;
    }
    note(format_args!(
        "page {} of {}, {} in all",
        page.page,
        page.total_pages,
        counted(page.total_hits, "task", "tasks")
    ));
    Ok(Done::Good)
}

/// A task as a line of the table.
fn row(task: &Task) -> Vec<String> {
    vec![
        task.task_id.clone(),
        task.action.clone(),
        task.status.clone(),
        task.outcome.clone().unwrap_or_default(),
        grouped(task.counts.total),
        grouped(task.counts.failed),
        readable(UnixMillis(task.created_at)),
    ]
}
