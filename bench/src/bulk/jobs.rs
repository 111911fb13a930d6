//! Runs tasks on a served store: one client per domain, all started together, each timed from the
//! first byte of its POST. It reads back the ids of created profiles, because updates and gets name
//! them.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use caseload_client::{Client, Payload, RecordList};
use caseload_model::task::{Action, Family};

use crate::raw::settled_bytes;
use bench::server::{Process, Store};

/// Milliseconds from the first byte of the request.
#[derive(Clone, Copy)]
pub(crate) struct TaskTimes {
    pub(crate) accepted: f64,
    pub(crate) completed: f64,
}

struct Domain {
    name: String,
    key: String,
    client: Client,
    /// Ids of its profiles, in the order of creation.
    ids: Vec<u64>,
}

/// A served store with some domains. Dropping it ends the process and removes the store.
pub(super) struct Domains {
    process: Process,
    store: Store,
    each: Vec<Domain>,
}

impl Domains {
    pub(super) async fn open(store: Store, count: usize) -> Result<Self> {
        let named: Vec<(String, String)> = (0..count)
            .map(|n| {
                let name = format!("bench-{n}");
                store.domain(&name).map(|key| (name, key))
            })
            .collect::<Result<_>>()?;
        let process = store.serve()?;
        let mut each = Vec::new();
        for (name, key) in named {
            let client = Client::new(&process.url, &name, &key)?;
            each.push(Domain { name, key, client, ids: Vec::new() });
        }
        let opened = Self { process, store, each };
        // The first request of a connection and of a key is not measured.
        for domain in &opened.each {
            domain.client.bulk(Family::Identity).list(&[]).await?;
        }
        Ok(opened)
    }

    pub(super) fn url(&self) -> &str {
        &self.process.url
    }

    pub(super) fn client(&self, domain: usize) -> &Client {
        &self.each[domain].client
    }

    /// Runs one payload per domain, all at the same time.
    pub(super) async fn run(
        &mut self,
        action: Action,
        payloads: &[Vec<u8>],
    ) -> Result<Vec<TaskTimes>> {
        let mut running = Vec::new();
        for (domain, payload) in self.each.iter().zip(payloads) {
            let (client, payload) = (domain.client.clone(), payload.clone());
            running.push(tokio::spawn(async move { run(&client, action, payload).await }));
        }
        let mut served = Vec::new();
        for (n, running) in running.into_iter().enumerate() {
            let (times, task_id) = running.await??;
            if action == Action::CreateCoreProfiles {
                self.read_ids(n, &task_id).await?;
            }
            served.push(times);
        }
        Ok(served)
    }

    /// Creates profiles in one domain.
    pub(super) async fn create(&mut self, domain: usize, lines: &[u8]) -> Result<()> {
        let client = self.each[domain].client.clone();
        let (_, task_id) = run(&client, Action::CreateCoreProfiles, lines.to_vec()).await?;
        self.read_ids(domain, &task_id).await
    }

    async fn read_ids(&mut self, domain: usize, task_id: &str) -> Result<()> {
        const BEFORE: &str = "\"core-profile-id\":\"";
        let domain = &mut self.each[domain];
        let bulk = domain.client.bulk(Family::Identity);
        let mut body = bulk.records(task_id, RecordList::Results).await?;
        let mut text = Vec::new();
        while let Some(piece) = body.chunk().await? {
            text.extend_from_slice(&piece);
        }
        for line in std::str::from_utf8(&text)?.lines() {
            let at = line.find(BEFORE).context("a result without id")? + BEFORE.len();
            let digits: String = line[at..].chars().take_while(char::is_ascii_digit).collect();
            domain.ids.push(digits.parse()?);
        }
        Ok(())
    }

    /// `count` ids, spread evenly over all profiles of the domain.
    pub(super) fn spread_ids(&self, domain: usize, count: usize) -> Vec<u64> {
        let ids = &self.each[domain].ids;
        let step = (ids.len() / count).max(1);
        ids.iter().step_by(step).copied().take(count).collect()
    }

    /// Kills the server; returns the size of its database after a checkpoint.
    pub(super) fn settled_bytes(self) -> Result<u64> {
        self.process.kill()?;
        settled_bytes(&self.store.path())
    }

    /// The same store, served by a new process; also the size of its database in between.
    pub(super) fn reopen(self) -> Result<(Self, u64)> {
        let Self { process, store, mut each } = self;
        process.kill()?;
        let bytes = settled_bytes(&store.path())?;
        let process = store.serve()?;
        for domain in &mut each {
            domain.client = Client::new(&process.url, &domain.name, &domain.key)?;
        }
        Ok((Self { process, store, each }, bytes))
    }
}

/// Runs one task from its POST to its completion; returns the times and its id.
pub(crate) async fn run(
    client: &Client,
    action: Action,
    payload: Vec<u8>,
) -> Result<(TaskTimes, String)> {
    let bulk = client.bulk(action.family());
    let begun = Instant::now();
    let task = bulk.submit(action, Payload::bytes(payload)).await?;
    let accepted = begun.elapsed();
    let task = bulk.wait(&task.task_id, |_| {}).await?;
    let completed = begun.elapsed();
    ensure!(task.counts.succeeded == task.counts.total, "an entry failed: {}", task.record);
    let millis = |time: Duration| time.as_secs_f64() * 1e3;
    Ok((TaskTimes { accepted: millis(accepted), completed: millis(completed) }, task.task_id))
}
