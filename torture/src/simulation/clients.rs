//! The clients of a schedule: they submit tasks, repeat submissions whose answer was lost, cancel,
//! retry, and read results. A repeat has the same idempotency key and another task id, as at the
//! HTTP API, and goes to any server.

use std::sync::Arc;
use std::time::Duration;

use caseload_model::ids::DomainId;
use caseload_model::task::{Action, Task, TaskOrigin};
use caseload_model::time::UnixMillis;
use caseload_store::tasks as rules;
use caseload_store::{
    AnswerOf, CancelTask, CreateTask, IdempotencyKey, Idempotent, PackedBlock, RecordKind,
    StagePayload, StoreError, StoredAnswer,
};
use caseload_store_sqlite::InMemoryStore;
use serde_json::Value;
use tokio::time::sleep;

use super::entries::{Planned, blocks};
use super::laws::Law;
use super::ledger::Submission;
use super::link::{Link, Request, Scene};
use super::server::with_leases;

/// Submissions of a client, at most.
const SUBMISSIONS: usize = 4;
/// Entries of a submission, at most.
const ENTRIES: usize = 7;
/// Pauses between two actions of a client, and between two tries.
const PAUSE_MS: usize = 8_000;
const AGAIN_MS: usize = 3_000;
/// How long records are stored, and idempotency keys.
const STORED_MS: i64 = 30 * 86_400_000;

/// Runs a client to its end.
pub(super) async fn run(world: Arc<Scene>, number: usize) {
    for round in 0..=world.below(SUBMISSIONS) {
        sleep(world.millis_below(PAUSE_MS)).await;
        let submission = choose(&world, format!("c{number}-{round}"));
        let Some(id) = submit(&world, submission, None).await else { continue };
        if world.once_in(6) {
            sleep(world.millis_below(PAUSE_MS)).await;
            cancel(&world, submission, &id).await;
        }
        if world.once_in(2) {
            let ended = wait(&world, submission, &id).await;
            let has_rest = ended.is_some_and(|task| task.retryable_entries() > 0);
            if has_rest && world.once_in(2) {
                retry(&world, submission, &id).await;
            }
        }
    }
}

/// Adds a submission to the ledger; returns its number.
fn choose(world: &Scene, key: String) -> usize {
    let action = world.pick(&[
        Action::CreateCoreProfiles,
        Action::CreateCoreProfiles,
        Action::UpdateCoreProfiles,
        Action::GetCoreProfiles,
        Action::ImportIssues,
    ]);
    let domain = world.below(2);
    let known = world.ledger.lock().known[domain].clone();
    let entries = (0..=world.below(ENTRIES))
        .map(|n| Planned::choose(world, action, &known, format!("{key}-{n}")))
        .collect();
    let dry_run = action.writes() && world.once_in(5);
    let mut ledger = world.ledger.lock();
    ledger.submissions.push(Submission {
        key,
        domain,
        action,
        dry_run,
        entries,
        answer: None,
        cancelled: false,
    });
    ledger.submissions.len() - 1
}

/// Submits until there is an answer; returns the id of the task. Sometimes gives up.
async fn submit(world: &Scene, submission: usize, parent: Option<&str>) -> Option<String> {
    for number in 0.. {
        let link = world.some_link();
        if let Some(link) = link {
            match try_to_submit(world, &link, submission, parent, number).await {
                Ok(answer) => {
                    let id = answer.location.clone();
                    world.ledger.lock().answered(world, submission, &answer);
                    if world.once_in(10) {
                        // Once more, though it was answered.
                        continue;
                    }
                    return Some(id);
                }
                Err(StoreError::AlreadyRetried { .. }) => return None,
                Err(StoreError::QueueFull { limit, .. }) => {
                    let right = limit == world.plan.queue_max;
                    world.require(Law::Bounds, right, || format!("the limit is {limit}"));
                }
                Err(_) if world.once_in(12) => return None,
                Err(_) => {}
            }
        }
        if world.is_broken() {
            return None;
        }
        sleep(world.millis_below(AGAIN_MS)).await;
    }
    None
}

/// One try through a server, perhaps with a staged payload.
async fn try_to_submit(
    world: &Scene,
    link: &Arc<Link>,
    submission: usize,
    parent: Option<&str>,
    number: usize,
) -> Result<StoredAnswer, StoreError> {
    let (key, domain, action, dry_run, entries) = {
        let ledger = world.ledger.lock();
        let of = &ledger.submissions[submission];
        (of.key.clone(), ledger.domains[of.domain].id, of.action, of.dry_run, of.entries.clone())
    };
    let id = format!("{key}-try{number}");
    let mut blocks = match parent {
        None => blocks(world, &entries)?,
        Some(parent) => retry_payload(link, domain, parent).await?,
    };
    let total = match parent {
        None => entries.len() as u32,
        Some(parent) => {
            world.ledger.lock().seen_of(parent).map_or(0, |seen| seen.task.retryable_entries())
        }
    };
    let staged = u32::from(blocks.len() > 1 && world.once_in(4));
    if staged > 0 {
        stage(link, domain, &id, blocks.drain(..1).collect()).await?;
    }
    let (now, content, answer, server) = (link.now(), content(&key), answers(), link.clone());
    let (expires_at, upsert) = (UnixMillis(now.0 + STORED_MS), false);
    let command = CreateTask {
        domain,
        key: None,
        request_id: None,
        id,
        action,
        dry_run,
        upsert,
        total,
        staged,
        blocks,
        now,
        expires_at,
        unfinished_max: world.plan.queue_max,
        parent_id: parent.map(str::to_owned),
        runs_parent: false,
        origin: TaskOrigin::default(),
        import_id: None,
        idempotency: Some((IdempotencyKey { text: key, content, expires_at }, answer.clone())),
    };
    let run = move |store: &InMemoryStore| {
        with_leases(&server, |lease| {
            store.leasing(domain, lease, |tx| rules::accept(&tx, &command))
        })
    };
    let accepted = link.call(Request("submissions", Some(domain)), run, move |world, leased| {
        world.ledger.lock().accepted(world, submission, &leased.answer);
        leased.seen(world);
        world.wake_all();
    });
    let accepted = accepted.await?;
    if link.is_dead() {
        // The answer does not leave the server.
        return Err(StoreError::Closed);
    }
    Ok(match accepted.answer {
        Idempotent::Done(task) => answer.of(&task),
        Idempotent::Replayed(first) => first,
    })
}

