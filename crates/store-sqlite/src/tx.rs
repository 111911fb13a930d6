//! The transaction of a connection, which the shared rules work on: it runs the statements that
//! both databases read the same. The modules of tasks, profiles and issues implement the other
//! statements of their rules for it. The writer thread runs one command at a time, so no statement
//! locks anything.

use std::borrow::Cow;
use std::rc::Rc;

use caseload_model::ids::DomainId;
use caseload_store::StoreError;
use caseload_store::admin::add_bytes;
use caseload_store::idempotency::CommandStore;
use caseload_store::sql::{self, Sql, Value};
use rusqlite::types::{ToSqlOutput, Value as Owned, ValueRef};
use rusqlite::{Connection, Params, Row, ToSql, params_from_iter};

use crate::engine::WorkLimit;
use crate::{Fault, store_error};

/// All domains, in the transaction of the connection.
#[derive(Debug, Clone, Copy)]
pub struct Tx<'c>(pub(crate) &'c Connection);

/// One domain, in the transaction of the connection.
#[derive(Debug, Clone, Copy)]
pub struct DomainTx<'c> {
    pub(crate) conn: &'c Connection,
    pub(crate) domain: DomainId,
}

impl Sql for Tx<'_> {
    fn change(&self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        WorkLimit::check()?;
        let mut statement = self.0.prepare_cached(&native(sql)).map_err(store_error)?;
        let values = params_from_iter(values.iter().map(|value| Bound(*value)));
        Ok(statement.execute(values).map_err(store_error)? as u64)
    }

    fn each(
        &self,
        sql: &str,
        values: &[Value<'_>],
        read: &mut dyn FnMut(&dyn sql::Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        WorkLimit::check()?;
        let mut statement = self.0.prepare_cached(&native(sql)).map_err(store_error)?;
        let values = params_from_iter(values.iter().map(|value| Bound(*value)));
        let mut rows = statement.query(values).map_err(store_error)?;
        while let Some(row) = rows.next().map_err(store_error)? {
            read(&ReadRow(row))?;
        }
        Ok(())
    }
}

impl Sql for DomainTx<'_> {
    fn change(&self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        Tx(self.conn).change(sql, values)
    }

    fn each(
        &self,
        sql: &str,
        values: &[Value<'_>],
        read: &mut dyn FnMut(&dyn sql::Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        Tx(self.conn).each(sql, values, read)
    }
}

impl CommandStore for DomainTx<'_> {
    const DOMAIN: &'static str = "SELECT 1 FROM domains WHERE id = ?1";
    const DOMAIN_LOCK: &'static str = "";
    const CHANGE_MARK: &'static str =
        "SELECT last_change_at FROM domain_clocks WHERE domain_id = ?1";

    fn domain(&self) -> DomainId {
        self.domain
    }

    fn store_bytes(&self, more: i64) -> Result<(), StoreError> {
        add_bytes(self, more)
    }
}

impl DomainTx<'_> {
    /// Runs a statement once for each item; how many rows it changed.
    pub(crate) fn execute_each<'i, T, P: Params>(
        &self,
        sql: &str,
        items: &'i [T],
        params: impl Fn(&'i T) -> P,
    ) -> Result<u64, StoreError> {
        let run = || -> Result<_, Fault> {
            let mut statement = self.conn.prepare_cached(sql)?;
            items.iter().try_fold(0, |rows, item| {
                WorkLimit::check()?;
                Ok(rows + statement.execute(params(item))?)
            })
        };
        Ok(run()? as u64)
    }
}

/// A statement as SQLite writes it.
fn native(sql: &str) -> Cow<'_, str> {
    if sql.contains("= ANY (") || sql.contains("greatest(") {
        return sql.replace("= ANY (", "IN rarray(").replace("greatest(", "max(").into();
    }
    sql.into()
}

/// A value of a statement.
struct Bound<'v>(Value<'v>);

impl ToSql for Bound<'_> {
    fn to_sql(&self) -> rusqlite::Result<ToSqlOutput<'_>> {
        let array = |items: Vec<Owned>| ToSqlOutput::from_rc(Rc::new(items), c"rarray");
        Ok(match self.0 {
            Value::Null => ToSqlOutput::Borrowed(ValueRef::Null),
            Value::Int(number) => ToSqlOutput::Borrowed(ValueRef::Integer(number)),
            Value::Text(text) => ToSqlOutput::Borrowed(text.into()),
            Value::Bytes(bytes) => ToSqlOutput::Borrowed(bytes.into()),
            Value::Ints(list) => array(list.iter().map(|number| (*number).into()).collect()),
            Value::Texts(list) => {
                array(list.iter().map(|text| (*text).to_owned().into()).collect())
            }
            Value::Blobs(list) => array(list.iter().map(|bytes| bytes.to_vec().into()).collect()),
        })
    }
}

/// A row that the shared rules read.
pub(crate) struct ReadRow<'r, 's>(pub(crate) &'r Row<'s>);

impl sql::Row for ReadRow<'_, '_> {
    fn value(&self, column: usize) -> Result<Value<'_>, StoreError> {
        match self.0.get_ref(column).map_err(store_error)? {
            ValueRef::Null => Ok(Value::Null),
            ValueRef::Integer(number) => Ok(Value::Int(number)),
            ValueRef::Text(bytes) | ValueRef::Blob(bytes) => Ok(Value::Bytes(bytes)),
            ValueRef::Real(_) => Err(StoreError::Corrupt("a fraction is stored".to_owned())),
        }
    }
}

#[cfg(test)]
#[path = "tx_tests.rs"]
mod tests;
