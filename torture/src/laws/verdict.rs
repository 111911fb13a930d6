//! What must be true when all tasks are completed: one task for each submission, one profile or
//! issue for each entry that succeeded, and in each what its entry said. Read over HTTP only, from
//! servers that were just killed and started many times.

use std::collections::HashMap;

use anyhow::{Context as _, Result, ensure};
use caseload_client::{Client, IssueParams, Payload, RecordList};
use caseload_model::task::{Action, Family};

use super::job::{Job, Known, all_differ, records};
use super::{Book, DOMAINS, total};
use caseload_testdata::SplitMix;

/// Profiles of one export task, the most that a request may carry.
const EXPORT: usize = 10_000;
/// Issues of each domain that are read one by one.
const ISSUES_READ: usize = 50;

/// Holds what is stored against the book. `others` are the issues of each domain that came in
/// another way.
pub(super) async fn hold(
    book: &mut Book,
    clients: &[Client; 2],
    others: [usize; 2],
    random: &mut SplitMix,
) -> Result<()> {
    for (domain, client) in clients.iter().enumerate() {
        let at = || format!("domain {}", DOMAINS[domain]);
        tasks(book, domain, client).await.with_context(at)?;
        issues(book, domain, client, others[domain], random).await.with_context(at)?;
        profiles(book, domain, client).await.with_context(at)?;
    }
    Ok(())
}

/// Each submission is exactly one task.
async fn tasks(book: &Book, domain: usize, client: &Client) -> Result<()> {
    for family in [Family::Identity, Family::Issues] {
        let jobs: Vec<&Job> =
            book.jobs.iter().filter(|j| j.domain == domain && j.family() == family).collect();
        let tasks = total(client, family).await?;
        let tasks = if family == Family::Identity { tasks - book.exports[domain] } else { tasks };
        ensure!(tasks == jobs.len() as u64, "{tasks} tasks of {} submissions", jobs.len());
        let ids = jobs.iter().filter_map(|j| j.seen.as_ref()).map(|task| &task.task_id);
        ensure!(all_differ(ids), "two submissions share a task");
    }
    Ok(())
}

async fn issues(
    book: &Book,
    domain: usize,
    client: &Client,
    others: usize,
    random: &mut SplitMix,
) -> Result<()> {
    let issues = &book.issues[domain];
    ensure!(all_differ(issues.iter().map(|(id, ..)| *id)), "an issue id was given twice");
    let mut params = IssueParams::default();
    params.push("page-size", "1");
    let hits = client.issues(&params).await?.total_hits;
    let expected = issues.len() + others;
    ensure!(hits == expected as u64, "{hits} issues of {expected} acknowledged");
    for _ in 0..ISSUES_READ.min(issues.len()) {
        let (id, number, index) = issues[random.below(issues.len())];
        let issue = client.issue(id, &IssueParams::default()).await?;
        let issue: serde_json::Value = serde_json::from_str(issue.get())?;
        let title = book.jobs[number].title(index);
        ensure!(issue["title"] == title, "issue {id} is not {title:?}: {issue}");
    }
    Ok(())
}

async fn profiles(book: &mut Book, domain: usize, client: &Client) -> Result<()> {
    let marks = last_marks(book, domain);
    let known = &book.known[domain];
    ensure!(all_differ(known.iter().map(|k| &k.id)), "a profile id was given twice");
    let bulk = client.bulk(Family::Identity);
    for (part, export) in known.chunks(EXPORT).enumerate() {
        let entry = |k: &Known| format!("{{\"core-profile-id\":\"{}\"}}\n", k.id);
        let lines = export.iter().map(entry).collect::<Vec<_>>().concat();
        let task = bulk.submit(Action::GetCoreProfiles, Payload::bytes(lines)).await?;
        book.exports[domain] += 1;
        let task = bulk.wait(&task.task_id, |_| {}).await?;
        let profiles = records(bulk, &task.task_id, RecordList::Results).await?;
        ensure!(profiles.len() == export.len(), "not every profile is there: {}", task.record);
        for (n, (profile, known)) in profiles.iter().zip(export).enumerate() {
            let (job, index) = (&book.jobs[known.entry.0], known.entry.1);
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

/// The last update of each profile, by its place among the known: tasks that write take effect one
/// after another, and their entries in order.
fn last_marks(book: &Book, domain: usize) -> HashMap<usize, String> {
    let mut updates: Vec<&Job> = (book.jobs.iter())
        .filter(|job| job.domain == domain && job.action == Action::UpdateCoreProfiles)
        .collect();
    updates.sort_by_key(|job| job.seen.as_ref().map(|t| (t.completed_at, t.task_id.clone())));
    let mut marks = HashMap::new();
    for job in updates {
        marks.extend((0..job.reached()).map(|n| (job.target(n), job.mark(n))));
    }
    marks
}
