//! Columns of rows as arrays in PostgreSQL's binary format, for statements that insert from
//! `unnest`. An array is written value by value and owns its bytes, so that a statement can be sent
//! now and awaited later, after its source is gone. This module does not know the tables.

use std::error::Error;

use bytes::{BufMut as _, BytesMut};
use tokio_postgres::types::{IsNull, Kind, ToSql, Type, to_sql_checked};

use super::values::Value;

const DIMENSIONS: i32 = 1;
/// The number of the first element.
const FIRST: i32 = 1;

/// A column of several rows.
#[derive(Debug, Default)]
pub(crate) struct Column {
    values: BytesMut,
    rows: i32,
    has_null: bool,
}

impl Column {
    /// Adds the next value or null.
    pub(crate) fn add<V: Value>(&mut self, value: V) {
        self.rows += 1;
        self.has_null |= !value.put(&mut self.values);
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.rows == 0
    }
}

impl ToSql for Column {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let Kind::Array(element) = ty.kind() else {
            return Err(format!("a column cannot be sent as {ty}").into());
        };
        out.reserve(self.values.len() + 20);
        out.put_i32(if self.is_empty() { 0 } else { DIMENSIONS });
        out.put_i32(self.has_null.into());
        out.put_u32(element.oid());
        if !self.is_empty() {
            out.put_i32(self.rows);
            out.put_i32(FIRST);
            out.put_slice(&self.values);
        }
        Ok(IsNull::No)
    }

    fn accepts(ty: &Type) -> bool {
        matches!(ty.kind(), Kind::Array(_))
    }

    to_sql_checked!();
}
