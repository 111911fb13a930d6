//! Imports a file as one task after another, for `issues import` and `profiles import`. The next
//! part is submitted when the task before it has completed. Messages and error records name entries
//! by their lines in the whole file. An import can be repeated, for example after an interruption:
//! a part that an earlier run submitted has its task already, and the import follows that task.

mod failures;
mod place;
mod record;

use std::path::{Path, PathBuf};

use caseload_client::{Client, RecordList, Task};
use caseload_model::task::Action;
use clap::Args;
use failures::Failures;
use place::Place;
use record::read_record;
use serde::Deserialize;

use super::bulk::{QueueNotes, summary};
use super::fault_groups::FaultGroups;
use super::part_file::PartFile;
use super::submission::Submission;
use crate::failure::{Done, Failure};
use crate::payload_file::{Part, PartKeys};
use crate::printer::{Printer, grouped, note};
use crate::progress::{Progress, Unit};

/// The files that an import writes.
#[derive(Debug, Args)]
pub(crate) struct OutputArgs {
    /// Write all error records to this file as JSON Lines
    #[arg(long, env = "CASELOAD_ERRORS", value_name = "FILE")]
    errors: Option<PathBuf>,
    /// Write the entries that failed to this file as JSON Lines: mend them, and import the file as
    /// it is
    #[arg(long, env = "CASELOAD_REJECTS", value_name = "FILE")]
    rejects: Option<PathBuf>,
}

impl OutputArgs {
    /// Whether no file is written over another one or over the import's own.
    fn are_apart(&self, imported: &Path) -> Result<(), Failure> {
        let [errors, rejects] =
            [&self.errors, &self.rejects].map(|path| path.as_deref().map(located));
        let imported = Some(located(imported));
        if errors == imported || rejects == imported {
            let text = "the import would overwrite its own file; name another one";
            return Err(Failure::usage(text));
        }
        if errors.is_some() && errors == rejects {
            let text = "--errors and --rejects would overwrite each other; name two files";
            return Err(Failure::usage(text));
        }
        Ok(())
    }
}

/// The place of a file, however its path is spelt. It need not exist.
fn located(path: &Path) -> PathBuf {
    path.canonicalize().or_else(|_| std::path::absolute(path)).unwrap_or_else(|_| path.to_owned())
}

/// The counts of a whole import.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Totals {
    created: u64,
    updated: u64,
    unchanged: u64,
    /// Oddities of entries that were imported nevertheless.
    warnings: u64,
}

/// The member of a result record that decides how it is counted.
#[derive(Deserialize)]
struct Outcome {
    outcome: String,
}

/// A running import.
pub(crate) struct FileImport<'a> {
    client: &'a Client,
    submission: &'a Submission,
    keys: PartKeys,
    progress: Progress,
    totals: Totals,
    failures: Failures,
    warnings: FaultGroups,
    errors: Option<PartFile>,
    rejects: Option<PartFile>,
}

/// A completed task.
struct Ended {
    task: Task,
    /// It was completed when the import first looked.
    at_once: bool,
}

impl<'a> FileImport<'a> {
    pub(crate) fn start(
        client: &'a Client,
        submission: &'a Submission,
        outputs: &OutputArgs,
        progress: Progress,
    ) -> Result<Self, Failure> {
        outputs.are_apart(&submission.file)?;
        let create = |path: &Option<PathBuf>| path.as_deref().map(PartFile::create).transpose();
        Ok(Self {
            client,
            submission,
            keys: submission.keys(client),
            progress,
            totals: Totals::default(),
            failures: Failures::default(),
            warnings: FaultGroups::default(),
            errors: create(&outputs.errors)?,
            rejects: create(&outputs.rejects)?,
        })
    }

    /// Submits one part, waits for its task and reads the results and errors.
    pub(crate) async fn part(&mut self, part: Part) -> Result<(), Failure> {
        self.run(part).await.map_err(|failure| self.submission.stopped(failure))
    }

    /// Sets how much of the file is done, in its unit.
    pub(crate) fn reached(&mut self, position: u64) {
        self.progress.reached(position);
    }

    /// Ends the files and prints the totals.
    pub(crate) fn finish(self, printer: &mut Printer) -> Result<Done, Failure> {
        self.progress.finish();
        self.failures.finish(self.rejects.is_some() || self.errors.is_some());
        if self.totals.warnings > 0 {
            note(format_args!("warnings:\n{}", self.warnings.message().trim_end()));
        }
        for file in [self.errors, self.rejects].into_iter().flatten() {
            file.complete()?;
        }
        if self.submission.dry_run {
            note("dry run: nothing was written");
        }
        let failed = self.failures.failed();
        printer.line(self.totals.line(self.submission, failed))?;
        Ok(if failed == 0 { Done::Good } else { Done::SomeFailed })
    }

