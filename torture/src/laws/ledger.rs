//! The ledger of a run: the jobs that it submitted, and the profiles and issues that their results
//! named. It reads tasks when its caller says so, and makes no fault itself.

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use caseload_client::Client;
use caseload_model::task::{Action, Family};
use caseload_testdata::SplitMix;
use serde_json::Value;

use super::job::{Job, KnownProfile};

pub(crate) const DOMAINS: [&str; 2] = ["first", "second"];

/// All submissions of a run, and the profiles and issues in their results.
#[derive(Default)]
pub(crate) struct Ledger {
    pub(crate) jobs: Vec<Job>,
    /// The profiles of each domain from result records.
    pub(crate) known: [Vec<KnownProfile>; 2],
    /// The imported issues of each domain: id, job, index of the entry.
    pub(crate) issues: [Vec<(u64, usize, usize)>; 2],
    /// Tasks of each domain that the verification itself submitted.
    pub(super) exports: [u64; 2],
    pub(crate) polls: usize,
}

impl Ledger {
    /// Chooses a job; returns its number.
    pub(crate) fn choose(&mut self, random: &mut SplitMix) -> usize {
        let number = self.jobs.len();
        let known = [self.known[0].len(), self.known[1].len()];
        self.jobs.push(Job::choose(number, known, random));
        number
    }

    pub(crate) fn lines(&self, number: usize) -> Vec<u8> {
        let job = &self.jobs[number];
        job.lines(&self.known[job.domain])
    }

    pub(crate) fn unfinished(&self) -> usize {
        self.jobs.iter().filter(|job| !job.is_done()).count()
    }

    /// The jobs without an answer.
    pub(crate) fn unanswered(&self) -> Vec<usize> {
        let unanswered = |job: &&Job| job.first.is_none();
        self.jobs.iter().filter(unanswered).map(|job| job.number).collect()
    }

    /// Reads every unfinished task, and the results of those that are completed now.
    pub(crate) async fn poll(&mut self, clients: &[Client; 2]) -> Result<()> {
        for number in 0..self.jobs.len() {
            let job = &mut self.jobs[number];
            // A job that waits for its repeat has no task yet.
            if job.is_done() || job.seen.is_none() {
                continue;
            }
            let client = &clients[job.domain];
            self.polls += 1;
            if job.poll(client).await? {
                let job = &self.jobs[number];
                let results = job.outcome(client, &self.known[job.domain]).await?;
                self.record(number, results)?;
            }
        }
        Ok(())
    }

    fn record(&mut self, number: usize, results: Vec<(usize, Value)>) -> Result<()> {
        let job = &self.jobs[number];
        for (index, record) in results {
            match job.action {
                Action::CreateCoreProfiles => {
                    let id = record["core-profile-id"].as_str().context("no id")?;
                    let entry = (number, index);
                    self.known[job.domain].push(KnownProfile { id: id.to_owned(), entry });
                }
                Action::ImportIssues => {
                    let id = record["id"].as_u64().context("an issue without an id")?;
                    self.issues[job.domain].push((id, number, index));
                }
                _ => {}
            }
        }
        Ok(())
    }

    /// Tasks and entries by action.
    #[expect(clippy::print_stdout, reason = "the table is the program's output")]
    pub(crate) fn print(&self) {
        let mut actions: BTreeMap<&str, (usize, usize)> = BTreeMap::new();
        for job in &self.jobs {
            let row = actions.entry(job.action.as_str()).or_default();
            *row = (row.0 + 1, row.1 + job.entries);
        }
        for (action, (tasks, entries)) in actions {
            println!("{:<44} {tasks:>8} {entries:>9} entries", format!("tasks, {action}"));
        }
        println!("{:<44} {:>8}", "reads of a task, compared with the one before", self.polls);
    }
}

/// The number of tasks of a path.
pub(crate) async fn total(client: &Client, family: Family) -> Result<u64> {
    Ok(client.bulk(family).list(&[("page-size", "1")]).await?.total_hits)
}
