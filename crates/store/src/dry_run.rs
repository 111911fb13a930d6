//! The state that the earlier entries of a dry run would have left, laid over the stored state:
//! each slice is planned on it. A run is a task, or all tasks of an import. A real import of issues
//! has a state, too: the ids of the issues that it has changed. The state outlives a chunk: it is
//! stored with the chunk's records, and a later chunk reads the rows that its entries name. Nothing
//! else reads it, and it is purged once the run has ended. Invariant: a row that a chunk read or
//! changed is the newest one.

use std::collections::HashMap;

use crate::idempotency::CommandStore;
use crate::{StoreError, values};

/// The kind of a row of the state. The number is the first byte of its key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part {
    /// The fields of a core profile, by its id.
    CoreProfile = 1,
    /// The owner of an identity.
    Identity = 2,
    /// The fields of an app profile, by its pid.
    AppProfile = 3,
    /// An issue, by its id.
    Issue = 4,
    /// A millisecond that an issue takes, or gives up.
    Instant = 5,
    /// The state of the domain that its issues share.
    Domain = 6,
    /// Ids of the issues that an import has changed.
    ChangedIssues = 7,
}

/// A row of the state: its key, and its value; `None` if the record is gone.
type StateRow = (Vec<u8>, Option<Vec<u8>>);

/// The rows of a dry run that the present chunk read or changed.
#[derive(Debug)]
pub(crate) struct DryRunState {
    run: String,
    /// Whether earlier chunks may have stored rows.
    goes_on: bool,
    rows: HashMap<Vec<u8>, Held>,
    /// Bytes of keys and values that were changed.
    bytes: usize,
}

#[derive(Debug)]
struct Held {
    value: Option<Vec<u8>>,
    changed: bool,
}

impl Held {
    fn change(&self) -> Change<'_> {
        self.value.as_deref().map_or(Change::Gone, Change::To)
    }
}

/// What earlier entries would have made of a record.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Change<'s> {
    To(&'s [u8]),
    Gone,
}

/// The rows that a chunk changed.
#[derive(Debug)]
pub struct StateChanges {
    run: String,
    rows: Vec<StateRow>,
}

impl DryRunState {
    /// Of the run with this id. Without `goes_on`, the chunk begins with the run's first entry.
    pub(crate) fn new(run: &str, goes_on: bool) -> Self {
        Self { run: run.to_owned(), goes_on, rows: HashMap::new(), bytes: 0 }
    }

    /// Reads the rows with these keys, as far as there are any.
    pub(crate) fn read<K: AsRef<[u8]>>(
        &mut self,
        store: &impl CommandStore,
        part: Part,
        keys: impl IntoIterator<Item = K>,
    ) -> Result<(), StoreError> {
        if !self.goes_on {
            return Ok(());
        }
        let keys = keys.into_iter().map(|key| key_of(part, key.as_ref()));
        let unread: Vec<Vec<u8>> = keys.filter(|key| !self.rows.contains_key(key)).collect();
        if unread.is_empty() {
            return Ok(());
        }
        let unread: Vec<&[u8]> = unread.iter().map(Vec::as_slice).collect();
        let select = "SELECT key, value FROM dry_run_state
             WHERE domain_id = ?1 AND run_id = ?2 AND key = ANY (?3)";
        let found = store.list(select, values![store.domain(), self.run, unread], state_row)?;
        self.hold(found);
        Ok(())
    }

    /// Reads the rows whose keys are between these ones, both included.
    pub(crate) fn read_range(
        &mut self,
        store: &impl CommandStore,
        part: Part,
        from: &[u8],
        until: &[u8],
    ) -> Result<(), StoreError> {
        if !self.goes_on {
            return Ok(());
        }
        let select = "SELECT key, value FROM dry_run_state
             WHERE domain_id = ?1 AND run_id = ?2 AND key BETWEEN ?3 AND ?4";
        let (from, until) = (key_of(part, from), key_of(part, until));
        let found =
            store.list(select, values![store.domain(), self.run, from, until], state_row)?;
        self.hold(found);
        Ok(())
    }

    /// Holds stored rows. Those that the chunk has already are newer.
    fn hold(&mut self, found: Vec<StateRow>) {
        for (key, value) in found {
            self.rows.entry(key).or_insert(Held { value, changed: false });
        }
    }

