//! `caseload issues import`: imports a file of issues as one task after another. The next part is
//! submitted when the task before it has completed. Messages and error records name the entry's
//! line in the whole file. After an interruption the same import can be repeated: the server
//! reports the issues that it already has as unchanged.

use std::fs::File;
use std::io::{BufRead, BufReader, stdin};
use std::path::{Path, PathBuf};

use caseload_client::{Client, Payload, RecordList, Task};
use caseload_model::task::{Action, Family};
use clap::Args;
use clap::builder::FalseyValueParser;
use serde::Deserialize;

use super::entries::{Part, SplitError, Splitter};
use super::export::PartFile;
use crate::args::ServerArgs;
use crate::commands::bulk::summary;
use crate::failure::{Done, Failure};
use crate::printer::{Printer, counted, grouped};
use crate::progress::{Progress, Unit};

/// Failed entries that are printed one by one.
const FAILURES_PRINTED_MAX: u64 = 20;

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// File of issues, one JSON map per line; - means standard input
    file: PathBuf,
    /// Write all error records to this file as JSON Lines
    #[arg(long, env = "CASELOAD_ERRORS", value_name = "FILE")]
    errors: Option<PathBuf>,
    /// Wait for each task to complete; an import always does
    #[arg(long = "wait", env = "CASELOAD_WAIT", value_parser = FalseyValueParser::new())]
    _wait: bool,
    #[command(flatten)]
    server: ServerArgs,
}

/// The counts of a whole import.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) created: u64,
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

/// A running import.
struct Import<'a> {
    client: &'a Client,
    progress: Progress,
    errors: Option<PartFile>,
    totals: Totals,
}

pub(crate) async fn run(args: ImportArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let client = args.server.client()?;
    let (reader, length) = open(&args.file)?;
    let errors = args.errors.as_deref().map(PartFile::create).transpose()?;
    let mut import = Import {
        client: &client,
        progress: Progress::new("importing issues", length, Unit::Bytes),
        errors,
        totals: Totals::default(),
    };
    let mut splitter = Splitter::new(reader);
    loop {
        let part = splitter.next().map_err(|error| split_failure(&args.file, &error))?;
        let Some(part) = part else { break };
        import.part(part).await.map_err(|failure| match failure.hint {
            Some(_) => failure,
            None => {
                failure.with_hint("repeat the import: issues that are there already stay unchanged")
            }
        })?;
        import.progress.reached(splitter.bytes_read());
    }
    let Import { progress, errors, totals, .. } = import;
    if totals.failed > FAILURES_PRINTED_MAX {
        let more = counted(totals.failed - FAILURES_PRINTED_MAX, "more entry", "more entries");
        let hint = if errors.is_some() { "" } else { "; --errors FILE writes all error records" };
        progress.say(format_args!("… and {more} failed{hint}"));
    }
    progress.finish();
    errors.map_or(Ok(()), PartFile::complete)?;
    let Totals { created, unchanged, failed, warnings } = totals;
    let odd = if warnings > 0 { format!("  warnings {warnings}") } else { String::new() };
    printer.line(format_args!("created {created}  unchanged {unchanged}  failed {failed}{odd}"))?;
    Ok(if failed == 0 { Done::Good } else { Done::SomeFailed })
}

impl Import<'_> {
    /// Submits one part, waits for its task and reads the results and errors.
    async fn part(&mut self, part: Part) -> Result<(), Failure> {
        let bulk = self.client.bulk(Family::Issues);
        let task = bulk.submit(Action::ImportIssues, Payload::bytes(part.lines)).await?;
        let first = part.first_index + 1;
        let last = part.first_index + part.line_numbers.len() as u64;
        self.progress.say(format_args!(
            "task {}: entries {} to {}",
            task.task_id,
            grouped(first),
            grouped(last)
        ));
        let task = bulk.wait(&task.task_id, |_| {}).await?;
        self.results(&task).await?;
        self.totals.warnings += task.warnings;
        if task.errors {
            self.failures(&task, part.first_index, &part.line_numbers).await?;
        }
        if task.counts.unprocessed > 0 {
            let message = format!("task {} ended early: {}", task.task_id, summary(&task));
            return Err(Failure::server(message));
        }
        Ok(())
    }

    async fn results(&mut self, task: &Task) -> Result<(), Failure> {
        let bulk = self.client.bulk(Family::Issues);
        let mut lines = bulk.records(&task.task_id, RecordList::Results).await?.lines();
        while let Some(line) = lines.next().await? {
            match read_record::<Outcome>(&line)?.outcome.as_str() {
                "unchanged" => self.totals.unchanged += 1,
                _ => self.totals.created += 1,
            }
        }
        Ok(())
    }

    async fn failures(
        &mut self,
        task: &Task,
        first_index: u64,
        line_numbers: &[u64],
    ) -> Result<(), Failure> {
        let bulk = self.client.bulk(Family::Issues);
        let mut lines = bulk.records(&task.task_id, RecordList::Errors).await?.lines();
        while let Some(record) = lines.next().await? {
            let error: ErrorRecord = read_record(&record)?;
            let file_line = line_numbers.get(error.index as usize).copied().unwrap_or(error.line);
            if self.totals.failed < FAILURES_PRINTED_MAX {
                self.progress.say(fault_line(file_line, &error));
            }
            self.totals.failed += 1;
            if let Some(file) = &mut self.errors {
                file.write(&in_file_terms(&record, &error, first_index, file_line)?)?;
            }
        }
        Ok(())
    }
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
fn in_file_terms(
    record: &[u8],
    error: &ErrorRecord,
    first_index: u64,
    file_line: u64,
) -> Result<Vec<u8>, Failure> {
    let head = format!("{{\"index\":{},\"line\":{}", error.index, error.line);
    let rest = record.strip_prefix(head.as_bytes()).ok_or_else(|| unknown_record(record))?;
    let index = first_index + error.index;
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

fn open(file: &Path) -> Result<(Box<dyn BufRead>, Option<u64>), Failure> {
    if file == Path::new("-") {
        return Ok((Box::new(BufReader::new(stdin())), None));
    }
    let unreadable = |error: std::io::Error| Failure::file("read", file, &error);
    let opened = File::open(file).map_err(unreadable)?;
    let metadata = opened.metadata().map_err(unreadable)?;
    if metadata.is_dir() {
        return Err(Failure::usage(format!("cannot read {}: it is a folder", file.display())));
    }
    let length = metadata.is_file().then_some(metadata.len());
    Ok((Box::new(BufReader::with_capacity(1 << 20, opened)), length))
}

fn split_failure(file: &Path, error: &SplitError) -> Failure {
    match error {
        SplitError::Io(error) => Failure::file("read", file, error),
        SplitError::LineTooLong(_) => {
            Failure::usage(format!("cannot import {}: {error}", file.display()))
        }
        SplitError::Array => Failure::usage(format!("cannot import {}: {error}", file.display()))
            .with_hint("`jq -c '.[]' FILE` turns an array into lines"),
    }
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
        let moved = in_file_terms(RECORD.as_bytes(), &error, 10_000, 10_004).unwrap();
        let expected = RECORD.replace(r#""index":1,"line":2"#, r#""index":10001,"line":10004"#);
        assert_eq!(String::from_utf8(moved).unwrap(), expected + "\n");
    }
}
