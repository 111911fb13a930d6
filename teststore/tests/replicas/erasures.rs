//! Erasures and redactions whose server loses its connection before or after a statement. An
//! erasure is continued by another server once its lease is over: it counts and logs each record
//! once, and no row has a text of the person. A redaction is applied as a whole or not at all, and
//! its repeat gets one answer. The suite tests which texts are removed.

use std::sync::Arc;
use std::time::{Duration, Instant};

use caseload_model::change::{ChangeAction, RecordId, Resource};
use caseload_model::erasure::IssuesOfErased;
use caseload_model::payload::Block;
use caseload_model::task::{Action, Task};
use caseload_model::time::UnixMillis;
use caseload_store::{
    CreateTask, Domain, FindPerson, IdempotencyKey, Idempotent, Redact, RedactionCommand,
    RedactionTarget, Store, StoreError, StoredAnswer,
};
use caseload_teststore::rows::readable;
use serde_json::Value;

use super::Database;
use super::cutter::{Cut, Cutter};
use super::database::{PATIENCE, opened};
use super::lost_connections::{LEASE_MS, insist};
use crate::suite::changes::follow;
use crate::suite::erasures::{ADDRESS, OTHER, WORD, erasure, fill_with, find, selector};
use crate::suite::idempotency::keyed;
use crate::suite::issue_writes::{creation, edit, message, origin, staged};
use crate::suite::support::{
    NOW, apply_all, assert_sound, chunk, claim_at, domain, errors, later, results,
};
use crate::suite::texts::listed;

const ERASE: &str = "erase";
/// An erasure has hundreds of statements. A run cuts it at every one of so many.
const STRIDE: usize = 101;
const BUDGET: Duration = Duration::from_secs(30);
/// A text in each part of an issue that is redacted.
const SECRET: &str = "secret";

/// A change of the log that removes something.
type Removal = (Resource, RecordId, ChangeAction);

/// The removals that are logged after a position, in order.
async fn removals(store: &Arc<dyn Store>, of: &Domain, after: u64) -> Vec<Removal> {
    let changes = follow(store, of, after, 1000).await.into_iter();
    let effects =
        changes.map(|change| (change.effect.resource, change.effect.id, change.effect.action));
    let removes = [ChangeAction::Redacted, ChangeAction::Erased];
    let mut found: Vec<Removal> = effects.filter(|(.., action)| removes.contains(action)).collect();
    found.sort();
    found
}

/// The rows in which a text is left, each with its table.
async fn rows_with(database: &Database, text: &str) -> Vec<(String, String)> {
    let client = database.client().await;
    let tables = "SELECT c.relname::text FROM pg_class c
                  WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
                  AND NOT EXISTS (SELECT FROM pg_depend d WHERE d.objid = c.oid
                      AND d.deptype = 'e')";
    let mut found = Vec::new();
    for table in client.query(tables, &[]).await.unwrap() {
        let table: String = table.get(0);
        let rows = client.query(&format!("SELECT t::text FROM {table} t"), &[]).await.unwrap();
        let rows = rows.iter().map(|row| readable(row.get(0))).filter(|row| row.contains(text));
        found.extend(rows.map(|row| (table.clone(), row)));
    }
    found
}

/// Acts as a server until the erasure has ended or the connection is lost. The command that makes
/// the task is repeated until it has an answer, as a caller does.
async fn begin(store: &Arc<dyn Store>, of: &Domain, mode: IssuesOfErased) {
    let request = FindPerson {
        domain: of.id,
        selector: selector(ADDRESS),
        issues: mode,
        count: true,
        tasks: None,
        budget: BUDGET.into(),
    };
    let found = insist(async || store.find_person(request.clone()).await).await.unwrap().unwrap();
    let command = CreateTask {
        idempotency: keyed(of, ERASE, "the erasure", 1).idempotency,
        ..erasure(of, ERASE, found.person, mode)
    };
    insist(async || store.create_task(command.clone()).await).await.unwrap();
    if let Err(error) = work(store).await {
        assert!(matches!(error, StoreError::Unreachable(_)), "{error:?}");
    }
}

/// Claims the erasure and makes its steps.
async fn work(store: &Arc<dyn Store>) -> Result<(), StoreError> {
    let claim = caseload_store::ClaimTasks {
        server: "cut".to_owned(),
        now: NOW,
        lease_until: later(LEASE_MS),
        tasks_max: 1,
        reachable_since: UnixMillis(i64::MIN),
        turn: caseload_store::QueueTurn::default(),
    };
    let claimed = store.claim_tasks(claim).await?.remove(0);
    let block = store.payload_block(claimed.domain, &claimed.task.id, 0).await?.unwrap();
    let step = chunk(&claimed, Block::decode(block).unwrap(), NOW);
    loop {
        match store.apply_chunk(step.clone()).await {
            Ok(applied) if applied.task.outcome.is_some() => return Ok(()),
            // On a slow machine, a step may take too long.
            Ok(_) | Err(StoreError::ChunkInterrupted { .. }) => {}
            Err(error) => return Err(error),
        }
    }
}