    async fn run(&mut self, part: Part) -> Result<(), Failure> {
        self.rows(&part)?;
        if part.entries == 0 {
            return Ok(());
        }
        let entries = format!("entries {} to {}", grouped(part.first()), grouped(part.last()));
        let place = Place::of(&part);
        let task = self.submission.submit(self.client, &mut self.keys, part).await?;
        let before = if task.replayed { ", submitted before" } else { "" };
        note(format_args!("task {}: {entries}{before}", task.task_id));
        let mut ended = self.wait(&task, &place).await?;
        self.results(&ended.task, task.replayed && ended.at_once, &place).await?;
        // An earlier run's task may have ended before its last entry.
        while task.replayed && ended.task.counts.unprocessed > 0 {
            let retry = self.retry(&ended.task).await?;
            ended = self.wait(&retry, &place).await?;
            self.results(&ended.task, false, &place).await?;
        }
        self.submission.awaits(None);
        let task = ended.task;
        if task.errors {
            self.failed_entries(&task, &place).await?;
        }
        if task.counts.unprocessed > 0 {
            let message = format!("task {} ended early: {}", task.task_id, summary(&task));
            return Err(Failure::server(message));
        }
        Ok(())
    }

    /// Reports what reading the rows of a table found.
    fn rows(&mut self, part: &Part) -> Result<(), Failure> {
        for record in &part.failed {
            self.failures.add_row(&read_record(record)?);
            if let Some(file) = &mut self.errors {
                file.write(record)?;
            }
        }
        for (line, warning) in &part.warnings {
            let (code, example) = (warning.code.as_str(), (*line, warning.detail.as_str()));
            self.warnings.add_one(code, Some(&warning.pointer), example);
        }
        self.totals.warnings += part.warnings.len() as u64;
        Ok(())
    }

    async fn wait(&mut self, task: &Task, place: &Place) -> Result<Ended, Failure> {
        self.submission.awaits(Some(&task.task_id));
        let mut queue = QueueNotes::default();
        let mut answers = 0;
        let (progress, failed) = (&mut self.progress, self.failures.failed());
        let bulk = self.client.bulk(self.submission.action.family());
        let task = bulk
            .wait(&task.task_id, |task| {
                answers += 1;
                queue.look_at(task);
                progress.failed(failed + task.counts.failed);
                if progress.unit() == Unit::Count {
                    let processed = task.counts.total - task.counts.unprocessed;
                    progress.reached(place.entries_before + processed);
                }
            })
            .await?;
        Ok(Ended { task, at_once: answers == 1 })
    }

    /// The task that runs the entries which an earlier run's task left.
    async fn retry(&self, task: &Task) -> Result<Task, Failure> {
        let bulk = self.client.bulk(self.submission.action.family());
        note(format_args!("task {} ended early: {}; retrying it", task.task_id, summary(task)));
        Ok(match &task.retried_by {
            Some(retry) => bulk.status(retry).await?,
            None => bulk.retry(&task.task_id, Some(&format!("retry-{}", task.task_id))).await?,
        })
    }

    /// Counts the results. Records that an earlier run created are there already.
    async fn results(
        &mut self,
        task: &Task,
        is_earlier: bool,
        place: &Place,
    ) -> Result<(), Failure> {
        let bulk = self.client.bulk(self.submission.action.family());
        let mut lines = bulk.records(&task.task_id, RecordList::Results).await?.lines();
        while let Some(line) = lines.next().await? {
            match read_record::<Outcome>(&line)?.outcome.as_str() {
                "unchanged" => self.totals.unchanged += 1,
                _ if is_earlier => self.totals.unchanged += 1,
                "updated" => self.totals.updated += 1,
                _ => self.totals.created += 1,
            }
        }
        self.totals.warnings += task.warnings;
        if task.warnings > 0 {
            let summary = bulk.warning_summary(&task.task_id).await?;
            self.warnings.add(&summary, |index, line| place.line(index, line));
        }
        Ok(())
    }

    /// Reports the entries that failed. An entry that an earlier task of the part left is among
    /// those of its retry.
    async fn failed_entries(&mut self, task: &Task, place: &Place) -> Result<(), Failure> {
        let bulk = self.client.bulk(self.submission.action.family());
        let mut lines = bulk.records(&task.task_id, RecordList::Errors).await?.lines();
        while let Some(record) = lines.next().await? {
            let error = read_record(&record)?;
            self.failures.add(&error, place.line(error.index, error.line));
            if let Some(file) = &mut self.errors {
                file.write(&place.in_file_terms(&record, &error)?)?;
            }
        }
        self.failures.add_groups(&bulk.error_summary(&task.task_id).await?, place);
        if let Some(file) = &mut self.rejects {
            let mut entries = bulk.payload(&task.task_id, Some("failed")).await?;
            while let Some(bytes) = entries.chunk().await? {
                file.write(&bytes)?;
            }
        }
        Ok(())
    }
}

impl Totals {
    /// The totals of an action, with those that it can have.
    fn line(&self, submission: &Submission, failed: u64) -> String {
        let action = submission.action;
        let mut counts = Vec::new();
        if !matches!(action, Action::UpdateCoreProfiles | Action::UpdateAppProfiles) {
            counts.push(("created", self.created));
        }
        if action != Action::CreateCoreProfiles
            && (action != Action::ImportIssues || submission.upsert)
        {
            counts.push(("updated", self.updated));
        }
        counts.extend([("unchanged", self.unchanged), ("failed", failed)]);
        if self.warnings > 0 {
            counts.push(("warnings", self.warnings));
        }
        let counts: Vec<_> = counts.iter().map(|(name, count)| format!("{name} {count}")).collect();
        counts.join("  ")
    }
}
