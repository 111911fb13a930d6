//! Imports: a file as several tasks, which become real in one transaction. The row of an import
//! says which file it was; its state is that of its tasks. Invariants: an import has a task, and
//! its tasks have places in the order of the file. Of the imports with one digest that are not dry
//! runs, the last one has it: a unique index lets one of several creations through, and the others
//! wait for its commit.

use caseload_model::change::Batch;
use caseload_model::import::Import;
use caseload_model::sketch::Sketch;
use caseload_model::task::{Action, Family, Task, TaskStatus};

use super::accept::{add, limits, log_created, note_child, take_payload};
use super::doubles;
use super::end::cancel_by;
use super::reads::{Listed, chosen, keys};
use super::statements::{COLUMNS as TASK_COLUMNS, TaskStore, origin, task};
use crate::changes::log;
use crate::failpoint::{self, Failpoint};
use crate::idempotency::{replace_answer, store_or_first};
use crate::sql::{Row, Value};
use crate::{
    CancelTask, CreateImport, CreateTask, Idempotent, ImportPage, ListTasks, NewImport, StoreError,
    values,
};

/// The columns that [`read`] reads, in its order.
const COLUMNS: &str = "t.id, t.action, t.dry_run, t.upsert, t.file, t.created_at, t.expires_at, \
     t.parent_id, t.retried_by, t.run_by, t.repeat_of, t.doubles_of, t.doubles_at, t.doubles, \
     t.without_id, t.file_name, t.content_length, t.submitted_key, t.submitted_key_name";
/// Imports whose tasks one statement reads.
const IMPORTS_READ: usize = 20;
/// [`Import::status`] and [`Import::outcome`] by the tasks `s`.
const STATUS: &str = "CASE WHEN min(s.status) = 4 THEN 4 WHEN max(s.status) < 3 \
     THEN max(s.status) ELSE 3 END";
const OUTCOME: &str = "CASE WHEN min(s.status) = 4 THEN max(s.outcome) ELSE 0 END";

/// Creates an import with its tasks, which are those of [`CreateImport::take_tasks`].
pub fn create_import(
    store: &impl TaskStore,
    command: &CreateImport,
    tasks: &[CreateTask],
) -> Result<Idempotent<NewImport>, StoreError> {
    let by = store.require_caller(command.key.as_deref(), command.now)?;
    let expected = command.accepted(tasks.iter().map(|task| task.accepted(None)).collect());
    let expected = NewImport { import: expected, is_repeat: false };
    // First of all: a repeat gets its answer even if the queue is full by now.
    if let Some((key, answer)) = &command.idempotency
        && let Some(first) = store_or_first(store, key, &answer.of(&expected))?
    {
        return Ok(Idempotent::Replayed(first));
    }
    let created = create(store, command, tasks, expected.import.clone())?;
    if let Some((key, answer)) = command.idempotency.as_ref().filter(|_| created != expected) {
        replace_answer(store, key, &answer.of(&created))?;
    }
    if !created.is_repeat {
        log_created(store, (by, &command.request_id), &created.import.tasks)?;
    }
    failpoint::reached(Failpoint::ImportBeforeCommit);
    Ok(Idempotent::Done(created))
}

fn create(
    store: &impl TaskStore,
    command: &CreateImport,
    tasks: &[CreateTask],
    mut import: Import,
) -> Result<NewImport, StoreError> {
    if let Some(first) = add_or_first(store, command, &mut import)? {
        return Ok(NewImport { import: first, is_repeat: true });
    }
    // Room for one task is enough: the file is here already, and half of it is of no use.
    let limits = limits(store, command.unfinished_max)?;
    if let Some(parent) = &command.parent_id {
        note_child(store, "imports", parent, &command.id, command.runs_parent)?;
    }
    let first_indexes = tasks.iter().map(|task| take_payload(store, task));
    let first_indexes = first_indexes.collect::<Result<Vec<_>, _>>()?;
    store.store_bytes(command.file.len() as i64)?;
    let family = command.action.family();
    let (place, last) = store.next_places(tasks.len() as u32, family, limits)?;
    let places = (0..).map(|n| place.map(|first| first + n));
    let added = tasks.iter().zip(first_indexes).zip(places);
    let added = added.map(|((task, index), place)| add(store, task, index, place, last));
    let added = added.collect::<Result<Vec<_>, _>>()?;
    if added.is_empty() {
        return Err(StoreError::Corrupt("an import without tasks".to_owned()));
    }
    let before = import.created_at;
    import =
        Import { repeat_of: import.repeat_of, doubles: import.doubles, ..command.accepted(added) };
    if import.created_at != before {
        let update = "UPDATE imports SET created_at = ?3, expires_at = ?4
                      WHERE domain_id = ?1 AND id = ?2";
        let Import { id, created_at, expires_at, .. } = &import;
        store.change(update, values![store.domain(), id, created_at, expires_at])?;
    }
    Ok(NewImport { import, is_repeat: false })
}

