//! What loops of faults know and demand, whatever the faults are: the submissions, what was
//! acknowledged of them, and the laws of tasks, of idempotency and of the stored data. It sends
//! and looks where it is told to and makes no fault itself. The first broken law is an error.

mod job;
mod verdict;

use std::collections::BTreeMap;

use anyhow::{Context as _, Result};
use caseload_client::Client;
use caseload_model::task::{Action, Family};
use serde_json::Value;

use caseload_testdata::SplitMix;
pub(crate) use job::{Job, Known, Sent};

pub(crate) const DOMAINS: [&str; 2] = ["first", "second"];

/// Everything that was asked for, and what came of it.
#[derive(Default)]
pub(crate) struct Book {
    pub(crate) jobs: Vec<Job>,
    /// The profiles of each domain that results told of.
    pub(crate) known: [Vec<Known>; 2],
    /// The imported issues of each domain: the id, the job, the index in it.
    pub(crate) issues: [Vec<(u64, usize, usize)>; 2],
    /// Tasks of each domain that only read what is verified.
    exports: [u64; 2],
    pub(crate) looks: usize,
}

impl Book {
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

    /// The jobs that no answer came for.
    pub(crate) fn unanswered(&self) -> Vec<usize> {
        let unanswered = |job: &&Job| job.first.is_none();
        self.jobs.iter().filter(unanswered).map(|job| job.number).collect()
    }

    /// Looks at every unfinished task and takes in those that are completed now.
    pub(crate) async fn look(&mut self, clients: &[Client; 2]) -> Result<()> {
        for number in 0..self.jobs.len() {
            let job = &mut self.jobs[number];
            // One that waits for its repeat has nothing to look at.
            if job.is_done() || job.seen.is_none() {
                continue;
            }
            let client = &clients[job.domain];
            self.looks += 1;
            if job.see(client).await? {
                let job = &self.jobs[number];
                let results = job.outcome(client, &self.known[job.domain]).await?;
                self.take_in(number, results)?;
            }
        }
        Ok(())
    }

    fn take_in(&mut self, number: usize, results: Vec<(usize, Value)>) -> Result<()> {
        let job = &self.jobs[number];
        for (index, record) in results {
            match job.action {
                Action::CreateCoreProfiles => {
                    let id = record["core-profile-id"].as_str().context("no id")?;
                    let entry = (number, index);
                    self.known[job.domain].push(Known { id: id.to_owned(), entry });
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

    /// Holds everything that is stored against what was acknowledged. `others` are the issues of
    /// each domain that came in another way.
    pub(crate) async fn hold(
        &mut self,
        clients: &[Client; 2],
        others: [usize; 2],
        random: &mut SplitMix,
    ) -> Result<()> {
        verdict::hold(self, clients, others, random).await
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
        println!("{:<44} {:>8}", "looks at a task, each against the one before", self.looks);
    }
}

/// The number of tasks of a path.
pub(crate) async fn total(client: &Client, family: Family) -> Result<u64> {
    Ok(client.bulk(family).list(&[("page-size", "1")]).await?.total_hits)
}
