//! The steps of the demo, through the typed client. Each step prints one line with its time from
//! the first byte sent to the last byte read.

use std::time::{Duration, Instant};

use caseload_client::{Client, Params, Payload, RecordList, SubmitOptions, Task};
use caseload_model::task::Action;
use serde::Deserialize;

use super::report::{Step, indented};
use crate::clock::now;
use crate::commands::follow::{summary, wait_with_progress};
use crate::failure::Failure;
use crate::printer::{Printer, counted, grouped};
use crate::samples::{issue_lines, profile_lines, with_faults};
use crate::secret::random_bytes;

/// Profiles that the demo imports and exports: the most that one task may have.
const PROFILES: u64 = 10_000;
/// Issues that the demo imports.
const ISSUES: u64 = 300;
/// Profiles without a fault in the import with faults.
const GOOD: u64 = 30;
/// Faults that are printed with their details. The others have their codes printed.
const FAULTS_SHOWN: usize = 2;
/// Profiles without a fault in the dry run.
const TRIED: u64 = 3_000;
const DAY_MS: i64 = 86_400_000;

/// The part of a result record that the demo needs.
#[derive(Deserialize)]
struct Created<'a> {
    #[serde(rename = "core-profile-id")]
    id: &'a str,
}

/// The part of an error record that the demo shows.
#[derive(Deserialize)]
struct Refused {
    errors: Vec<Fault>,
}

#[derive(Deserialize)]
struct Fault {
    /// Missing if the entry is not JSON.
    #[serde(default)]
    pointer: String,
    code: String,
    detail: String,
}

/// Runs all steps. Returns the task of the import with faults.
pub(crate) async fn run(client: &Client, printer: &mut Printer) -> Result<String, Failure> {
    let at = now().0;
    let tag = run_tag()?;
    let ids = import_profiles(client, printer, profile_lines(PROFILES, &tag, at)).await?;
    export_profiles(client, printer, &ids).await?;
    // The newest people, who come first in the console, are the authors of the issues.
    let by_hand = run_tag()?;
    let issues = issue_lines(ISSUES, client.domain().as_str(), &by_hand, at);
    import_issues(client, printer, issues).await?;
    list_issues(client, printer, at - 90 * DAY_MS).await?;
    walk_issues(client, printer).await?;
    let lines = with_faults(GOOD, &by_hand, &format!("{tag}-00000"), at);
    import_with_faults(client, printer, lines).await
}

/// A part of the identities of a run that another run on the same store does not have, even if it
/// began at the same moment: an identity belongs to one profile only. Short, as people read it.
fn run_tag() -> Result<String, Failure> {
    Ok(hex::encode(random_bytes::<3>()?))
}

async fn import_profiles(
    client: &Client,
    printer: &mut Printer,
    lines: Vec<u8>,
) -> Result<Vec<String>, Failure> {
    let bytes = lines.len();
    let begun = Instant::now();
    let action = Action::CreateCoreProfiles;
    let task = run_task(client, action, lines, "importing profiles", "people.jsonl").await?;
    let took = begun.elapsed();
    let mut ids = Vec::with_capacity(task.counts.total as usize);
    let mut results =
        client.bulk(action.family()).records(&task.task_id, RecordList::Results).await?.lines();
    while let Some(line) = results.next().await? {
        let created: Created<'_> = serde_json::from_slice(&line)
            .map_err(|error| Failure::server(format!("a result record is not valid: {error}")))?;
        ids.push(created.id.to_owned());
    }
    let result = format!("{} created, {} of JSON Lines", grouped(ids.len() as u64), mib(bytes));
    let rate = per_second(task.counts.total, took);
    Step { name: "profiles imported", result, took, rate }.print(printer)?;
    Ok(ids)
}

async fn export_profiles(
    client: &Client,
    printer: &mut Printer,
    ids: &[String],
) -> Result<(), Failure> {
    let lookup = |id: &String| format!("{{\"core-profile-id\":\"{id}\"}}\n");
    let lookups: String = ids.iter().map(lookup).collect();
    let begun = Instant::now();
    let action = Action::GetCoreProfiles;
    let task =
        run_task(client, action, lookups.into_bytes(), "exporting profiles", "ids.jsonl").await?;
    let body = client.bulk(action.family()).records(&task.task_id, RecordList::Results).await?;
    let mut lines = body.lines();
    let (mut profiles, mut bytes) = (0, 0);
    while let Some(line) = lines.next().await? {
        profiles += 1;
        bytes += line.len() + 1;
    }
    let took = begun.elapsed();
    let result = format!("{} exported, {} of JSON Lines", grouped(profiles), mib(bytes));
    let rate = per_second(profiles, took);
    Step { name: "profiles exported", result, took, rate }.print(printer)
}