/// Adds the row of an import and notes the import that it repeats, or returns the first import if
/// there is to be no other one.
fn add_or_first(
    store: &impl TaskStore,
    command: &CreateImport,
    import: &mut Import,
) -> Result<Option<Import>, StoreError> {
    let (digest, sketch) = of_file(store, command)?;
    if command.parent_id.is_none() || command.runs_parent {
        import.doubles = doubles::find(store, command, &sketch)?;
    }
    let (domain, family) = (store.domain(), command.action.family().code());
    let same = "t.family = ?2 AND t.digest = ?3 AND NOT t.dry_run";
    if command.dry_run && digest.is_some() {
        let first = find(store, same, values![domain, family, digest])?;
        let is_kept = |first: &Import| first.expires_at > command.now;
        import.repeat_of = first.filter(is_kept).map(|first| first.id);
    }
    // If another transaction is creating an import of the same file, this waits for its end.
    while !insert(store, import, digest, &sketch)? {
        let Some(first) = find(store, same, values![domain, family, digest])? else {
            return Err(exists(store, &import.id)?);
        };
        let is_kept = first.expires_at > command.now;
        if is_kept && command.once {
            return Ok(Some(first));
        }
        // If it has lost the digest to another transaction, the import of that one is found next.
        let take =
            "UPDATE imports SET digest = NULL WHERE domain_id = ?1 AND id = ?2 AND digest = ?3";
        store.change(take, values![domain, first.id, digest])?;
        import.repeat_of = is_kept.then_some(first.id);
    }
    Ok(None)
}

/// The digest under which an import is found, and its entries without an id. A retry has only a
/// part of its file, and together with its parent all entries of it.
fn of_file(
    store: &impl TaskStore,
    command: &CreateImport,
) -> Result<(Option<[u8; 32]>, Sketch), StoreError> {
    let Some(parent) = &command.parent_id else {
        return Ok((Some(command.digest), command.sketch.clone()));
    };
    let select = "SELECT digest, without_id, sketch FROM imports WHERE domain_id = ?1 AND id = ?2";
    let found = store.find(select, values![store.domain(), parent], |row| {
        Ok((row.get::<Option<[u8; 32]>>(0)?, doubles::sketch(row, 1)?))
    })?;
    let (digest, sketch) = found.unwrap_or_default();
    Ok((digest.filter(|_| command.runs_parent), sketch))
}

/// Why the row of an import was not added: an import has its id, or the one that had its digest
/// has lost it a moment ago, so that the backend runs the transaction again.
fn exists(store: &impl TaskStore, id: &str) -> Result<StoreError, StoreError> {
    let select = "SELECT 1 FROM imports WHERE domain_id = ?1 AND id = ?2";
    let found = store.find(select, values![store.domain(), id], |_| Ok(()))?;
    let what = format!("import {id}");
    Ok(found.map_or(StoreError::Contended, |()| StoreError::AlreadyExists { what }))
}

/// Adds the row of an import; false if an import has its id or its digest.
fn insert(
    store: &impl TaskStore,
    import: &Import,
    digest: Option<[u8; 32]>,
    sketch: &Sketch,
) -> Result<bool, StoreError> {
    let doubles = import.doubles.as_ref();
    let by = import.origin.submitted_by.as_ref();
    let inserted = store.change(
        "INSERT INTO imports (domain_id, id, family, action, dry_run, upsert, file, digest,
         created_at, expires_at, parent_id, repeat_of, file_name, content_length, submitted_key,
         submitted_key_name, without_id, sketch, doubles_of, doubles_at, doubles)
         VALUES (?1, ?2, ?3, ?4, ?5, ?6, ?7, ?8, ?9, ?10, ?11, ?12, ?13, ?14, ?15, ?16, ?17, ?18,
         ?19, ?20, ?21)
         ON CONFLICT DO NOTHING",
        values![
            store.domain(),
            import.id,
            import.action.family().code(),
            import.action.code(),
            import.dry_run,
            import.upsert,
            import.file,
            digest,
            import.created_at,
            import.expires_at,
            import.parent_id,
            import.repeat_of,
            import.origin.file_name,
            import.origin.content_length,
            by.map(|by| by.key_id.as_str()),
            by.map(|by| by.key_name.as_str()),
            sketch.entries,
            sketch.stored(),
            doubles.map(|doubles| doubles.import_id.as_str()),
            doubles.map(|doubles| doubles.created_at),
            doubles.map(|doubles| doubles.entries),
        ],
    )?;
    Ok(inserted == 1)
}

