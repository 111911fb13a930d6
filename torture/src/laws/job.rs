//! A job: one submission, its expected outcome, and its task as last read. Entries are computed, so
//! a repeat sends the same bytes. Every read of a task goes through [`Job::poll`], which compares
//! it with the read before.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use anyhow::{Context as _, Result, ensure};
use caseload_client::{BulkActions, Client, ClientError, Payload, RecordList, SubmitOptions, Task};
use caseload_model::task::{Action, Family};
use serde_json::Value;

use caseload_testdata::SplitMix;

/// One entry in so many of a creation claims the identity of the first entry.
const CONFLICT_EVERY: usize = 50;
/// Number of different creation times in one import.
const INSTANTS: usize = 500;

/// A profile from a result record.
#[derive(Clone)]
pub(crate) struct KnownProfile {
    pub(crate) id: String,
    /// The job that created it, and the index of the entry.
    pub(crate) entry: (usize, usize),
}

pub(crate) struct Job {
    pub(crate) number: usize,
    pub(crate) domain: usize,
    pub(crate) action: Action,
    pub(crate) entries: usize,
    /// Characters of filler in each entry.
    pad: usize,
    /// The known profiles that it names: entry `i` names number `(start + i * step) % among`.
    among: usize,
    start: usize,
    step: usize,
    /// The first answer, if one has arrived.
    pub(crate) first: Option<String>,
    /// The task as last read.
    pub(crate) seen: Option<Task>,
    /// It was cancelled, so entries may remain unprocessed.
    pub(crate) cancelled: bool,
}

impl Job {
    /// Chooses a job that is possible with `known` profiles in each domain.
    pub(crate) fn choose(number: usize, known: [usize; 2], random: &mut SplitMix) -> Self {
        let domain = random.below(2);
        let action = random.pick(&[
            Action::CreateCoreProfiles,
            Action::CreateCoreProfiles,
            Action::ImportIssues,
            Action::UpdateCoreProfiles,
            Action::GetCoreProfiles,
        ]);
        let needs_ids = matches!(action, Action::UpdateCoreProfiles | Action::GetCoreProfiles);
        let action = if needs_ids && known[domain] == 0 { Action::ImportIssues } else { action };
        let (small, large) = (1 + random.below(100), 1 + random.below(6000));
        Self {
            number,
            domain,
            action,
            entries: random.pick(&[1, small, 1000, large, large, 6000]),
            pad: random.pick(&[1, 400]),
            among: known[domain],
            start: random.below(known[domain]),
            step: 1 + random.below(6),
            first: None,
            seen: None,
            cancelled: false,
        }
    }

    pub(crate) fn family(&self) -> Family {
        match self.action {
            Action::ImportIssues => Family::Issues,
            _ => Family::Identity,
        }
    }

    /// The path of its task within the domain, if an answer has arrived.
    pub(crate) fn path(&self) -> Option<String> {
        let task = self.seen.as_ref()?;
        Some(format!("{}/bulk_actions/{}", self.family().as_str(), task.task_id))
    }

    /// The number, among the known profiles of its domain, of the profile that an entry names.
    pub(crate) fn target(&self, index: usize) -> usize {
        (self.start + index * self.step) % self.among
    }

    pub(crate) fn uid(&self, index: usize) -> String {
        let owner = if index.is_multiple_of(CONFLICT_EVERY) { 0 } else { index };
        format!("{}-{owner}", self.number)
    }

    pub(crate) fn pad(&self) -> String {
        "x".repeat(self.pad)
    }

    /// The value that an entry of an update writes.
    pub(crate) fn mark(&self, index: usize) -> String {
        format!("{}-{index}", self.number)
    }

    pub(crate) fn title(&self, index: usize) -> String {
        format!("issue {}-{index}", self.number)
    }

    fn must_fail(&self, index: usize) -> bool {
        let creates = self.action == Action::CreateCoreProfiles;
        creates && index > 0 && index.is_multiple_of(CONFLICT_EVERY)
    }

