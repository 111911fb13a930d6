//! Imports that come from other ones: retries, runs of dry runs, the same file sent again, and the
//! same request sent again. Two of them at once have the same result as one after the other.

use std::collections::BTreeSet;
use std::sync::Arc;

use caseload_model::task_query::TaskFilter;
use caseload_store::{
    AnswerOf, CreateImport, CreateTask, Domain, IdempotencyKey, Idempotent, NewImport, Store,
    StoreError, StoredAnswer,
};
use futures_util::future::join_all;

use super::imports::{CREATE, create, import_of, list, read, run_one, stage_part, uids};
use super::support::{
    NOW, assert_sound, claim_at, domain, errors, later, run, run_command, task_of, uid,
};

/// An import of two parts, each with one entry that fails, has ended.
async fn failed(store: &Arc<dyn Store>, acme: &Domain, dry_run: bool) {
    run(store, acme, "before", CREATE, &[uid("taken")]).await;
    let parts = [[uid("a"), uid("taken")], [uid("b"), uid("taken")]];
    let command = import_of(acme, "i", CREATE, &[&parts[0], &parts[1]]);
    create(store, CreateImport { dry_run, ..command }).await;
    for _ in 0..2 {
        run_one(store).await;
    }
    assert_eq!(read(store, acme, "i").await.counts().failed, 2);
}

/// The import `id` of the same parts as the import `i`.
async fn child(store: &Arc<dyn Store>, acme: &Domain, id: &str, runs: bool) -> CreateImport {
    let mut command = import_of(acme, id, CREATE, &[&[uid("x")], &[uid("y")]]);
    for (n, part) in command.parts.iter_mut().enumerate() {
        let parent = format!("i-{n}");
        part.blocks = if runs {
            store.whole_payload(acme.id, &parent).await.unwrap()
        } else {
            store.retry_payload(acme.id, &parent).await.unwrap()
        };
        part.total = if runs { 2 } else { 1 };
        part.parent_id = Some(parent);
    }
    CreateImport { parent_id: Some("i".to_owned()), runs_parent: runs, ..command }
}

