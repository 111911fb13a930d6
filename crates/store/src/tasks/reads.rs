//! Reading tasks, lists of them, and their payloads and records block by block, all in the snapshot
//! of one transaction.

use caseload_model::ids::DomainId;
use caseload_model::task::{Family, Task};
use caseload_model::task_query::TaskFilter;

use super::records::kind_code;
use super::statements::{COLUMNS, COLUMNS_COUNT, TaskStore, TaskTables, task};
use crate::checksum::{PAYLOAD_BLOCKS, RECORD_BLOCKS};
use crate::idempotency::CommandStore;
use crate::sql::{Query, Row, Sql, ToValue, Value};
use crate::{
    HEADER_BYTES_MAX, ListTasks, RecordBlock, RecordBlockSize, RecordKind, StoreError, TaskPage,
    unpack_block, unpacked_size, values,
};

/// The columns of a task and how many unfinished writing tasks of its domain `?1` come before it,
/// if it waits for its start. Tasks that only read wait for none.
fn select<S: TaskTables>() -> String {
    format!(
        "SELECT {COLUMNS}, CASE WHEN t.status >= 3 THEN NULL WHEN NOT t.writes THEN 0 ELSE
         (SELECT count(*) FROM {} b.domain_id = t.domain_id AND b.domain_id = ?1
         AND b.writes = TRUE AND b.seq < t.seq) END FROM tasks t",
        S::UNFINISHED
    )
}

/// A task, from a row of [`select`].
fn with_position(row: &dyn Row) -> Result<Task, StoreError> {
    Ok(Task { position: row.get(COLUMNS_COUNT)?, ..task(row)? })
}

/// A task of the family.
pub fn of_family<S: TaskTables>(domain: DomainId, family: Family, id: &str) -> Query<Task> {
    let select =
        format!("{} WHERE t.domain_id = ?1 AND t.id = ?2 AND t.family = ?3", select::<S>());
    Query::new(select, [domain.into(), id.into(), family.code().into()], with_position)
}

/// A page of tasks, newest first, and the exact number of all that match.
pub fn page<S: TaskStore>(store: &S, request: &ListTasks) -> Result<TaskPage, StoreError> {
    let keys = keys(request);
    let (chosen, values) =
        chosen(store.domain(), request, keys.as_ref(), ["t.status", "coalesce(t.outcome, 0)"]);
    let listed = Listed { table: "tasks", select: select::<S>(), order: "t.seq DESC" };
    let (tasks, total_hits) = listed.page(store, request, &chosen, values, with_position)?;
    Ok(TaskPage { tasks, total_hits })
}

/// The keys of a list's submitters, each by its id or by its name.
pub(super) fn keys(request: &ListTasks) -> Option<Vec<&str>> {
    let keys = request.filter.submitted_by.as_ref()?;
    Some(keys.iter().map(String::as_str).collect())
}

/// The rows of a list, each as the table `t`.
pub(super) struct Listed {
    pub(super) table: &'static str,
    pub(super) select: String,
    pub(super) order: &'static str,
}

impl Listed {
    /// The rows of a page that meet a condition with these values, and how many do on all pages.
    pub(super) fn page<T>(
        &self,
        store: &impl TaskStore,
        request: &ListTasks,
        chosen: &str,
        mut values: Vec<Value<'_>>,
        read: fn(&dyn Row) -> Result<T, StoreError>,
    ) -> Result<(Vec<T>, u64), StoreError> {
        let Self { table, select, order } = self;
        let count = format!("SELECT count(*) FROM {table} t WHERE {chosen}");
        let total_hits = store.find(&count, &values, |row| row.get(0))?;
        let (size, offset) = (request.paging.page_size, request.paging.offset());
        let (limit, skip) = (values.len() + 1, values.len() + 2);
        values.extend([size, offset].map(|number| Value::Int(number.cast_signed())));
        let page =
            format!("{select} WHERE {chosen} ORDER BY {order} LIMIT ?{limit} OFFSET ?{skip}");
        Ok((store.list(&page, &values, read)?, total_hits.unwrap_or_default()))
    }
}