/// Reads the payload of a retry.
async fn retry_payload(
    link: &Arc<Link>,
    domain: DomainId,
    parent: &str,
) -> Result<Vec<PackedBlock>, StoreError> {
    let parent = parent.to_owned();
    let run =
        move |store: &InMemoryStore| store.read_in(domain, |tx| rules::retry_payload(&tx, &parent));
    link.call(Request("reads of a retry", Some(domain)), run, |_, _| {}).await
}

/// The content of a request, which follows from its key.
fn content(key: &str) -> [u8; 32] {
    let mut content = [0; 32];
    for (n, byte) in key.bytes().enumerate() {
        content[n % 32] ^= byte;
    }
    content
}

/// Answers with the whole task.
fn answers() -> AnswerOf<Task> {
    AnswerOf::new(|task: &Task| StoredAnswer {
        location: task.id.clone(),
        body: format!("{task:?}").into_bytes(),
    })
}

async fn stage(
    link: &Arc<Link>,
    domain: DomainId,
    id: &str,
    blocks: Vec<PackedBlock>,
) -> Result<(), StoreError> {
    let command =
        StagePayload { domain, key: None, task_id: id.to_owned(), blocks, now: link.now() };
    let run = move |store: &InMemoryStore| store.write_in(domain, |tx| rules::stage(&tx, &command));
    let staged = link.call(Request("staged blocks", Some(domain)), run, |_, ()| {}).await;
    if staged.is_err() && !link.world.once_in(2) {
        // An upload that broke off: this may fail, too, and is left to the purge then.
        let id = id.to_owned();
        let run =
            move |store: &InMemoryStore| store.write_in(domain, |tx| rules::discard_step(&tx, &id));
        drop(link.call(Request("discarded uploads", Some(domain)), run, |_, _| {}).await);
    }
    staged
}

async fn cancel(world: &Scene, submission: usize, id: &str) {
    let Some(link) = world.some_link() else { return };
    let (domain, family) = {
        let mut ledger = world.ledger.lock();
        let of = &mut ledger.submissions[submission];
        of.cancelled = true;
        let (number, family) = (of.domain, of.action.family());
        (ledger.domains[number].id, family)
    };
    let command = CancelTask { domain, key: None, family, task_id: id.to_owned(), now: link.now() };
    let run =
        move |store: &InMemoryStore| store.write_in(domain, |tx| rules::cancel(&tx, &command));
    let cancelled = link.call(Request("cancellations", Some(domain)), run, |world, task| {
        world.ledger.lock().changed(world, task, |_| {});
        world.wake_all();
    });
    drop(cancelled.await);
}

/// Waits for the end of a task and reads its results.
async fn wait(world: &Scene, submission: usize, id: &str) -> Option<Task> {
    for _ in 0..200 {
        let ended = {
            let ledger = world.ledger.lock();
            let seen = ledger.seen_of(id)?;
            seen.task.outcome.is_some().then(|| seen.task.clone())
        };
        if let Some(task) = ended {
            learn(world, submission, &task);
            return Some(task);
        }
        if world.is_broken() {
            return None;
        }
        sleep(Duration::from_secs(3)).await;
    }
    None
}

/// Notes the profiles that a task created.
fn learn(world: &Scene, submission: usize, task: &Task) {
    let mut ledger = world.ledger.lock();
    let number = ledger.submissions[submission].domain;
    let domain = ledger.domains[number].id;
    if task.action != Action::CreateCoreProfiles || task.dry_run {
        return;
    }
    for record in records(world, domain, &task.id, RecordKind::Results) {
        if let Some(id) = record.value["core-profile-id"].as_str() {
            ledger.known[number].push(id.to_owned());
        }
    }
}

/// A record, and its line as it is stored.
pub(super) struct Record {
    pub(super) value: Value,
    pub(super) line: String,
}

/// All records of a kind.
pub(super) fn records(world: &Scene, domain: DomainId, id: &str, kind: RecordKind) -> Vec<Record> {
    let (mut records, mut from) = (Vec::new(), 0);
    while let Ok(Some(block)) = world.store.find(&rules::record_block(domain, id, kind, from)) {
        let lines = block.lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty());
        records.extend(lines.map(|line| Record {
            value: serde_json::from_slice(line).unwrap_or_default(),
            line: String::from_utf8_lossy(line).into_owned(),
        }));
        from = block.next_index;
    }
    records
}

async fn retry(world: &Scene, submission: usize, id: &str) {
    let number = {
        let mut ledger = world.ledger.lock();
        let of = &ledger.submissions[submission];
        let again = Submission {
            key: format!("{}-retry", of.key),
            domain: of.domain,
            action: of.action,
            dry_run: of.dry_run,
            entries: of.entries.clone(),
            answer: None,
            cancelled: false,
        };
        ledger.submissions.push(again);
        ledger.submissions.len() - 1
    };
    submit(world, number, Some(id)).await;
}