    /// The row with this key, if an earlier entry changed it; it must have been read.
    pub(crate) fn get(&self, part: Part, key: &[u8]) -> Option<Change<'_>> {
        self.rows.get(&key_of(part, key)).map(Held::change)
    }

    /// The rows of a part that have been read or changed, with their keys.
    pub(crate) fn all(&self, part: Part) -> impl Iterator<Item = (&[u8], Change<'_>)> {
        let of_part = move |(key, _): &(&Vec<u8>, &Held)| key.first() == Some(&(part as u8));
        self.rows.iter().filter(of_part).map(|(key, held)| (&key[1..], held.change()))
    }

    /// Bytes that the chunk changed so far.
    pub(crate) const fn bytes(&self) -> usize {
        self.bytes
    }

    pub(crate) fn put(&mut self, part: Part, key: &[u8], value: Option<Vec<u8>>) {
        self.bytes += key.len() + value.as_ref().map_or(0, Vec::len);
        self.rows.insert(key_of(part, key), Held { value, changed: true });
    }

    /// The rows to store, in the order of their keys.
    pub(crate) fn into_changes(self) -> StateChanges {
        let changed = self.rows.into_iter().filter(|(_, held)| held.changed);
        let mut rows: Vec<StateRow> = changed.map(|(key, held)| (key, held.value)).collect();
        rows.sort_unstable();
        StateChanges { run: self.run, rows }
    }
}

impl StateChanges {
    /// Stores the rows, each with a first byte of 1 before its value, or of 0 if it has none.
    pub(crate) fn save(&self, store: &impl StateStore) -> Result<(), StoreError> {
        if self.rows.is_empty() {
            return Ok(());
        }
        let begin = "INSERT INTO dry_runs (domain_id, id) VALUES (?1, ?2)
                     ON CONFLICT (domain_id, id) DO NOTHING";
        store.change(begin, values![store.domain(), self.run])?;
        let stored: Vec<Vec<u8>> =
            self.rows.iter().map(|(_, value)| stored_value(value.as_deref())).collect();
        let rows = self.rows.iter().zip(&stored).map(|((key, _), value)| (&key[..], &value[..]));
        store.put_state(&self.run, &rows.collect::<Vec<_>>())
    }
}

/// The statement that writes rows of the state.
pub trait StateStore: CommandStore {
    /// Writes rows, each as a key and a value, in place of those that have the same key.
    fn put_state(&self, run: &str, rows: &[(&[u8], &[u8])]) -> Result<(), StoreError>;
}

fn key_of(part: Part, key: &[u8]) -> Vec<u8> {
    [&[part as u8], key].concat()
}

fn stored_value(value: Option<&[u8]>) -> Vec<u8> {
    match value {
        Some(value) => [&[1], value].concat(),
        None => vec![0],
    }
}

fn state_row(row: &dyn crate::sql::Row) -> Result<StateRow, StoreError> {
    let value = match row.get::<&[u8]>(1)? {
        [1, value @ ..] => Some(value.to_vec()),
        [0] => None,
        _ => return Err(StoreError::Corrupt("a row of a dry run cannot be read".to_owned())),
    };
    Ok((row.get(0)?, value))
}

/// Notes that a run has ended, so that its state is purged: a task with this id, or the last
/// unfinished task of an import.
pub(crate) fn end(
    store: &impl CommandStore,
    (task, import): (&str, Option<&str>),
    now: caseload_model::time::UnixMillis,
) -> Result<(), StoreError> {
    let end = "UPDATE dry_runs SET ended_at = ?3 WHERE domain_id = ?1 AND id = ?2
               AND NOT EXISTS (SELECT 1 FROM tasks t WHERE t.domain_id = ?1 AND t.import_id = ?2
                               AND t.status < 4 AND t.id <> ?4)";
    store.change(end, values![store.domain(), import.unwrap_or(task), now, task]).map(drop)
}

/// Removes some of the state of a run that has ended, or the run itself once it has none left.
pub(crate) fn purge_step(store: &impl CommandStore, run: &str) -> Result<(), StoreError> {
    let delete = "DELETE FROM dry_run_state WHERE domain_id = ?1 AND run_id = ?2 AND key IN
         (SELECT key FROM dry_run_state WHERE domain_id = ?1 AND run_id = ?2 LIMIT 2000)";
    if store.change(delete, values![store.domain(), run])? == 0 {
        let forget = "DELETE FROM dry_runs WHERE domain_id = ?1 AND id = ?2";
        store.change(forget, values![store.domain(), run])?;
    }
    Ok(())
}
