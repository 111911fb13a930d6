//! `caseload issues import`: brings a file of issues in, part after part, each a task of its own
//! that is waited for before the next one goes out. What failed is told with the line of the file,
//! whatever part it was in. An import that was interrupted can be repeated: what is there already
//! is reported as unchanged.

use std::fs::File;
use std::io::{BufRead, BufReader, stdin};
use std::path::{Path, PathBuf};

use caseload_client::{Client, Payload, RecordList, Task};
use caseload_model::task::{Action, Family};
use clap::Args;
use clap::builder::FalseyValueParser;
use serde::Deserialize;

use super::entries::{CutError, Cutter, Part};
use super::export::PartFile;
use crate::args::ServerArgs;
use crate::commands::bulk::summary;
use crate::failure::{Done, Failure};
use crate::printer::{Printer, counted, grouped};
use crate::progress::{Progress, Unit};

/// Failed entries that are told one by one.
const FAILURES_TOLD_MAX: u64 = 20;

#[derive(Debug, Args)]
pub(crate) struct ImportArgs {
    /// The issues, one JSON map per line; - is standard input
    file: PathBuf,
    /// Write all error records to this file, as JSON Lines
    #[arg(long, env = "CASELOAD_ERRORS", value_name = "FILE")]
    errors: Option<PathBuf>,
    /// Wait for each task to end; an import always does
    #[arg(long = "wait", env = "CASELOAD_WAIT", value_parser = FalseyValueParser::new())]
    _wait: bool,
    #[command(flatten)]
    server: ServerArgs,
}

/// What an import came to.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Totals {
    pub(crate) created: u64,
    pub(crate) unchanged: u64,
    pub(crate) failed: u64,
}

/// The parts of a result record that are counted.
#[derive(Deserialize)]
struct Outcome {
    outcome: String,
}

/// The parts of an error record that are told.
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

/// One import on its way.
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
    let mut cutter = Cutter::new(reader);
    loop {
        let part = cutter.next().map_err(|error| cut_failure(&args.file, &error))?;
        let Some(part) = part else { break };
        import.part(part).await.map_err(|failure| match failure.hint {
            Some(_) => failure,
            None => failure
                .with_hint("the same import may be repeated; what is there already stays as it is"),
        })?;
        import.progress.reached(cutter.bytes_read());
    }
    let Import { progress, errors, totals, .. } = import;
    if totals.failed > FAILURES_TOLD_MAX {
        let more = counted(totals.failed - FAILURES_TOLD_MAX, "more entry", "more entries");
        let hint = if errors.is_some() { "" } else { "; --errors FILE keeps all error records" };
        progress.say(format_args!("… and {more} failed{hint}"));
    }
    progress.finish();
    errors.map_or(Ok(()), PartFile::complete)?;
    let Totals { created, unchanged, failed } = totals;
    printer.line(format_args!("created {created}  unchanged {unchanged}  failed {failed}"))?;
    Ok(if failed == 0 { Done::Good } else { Done::SomeFailed })
}

impl Import<'_> {
    /// Hands in one part, waits for it and gathers what became of it.
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
            if self.totals.failed < FAILURES_TOLD_MAX {
                self.progress.say(told(file_line, &error));
            }
            self.totals.failed += 1;
            if let Some(file) = &mut self.errors {
                file.write(&in_file_terms(&record, &error, first_index, file_line)?)?;
            }
        }
        Ok(())
    }
}

/// A failed entry in one line, with all of its faults.
fn told(file_line: u64, error: &ErrorRecord) -> String {
    let fault = |fault: &EntryFault| {
        let place = fault.pointer.as_deref().unwrap_or_default();
        let space = if place.is_empty() { "" } else { " " };
        format!("{place}{space}{}: {}", fault.code, fault.detail)
    };
    let faults: Vec<String> = error.errors.iter().map(fault).collect();
    format!("line {file_line}: {}", faults.join("; "))
}

/// An error record with index and line of the whole file instead of the part's.
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
    Failure::server(format!("the server sent a record that is not understood: {text}"))
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

fn cut_failure(file: &Path, error: &CutError) -> Failure {
    match error {
        CutError::Io(error) => Failure::file("read", file, error),
        CutError::LineTooLong(_) => {
            Failure::usage(format!("cannot import {}: {error}", file.display()))
        }
        CutError::Array => Failure::usage(format!("cannot import {}: {error}", file.display()))
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
    fn a_failed_entry_is_told_with_its_line_and_all_faults() {
        let error: ErrorRecord = read_record(RECORD.as_bytes()).unwrap();
        assert_eq!(told(10_004, &error), "line 10004: /a required: b; not_a_map: c");
    }

    #[test]
    fn error_records_are_moved_to_the_whole_file_and_stay_the_same_otherwise() {
        let error: ErrorRecord = read_record(RECORD.as_bytes()).unwrap();
        let moved = in_file_terms(RECORD.as_bytes(), &error, 10_000, 10_004).unwrap();
        let expected = RECORD.replace(r#""index":1,"line":2"#, r#""index":10001,"line":10004"#);
        assert_eq!(String::from_utf8(moved).unwrap(), expected + "\n");
    }
}
