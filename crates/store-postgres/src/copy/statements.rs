//! The statements that read and write each table of a copy, made from the list of tables and from
//! the types and keys in the database's catalogue. Columns of the list that PostgreSQL stores
//! elsewhere are named here; columns that only PostgreSQL has are named in the tests.

use tokio_postgres::Client;
use tokio_postgres::types::Type;

use crate::engine::store_error;
use caseload_store::StoreError;
use caseload_store::copy::tables::{Kind, Table};

/// Columns of the list that are read through an expression. The last value says whether the table
/// has such a column.
const READ_AS: &[(&str, &str, &str, bool)] = &[
    // SQLite has both times in one column.
    (
        "domain_clocks",
        "last_change_at",
        "greatest(t.last_change_at, t.last_profile_change_at)",
        true,
    ),
    // Only unfinished tasks have a row in the queue.
    ("tasks", "not_before", "coalesce(q.not_before, 0)", false),
];

/// Tables that are read together with another one.
const JOINED: &[(&str, &str)] =
    &[("tasks", " LEFT JOIN task_queue q ON q.domain_id = t.domain_id AND q.task_id = t.id")];

/// The statements of one table.
#[derive(Debug)]
pub(super) struct TableStatements {
    /// Reads from the first row; the limit is the last parameter.
    pub(super) first: String,
    /// Reads after a key, whose values are the first parameters.
    pub(super) further: String,
    /// Number of columns of the key, which are read after those of the list.
    pub(super) key_width: usize,
    pub(super) copy_in: String,
    /// Which of the list's columns are written, in the order of `copy_in`, and their types.
    pub(super) written: Vec<usize>,
    pub(super) types: Vec<Type>,
}

/// The expression through which a column is read, and whether the table has the column.
pub(super) fn read_as(table: &str, column: &str) -> Option<(&'static str, bool)> {
    let found = READ_AS.iter().find(|(of, name, ..)| (*of, *name) == (table, column))?;
    Some((found.2, found.3))
}

fn quoted(name: &str) -> String {
    format!("\"{name}\"")
}

impl TableStatements {
    pub(super) async fn of(client: &Client, table: &Table) -> Result<Self, StoreError> {
        let name = table.name;
        let key = key_of(client, table).await?;
        let keys = key.iter().map(|name| format!("t.{}", quoted(name))).collect::<Vec<_>>();
        let keys = keys.join(", ");
        let listed = table.columns.iter().map(|column| match read_as(name, column.name) {
            Some((expression, _)) => expression.to_owned(),
            None => format!("t.{}", quoted(column.name)),
        });
        let columns = listed.chain([keys.clone()]).collect::<Vec<_>>().join(", ");
        let places = (1..=key.len()).map(|n| format!("${n}")).collect::<Vec<_>>().join(", ");
        let joined = JOINED.iter().find(|(table, _)| *table == name);
        let joined = joined.map(|(_, join)| *join).unwrap_or_default();
        let first = format!("SELECT {columns} FROM {name} t{joined} ORDER BY {keys} LIMIT $1");
        let further = format!(
            "SELECT {columns} FROM {name} t{joined} WHERE ({keys}) > ({places})
             ORDER BY {keys} LIMIT ${}",
            key.len() + 1
        );
        let is_written =
            |at: &usize| read_as(name, table.columns[*at].name).is_none_or(|found| found.1);
        let written: Vec<usize> = (0..table.columns.len()).filter(is_written).collect();
        let names: Vec<_> = written.iter().map(|at| quoted(table.columns[*at].name)).collect();
        let types = types_of(client, table, &written).await?;
        let copy_in = format!("COPY {name} ({}) FROM STDIN (FORMAT binary)", names.join(", "));
        Ok(Self { first, further, key_width: key.len(), copy_in, written, types })
    }
}

/// The columns that order the reads of a table: its order column, or else its primary key.
async fn key_of(client: &Client, table: &Table) -> Result<Vec<String>, StoreError> {
    if let Some(order) = table.columns.iter().find(|column| column.kind == Kind::Order) {
        return Ok(vec!["domain_id".to_owned(), order.name.to_owned()]);
    }
    let rows = client
        .query(
            "SELECT a.attname::text FROM pg_index i
             CROSS JOIN LATERAL unnest(i.indkey) WITH ORDINALITY k (attnum, place)
             JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = k.attnum
             WHERE i.indrelid = to_regclass($1) AND i.indisprimary ORDER BY k.place",
            &[&table.name],
        )
        .await
        .map_err(store_error)?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

async fn types_of(
    client: &Client,
    table: &Table,
    written: &[usize],
) -> Result<Vec<Type>, StoreError> {
    let rows = client
        .query(
            "SELECT attname::text, atttypid FROM pg_attribute
             WHERE attrelid = to_regclass($1) AND attnum > 0 AND NOT attisdropped",
            &[&table.name],
        )
        .await
        .map_err(store_error)?;
    let type_of = |name: &str| {
        let row = rows.iter().find(|row| row.get::<_, &str>(0) == name)?;
        Type::from_oid(row.get(1))
    };
    let types = written.iter().map(|at| type_of(table.columns[*at].name));
    types
        .collect::<Option<_>>()
        .ok_or_else(|| StoreError::Corrupt(format!("the table {} has other columns", table.name)))
}
