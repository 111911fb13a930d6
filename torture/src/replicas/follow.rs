//! Followers of a domain's changes, like other systems that poll: they ask any server for the
//! issues updated since the last time. One follower reads oldest first, after the last issue that
//! it saw; the other asks for the newest since the last time. Change times are in commit order,
//! whichever server wrote, so a change with a time before a follower's position would be missed
//! for ever.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use parking_lot::Mutex;
use serde::Deserialize;

use super::fleet::{Answer, Call, Fleet};
use super::gate::Gate;
use crate::laws::DOMAINS;
use caseload_testdata::SplitMix;

/// Issues of one answer.
const PAGE: usize = 1000;
/// Time limit before the follower asks another server.
const PATIENCE: Duration = Duration::from_secs(4);
/// Time limit to see the last change after the writers stop.
const CATCH_UP_MAX: Duration = Duration::from_secs(30);

/// The time of the last change of each issue.
pub(super) type ChangeTimes = BTreeMap<u64, i64>;

#[derive(Default)]
pub(super) struct FollowerState {
    issues: ChangeTimes,
    pub(super) polls: u64,
    pub(super) changes: u64,
}

pub(super) struct Follower {
    pub(super) domain: usize,
    pub(super) ascending: bool,
    /// A time before the first change.
    pub(super) since: i64,
    pub(super) random: SplitMix,
    pub(super) followed: Arc<Mutex<FollowerState>>,
}

#[derive(Deserialize)]
struct Page {
    issues: Vec<Issue>,
    #[serde(rename = "total-hits")]
    total_hits: Option<usize>,
}

#[derive(Deserialize)]
struct Issue {
    id: u64,
    updated_at: i64,
}

impl Follower {
    /// Polls until the run ends.
    pub(super) async fn run(mut self, fleet: Arc<Fleet>, gate: Gate) -> Result<()> {
        let mut last = (self.since, 0);
        while let Some(pass) = gate.enter().await {
            drop(pass);
            let path = self.path(last);
            let server = self.random.below(fleet.len());
            let patience = Some(PATIENCE);
            let call = Call { domain: self.domain, path: &path, patience, ..Call::default() };
            if let Answer::Good(page) = fleet.call(server, &call).await? {
                let page: Page = serde_json::from_str(&page)?;
                // If there were more changes than fit on a page, some would be missing.
                let all = page.total_hits.is_none_or(|hits| hits <= PAGE);
                ensure!(all, "a follower was too slow for {:?} changes", page.total_hits);
                last = self.take(&page, last)?;
            }
            tokio::time::sleep(Duration::from_millis(20 + self.random.below(60) as u64)).await;
        }
        Ok(())
    }

    fn path(&self, (time, id): (i64, u64)) -> String {
        let view = format!("page-size={PAGE}&excludes=%5B%22messages%22%5D");
        let since = self.since;
        if !self.ascending {
            return format!("issues?updated-since={time}&{view}");
        }
        let position = if id == 0 { "cursor=".to_owned() } else { format!("after={time},{id}") };
        format!("issues?updated-since={since}&sort-by=update-time&sort-order=asc&{position}&{view}")
    }

    /// Records the issues of a page; returns the last position.
    fn take(&self, page: &Page, before: (i64, u64)) -> Result<(i64, u64)> {
        let mut followed = self.followed.lock();
        followed.polls += 1;
        let mut last = before;
        for issue in &page.issues {
            let position = (issue.updated_at, issue.id);
            ensure!(
                !self.ascending || position > before,
                "{position:?} comes after {before:?} and is not later"
            );
            let known = followed.issues.insert(issue.id, issue.updated_at);
            ensure!(
                known <= Some(issue.updated_at),
                "issue {} went back to {position:?}",
                issue.id
            );
            followed.changes += u64::from(known != Some(issue.updated_at));
            last = last.max(position);
        }
        Ok(last)
    }
}

/// Waits until the follower has seen all changes.
pub(super) async fn caught_up(
    followed: &Mutex<FollowerState>,
    found: &ChangeTimes,
    at: &str,
    domain: usize,
) -> Result<()> {
    let begun = Instant::now();
    loop {
        let missed: Vec<_> = {
            let seen = &followed.lock().issues;
            found.iter().filter(|(id, time)| seen.get(id) != Some(time)).take(5).collect::<Vec<_>>()
        };
        if missed.is_empty() {
            return Ok(());
        }
        ensure!(
            begun.elapsed() < CATCH_UP_MAX,
            "{}: the follower {at} missed the changes (id, time) {missed:?}",
            DOMAINS[domain]
        );
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}