/// Acts as another server, whose clock is after the lease of the first, until the erasure ends.
async fn finish(store: &Arc<dyn Store>, of: &Domain) -> Task {
    let (mut now, begun) = (later(LEASE_MS + 1), Instant::now());
    while begun.elapsed() < PATIENCE {
        let task = store.task(of.id, Action::ErasePerson.family(), ERASE).await.unwrap().unwrap();
        if task.outcome.is_some() {
            return task;
        }
        for claimed in claim_at(store, "other", now, 1).await {
            apply_all(store, &claimed, now).await;
        }
        now = UnixMillis(now.0 + LEASE_MS + 1);
    }
    panic!("the erasure does not end");
}

/// The effects of an erasure, without the ids that differ between domains.
#[derive(Debug, PartialEq)]
struct Outcome {
    counts: Value,
    removals: Vec<(Resource, ChangeAction)>,
}

/// Erases the person in a new domain, over a wire that may be cut at a statement. Returns whether
/// it was.
async fn erase(
    direct: &Arc<dyn Store>,
    (cut, cutter): (&Arc<dyn Store>, &Cutter),
    (name, mode): (&str, IssuesOfErased),
    plan: Option<(i64, Cut)>,
) -> (Outcome, bool) {
    let acme = domain(direct, name).await;
    let people = [(7, WORD.to_owned()), (8, OTHER.to_owned())];
    fill_with(direct, &acme, &people).await;
    let position = direct.last_position(acme.id).await.unwrap();
    if let Some((nth, side)) = plan {
        cutter.plan(nth, side);
    }
    begin(cut, &acme, mode).await;
    let was_cut = cutter.was_cut();
    let task = finish(direct, &acme).await;
    assert_eq!((task.counts.succeeded, task.counts.total, task.warnings), (1, 1, 0), "{name}");
    assert_eq!(errors(direct, acme.id, ERASE).await, [""; 0], "{name}");
    let receipts = results(direct, acme.id, ERASE).await;
    let [receipt] = &receipts[..] else { panic!("{name}: one receipt: {receipts:?}") };
    let receipt: Value = serde_json::from_str(receipt).unwrap();
    assert_eq!(find(direct, &acme, selector(ADDRESS), mode).await, None, "{name}");
    for (address, count) in [(ADDRESS, 0), ("staying@example.org", 2)] {
        let found = listed(direct, &acme, Some(("author_emails", address.to_owned()))).await;
        assert_eq!(found.1, count, "{name}: {address}");
    }
    let removals = removals(direct, &acme, position).await;
    assert!(removals.windows(2).all(|pair| pair[0] != pair[1]), "{name}: logged twice");
    let mut removals: Vec<_> = removals.into_iter().map(|(of, _, by)| (of, by)).collect();
    removals.sort();
    (Outcome { counts: receipt["counts"].clone(), removals }, was_cut)
}

