//! Imports: one file as several tasks, which become real together, run in the order of the file,
//! and are listed and cancelled as one.

use std::collections::BTreeSet;
use std::sync::Arc;

use caseload_model::ids::DomainId;
use caseload_model::import::Import;
use caseload_model::issue_query::Paging;
use caseload_model::key::Access;
use caseload_model::sketch::Sketch;
use caseload_model::task::{Action, Counts, Family, Outcome, Task, TaskOrigin, TaskStatus};
use caseload_model::task_query::TaskFilter;
use caseload_store::{
    CancelTask, CreateImport, CreateKey, Domain, DomainLimits, ImportPage, ImportPart, ListTasks,
    NewImport, StagePayload, Store, StoreError, pack_block,
};

use super::support::{
    NOW, apply_all, assert_not_found, assert_sound, assert_taken, block, chunk, claim, domain,
    errors, later, next_block, task_of, uid,
};
use super::task_ends::{next, origin, some};

pub(crate) const CREATE: Action = Action::CreateCoreProfiles;
const UPSERT: Action = Action::UpsertCoreProfiles;
pub(crate) const FAMILY: Family = Family::Identity;

/// The command that imports a file. Its tasks have the ids `ID-0`, `ID-1` and so on. Files of
/// imports with the same entries are the same.
pub(crate) fn import_of(
    domain: &Domain,
    id: &str,
    action: Action,
    parts: &[&[String]],
) -> CreateImport {
    let mut digest = [action.code() as u8; 32];
    let (mut first, mut packed) = (0, Vec::new());
    for (n, lines) in parts.iter().enumerate() {
        for (at, byte) in lines.concat().bytes().enumerate() {
            digest[at % 31] = digest[at % 31].wrapping_mul(3).wrapping_add(byte);
        }
        let blocks = vec![pack_block(&block(lines, first)).unwrap()];
        let (task_id, total) = (format!("{id}-{n}"), lines.len() as u32);
        packed.push(ImportPart {
            task_id,
            total,
            content_length: u64::from(total),
            staged: 0,
            blocks,
            parent_id: None,
        });
        first += total;
    }
    CreateImport {
        domain: domain.id,
        key: None,
        request_id: None,
        id: id.to_owned(),
        action,
        dry_run: false,
        upsert: false,
        file: r#"{"type":"jsonl"}"#.to_owned(),
        digest,
        sketch: Sketch::default(),
        once: false,
        parts: packed,
        now: NOW,
        expires_at: later(1_000_000),
        unfinished_max: 1000,
        parent_id: None,
        runs_parent: false,
        origin: TaskOrigin::default(),
        idempotency: None,
    }
}

/// Stages the blocks of one part.
pub(crate) async fn stage_part(store: &Arc<dyn Store>, command: &mut CreateImport, part: usize) {
    let part = &mut command.parts[part];
    part.staged = part.blocks.len() as u32;
    let (task_id, blocks) = (part.task_id.clone(), std::mem::take(&mut part.blocks));
    let stage = StagePayload { key: None, domain: command.domain, task_id, blocks, now: NOW };
    store.stage_payload(stage).await.unwrap();
}

pub(crate) fn uids(name: &str, count: usize) -> Vec<String> {
    (0..count).map(|n| uid(&format!("{name}{n}"))).collect()
}

pub(crate) async fn create(store: &Arc<dyn Store>, command: CreateImport) -> NewImport {
    store.create_import(command).await.unwrap().done().unwrap()
}

pub(crate) async fn read(store: &Arc<dyn Store>, domain: &Domain, id: &str) -> Import {
    store.import(domain.id, FAMILY, id).await.unwrap().unwrap()
}

pub(crate) async fn list(
    store: &Arc<dyn Store>,
    domain: DomainId,
    filter: TaskFilter,
) -> ImportPage {
    let paging = Paging { page: 1, page_size: 1000 };
    let request = ListTasks { domain, family: FAMILY, filter, paging };
    store.list_imports(request).await.unwrap()
}

/// Runs the oldest task.
pub(crate) async fn run_one(store: &Arc<dyn Store>) -> Task {
    let claimed = claim(store, 1).await.remove(0);
    apply_all(store, &claimed, NOW).await
}

fn cancel_of(domain: &Domain, id: &str) -> CancelTask {
    CancelTask {
        domain: domain.id,
        key: None,
        family: FAMILY,
        task_id: id.to_owned(),
        now: later(9),
    }
}

