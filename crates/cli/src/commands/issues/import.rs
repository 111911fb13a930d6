//! `caseload issues import`: imports a file of issues as one task after another. The next part is
//! submitted when the task before it has completed. Messages and error records name the entry's
//! line in the whole file. An import can be repeated, for example after an interruption: a part
//! that an earlier run submitted has its task already, and the import follows that task.

use std::path::PathBuf;

use caseload_client::{Client, RecordList, Task};
use caseload_model::task::{Action, Family};
use clap::Args;
use clap::builder::FalseyValueParser;
use serde::Deserialize;

use super::export::PartFile;
use crate::args::{AgainArg, ServerArgs};
use crate::commands::bulk::{QueueNotes, summary};
use crate::commands::session::block_on_or;
use crate::commands::submission::Submission;
use crate::failure::{Done, Failure};
use crate::payload_file::{Input, Part, PartKeys, PartLimits, PartReader};
use crate::printer::{Printer, counted, grouped, note};
use crate::progress::{Progress, Unit};

/// Failed entries that are printed one by one.
const FAILURES_PRINTED_MAX: u64 = 20;

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// File of issues, one JSON map per line; may be compressed with gzip or zstd; - means standard
    /// input
    file: PathBuf,
    /// Write all error records to this file as JSON Lines
    #[arg(long, env = "CASELOAD_ERRORS", value_name = "FILE")]
    errors: Option<PathBuf>,
    /// Wait for each task to complete; an import always does
    #[arg(long = "wait", env = "CASELOAD_WAIT", value_parser = FalseyValueParser::new())]
    _wait: bool,
    /// Replace the issues that have the ids of entries and other content
    #[arg(long, env = "CASELOAD_UPSERT", value_parser = FalseyValueParser::new())]
    upsert: bool,
    #[command(flatten)]
    again: AgainArg,
    #[command(flatten)]
    server: ServerArgs,
}

/// The counts of a whole import.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) created: u64,
    /// Issues that were replaced.
    pub(crate) updated: u64,
    pub(crate) unchanged: u64,
    pub(crate) failed: u64,
    /// Oddities of entries that were imported nevertheless.
    pub(crate) warnings: u64,
}

/// The member of a result record that decides how it is counted.
#[derive(Deserialize)]
struct Outcome {
    outcome: String,
}

/// The members of an error record that are printed.
#[derive(Deserialize)]
struct ErrorRecord {
    index: u64,
    line: u64,
    errors: Vec<EntryFault>,
}

#[derive(Deserialize)]
struct EntryFault {
    code: String,
    #[serde(default)]
    pointer: Option<String>,
    #[serde(default)]
    detail: String,
}

/// The place of a part in the file.
#[derive(Debug, Clone, Copy)]
struct Place {
    entries_before: u64,
    lines_before: u64,
}

/// A running import.
struct Import<'a> {
    client: &'a Client,
    submission: &'a Submission,
    keys: PartKeys,
    errors: Option<PartFile>,
    totals: Totals,
}

pub(crate) fn run(args: &ImportArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let mut submission = Submission::new(Action::ImportIssues, &args.file, args.again.name())?;
    submission.upsert = args.upsert;
    let client = args.server.client()?;
    block_on_or(import(args, &client, &submission, printer), || submission.interrupted())
}

async fn import(
    args: &ImportArgs,
    client: &Client,
    submission: &Submission,
    printer: &mut Printer,
) -> Result<Done, Failure> {
    let input = Input::open(&args.file)?;
    let errors = args.errors.as_deref().map(PartFile::create).transpose()?;
    let mut progress = Progress::new("importing issues", input.length, Unit::Bytes);
    let read = input.read.clone();
    let mut parts = PartReader::start(input, PartLimits::IMPORT, false);
    let keys = submission.keys(client);
    let totals = Totals::default();
    let mut import = Import { client, submission, keys, errors, totals };
    while let Some(part) = parts.next().await.map_err(|error| submission.unreadable(&error))? {
        let reached = read.load(std::sync::atomic::Ordering::Relaxed);
        import.part(part).await.map_err(|failure| submission.stopped(failure))?;
        progress.reached(reached);
    }
    let Import { errors, totals, .. } = import;
    if totals.failed > FAILURES_PRINTED_MAX {
        let more = counted(totals.failed - FAILURES_PRINTED_MAX, "more entry", "more entries");
        let hint = if errors.is_some() { "" } else { "; --errors FILE writes all error records" };
        note(format_args!("… and {more} failed{hint}"));
    }
    progress.finish();
    errors.map_or(Ok(()), PartFile::complete)?;
    let Totals { created, updated, unchanged, failed, warnings } = totals;
    let replaced = if args.upsert { format!("  updated {updated}") } else { String::new() };
    let odd = if warnings > 0 { format!("  warnings {warnings}") } else { String::new() };
    printer.line(format_args!(
        "created {created}{replaced}  unchanged {unchanged}  failed {failed}{odd}"
    ))?;
    Ok(if failed == 0 { Done::Good } else { Done::SomeFailed })
}