/// An import without its tasks, from a row of [`COLUMNS`].
fn read(row: &dyn Row) -> Result<Import, StoreError> {
    Ok(Import {
        id: row.get(0)?,
        action: row.word(1, Action::from_code)?,
        dry_run: row.get(2)?,
        upsert: row.get(3)?,
        origin: origin(row, 15)?,
        file: row.get(4)?,
        created_at: row.get(5)?,
        expires_at: row.get(6)?,
        parent_id: row.get(7)?,
        retried_by: row.get(8)?,
        run_by: row.get(9)?,
        repeat_of: row.get(10)?,
        doubles: doubles::read(row, 11)?,
        tasks: Vec::new(),
    })
}

/// Reads the tasks of imports.
fn read_tasks(store: &impl TaskStore, imports: &mut [Import]) -> Result<(), StoreError> {
    let select = format!(
        "SELECT {TASK_COLUMNS} FROM tasks WHERE domain_id = ?1 AND import_id = ANY (?2)
         ORDER BY seq"
    );
    for part in imports.chunks_mut(IMPORTS_READ) {
        let ids: Vec<&str> = part.iter().map(|import| import.id.as_str()).collect();
        for task in store.list(&select, values![store.domain(), ids], task)? {
            let of = |import: &&mut Import| task.import_id.as_ref() == Some(&import.id);
            if let Some(import) = part.iter_mut().find(of) {
                import.tasks.push(task);
            }
        }
    }
    Ok(())
}

/// The import of the domain `?1` that meets a condition.
fn find(
    store: &impl TaskStore,
    condition: &str,
    values: &[Value<'_>],
) -> Result<Option<Import>, StoreError> {
    let select = format!("SELECT {COLUMNS} FROM imports t WHERE t.domain_id = ?1 AND {condition}");
    let mut found = store.list(&select, values, read)?;
    read_tasks(store, &mut found)?;
    Ok(found.pop())
}

/// An import of the family with its tasks.
pub fn import(
    store: &impl TaskStore,
    family: Family,
    id: &str,
) -> Result<Option<Import>, StoreError> {
    find(store, "t.family = ?2 AND t.id = ?3", values![store.domain(), family.code(), id])
}

/// A page of imports, newest first, and the exact number of all that match.
pub fn import_page(store: &impl TaskStore, request: &ListTasks) -> Result<ImportPage, StoreError> {
    let keys = keys(request);
    let of_tasks = |sum: &str| {
        format!(
            "(SELECT {sum} FROM tasks s WHERE s.domain_id = t.domain_id AND s.domain_id = ?1
             AND s.import_id = t.id)"
        )
    };
    let (status, outcome) = (of_tasks(STATUS), of_tasks(OUTCOME));
    let (chosen, values) = chosen(store.domain(), request, keys.as_ref(), [&status, &outcome]);
    let select = format!("SELECT {COLUMNS} FROM imports t");
    let listed = Listed { table: "imports", select, order: "t.created_at DESC, t.id DESC" };
    let (mut imports, total_hits) = listed.page(store, request, &chosen, values, read)?;
    read_tasks(store, &mut imports)?;
    Ok(ImportPage { imports, total_hits })
}

/// Cancels the unfinished tasks of an import: the import as it is then, and these tasks.
pub fn cancel_import(
    store: &impl TaskStore,
    command: &CancelTask,
) -> Result<(Import, Vec<Task>), StoreError> {
    let by = store.require_caller(command.key.as_deref(), command.now)?;
    let current = || {
        let found = import(store, command.family, &command.task_id)?;
        found.ok_or_else(|| StoreError::NotFound { what: format!("import {}", command.task_id) })
    };
    let (mut cancelled, mut effects) = (Vec::new(), Vec::new());
    // In the order of their places, so that two cancellations lock them in the same order.
    for task in current()?.tasks {
        if task.status == TaskStatus::Completed {
            continue;
        }
        match cancel_by(store, &CancelTask { task_id: task.id, ..command.clone() }) {
            Ok((task, effect)) => {
                cancelled.push(task);
                effects.extend(effect);
            }
            // It ended a moment ago.
            Err(StoreError::TaskCompleted) => {}
            Err(fault) => return Err(fault),
        }
    }
    if cancelled.is_empty() {
        return Err(StoreError::TaskCompleted);
    }
    log(store, &Batch::new(command.now, by, effects))?;
    Ok((current()?, cancelled))
}
