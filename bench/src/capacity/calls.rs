//! The calls whose cost is measured, each as a client makes it.

use std::cell::Cell;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use caseload_client::Client;
use caseload_model::task::Action;

use super::layout::DOMAINS;
use crate::bulk::jobs;
use crate::issues::data;
use crate::issues::wire::{Connection, Target};
use crate::profiles;

/// Issues of a domain: as many as an import that fills it has.
pub(super) const ISSUES: usize = 10_000;
/// Connections of a measurement of time.
const CONNECTIONS: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Call {
    ImportIssues,
    CreateProfiles,
    ListByState,
    FirstPage,
    CreateIssue,
    SmallTask,
}

pub(super) const CALLS: [Call; 6] = [
    Call::ImportIssues,
    Call::CreateProfiles,
    Call::ListByState,
    Call::FirstPage,
    Call::CreateIssue,
    Call::SmallTask,
];

/// How much of a call is made.
#[derive(Debug, Clone, Copy)]
pub(super) enum Amount {
    /// In all domains at the same time, for this time; imports, a whole task in each.
    For(Duration),
    /// So many calls, one after another; imports, one task with so many entries.
    Few(usize),
}

/// A served store.
pub(super) struct Served<'a> {
    url: String,
    domains: &'a [(String, String)],
    /// The number of the next entry of an import, so that each is new.
    pub(super) next: Cell<usize>,
}

impl Call {
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::ImportIssues => "an issue imported",
            Self::CreateProfiles => "a profile created by a task",
            Self::ListByState => "a list of 100 issues by state",
            Self::FirstPage => "a page of 100 issues",
            Self::CreateIssue => "an issue created",
            Self::SmallTask => "a task of one entry, to its end",
        }
    }

    /// Makes the calls; returns their number, which for imports is that of the entries.
    pub(super) async fn make(self, served: &Served<'_>, amount: Amount) -> Result<usize> {
        match (self, amount) {
            (Self::ImportIssues | Self::CreateProfiles, Amount::For(_)) => {
                let mut running = tokio::task::JoinSet::new();
                for domain in 0..DOMAINS {
                    let (client, lines) = (served.client(domain)?, self.lines(served, ISSUES));
                    running.spawn(async move { jobs::run(&client, self.action(), lines).await });
                }
                while let Some(done) = running.join_next().await {
                    done??;
                }
                Ok(DOMAINS * ISSUES)
            }
            (Self::ImportIssues | Self::CreateProfiles, Amount::Few(entries)) => {
                let lines = self.lines(served, entries);
                jobs::run(&served.client(0)?, self.action(), lines).await?;
                Ok(entries)
            }
            (_, Amount::For(time)) => {
                let begun = Instant::now();
                let mut running = tokio::task::JoinSet::new();
                for lane in 0..CONNECTIONS {
                    let (target, name) = served.target(lane % DOMAINS);
                    running.spawn(async move {
                        let mut connection = Connection::open(&target).await?;
                        let mut done = 0;
                        while begun.elapsed() < time {
                            self.once(&mut connection, &name, lane + done * CONNECTIONS).await?;
                            done += 1;
                        }
                        anyhow::Ok(done)
                    });
                }
                let mut done = 0;
                while let Some(lane) = running.join_next().await {
                    done += lane??;
                }
                Ok(done)
            }
            (_, Amount::Few(calls)) => {
                let (target, name) = served.target(0);
                let mut connection = Connection::open(&target).await?;
                for n in 0..calls {
                    self.once(&mut connection, &name, n).await?;
                }
                Ok(calls)
            }
        }
    }

    const fn action(self) -> Action {
        if matches!(self, Self::ImportIssues) {
            Action::ImportIssues
        } else {
            Action::CreateCoreProfiles
        }
    }

    fn lines(self, served: &Served<'_>, entries: usize) -> Vec<u8> {
        let first = served.next.replace(served.next.get() + entries);
        if self == Self::CreateProfiles {
            return profiles::lines_from(first, entries);
        }
        let mut lines = String::new();
        (0..entries).for_each(|n| data::line(n, ISSUES, &mut lines));
        lines.into_bytes()
    }

    async fn once(self, connection: &mut Connection, domain: &str, n: usize) -> Result<()> {
        let issues = format!("/v1/{domain}/issues");
        let (status, _) = match self {
            Self::ListByState => {
                let (state, _) = data::STATES[n % data::STATES.len()];
                let path = format!("{issues}?page-size=100&state={state}");
                connection.get(&path, false).await?
            }
            Self::FirstPage => connection.get(&format!("{issues}?page-size=100"), false).await?,
            Self::CreateIssue => {
                let form =
                    format!("title=Order+{n}&message-body=It+did+not+arrive&email=a{n}%40b.cd");
                connection.post(&issues, &form).await?
            }
            _ => {
                let tasks = format!("/v2/{domain}/identity/bulk_actions");
                let form = "action=get_core_profiles&payload=%5B%221%22%5D";
                let (status, body) = connection.post(&tasks, form).await?;
                let task: serde_json::Value = serde_json::from_slice(&body)?;
                let id = task["task_id"].as_str();
                let id = id.with_context(|| format!("no task: {status} {task}"))?;
                let (status, body) = connection.get(&format!("{tasks}/{id}?wait=20"), true).await?;
                let task: serde_json::Value = serde_json::from_slice(&body)?;
                ensure!(task["status"] == "completed", "it does not end: {task}");
                (status, body)
            }
        };
        ensure!((200..300).contains(&status), "{} answered {status}", self.name());
        Ok(())
    }
}

impl<'a> Served<'a> {
    pub(super) fn new(url: &str, domains: &'a [(String, String)], next: usize) -> Self {
        Self { url: url.to_owned(), domains, next: Cell::new(next) }
    }

    fn client(&self, domain: usize) -> Result<Client> {
        let (name, key) = &self.domains[domain];
        Ok(Client::new(&self.url, name, key)?)
    }

    fn target(&self, domain: usize) -> (Target, String) {
        let (name, key) = &self.domains[domain];
        let address = self.url.trim_start_matches("http://").to_owned();
        (Target { address, key: key.clone() }, name.clone())
    }
}
