//! The laws after all tasks have completed: there is one task for each submission, one profile or
//! issue for each successful entry, and each has the values of its entry. Everything is read over
//! HTTP from servers that were killed and restarted many times.

use std::collections::HashMap;

use anyhow::{Context as _, Result, ensure};
use caseload_client::{Client, Params, Payload, RecordList};
use caseload_model::task::{Action, Family};
use caseload_testdata::SplitMix;

use super::job::{Job, KnownProfile, all_differ, records};
use super::ledger::{DOMAINS, Ledger, total};

/// Profiles of one export task: the most that a request may have.
const EXPORT: usize = 10_000;
/// Issues of each domain that are read one by one.
const ISSUES_READ: usize = 50;

/// Compares the stored data with the ledger. `others` is the number of issues in each domain that
/// did not come from imports.
pub(crate) async fn verify(
    ledger: &mut Ledger,
    clients: &[Client; 2],
    others: [usize; 2],
    random: &mut SplitMix,
) -> Result<()> {
    for (domain, client) in clients.iter().enumerate() {
        let at = || format!("domain {}", DOMAINS[domain]);
        tasks(ledger, domain, client).await.with_context(at)?;
        issues(ledger, domain, client, others[domain], random).await.with_context(at)?;
        profiles(ledger, domain, client).await.with_context(at)?;
    }
    Ok(())
}

/// Each submission must be exactly one task.
async fn tasks(ledger: &Ledger, domain: usize, client: &Client) -> Result<()> {
    for family in [Family::Identity, Family::Issues] {
        let jobs: Vec<&Job> =
            ledger.jobs.iter().filter(|j| j.domain == domain && j.family() == family).collect();
        let tasks = total(client, family).await?;
        let tasks = if family == Family::Identity { tasks - ledger.exports[domain] } else { tasks };
        ensure!(tasks == jobs.len() as u64, "{tasks} tasks of {} submissions", jobs.len());
        let ids = jobs.iter().filter_map(|j| j.seen.as_ref()).map(|task| &task.task_id);
        ensure!(all_differ(ids), "two submissions share a task");
    }
    Ok(())
}

async fn issues(
    ledger: &Ledger,
    domain: usize,
    client: &Client,
    others: usize,
    random: &mut SplitMix,
) -> Result<()> {
    let issues = &ledger.issues[domain];
    ensure!(all_differ(issues.iter().map(|(id, ..)| *id)), "an issue id was given twice");
    let mut params = Params::default();
    params.push("page-size", "1");
    let hits = client.issues(&params).await?.total_hits;
    let expected = issues.len() + others;
    ensure!(hits == expected as u64, "{hits} issues of {expected} acknowledged");
    for _ in 0..ISSUES_READ.min(issues.len()) {
        let (id, number, index) = issues[random.below(issues.len())];
        let issue = client.issue(id, &Params::default()).await?;
        let issue: serde_json::Value = serde_json::from_str(issue.get())?;
        let title = ledger.jobs[number].title(index);
        ensure!(issue["title"] == title, "issue {id} is not {title:?}: {issue}");
    }
    Ok(())
}

async fn profiles(ledger: &mut Ledger, domain: usize, client: &Client) -> Result<()> {
    let marks = last_marks(ledger, domain);
    let known = &ledger.known[domain];
    ensure!(all_differ(known.iter().map(|k| &k.id)), "a profile id was given twice");
    let bulk = client.bulk(Family::Identity);
    for (part, export) in known.chunks(EXPORT).enumerate() {
        let entry = |k: &KnownProfile| format!("{{\"core-profile-id\":\"{}\"}}\n", k.id);
        let lines = export.iter().map(entry).collect::<Vec<_>>().concat();
        let task = bulk.submit(Action::GetCoreProfiles, Payload::bytes(lines)).await?;
        ledger.exports[domain] += 1;
        let task = bulk.wait(&task.task_id, |_| {}).await?;
        let profiles = records(bulk, &task.task_id, RecordList::Results).await?;
        ensure!(profiles.len() == export.len(), "not every profile is there: {}", task.record);
        for (n, (profile, known)) in profiles.iter().zip(export).enumerate() {
            let (job, index) = (&ledger.jobs[known.entry.0], known.entry.1);
            let mut fields = serde_json::json!({ "f": job.pad() });
            if let Some(mark) = marks.get(&(part * EXPORT + n)) {
                fields["u"] = mark.as_str().into();
            }
            ensure!(
                profile["core-profile-id"] == known.id
                    && profile["identities"] == serde_json::json!([{ "uid": job.uid(index) }])
                    && profile["custom_fields"] == fields,
                "{job}, entry {index}: expected the fields {fields}, got {profile}"
            );
        }
    }
    Ok(())
}

/// The last update of each profile, by the number of the profile. Writing tasks of a domain take
/// effect one after another, and their entries in order.
fn last_marks(ledger: &Ledger, domain: usize) -> HashMap<usize, String> {
    let mut updates: Vec<&Job> = (ledger.jobs.iter())
        .filter(|job| job.domain == domain && job.action == Action::UpdateCoreProfiles)
        .collect();
    updates.sort_by_key(|job| job.seen.as_ref().map(|t| (t.completed_at, t.task_id.clone())));
    let mut marks = HashMap::new();
    for job in updates {
        marks.extend((0..job.reached()).map(|n| (job.target(n), job.mark(n))));
    }
    marks
}
