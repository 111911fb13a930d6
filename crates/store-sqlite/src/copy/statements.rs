//! The statements that read and write each table of a copy, made from the list of tables and from
//! the keys in the database's catalogue. Columns of the list that SQLite stores elsewhere are named
//! here; columns that only SQLite has are named in the tests.

use rusqlite::Connection;

use crate::Fault;
use caseload_store::copy::tables::Table;

/// Columns of the list that this backend stores elsewhere, and the expressions that read them.
const DERIVED: &[(&str, &str, &str)] = &[(
    "issue_bodies",
    "domain_id",
    "(SELECT i.domain_id FROM issues i WHERE i.row = issue_bodies.row)",
)];

/// Columns that are read through an expression, because their stored value no longer matters.
const READ_AS: &[(&str, &str, &str)] =
    &[("tasks", "not_before", "iif(tasks.status = 4, 0, tasks.not_before)")];

/// The statements of one table.
#[derive(Debug)]
pub(super) struct TableStatements {
    /// Reads from the first row.
    pub(super) first: String,
    /// Reads after a key.
    pub(super) further: String,
    pub(super) insert: String,
    /// Which of the list's columns are written, in the order of `insert`.
    pub(super) written: Vec<usize>,
    /// The columns of the key, which are read after those of the list: whether each is text.
    pub(super) key: Vec<bool>,
}

/// A column of the catalogue.
#[derive(Debug)]
pub(super) struct StoredColumn {
    pub(super) name: String,
    pub(super) kind: String,
    /// Its position in the primary key, from 1; 0 if it is not in the key.
    pub(super) key: usize,
}

/// The columns of a table, from the catalogue.
pub(super) fn stored(conn: &Connection, table: &str) -> Result<Vec<StoredColumn>, Fault> {
    let mut statement = conn.prepare_cached("SELECT name, type, pk FROM pragma_table_info(?1)")?;
    let columns = statement.query_map([table], |row| {
        let key = row.get::<_, i64>(2)?.unsigned_abs() as usize;
        Ok(StoredColumn { name: row.get(0)?, kind: row.get(1)?, key })
    })?;
    Ok(columns.collect::<Result<_, _>>()?)
}

/// The expression for a column that the table itself does not have.
pub(super) fn derived(table: &str, column: &str) -> Option<&'static str> {
    DERIVED.iter().find(|(of, name, _)| (*of, *name) == (table, column)).map(|found| found.2)
}

impl TableStatements {
    pub(super) fn of(conn: &Connection, table: &Table) -> Result<Self, Fault> {
        let mut key = stored(conn, table.name)?;
        key.retain(|column| column.key > 0);
        key.sort_by_key(|column| column.key);
        let keys: Vec<&str> = key.iter().map(|column| column.name.as_str()).collect();
        let name = table.name;
        let read_as = |column| {
            let found = READ_AS.iter().find(|(of, read, _)| (*of, *read) == (name, column));
            found.map(|found| found.2)
        };
        let listed = table.columns.iter().map(|column| {
            derived(name, column.name).or_else(|| read_as(column.name)).unwrap_or(column.name)
        });
        let columns: Vec<&str> = listed.chain(keys.iter().copied()).collect();
        let (columns, keys) = (columns.join(", "), keys.join(", "));
        let first = format!("SELECT {columns} FROM {name} ORDER BY {keys}");
        let further = format!(
            "SELECT {columns} FROM {name} WHERE ({keys}) > ({}) ORDER BY {keys}",
            vec!["?"; key.len()].join(", ")
        );
        let (insert, written) = insert(table);
        let key = key.iter().map(|column| column.kind == "TEXT").collect();
        Ok(Self { first, further, insert, written, key })
    }
}

/// The statement that inserts a row, and the columns of the list that it takes.
fn insert(table: &Table) -> (String, Vec<usize>) {
    let is_stored = |name| derived(table.name, name).is_none();
    let columns = table.columns.iter().enumerate();
    let (written, names): (Vec<usize>, Vec<&str>) = columns
        .filter(|(_, column)| is_stored(column.name))
        .map(|(at, column)| (at, column.name))
        .unzip();
    let values: Vec<String> = (1..=written.len()).map(|place| format!("?{place}")).collect();
    let (names, values) = (names.join(", "), values.join(", "));
    (format!("INSERT INTO {} ({names}) VALUES ({values})", table.name), written)
}