async fn import_issues(
    client: &Client,
    printer: &mut Printer,
    lines: Vec<u8>,
) -> Result<(), Failure> {
    let begun = Instant::now();
    let task =
        run_task(client, Action::ImportIssues, lines, "importing issues", "issues.jsonl").await?;
    let took = begun.elapsed();
    let result = format!("{} created", grouped(task.counts.succeeded));
    let rate = per_second(task.counts.total, took);
    Step { name: "issues imported", result, took, rate }.print(printer)
}

async fn list_issues(client: &Client, printer: &mut Printer, since: i64) -> Result<(), Failure> {
    let mut params = Params::default();
    params.push("state", "resolved");
    params.push("created_since", since.to_string());
    params.push("page-size", "20");
    let begun = Instant::now();
    let page = client.issues(&params).await?;
    let took = begun.elapsed();
    let pages = counted(page.total_pages, "page", "pages");
    let result = format!("{} resolved in 90 days, {pages}", grouped(page.total_hits));
    Step { name: "issues listed", result, took, rate: String::new() }.print(printer)
}

async fn walk_issues(client: &Client, printer: &mut Printer) -> Result<(), Failure> {
    let begun = Instant::now();
    let mut walk = client.walk_issues(None, None);
    let (mut issues, mut steps) = (0, 0);
    while let Some(batch) = walk.next().await? {
        issues += batch.len() as u64;
        steps += 1;
    }
    let took = begun.elapsed();
    let steps = counted(steps, "request", "requests");
    let result = format!("{} by the cursor procedure, {steps}", grouped(issues));
    Step { name: "issues walked", result, took, rate: per_second(issues, took) }.print(printer)
}

/// Imports a few profiles, ten of them with faults, and prints the faults.
async fn import_with_faults(
    client: &Client,
    printer: &mut Printer,
    lines: Vec<u8>,
) -> Result<String, Failure> {
    let begun = Instant::now();
    let action = Action::CreateCoreProfiles;
    let task =
        finished_task(client, action, lines, "importing faults", "people-by-hand.jsonl").await?;
    let took = begun.elapsed();
    let mut faults = Vec::new();
    let errors = client.bulk(action.family()).records(&task.task_id, RecordList::Errors).await?;
    let mut errors = errors.lines();
    while let Some(line) = errors.next().await? {
        let refused: Refused = serde_json::from_slice(&line)
            .map_err(|error| Failure::server(format!("an error record is not valid: {error}")))?;
        faults.extend(refused.errors);
    }
    let result = format!("{} of {} refused, its faults:", task.counts.failed, task.counts.total);
    Step { name: "faulty import", result, took, rate: String::new() }.print(printer)?;
    let (shown, others) = faults.split_at(faults.len().min(FAULTS_SHOWN));
    for Fault { pointer, code, detail } in shown {
        indented(printer, &format!("{pointer} {code}: {detail}"))?;
    }
    let codes: Vec<&str> = others.iter().map(|fault| fault.code.as_str()).collect();
    indented(printer, &format!("and {}", codes.join(", ")))?;
    Ok(task.task_id)
}

/// Submits a dry run with faults: a person can correct its entries and make it real.
pub(crate) async fn dry_run(client: &Client) -> Result<(), Failure> {
    let tag = run_tag()?;
    let lines = with_faults(TRIED, &tag, &format!("{tag}-00000"), now().0);
    let action = Action::CreateCoreProfiles;
    let file_name = Some("people-of-a-partner.jsonl".to_owned());
    let options = SubmitOptions { dry_run: true, file_name, ..SubmitOptions::default() };
    client.bulk(action.family()).submit_with(action, Payload::bytes(lines), &options).await?;
    Ok(())
}

/// Submits a task and waits for it. A task with failed entries ends the demo.
async fn run_task(
    client: &Client,
    action: Action,
    lines: Vec<u8>,
    what: &str,
    file_name: &str,
) -> Result<Task, Failure> {
    let task = finished_task(client, action, lines, what, file_name).await?;
    if task.is_clean() {
        return Ok(task);
    }
    Err(Failure::server(format!("{what}: task {}: {}", task.task_id, summary(&task))))
}

/// Submits a task and waits for it.
async fn finished_task(
    client: &Client,
    action: Action,
    lines: Vec<u8>,
    what: &str,
    file_name: &str,
) -> Result<Task, Failure> {
    let bulk = client.bulk(action.family());
    let options =
        SubmitOptions { file_name: Some(file_name.to_owned()), ..SubmitOptions::default() };
    let task = bulk.submit_with(action, Payload::bytes(lines), &options).await?;
    wait_with_progress(bulk, &task, what).await
}

fn per_second(count: u64, took: Duration) -> String {
    let micros = took.as_micros().max(1) as u64;
    format!("{}/s", grouped(count * 1_000_000 / micros))
}

fn mib(bytes: usize) -> String {
    let tenths = (bytes * 10) >> 20;
    format!("{}.{} MiB", tenths / 10, tenths % 10)
}
