//! `caseload bulk`: submits tasks and imports, follows them and fetches their results and errors.
//! Ids, records and lists are data; progress is a message. Tasks and imports are under two paths of
//! the API each, of profiles and of issues; the program finds out under which one an id is.

mod submit;

use caseload_client::{BulkActions, Client, ClientError, RecordList, Task};
use caseload_model::task::Family;
use caseload_model::time::UnixMillis;
use clap::{Args, Subcommand};

use super::fault_groups::FaultGroups;
use super::follow::follow;
use super::output::{FileArg, copy};
use super::session::block_on;
use crate::args::{KeyArg, ListArgs, ServerArgs};
use crate::clock::readable;
use crate::failure::{Done, Failure};
use crate::printer::{Printer, counted, grouped, note, page_of};

#[derive(Debug, Subcommand)]
pub(crate) enum BulkCommand {
    /// Send a file to apply an action to each of its entries, and print the id of the task
    Submit(submit::SubmitArgs),
    /// Print the record of a task or an import
    Status(TaskArgs),
    /// Wait until a task or an import is completed; the exit status is 1 if entries failed
    Follow(TaskArgs),
    /// Print the results of a completed task or import as JSON Lines
    Results(ResultsArgs),
    /// Print the errors of a completed task or import as JSON Lines, or count them by code and
    /// field
    Errors(ErrorsArgs),
    /// Print what failed or was not processed of a completed import, in the form of its file
    Rejects(RejectsArgs),
    /// Print the entries of a task as they were sent, one per line
    Payload(PayloadArgs),
    /// Make a dry run real, with the same entries, and print the id of the new task
    Run(RetryArgs),
    /// Stop a task or an import at the end of the current chunk and print its record
    Cancel(TaskArgs),
    /// Try the failed and the unprocessed entries of a task again, and print the id of the new task
    Retry(RetryArgs),
    /// List the tasks, or the imports, of a domain, newest first
    List(TaskListArgs),
}