pub(crate) async fn an_import_has_one_retry_that_it_names(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    failed(&store, &acme, false).await;
    let commands =
        [child(&store, &acme, "one", false).await, child(&store, &acme, "two", false).await];
    let full = CreateImport { unfinished_max: 0, ..commands[0].clone() };
    let refused = store.create_import(full).await;
    assert!(matches!(refused, Err(StoreError::QueueFull { .. })), "{refused:?}");
    assert_eq!(read(&store, &acme, "i").await.retried_by, None);
    // One of the tasks is retried by itself: the import names that one.
    let alone = CreateTask {
        blocks: store.retry_payload(acme.id, "i-1").await.unwrap(),
        parent_id: Some("i-1".to_owned()),
        ..task_of(&acme, "alone", CREATE, &[uid("x")], 1)
    };
    store.create_task(alone).await.unwrap();
    let refused = store.create_import(commands[0].clone()).await;
    let Err(StoreError::AlreadyRetried { by }) = refused else { panic!("{refused:?}") };
    assert_eq!((by.as_str(), read(&store, &acme, "i").await.retried_by), ("alone", None));
    let without = |mut command: CreateImport| {
        command.parts.pop();
        command
    };
    let answers = join_all(commands.map(|command| store.create_import(without(command)))).await;
    let (mut made, mut refused) = (Vec::new(), Vec::new());
    for answer in answers {
        match answer {
            Ok(new) => made.push(new.done().unwrap().import),
            Err(StoreError::AlreadyRetried { by }) => refused.push(by),
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(refused, [made[0].id.clone()], "the refusal names the first");
    let parent = read(&store, &acme, "i").await;
    assert_eq!(parent.retried_by.as_ref(), Some(&made[0].id));
    assert_eq!(parent.tasks[0].retried_by.as_ref(), Some(&made[0].tasks[0].id));
    assert_eq!((made[0].parent_id.as_deref(), made[0].counts().total), (Some("i"), 1));
    let children = TaskFilter { parent_id: Some("i".to_owned()), ..TaskFilter::default() };
    assert_eq!(list(&store, acme.id, children).await.imports, made);
    assert_sound(&store).await;
}

pub(crate) async fn a_dry_import_has_one_run_that_it_names(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    failed(&store, &acme, true).await;
    let run = create(&store, child(&store, &acme, "run", true).await).await.import;
    assert_eq!((run.counts().total, run.repeat_of.clone()), (4, None));
    let refused = store.create_import(child(&store, &acme, "again", true).await).await;
    let Err(StoreError::AlreadyRun { by }) = refused else { panic!("{refused:?}") };
    assert_eq!(by, "run");
    let parent = read(&store, &acme, "i").await;
    assert_eq!(parent.run_by.as_deref(), Some("run"));
    assert_eq!(parent.tasks[1].run_by.as_deref(), Some("run-1"));
    // The file of the dry run was imported by its run.
    let parts = [[uid("a"), uid("taken")], [uid("b"), uid("taken")]];
    let file = import_of(&acme, "file", CREATE, &[&parts[0], &parts[1]]);
    let repeat = create(&store, CreateImport { once: true, ..file }).await;
    assert_eq!((repeat.import, repeat.is_repeat), (run, true));
    assert_sound(&store).await;
}

pub(crate) async fn a_file_sent_again_is_a_repeat_until_its_import_expires(store: Arc<dyn Store>) {
    let (acme, other) = (domain(&store, "acme").await, domain(&store, "other").await);
    let entries = uids("a", 2);
    let of = |domain: &Domain, id: &str, once: bool| {
        let command = import_of(domain, id, CREATE, &[&entries]);
        CreateImport { once, ..command }
    };
    let dry = CreateImport { dry_run: true, ..of(&acme, "dry", true) };
    assert_eq!(create(&store, dry).await.import.repeat_of, None);
    let first = create(&store, of(&acme, "first", true)).await;
    assert_eq!((first.is_repeat, &first.import.repeat_of), (false, &None), "a dry run is none");
    // Once: nothing is created, and what was staged remains to be discarded.
    let mut again = CreateImport { unfinished_max: 0, ..of(&acme, "again", true) };
    stage_part(&store, &mut again, 0).await;
    let repeat = create(&store, again).await;
    assert_eq!((repeat.is_repeat, &repeat.import), (true, &first.import));
    assert!(store.payload_block(acme.id, "again-0", 0).await.unwrap().is_some());
    assert_sound(&store).await;
    store.discard_staged(acme.id, "again-0").await.unwrap();
    assert_eq!(store.payload_block(acme.id, "again-0", 0).await.unwrap(), None);
    assert_eq!(list(&store, acme.id, TaskFilter::default()).await.total_hits, 2);
    // Not once: each names the one before.
    for (id, before) in [("second", "first"), ("third", "second")] {
        let made = create(&store, of(&acme, id, false)).await;
        assert_eq!((made.is_repeat, made.import.repeat_of.as_deref()), (false, Some(before)));
        assert_eq!(read(&store, &acme, id).await, made.import);
    }
    let dry = CreateImport { dry_run: true, ..of(&acme, "dry again", true) };
    let dry = create(&store, dry).await;
    assert_eq!((dry.is_repeat, dry.import.repeat_of.as_deref()), (false, Some("third")));
    assert!(!create(&store, of(&other, "first", true)).await.is_repeat, "of another domain");
    // At `expires_at`, the import is no longer known.
    let (now, expires_at) = (later(1_000_000), later(2_000_000));
    let late = CreateImport { now, expires_at, ..of(&acme, "late", true) };
    let late = create(&store, late).await;
    assert_eq!((late.is_repeat, late.import.repeat_of), (false, None));
    assert!(create(&store, of(&acme, "later", true)).await.is_repeat);
    assert_sound(&store).await;
}

pub(crate) async fn one_of_eight_concurrent_imports_of_a_file_is_created(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let (a, b) = (uids("a", 2), uids("b", 2));
    let commands = (0..8).map(|n| {
        let command = import_of(&acme, &format!("i{n}"), CREATE, &[&a, &b]);
        store.create_import(CreateImport { once: true, ..command })
    });
    let answers = join_all(commands).await.into_iter();
    let answers: Vec<_> = answers.map(|answer| answer.unwrap().done().unwrap()).collect();
    assert_eq!(answers.iter().filter(|new| !new.is_repeat).count(), 1);
    assert!(answers.iter().all(|new| new.import == answers[0].import), "{answers:?}");
    assert_eq!(list(&store, acme.id, TaskFilter::default()).await.total_hits, 1);
    assert_eq!(store.usage(acme.id).await.unwrap().tasks, 2);
    assert_sound(&store).await;
}

pub(crate) async fn concurrent_imports_of_a_file_that_are_all_wanted_form_a_chain(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    let entries = uids("a", 2);
    let commands = (0..6)
        .map(|n| store.create_import(import_of(&acme, &format!("i{n}"), CREATE, &[&entries])));
    let made = join_all(commands).await.into_iter();
    let before: Vec<_> =
        made.map(|answer| answer.unwrap().done().unwrap().import.repeat_of).collect();
    let named: BTreeSet<_> = before.iter().flatten().collect();
    assert_eq!(named.len(), 5, "no import is the one before two others: {before:?}");
    assert_sound(&store).await;
}

pub(crate) async fn a_repeated_request_for_an_import_gets_the_first_answer(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let name = |new: &NewImport| {
        let body = format!("{} {} {}", new.import.id, new.is_repeat, new.import.created_at.0);
        StoredAnswer { location: new.import.id.clone(), body: body.into_bytes() }
    };
    let keyed = |id: &str, text: &str, now| {
        let key =
            IdempotencyKey { text: text.to_owned(), content: [1; 32], expires_at: later(9_000) };
        let idempotency = Some((key, AnswerOf::new(name)));
        let command = import_of(&acme, id, CREATE, &[&uids("a", 2)]);
        CreateImport { now, once: true, idempotency, ..command }
    };
    store
        .create_task(CreateTask { now: later(7), ..task_of(&acme, "t", CREATE, &[uid("t")], 1) })
        .await
        .unwrap();
    // The clock of this server is slow: the import is not older than the task.
    let first = create(&store, keyed("first", "k", NOW)).await;
    assert_eq!(first.import.created_at, later(7));
    assert_eq!(read(&store, &acme, "first").await, first.import);
    let full = CreateImport { unfinished_max: 0, ..keyed("again", "k", later(9)) };
    let Idempotent::Replayed(answer) = store.create_import(full).await.unwrap() else {
        panic!("a second import")
    };
    assert_eq!(answer, name(&first));
    // The same file under another key: its answer says so.
    let repeat = create(&store, keyed("repeat", "l", later(9))).await;
    assert!(repeat.is_repeat);
    let stored = store.stored_answer(acme.id, "l").await.unwrap().unwrap().1;
    assert_eq!(stored, name(&repeat));
    assert_sound(&store).await;
}

pub(crate) async fn an_expired_import_loses_its_entries_but_not_its_rows(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    failed(&store, &acme, false).await;
    let before = read(&store, &acme, "i").await;
    while store.purge_expired(later(9_000_000)).await.unwrap() {}
    assert_eq!(read(&store, &acme, "i").await, before);
    assert_eq!(errors(&store, acme.id, "i-0").await, Vec::<String>::new());
    assert_eq!(store.payload_block(acme.id, "i-0", 0).await.unwrap(), None);
    let again = CreateTask {
        now: later(9_000_000),
        expires_at: later(9_900_000),
        ..task_of(&acme, "t", CREATE, &[uid("t")], 1)
    };
    run_command(&store, again, later(9_000_000)).await;
    assert!(claim_at(&store, "s", later(9_000_000), 9).await.is_empty());
    assert_sound(&store).await;
}
