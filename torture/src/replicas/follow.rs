//! Followers of a domain's changes, as other systems are: they ask for what was updated since the
//! last time, through any server, all the time, and know nothing else. One goes oldest first
//! behind the last issue that it saw, one asks for the newest from the last time on. Change times
//! are in the order of commits, whichever server wrote: who was passed by a change will never see
//! it.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use serde::Deserialize;

use super::fleet::{Answer, Call, Fleet, lock};
use super::gate::Gate;
use crate::laws::DOMAINS;
use caseload_testdata::SplitMix;

/// Issues of one answer.
const PAGE: usize = 1000;
/// Time after which another server is asked.
const PATIENCE: Duration = Duration::from_secs(4);
/// Time to see the last change, when no more are made.
const CATCH_UP_MAX: Duration = Duration::from_secs(30);

/// Each issue with the time of its last change.
pub(super) type Found = BTreeMap<u64, i64>;

#[derive(Default)]
pub(super) struct Followed {
    issues: Found,
    pub(super) polls: u64,
    pub(super) changes: u64,
}

pub(super) struct Follower {
    pub(super) domain: usize,
    pub(super) ascending: bool,
    /// A time before the first change.
    pub(super) since: i64,
    pub(super) random: SplitMix,
    pub(super) followed: Arc<Mutex<Followed>>,
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
    /// Polls until the gate is shut for good.
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
                // The newest of more than a page would not be all.
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
        let place = if id == 0 { "cursor=".to_owned() } else { format!("after={time},{id}") };
        format!("issues?updated-since={since}&sort-by=update-time&sort-order=asc&{place}&{view}")
    }

    /// Notes what came; returns the last place.
    fn take(&self, page: &Page, before: (i64, u64)) -> Result<(i64, u64)> {
        let mut followed = lock(&self.followed);
        followed.polls += 1;
        let mut last = before;
        for issue in &page.issues {
            let place = (issue.updated_at, issue.id);
            ensure!(!self.ascending || place > before, "{place:?} comes behind {before:?}");
            let known = followed.issues.insert(issue.id, issue.updated_at);
            ensure!(known <= Some(issue.updated_at), "issue {} went back to {place:?}", issue.id);
            followed.changes += u64::from(known != Some(issue.updated_at));
            last = last.max(place);
        }
        Ok(last)
    }
}

/// Waits until the follower has seen everything that was found.
pub(super) async fn caught_up(
    followed: &Mutex<Followed>,
    found: &Found,
    at: &str,
    domain: usize,
) -> Result<()> {
    let begun = Instant::now();
    loop {
        let missed: Vec<_> = {
            let seen = &lock(followed).issues;
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