/// The condition of a list, and its values. A filter that is not given has no part in it. `status`
/// and `outcome`, which is 0 if there is none, are expressions.
pub(super) fn chosen<'r>(
    domain: DomainId,
    request: &'r ListTasks,
    keys: Option<&'r Vec<&'r str>>,
    [status, outcome]: [&str; 2],
) -> (String, Vec<Value<'r>>) {
    let TaskFilter { statuses, actions, outcomes, created_since, created_until, .. } =
        &request.filter;
    let statuses = statuses.as_deref().map(|all| bits(all.iter().map(|one| one.code())));
    let actions = actions.as_deref().map(|all| bits(all.iter().map(|one| one.code())));
    let outcomes = outcomes.as_deref().map(|all| bits(all.iter().map(|one| one.code())));
    let mut values = vec![Value::Int(domain.0), Value::Int(request.family.code())];
    let mut chosen = "t.domain_id = ?1 AND t.family = ?2".to_owned();
    let among = |code: &str| format!("((1 << {code}) & #) <> 0");
    let (status, outcome) = (among(status), among(outcome));
    let further = [
        (status.as_str(), statuses),
        ("((1 << t.action) & #) <> 0", actions),
        (outcome.as_str(), outcomes),
        ("t.created_at >= #", created_since.as_ref().map(ToValue::to_value)),
        ("t.created_at <= #", created_until.as_ref().map(ToValue::to_value)),
        ("t.dry_run = #", request.filter.dry_run.as_ref().map(ToValue::to_value)),
        ("t.parent_id = #", request.filter.parent_id.as_ref().map(ToValue::to_value)),
        ("coalesce(t.import_id, '') = #", request.filter.import_id.as_ref().map(ToValue::to_value)),
        (
            "(t.submitted_key = ANY (#) OR t.submitted_key_name = ANY (#))",
            keys.map(ToValue::to_value),
        ),
    ];
    for (condition, value) in further {
        let Some(value) = value else { continue };
        values.push(value);
        chosen.push_str(" AND ");
        chosen.push_str(&condition.replace('#', &format!("?{}", values.len())));
    }
    (chosen, values)
}

/// A set of numbers of words, which are small, as the bits of one number.
fn bits<'v>(codes: impl Iterator<Item = i64>) -> Value<'v> {
    Value::Int(codes.map(|code| 1 << code).sum())
}

/// Numbers of unfinished tasks.
#[derive(Debug, Clone, Copy, Default)]
pub struct Unfinished {
    /// Those without a lease.
    pub waiting: u64,
    /// Those with one.
    pub running: u64,
    /// Waiting ones whose server died or met a fault.
    pub delayed: u64,
}

/// Whether a task of the queue waits because its server died or met a fault: a condition.
const IS_DELAYED: &str = "not_before > 0 AND lease_server IS NULL";

/// The unfinished tasks of all domains.
pub fn unfinished_by_lease<T: TaskTables>(store: &impl Sql) -> Result<Unfinished, StoreError> {
    let count = format!(
        "SELECT count(*) - count(lease_server), count(lease_server),
         count(CASE WHEN {IS_DELAYED} THEN 1 END) FROM {} q
         WHERE domain_id IN (SELECT id FROM domains)",
        T::QUEUE
    );
    let counts = store.find(&count, &[], |row| {
        Ok(Unfinished { waiting: row.get(0)?, running: row.get(1)?, delayed: row.get(2)? })
    });
    Ok(counts?.unwrap_or_default())
}

/// The tasks of one domain that wait because their server died or met a fault.
pub fn delayed<S: CommandStore + TaskTables>(store: &S) -> Result<u32, StoreError> {
    let count =
        format!("SELECT count(*) FROM {} q WHERE domain_id = ?1 AND {IS_DELAYED}", S::QUEUE);
    let counted = store.find(&count, values![store.domain()], |row| row.get(0))?;
    Ok(counted.unwrap_or_default())
}

/// The first payload block with an entry at or after `from_index`, unpacked.
pub fn payload_block(domain: DomainId, id: &str, from_index: u32) -> Query<Vec<u8>> {
    let select = format!(
        "SELECT {} FROM payload_blocks WHERE domain_id = ?1 AND task_id = ?2
         AND last_index >= ?3 ORDER BY last_index LIMIT 1",
        PAYLOAD_BLOCKS.select()
    );
    Query::new(select, [domain.into(), id.into(), from_index.into()], |row| {
        PAYLOAD_BLOCKS.require(row)?;
        unpack_block(row.get(4)?)
    })
}

/// The first block of records that begins at or after `from_index`.
pub fn record_block(
    domain: DomainId,
    id: &str,
    kind: RecordKind,
    from_index: u32,
) -> Query<RecordBlock> {
    let select = format!(
        "SELECT {} FROM record_blocks WHERE domain_id = ?1 AND task_id = ?2
         AND kind = ?3 AND first_index >= ?4 ORDER BY first_index LIMIT 1",
        RECORD_BLOCKS.select()
    );
    let values = [domain.into(), id.into(), kind_code(kind).into(), from_index.into()];
    Query::new(select, values, |row| {
        RECORD_BLOCKS.require(row)?;
        Ok(RecordBlock { lines: unpack_block(row.get(6)?)?, next_index: row.get(4)? })
    })
}

/// The unpacked sizes of all blocks of records.
pub fn record_sizes(domain: DomainId, id: &str, kind: RecordKind) -> Query<RecordBlockSize> {
    Query::new(
        "SELECT first_index, substr(bytes, 1, ?4) FROM record_blocks
         WHERE domain_id = ?1 AND task_id = ?2 AND kind = ?3 ORDER BY first_index",
        [domain.into(), id.into(), kind_code(kind).into(), (HEADER_BYTES_MAX as u32).into()],
        |row| Ok(RecordBlockSize { first_index: row.get(0)?, bytes: unpacked_size(row.get(1)?)? }),
    )
}