pub(crate) async fn an_import_is_created_whole_and_runs_in_the_order_of_its_file(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    let entries = [uids("a", 4), vec![uid("b"), uid("a0")], uids("c", 3)];
    let parts: Vec<&[String]> = entries.iter().map(Vec::as_slice).collect();
    for dry_run in [true, false] {
        let id = if dry_run { "dry" } else { "real" };
        let mut command = import_of(&acme, id, CREATE, &parts);
        command = CreateImport { dry_run, origin: origin(1), ..command };
        for part in 0..2 {
            stage_part(&store, &mut command, part).await;
        }
        assert_eq!(store.import(acme.id, FAMILY, id).await.unwrap(), None);
        let NewImport { import, is_repeat } = create(&store, command).await;
        assert!(!is_repeat);
        assert_eq!(read(&store, &acme, id).await, import);
        assert_eq!((import.status(), import.progress()), (TaskStatus::Created, 0));
        assert_eq!((import.origin.clone(), import.counts()), (origin(1), Counts::new(9)));
        assert_sound(&store).await;
        for (n, part) in entries.iter().enumerate() {
            let claimed = claim(&store, 9).await;
            assert_eq!(claimed.len(), 1, "the tasks run one after another");
            let Task { id: task, import_id, counts, .. } = &claimed[0].task;
            assert_eq!((task, import_id), (&format!("{id}-{n}"), &Some(id.to_owned())));
            assert_eq!(counts.total as usize, part.len());
            let first = next_block(&store, &claimed[0], 0).await.entries[0].index;
            assert_eq!(first, [0, 4, 6][n], "indexes are those of the file");
            apply_all(&store, &claimed[0], later(n as i64)).await;
            let now = read(&store, &acme, id).await;
            let done = [4, 6, 9][n];
            assert_eq!(now.counts().unprocessed, 9 - done);
            assert_eq!(now.progress(), [44, 66, 100][n]);
            let is_last = n == 2;
            assert_eq!(now.status() == TaskStatus::Completed, is_last, "{:?}", now.status());
            assert_eq!(now.completed_at(), is_last.then_some(later(2)));
        }
        assert_sound(&store).await;
    }
    let ended = read(&store, &acme, "real").await;
    assert_eq!(ended.counts(), Counts { total: 9, succeeded: 8, failed: 1, unprocessed: 0 });
    assert_eq!(ended.outcome(), Some(Outcome::CompletedWithErrors));
    assert!(errors(&store, acme.id, "real-1").await[0].starts_with(r#"{"index":5,"line":6"#));
}

pub(crate) async fn an_import_is_visible_only_in_its_family_and_domain(store: Arc<dyn Store>) {
    let (acme, other) = (domain(&store, "acme").await, domain(&store, "other").await);
    create(&store, import_of(&acme, "i", CREATE, &[&uids("a", 2)])).await;
    assert_eq!(store.import(acme.id, Family::Issues, "i").await.unwrap(), None);
    assert_eq!(store.import(other.id, FAMILY, "i").await.unwrap(), None);
    assert_eq!(list(&store, other.id, TaskFilter::default()).await, ImportPage::default());
    let (filter, paging) = (TaskFilter::default(), Paging::default());
    let request = ListTasks { domain: acme.id, family: Family::Issues, filter, paging };
    assert_eq!(store.list_imports(request).await.unwrap(), ImportPage::default());
    assert_not_found(&store.cancel_import(cancel_of(&other, "i")).await);
    let family = Family::Issues;
    let of_issues = CancelTask { family, ..cancel_of(&acme, "i") };
    assert_not_found(&store.cancel_import(of_issues).await);
    assert_not_found(&store.cancel_import(cancel_of(&acme, "i-0")).await);
    let taken = import_of(&acme, "i", CREATE, &[&uids("b", 2)]);
    assert_taken(&store.create_import(taken).await);
    assert_eq!(
        create(&store, import_of(&other, "i", CREATE, &[&uids("a", 2)])).await.import.id,
        "i"
    );
    assert_sound(&store).await;
}

/// Whether the filter matches the import as a whole: as a task with its state.
fn matches(filter: &TaskFilter, import: &Import) -> bool {
    let whole = Task {
        status: import.status(),
        outcome: import.outcome(),
        created_at: import.created_at,
        parent_id: import.parent_id.clone(),
        origin: import.origin.clone(),
        ..import.tasks[0].clone()
    };
    filter.matches(&whole)
}

pub(crate) async fn random_filters_list_the_imports_that_a_naive_reading_finds(
    store: Arc<dyn Store>,
) {
    let acme = domain(&store, "acme").await;
    let seed = &mut 11;
    for n in 0..24 {
        let id = format!("i{n:02}");
        let entries = uids(&id, 3);
        let parts: [&[String]; 3] = [&entries[..1], &entries[1..2], &entries[2..]];
        let action = [CREATE, UPSERT][next(seed) % 2];
        let command = import_of(&acme, &id, action, &parts[..=next(seed) % 3]);
        let command = CreateImport {
            now: later(i64::from(n) * 10),
            dry_run: next(seed).is_multiple_of(3),
            parent_id: (n > 3).then(|| format!("unknown {}", next(seed) % 4)),
            origin: origin(n),
            ..command
        };
        create(&store, command).await;
        for _ in 0..next(seed) % 3 {
            for claimed in claim(&store, 1).await {
                apply_all(&store, &claimed, NOW).await;
            }
        }
        if next(seed).is_multiple_of(5) {
            drop(store.cancel_import(cancel_of(&acme, &id)).await);
        }
    }
    let all = loop {
        let all = list(&store, acme.id, TaskFilter::default()).await;
        if all.imports.iter().any(|import| import.status() == TaskStatus::Processing) {
            break all;
        }
        run_one(&store).await;
    };
    let ids: Vec<_> = all.imports.iter().map(|import| import.id.clone()).collect();
    let newest_first: Vec<_> = (0..24).rev().map(|n| format!("i{n:02}")).collect();
    assert_eq!((ids, all.total_hits), (newest_first, 24));
    for import in &all.imports {
        assert_eq!(*import, read(&store, &acme, &import.id).await);
    }
    let found: BTreeSet<_> = all.imports.iter().map(Import::status).collect();
    assert_eq!(found.len(), 3, "{found:?}");
    for _ in 0..60 {
        let keys = ["k0", "k1", "key \u{0} 2", "nobody"].map(str::to_owned);
        let filter = TaskFilter {
            statuses: some(TaskStatus::ALL, seed),
            actions: some(&[CREATE, UPSERT], seed),
            outcomes: some(Outcome::ALL, seed),
            created_since: next(seed).is_multiple_of(4).then(|| later((next(seed) % 250) as i64)),
            created_until: next(seed).is_multiple_of(4).then(|| later((next(seed) % 250) as i64)),
            dry_run: next(seed).is_multiple_of(3).then(|| next(seed).is_multiple_of(2)),
            parent_id: next(seed).is_multiple_of(4).then(|| format!("unknown {}", next(seed) % 5)),
            submitted_by: some(&keys, seed),
            import_id: None,
        };
        let naive = all.imports.iter().filter(|import| matches(&filter, import));
        let naive: Vec<_> = naive.cloned().collect();
        let found = list(&store, acme.id, filter.clone()).await;
        assert_eq!(found.total_hits, naive.len() as u64, "{filter:?}");
        assert_eq!(found.imports, naive, "{filter:?}");
    }
    let paging = Paging { page: 3, page_size: 10 };
    let (domain, filter) = (acme.id, TaskFilter::default());
    let last = ListTasks { domain, family: FAMILY, filter, paging };
    let last = store.list_imports(last).await.unwrap();
    assert_eq!((&last.imports[..], last.total_hits), (&all.imports[20..], 24));
    store.create_task(task_of(&acme, "alone", CREATE, &uids("alone", 1), 1)).await.unwrap();
    for (import, tasks) in [("", 1), ("i05", all.imports[18].tasks.len()), ("unknown", 0)] {
        let filter = TaskFilter { import_id: Some(import.to_owned()), ..TaskFilter::default() };
        let request =
            ListTasks { domain, family: FAMILY, filter: filter.clone(), paging: Paging::default() };
        let found = store.list_tasks(request).await.unwrap();
        assert_eq!((found.tasks.len(), found.total_hits), (tasks, tasks as u64), "{import}");
        assert!(found.tasks.iter().all(|task| filter.matches(task)), "{import}");
    }
    assert_sound(&store).await;
}

pub(crate) async fn cancelling_an_import_ends_its_unfinished_tasks(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let (a, b, c) = (uids("a", 2), uids("b", 2), uids("c", 2));
    create(&store, import_of(&acme, "i", CREATE, &[&a, &b, &c])).await;
    run_one(&store).await;
    let claimed = claim(&store, 1).await.remove(0);
    let asked = store.cancel_import(cancel_of(&acme, "i")).await.unwrap();
    let outcomes: Vec<_> = asked.tasks.iter().map(|task| task.outcome).collect();
    assert_eq!(outcomes, [Some(Outcome::Succeeded), None, Some(Outcome::Cancelled)]);
    assert_eq!((asked.status(), asked.outcome()), (TaskStatus::Processing, None));
    assert_sound(&store).await;
    store.cancel_import(cancel_of(&acme, "i")).await.unwrap();
    let command = chunk(&claimed, next_block(&store, &claimed, 2).await, NOW);
    let task = store.apply_chunk(command).await.unwrap().task;
    assert_eq!(task.outcome, Some(Outcome::Cancelled));
    let ended = read(&store, &acme, "i").await;
    assert_eq!(ended.outcome(), Some(Outcome::Cancelled));
    assert_eq!(ended.counts(), Counts { total: 6, succeeded: 2, failed: 0, unprocessed: 4 });
    let refused = store.cancel_import(cancel_of(&acme, "i")).await;
    assert!(matches!(refused, Err(StoreError::TaskCompleted)), "{refused:?}");
    assert!(claim(&store, 9).await.is_empty());
    assert_sound(&store).await;
}

pub(crate) async fn a_refused_import_changes_nothing(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let (a, b) = (uids("a", 2), uids("b", 2));
    store.create_task(task_of(&acme, "taken-1", CREATE, &a, 2)).await.unwrap();
    let used = store.usage(acme.id).await.unwrap();
    let lost = || {
        let mut command = import_of(&acme, "lost", CREATE, &[&a, &b]);
        (command.parts[1].staged, command.parts[1].blocks) = (1, Vec::new());
        command
    };
    let refused = store.create_import(lost()).await;
    assert!(matches!(refused, Err(StoreError::UploadLost)), "{refused:?}");
    let taken = import_of(&acme, "taken", CREATE, &[&a, &b]);
    assert_taken(&store.create_import(taken).await);
    let mut empty = import_of(&acme, "empty", CREATE, &[&a, &b]);
    empty.parts.clear();
    let refused = store.create_import(empty).await;
    assert!(matches!(refused, Err(StoreError::Corrupt(_))), "{refused:?}");
    assert_eq!(store.usage(acme.id).await.unwrap(), used);
    assert_eq!(list(&store, acme.id, TaskFilter::default()).await, ImportPage::default());
    assert_sound(&store).await;
    // The file is not known, and what was staged can still be used.
    let mut whole = lost();
    whole.parts[1].blocks = import_of(&acme, "lost", CREATE, &[&a, &b]).parts.remove(1).blocks;
    stage_part(&store, &mut whole, 0).await;
    stage_part(&store, &mut whole, 1).await;
    assert_eq!(create(&store, whole).await.import.repeat_of, None);
    assert_sound(&store).await;
}

pub(crate) async fn an_import_needs_room_for_one_task(store: Arc<dyn Store>) {
    let acme = domain(&store, "acme").await;
    let (a, b, c) = (uids("a", 2), uids("b", 2), uids("c", 2));
    let command = |id: &str, unfinished_max| {
        let command = import_of(&acme, id, CREATE, &[&a, &b, &c]);
        CreateImport { unfinished_max, ..command }
    };
    assert_eq!(create(&store, command("i", 1)).await.import.tasks.len(), 3);
    let refused = store.create_import(command("full", 3)).await;
    assert!(matches!(refused, Err(StoreError::QueueFull { unfinished: 3, limit: 3 })));
    let limits = DomainLimits { quota_tasks: Some(3), ..DomainLimits::default() };
    store.set_limits(acme.id, limits, NOW.into()).await.unwrap();
    let refused = store.create_import(command("full", 9)).await;
    assert!(matches!(refused, Err(StoreError::QuotaExceeded(_))), "{refused:?}");
    run_one(&store).await;
    create(&store, command("next", 9)).await;
    assert_eq!(store.usage(acme.id).await.unwrap().tasks, 5);
    let used = store.usage(acme.id).await.unwrap();
    let limits = DomainLimits { quota_bytes: Some(used.bytes), ..DomainLimits::default() };
    store.set_limits(acme.id, limits, NOW.into()).await.unwrap();
    let refused = store.create_import(command("large", 9)).await;
    assert!(matches!(refused, Err(StoreError::QuotaExceeded(_))), "{refused:?}");
    assert_eq!(store.usage(acme.id).await.unwrap(), used);
    assert_sound(&store).await;
}

pub(crate) async fn deleting_a_domain_removes_its_imports(store: Arc<dyn Store>) {
    let (acme, other) = (domain(&store, "acme").await, domain(&store, "other").await);
    for domain in [&acme, &other] {
        create(&store, import_of(domain, "i", CREATE, &[&uids("a", 2), &uids("b", 1)])).await;
    }
    store.delete_domain(acme.id).await.unwrap();
    while store.purge_expired(NOW).await.unwrap() {}
    assert_sound(&store).await;
    assert_eq!(store.import(acme.id, FAMILY, "i").await.unwrap(), None);
    let refused = import_of(&acme, "late", CREATE, &[&uids("a", 2)]);
    assert_not_found(&store.create_import(refused).await);
    let key = CreateKey {
        domain: other.id,
        id: "k".to_owned(),
        hash: [7; 32],
        name: "a key".to_owned(),
        access: Access::Write,
        origin: NOW.into(),
        expires_at: None,
    };
    store.create_key(key).await.unwrap();
    let with_key = import_of(&other, "with key", CREATE, &[&uids("c", 2)]);
    create(&store, CreateImport { key: Some("k".to_owned()), ..with_key }).await;
    assert_eq!(list(&store, other.id, TaskFilter::default()).await.total_hits, 2);
    assert_sound(&store).await;
}
