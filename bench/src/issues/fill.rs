//! Imports generated issues, task after task, and measures the rate of each tenth. The client stays
//! two tasks ahead of the server, which applies them one after another.

use std::time::Instant;

use anyhow::{Result, ensure};
use caseload_client::{Client, Payload};
use caseload_model::task::{Action, Family};

use super::data;
use crate::figures::real;

/// Issues of one task.
const ENTRIES: usize = 10_000;
/// Tasks that are submitted before the client waits for the first of them.
const AHEAD: usize = 3;

/// The figures of a whole import.
pub(crate) struct FillFigures {
    /// Bytes of the JSON lines.
    pub(crate) json_bytes: u64,
    pub(crate) seconds: f64,
    /// Issues per second of each tenth.
    pub(crate) rates: Vec<f64>,
}

/// Imports issues `0..count` into the empty domain of the client.
pub(crate) async fn fill(client: &Client, count: usize) -> Result<FillFigures> {
    let bulk = client.bulk(Family::Issues);
    let mut filled = FillFigures { json_bytes: 0, seconds: 0.0, rates: Vec::new() };
    let begun = Instant::now();
    let mut running = std::collections::VecDeque::new();
    let (mut done, mut tenth) = (0, Instant::now());
    let mut next = 0;
    while done < count {
        while next < count && running.len() < AHEAD {
            let until = (next + ENTRIES).min(count);
            let mut lines = String::new();
            (next..until).for_each(|n| data::line(n, count, &mut lines));
            filled.json_bytes += lines.len() as u64;
            let task =
                bulk.submit(Action::ImportIssues, Payload::bytes(lines.into_bytes())).await?;
            running.push_back((task.task_id, until - next));
            next = until;
        }
        let Some((id, entries)) = running.pop_front() else { break };
        let task = loop {
            let task = bulk.status(&id).await?;
            if task.is_completed() {
                break task;
            }
            tokio::time::sleep(std::time::Duration::from_millis(5)).await;
        };
        ensure!(task.counts.succeeded == entries as u64, "some entries failed: {}", task.record);
        done += entries;
        if done * 10 / count > filled.rates.len() {
            filled.rates.push(real(count / 10) / tenth.elapsed().as_secs_f64());
            tenth = Instant::now();
        }
    }
    filled.seconds = begun.elapsed().as_secs_f64();
    Ok(filled)
}