impl Import<'_> {
    /// Submits one part, waits for its task and reads the results and errors.
    async fn part(&mut self, part: Part) -> Result<(), Failure> {
        let place = Place { entries_before: part.entries_before, lines_before: part.lines_before };
        let entries = format!("entries {} to {}", grouped(part.first()), grouped(part.last()));
        let task = self.submission.submit(self.client, &mut self.keys, part).await?;
        let before = if task.replayed { ", submitted before" } else { "" };
        note(format_args!("task {}: {entries}{before}", task.task_id));
        self.submission.awaits(Some(&task.task_id));
        let mut ended = self.wait(&task).await?;
        self.results(&ended.task, task.replayed && ended.at_once).await?;
        self.totals.warnings += ended.task.warnings;
        // An earlier run's task may have ended before its last entry.
        while task.replayed && ended.task.counts.unprocessed > 0 {
            let retry = self.retry(&ended.task).await?;
            self.submission.awaits(Some(&retry.task_id));
            ended = self.wait(&retry).await?;
            self.results(&ended.task, false).await?;
            self.totals.warnings += ended.task.warnings;
        }
        self.submission.awaits(None);
        let task = ended.task;
        if task.errors {
            self.failures(&task, place).await?;
        }
        if task.counts.unprocessed > 0 {
            let message = format!("task {} ended early: {}", task.task_id, summary(&task));
            return Err(Failure::server(message));
        }
        Ok(())
    }

    async fn wait(&self, task: &Task) -> Result<Ended, Failure> {
        let mut queue = QueueNotes::default();
        let mut answers = 0;
        let bulk = self.client.bulk(Family::Issues);
        let task = bulk
            .wait(&task.task_id, |task| {
                answers += 1;
                queue.look_at(task);
            })
            .await?;
        Ok(Ended { task, at_once: answers == 1 })
    }

    /// The task that runs the entries which an earlier run's task left.
    async fn retry(&self, task: &Task) -> Result<Task, Failure> {
        let bulk = self.client.bulk(Family::Issues);
        note(format_args!("task {} ended early: {}; retrying it", task.task_id, summary(task)));
        Ok(match &task.retried_by {
            Some(retry) => bulk.status(retry).await?,
            None => bulk.retry(&task.task_id, Some(&format!("retry-{}", task.task_id))).await?,
        })
    }

    /// Counts the results. Issues that an earlier run created are there already.
    async fn results(&mut self, task: &Task, is_earlier: bool) -> Result<(), Failure> {
        let bulk = self.client.bulk(Family::Issues);
        let mut lines = bulk.records(&task.task_id, RecordList::Results).await?.lines();
        while let Some(line) = lines.next().await? {
            match read_record::<Outcome>(&line)?.outcome.as_str() {
                "unchanged" => self.totals.unchanged += 1,
                _ if is_earlier => self.totals.unchanged += 1,
                "updated" => self.totals.updated += 1,
                _ => self.totals.created += 1,
            }
        }
        Ok(())
    }

    async fn failures(&mut self, task: &Task, place: Place) -> Result<(), Failure> {
        let bulk = self.client.bulk(Family::Issues);
        let mut lines = bulk.records(&task.task_id, RecordList::Errors).await?.lines();
        while let Some(record) = lines.next().await? {
            let error: ErrorRecord = read_record(&record)?;
            if self.totals.failed < FAILURES_PRINTED_MAX {
                note(fault_line(place.lines_before + error.line, &error));
            }
            self.totals.failed += 1;
            if let Some(file) = &mut self.errors {
                file.write(&in_file_terms(&record, &error, place)?)?;
            }
        }
        Ok(())
    }
}

/// A completed task.
struct Ended {
    task: Task,
    /// It was completed when the import first looked.
    at_once: bool,
}

/// A failed entry and all of its faults, in one line.
fn fault_line(file_line: u64, error: &ErrorRecord) -> String {
    let fault = |fault: &EntryFault| {
        let pointer = fault.pointer.as_deref().unwrap_or_default();
        let space = if pointer.is_empty() { "" } else { " " };
        format!("{pointer}{space}{}: {}", fault.code, fault.detail)
    };
    let faults: Vec<String> = error.errors.iter().map(fault).collect();
    format!("line {file_line}: {}", faults.join("; "))
}

/// An error record with the index and the line in the whole file instead of those in the part.
fn in_file_terms(record: &[u8], error: &ErrorRecord, place: Place) -> Result<Vec<u8>, Failure> {
    let head = format!("{{\"index\":{},\"line\":{}", error.index, error.line);
    let rest = record.strip_prefix(head.as_bytes()).ok_or_else(|| unknown_record(record))?;
    let index = place.entries_before + error.index;
    let file_line = place.lines_before + error.line;
    let mut line = format!("{{\"index\":{index},\"line\":{file_line}").into_bytes();
    line.extend_from_slice(rest);
    line.push(b'\n');
    Ok(line)
}

fn read_record<'a, T: Deserialize<'a>>(line: &'a [u8]) -> Result<T, Failure> {
    serde_json::from_slice(line).map_err(|_| unknown_record(line))
}

fn unknown_record(line: &[u8]) -> Failure {
    let text: String = String::from_utf8_lossy(line).chars().take(100).collect();
    Failure::server(format!("the server sent a record that is not valid: {text}"))
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use super::*;

    const RECORD: &str = concat!(
        r#"{"index":1,"line":2,"id":7,"errors":[{"code":"required","pointer":"/a","detail":"b"},"#,
        r#"{"code":"not_a_map","detail":"c"}],"entry":{"n":1.50}}"#
    );

    #[test]
    fn a_failed_entry_is_printed_with_its_line_and_all_faults() {
        let error: ErrorRecord = read_record(RECORD.as_bytes()).unwrap();
        assert_eq!(fault_line(10_004, &error), "line 10004: /a required: b; not_a_map: c");
    }

    #[test]
    fn only_index_and_line_of_an_error_record_change() {
        let error: ErrorRecord = read_record(RECORD.as_bytes()).unwrap();
        let place = Place { entries_before: 10_000, lines_before: 10_002 };
        let moved = in_file_terms(RECORD.as_bytes(), &error, place).unwrap();
        let expected = RECORD.replace(r#""index":1,"line":2"#, r#""index":10001,"line":10004"#);
        assert_eq!(String::from_utf8(moved).unwrap(), expected + "\n");
    }
}