/// Cuts the wire at the statements of an erasure from the first on; how many erasures lost their
/// connection.
async fn an_erasure_survives(mode: IssuesOfErased, first: i64) -> usize {
    let database = Database::new();
    let cutter = Cutter::new(&database.url()).await;
    let (direct, cut) = (database.server(), opened(cutter.url()));
    // A connection prepares each statement once. A first erasure prepares all of them.
    let (wanted, _) = erase(&direct, (&cut, &cutter), ("whole", mode), None).await;
    assert!(wanted.removals.len() > 3, "{wanted:?}");
    let mut lives = 0;
    for side in [Cut::Before, Cut::After] {
        for nth in (first..).step_by(STRIDE) {
            let name = format!("{side:?}-{nth}").to_lowercase();
            let plan = Some((nth, side));
            let (outcome, was_cut) = erase(&direct, (&cut, &cutter), (&name, mode), plan).await;
            assert_eq!(outcome, wanted, "{name}");
            if !was_cut {
                assert!(nth > 50, "an erasure has more than {nth} statements");
                break;
            }
            lives += 1;
        }
    }
    while direct.purge_expired(NOW).await.unwrap() {}
    assert_eq!(rows_with(&database, WORD).await, []);
    assert!(!rows_with(&database, OTHER).await.is_empty(), "the other people stay");
    assert_sound(&direct).await;
    lives
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_erasure_that_redacts_issues_survives_a_lost_connection() {
    let lives = an_erasure_survives(IssuesOfErased::Redacted, 1).await;
    println!("{lives} erasures with a lost connection");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_erasure_that_deletes_issues_survives_a_lost_connection() {
    let lives = an_erasure_survives(IssuesOfErased::Deleted, 6).await;
    println!("{lives} erasures with a lost connection");
}

/// An issue with a secret in each part, and the form that redacts all of them.
async fn secrets(store: &Arc<dyn Store>, of: &Domain) -> (u64, Redact) {
    let file = staged(store, of, "file", &[b"secret file".to_vec()]).await;
    let mut command = creation(of, &[("message-body", "secret one"), ("title", "first secret")]);
    command.attachments = vec![file];
    let made = store.create_issue(command).await.unwrap().done().unwrap();
    let id: u64 = made.location.rsplit('/').next().unwrap().parse().unwrap();
    drop(store.edit_issue(edit(of, id, &[("title", "second secret")])).await.unwrap());
    drop(store.add_message(message(of, id, &[("message-body", "secret two")])).await.unwrap());
    let issue = &listed(store, of, None).await.0[0];
    let ids = issue["messages"].as_array().unwrap().iter();
    let ids: Vec<_> = ids.map(|message| message["id"].as_str().unwrap().to_owned()).collect();
    let targets = [RedactionTarget::Title(id), RedactionTarget::Attachment("file".to_owned())];
    let messages =
        ids.into_iter().map(|message| RedactionTarget::Message { issue: id, id: message });
    let command = |target| RedactionCommand {
        external_id: Some("mine".to_owned()),
        app_publish_id: None,
        target: Ok(target),
    };
    let requests = targets.into_iter().chain(messages).map(command).collect();
    let mut origin = origin(of, NOW);
    let (text, expires_at) = ("the redaction".to_owned(), later(9_000_000));
    origin.idempotency = Some(IdempotencyKey { text, content: [1; 32], expires_at });
    (id, Redact { origin, requests })
}

/// An answer, and whether it is that of an earlier request.
fn answer_of(answer: Idempotent<StoredAnswer>) -> (StoredAnswer, bool) {
    match answer {
        Idempotent::Done(answer) => (answer, false),
        Idempotent::Replayed(answer) => (answer, true),
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_redaction_is_applied_once_or_not_at_all_at_a_lost_connection() {
    let database = Database::new();
    let cutter = Cutter::new(&database.url()).await;
    let (direct, cut) = (database.server(), opened(cutter.url()));
    let warm = domain(&direct, "warm").await;
    let (_, command) = secrets(&direct, &warm).await;
    drop(cut.redact(command).await.unwrap());
    let (mut lost, mut commits) = (0, 0);
    for side in [Cut::Before, Cut::After] {
        let mut nth = 1;
        loop {
            let name = format!("{side:?}-{nth}-{lost}").to_lowercase();
            let acme = domain(&direct, &name).await;
            let (id, command) = secrets(&direct, &acme).await;
            let before = listed(&direct, &acme, None).await;
            let position = direct.last_position(acme.id).await.unwrap();
            cutter.plan(nth, side);
            let first = cut.redact(command.clone()).await;
            let was_cut = cutter.was_cut();
            let after = listed(&direct, &acme, None).await;
            let logged = removals(&direct, &acme, position).await;
            let applied = !logged.is_empty();
            if !applied {
                assert_eq!(after, before, "{name}: nothing has changed");
            }
            let first = match first {
                Ok(answer) => Some(answer_of(answer)),
                Err(StoreError::Unreachable(_)) if was_cut => None,
                Err(other) => panic!("{name}: {other:?}"),
            };
            assert!(applied || first.is_none(), "{name} was acknowledged");
            (lost, commits) = (lost + 1, commits + usize::from(applied && first.is_none()));
            let (answer, is_repeat) = answer_of(direct.redact(command.clone()).await.unwrap());
            assert_eq!(is_repeat, applied, "{name}");
            assert!(first.is_none_or(|(first, _)| first == answer), "{name}: the first answer");
            assert_eq!(answer_of(direct.redact(command).await.unwrap()), (answer, true), "{name}");
            let logged = removals(&direct, &acme, position).await;
            assert_eq!(logged.len(), 4, "{name}: each request once: {logged:?}");
            let issue = &listed(&direct, &acme, None).await.0[0];
            assert_eq!((issue["id"].as_u64(), &issue["redacted"]), (Some(id), &true.into()));
            assert!(!issue.to_string().contains(SECRET), "{name}: {issue}");
            if was_cut {
                nth += 5;
                continue;
            }
            assert!(nth > 10, "a redaction has more than {nth} statements");
            if side == Cut::Before || commits > 0 {
                break;
            }
            // One of the last statements is the commit.
            nth -= 1;
        }
    }
    println!("{lost} redactions");
    while direct.purge_expired(NOW).await.unwrap() {}
    assert_eq!(rows_with(&database, SECRET).await, []);
    assert_sound(&direct).await;
}