#[derive(Debug, Args)]
pub(crate) struct RetryArgs {
    /// Id of a completed task or import
    task: String,
    /// Wait for the end of the new one, and show the progress; the exit status is then 1 if entries
    /// failed
    #[arg(long)]
    wait: bool,
    #[command(flatten)]
    key: KeyArg,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct TaskListArgs {
    /// List imports of files instead of tasks of their own
    #[arg(long)]
    imports: bool,
    /// List those of issues instead of those of profiles
    #[arg(long)]
    issues: bool,
    /// Only those with this status, or with one of several separated by commas
    #[arg(long, value_name = "STATUS")]
    status: Option<String>,
    /// Only those of this action, or of one of several separated by commas
    #[arg(long, value_name = "ACTION")]
    action: Option<String>,
    /// Page number, from 1
    #[arg(long, value_name = "NUMBER")]
    page: Option<u64>,
    /// Records on a page, 1 to 1000
    #[arg(long, value_name = "NUMBER")]
    page_size: Option<u64>,
    #[command(flatten)]
    list: ListArgs,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ResultsArgs {
    #[command(flatten)]
    task: TaskArgs,
    /// Of a dry run of updates or upserts: show what would change, field by field
    #[arg(long)]
    changes: bool,
    #[command(flatten)]
    file: FileArg,
}

#[derive(Debug, Args)]
pub(crate) struct RejectsArgs {
    #[command(flatten)]
    task: TaskArgs,
    #[command(flatten)]
    file: FileArg,
}

#[derive(Debug, Args)]
pub(crate) struct ErrorsArgs {
    #[command(flatten)]
    task: TaskArgs,
    /// Print the largest groups of faults by code and field, each with an example
    #[arg(long)]
    summary: bool,
    #[command(flatten)]
    list: ListArgs,
    #[command(flatten)]
    file: FileArg,
}

#[derive(Debug, Args)]
pub(crate) struct PayloadArgs {
    #[command(flatten)]
    task: TaskArgs,
    /// Only the entries of a completed task that are: failed, unprocessed, or failed,unprocessed
    #[arg(long, value_name = "STATES")]
    only: Option<String>,
    #[command(flatten)]
    file: FileArg,
}

#[derive(Debug, Args)]
pub(crate) struct TaskArgs {
    /// Id of the task or the import
    task: String,
    #[command(flatten)]
    server: ServerArgs,
}

pub(crate) fn run(command: BulkCommand, printer: &mut Printer) -> Result<Done, Failure> {
    match command {
        BulkCommand::Submit(args) => submit::run(&args, printer),
        BulkCommand::Status(args) => block_on(status(args, printer)),
        BulkCommand::Follow(args) => block_on(follow_one(args)),
        BulkCommand::Rejects(args) => block_on(rejects(args, printer)),
        BulkCommand::Results(args) => block_on(results(args, printer)),
        BulkCommand::Errors(args) => block_on(errors(args, printer)),
        BulkCommand::Payload(args) => block_on(payload(args, printer)),
        BulkCommand::Cancel(args) => block_on(cancel(args, printer)),
        BulkCommand::Retry(args) => block_on(derive(args, DerivedTask::Retry, printer)),
        BulkCommand::Run(args) => block_on(derive(args, DerivedTask::Run, printer)),
        BulkCommand::List(args) => block_on(list(args, printer)),
    }
}

async fn status(args: TaskArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let client = args.server.client()?;
    let (task, _) = find_task(&client, &args.task).await?;
    printer.line(task.record)?;
    Ok(Done::Good)
}

async fn follow_one(args: TaskArgs) -> Result<Done, Failure> {
    let client = args.server.client()?;
    let (task, bulk) = find_task(&client, &args.task).await?;
    follow(bulk, &task).await
}

async fn rejects(args: RejectsArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let client = args.task.server.client()?;
    args.file.redirect(printer)?;
    let (task, bulk) = find_task(&client, &args.task.task).await?;
    if !bulk.are_imports() {
        let id = &task.task_id;
        let why = format!("{id} is a task of its own, and only imports have a file");
        return Err(Failure::usage(why).with_hint(format!(
            "`caseload bulk payload {id} --only failed,unprocessed` prints its entries"
        )));
    }
    copy(bulk.rejects(&task.task_id).await?, printer).await?;
    Ok(Done::Good)
}

/// Finds a task or an import by its id, and the path that it is under.
async fn find_task<'c>(
    client: &'c Client,
    id: &str,
) -> Result<(Task, BulkActions<'c>), ClientError> {
    let mut refused = None;
    for family in Family::ALL {
        for bulk in [client.bulk(*family), client.imports(*family)] {
            match bulk.status(id).await {
                Ok(task) => return Ok((task, bulk)),
                Err(error) if error.status() == Some(404) => refused = refused.or(Some(error)),
                Err(error) => return Err(error),
            }
        }
    }
    Err(refused.expect("there are families"))
}

async fn results(args: ResultsArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let client = args.task.server.client()?;
    args.file.redirect(printer)?;
    let (task, bulk) = find_task(&client, &args.task.task).await?;
    let body = if args.changes {
        if !task.dry_run {
            let why = format!("--changes is for dry runs, and task {} is not one", task.task_id);
            return Err(Failure::usage(why));
        }
        bulk.changes(&args.task.task).await?
    } else {
        bulk.records(&args.task.task, RecordList::Results).await?
    };
    copy(body, printer).await?;
    Ok(Done::Good)
}

async fn errors(args: ErrorsArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let client = args.task.server.client()?;
    args.file.redirect(printer)?;
    let (_, bulk) = find_task(&client, &args.task.task).await?;
    if !args.summary {
        copy(bulk.records(&args.task.task, RecordList::Errors).await?, printer).await?;
        return Ok(Done::Good);
    }
    let summary = bulk.error_summary(&args.task.task).await?;
    if args.list.json {
        printer.line(&summary.record)?;
        return Ok(Done::Good);
    }
    let mut groups = FaultGroups::default();
    groups.add(&summary);
    groups.print(printer)?;
    note(format_args!(
        "{} in {}",
        counted(summary.faults, "fault", "faults"),
        counted(summary.entries, "entry", "entries")
    ));
    Ok(Done::Good)
}

async fn payload(args: PayloadArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let client = args.task.server.client()?;
    args.file.redirect(printer)?;
    let (task, bulk) = find_task(&client, &args.task.task).await?;
    if bulk.are_imports() {
        let why = format!("{} is an import; its tasks have the entries", task.task_id);
        return Err(Failure::usage(why).with_hint("`caseload bulk status` names its tasks"));
    }
    let body = bulk.payload(&args.task.task, args.only.as_deref()).await?;
    copy(body, printer).await?;
    Ok(Done::Good)
}

async fn cancel(args: TaskArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let client = args.server.client()?;
    let (_, bulk) = find_task(&client, &args.task).await?;
    let task = bulk.cancel(&args.task).await?;
    printer.line(&task.record)?;
    if !task.is_completed() {
        note("it stops at the end of the current chunk");
    }
    Ok(Done::Good)
}

/// How a new task is made of the entries of another one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum DerivedTask {
    Retry,
    Run,
}

async fn derive(
    args: RetryArgs,
    derived: DerivedTask,
    printer: &mut Printer,
) -> Result<Done, Failure> {
    let client = args.server.client()?;
    let (_, bulk) = find_task(&client, &args.task).await?;
    let key = args.key.idempotency_key.as_deref();
    let task = match derived {
        DerivedTask::Retry => bulk.retry(&args.task, key).await?,
        DerivedTask::Run => bulk.run(&args.task, key).await?,
    };
    printer.line(&task.task_id)?;
    if args.wait { follow(bulk, &task).await } else { Ok(Done::Good) }
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
    let (bulk, id, nouns) = if args.imports {
        (client.imports(family), "IMPORT", ("import", "imports"))
    } else {
        (client.bulk(family), "TASK", ("task", "tasks"))
    };
    let page = bulk.list(&params).await?;
    let header = [id, "ACTION", "STATUS", "OUTCOME", "ENTRIES", "FAILED", "CREATED"];
    let json = |task: &Task| task.record.clone();
    printer.list(args.list.json, &page.tasks, json, (&header, row))?;
    let all = counted(page.total_hits, nouns.0, nouns.1);
    note(page_of((page.page, page.total_pages), &all));
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