    pub(crate) fn lines(&self, known: &[KnownProfile]) -> Vec<u8> {
        let (mut out, pad) = (String::new(), self.pad());
        for n in 0..self.entries {
            let _ = match self.action {
                Action::CreateCoreProfiles => writeln!(
                    out,
                    r#"{{"identities":[{{"uid":"{}"}}],"custom_fields":{{"f":"{pad}"}}}}"#,
                    self.uid(n)
                ),
                Action::ImportIssues => writeln!(
                    out,
                    r#"{{"created_at":{},"title":"{}"}}"#,
                    1_600_000_000_000 + n * 7 % INSTANTS,
                    self.title(n)
                ),
                Action::UpdateCoreProfiles => writeln!(
                    out,
                    r#"{{"core-profile-id":"{}","custom_fields":{{"u":"{}"}}}}"#,
                    known[self.target(n)].id,
                    self.mark(n)
                ),
                _ => writeln!(out, r#"{{"core-profile-id":"{}"}}"#, known[self.target(n)].id),
            };
        }
        out.into_bytes()
    }

    /// The options with the idempotency key, the same at each repeat.
    pub(crate) fn options(&self) -> SubmitOptions {
        SubmitOptions {
            idempotency_key: Some(format!("job-{}", self.number)),
            ..SubmitOptions::default()
        }
    }

    pub(crate) async fn submit(&self, client: &Client, lines: Vec<u8>) -> SubmitResult {
        let payload = Payload::bytes(lines);
        client.bulk(self.family()).submit_with(self.action, payload, &self.options()).await
    }

    /// Records an answer to the submission: the first one, or one that must equal the first, apart
    /// from the address of the server that sent it.
    pub(crate) fn answered(&mut self, task: Task) -> Result<()> {
        let answer = without_address(&task.record)?;
        match &self.first {
            Some(first) => {
                ensure!(
                    *first == answer,
                    "{self}: the first answer was {first}, a repeat got {answer}"
                );
            }
            None => self.first = Some(answer),
        }
        if self.seen.is_none() {
            self.check(&task)?;
            self.seen = Some(task);
        }
        Ok(())
    }

    /// Entries processed as of the last read: they are processed in order.
    pub(crate) fn reached(&self) -> usize {
        self.seen.as_ref().map_or(0, |task| self.entries - task.counts.unprocessed as usize)
    }

    pub(crate) fn is_done(&self) -> bool {
        self.seen.as_ref().is_some_and(Task::is_completed)
    }

    /// Reads the task; returns `true` if it is completed now.
    pub(crate) async fn poll(&mut self, client: &Client) -> Result<bool> {
        let before = self.seen.as_ref().context("the task was read before the first answer")?;
        let task = client.bulk(self.family()).status(&before.task_id).await?;
        self.check(&task)?;
        let order = |task: &Task| {
            ["created", "queued", "processing", "completed"].iter().position(|s| *s == task.status)
        };
        ensure!(
            task.progress >= before.progress
                && order(&task).is_some()
                && order(&task) >= order(before)
                && task.counts.unprocessed <= before.counts.unprocessed
                && task.counts.succeeded >= before.counts.succeeded
                && task.counts.failed >= before.counts.failed,
            "{self} went back: {}, then {}",
            before.record,
            task.record
        );
        self.seen = Some(task);
        Ok(self.is_done())
    }

    /// The laws that hold for every single read.
    fn check(&self, task: &Task) -> Result<()> {
        let counts = task.counts;
        let sum = counts.succeeded + counts.failed + counts.unprocessed;
        ensure!(
            sum == counts.total && counts.total == self.entries as u64,
            "{self}: the conservation law is broken: {}",
            task.record
        );
        ensure!(
            (task.progress == 100) == task.is_completed(),
            "{self}: progress and status differ: {}",
            task.record
        );
        Ok(())
    }

    /// Reads the results and errors of a completed task: each entry must be in the right list, once
    /// and in order. Returns the result records with their indexes.
    pub(crate) async fn outcome(
        &self,
        client: &Client,
        known: &[KnownProfile],
    ) -> Result<Vec<(usize, Value)>> {
        let task = self.seen.as_ref().context("the task was never read")?;
        let bulk = client.bulk(self.family());
        let results = records(bulk, &task.task_id, RecordList::Results).await?;
        let errors = records(bulk, &task.task_id, RecordList::Errors).await?;
        ensure!(
            (results.len() as u64, errors.len() as u64)
                == (task.counts.succeeded, task.counts.failed),
            "{self}: {} results, {} errors, but {}",
            results.len(),
            errors.len(),
            task.record
        );
        ensure!(
            self.reached() == self.entries
                || (self.cancelled && task.outcome.as_deref() == Some("cancelled")),
            "{self}: entries remain unprocessed: {}",
            task.record
        );
        let (fail, succeed): (Vec<usize>, Vec<usize>) =
            (0..self.reached()).partition(|n| self.must_fail(*n));
        ensure!(indexes(&errors)? == fail, "{self}: other errors than expected: {:?}", {
            errors.iter().take(3).collect::<Vec<_>>()
        });
        if self.action == Action::GetCoreProfiles {
            // The result of a get is the profile itself, so its position identifies the entry.
            let got: Vec<_> = results.iter().map(|r| r["core-profile-id"].as_str()).collect();
            let asked: Vec<_> =
                succeed.iter().map(|n| Some(known[self.target(*n)].id.as_str())).collect();
            ensure!(got == asked, "{self}: other profiles than asked for");
        } else {
            ensure!(indexes(&results)? == succeed, "{self}: not each entry once");
        }
        Ok(succeed.into_iter().zip(results).collect())
    }
}

/// The answer to a submission.
pub(crate) type SubmitResult = Result<Task, ClientError>;

impl std::fmt::Display for Job {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "job {} ({}, {} entries)", self.number, self.action.as_str(), self.entries)
    }
}

/// Reads a whole list of a task.
pub(crate) async fn records(
    bulk: BulkActions<'_>,
    task_id: &str,
    list: RecordList,
) -> Result<Vec<Value>> {
    let mut lines = bulk.records(task_id, list).await?.lines();
    let mut records = Vec::new();
    while let Some(line) = lines.next().await? {
        records.push(serde_json::from_slice(&line)?);
    }
    Ok(records)
}

fn indexes(records: &[Value]) -> Result<Vec<usize>> {
    let index = |r: &Value| r["index"].as_u64().map(|n| n as usize);
    records.iter().map(|r| index(r).with_context(|| format!("no index: {r}"))).collect()
}

/// Whether all values are different.
pub(crate) fn all_differ<T: Ord>(values: impl IntoIterator<Item = T>) -> bool {
    let mut seen = BTreeSet::new();
    values.into_iter().all(|value| seen.insert(value))
}

/// A task record without the address of the server, with which its links begin.
fn without_address(record: &str) -> Result<String> {
    let parsed: Value = serde_json::from_str(record)?;
    let link = parsed["links"]["self"].as_str().context("a task has a link to itself")?;
    let path = link.find("/v2/").context("the link of a task leads to the second version")?;
    Ok(record.replace(&link[..path], ""))
}
