//! Columns of rows as arrays in the form that the database takes, for statements that insert from
//! `unnest`. An array is written value by value and owns its bytes, so that a statement can be
//! sent and its answer waited for later, while what it was made from is gone. Nothing here knows a
//! table.

use std::error::Error;

use bytes::{BufMut as _, BytesMut};
use tokio_postgres::types::{IsNull, Kind, ToSql, Type, to_sql_checked};

const NULL: i32 = -1;
const DIMENSIONS: i32 = 1;
/// The number of the first element.
const FIRST: i32 = 1;

/// A column of rows.
#[derive(Debug, Default)]
pub(in crate::postgres) struct Column {
    values: BytesMut,
    rows: i32,
    has_null: bool,
}

impl Column {
    /// The column's next value, or null, as [`Value`] writes it.
    pub(in crate::postgres) fn add<V: Value>(&mut self, value: V) {
        self.rows += 1;
        self.has_null |= !value.put(&mut self.values);
    }

    pub(in crate::postgres) const fn is_empty(&self) -> bool {
        self.rows == 0
    }
}

/// What a column can hold.
pub(in crate::postgres) trait Value {
    /// Writes length and bytes; false for null.
    fn put(self, out: &mut BytesMut) -> bool;
}

impl Value for i64 {
    fn put(self, out: &mut BytesMut) -> bool {
        out.put_i32(8);
        out.put_i64(self);
        true
    }
}

impl Value for i32 {
    fn put(self, out: &mut BytesMut) -> bool {
        out.put_i32(4);
        out.put_i32(self);
        true
    }
}

impl Value for i16 {
    fn put(self, out: &mut BytesMut) -> bool {
        out.put_i32(2);
        out.put_i16(self);
        true
    }
}

impl Value for bool {
    fn put(self, out: &mut BytesMut) -> bool {
        out.put_i32(1);
        out.put_u8(self.into());
        true
    }
}

impl Value for &[u8] {
    fn put(self, out: &mut BytesMut) -> bool {
        out.put_i32(i32::try_from(self.len()).expect("a value has less than 2 GiB"));
        out.put_slice(self);
        true
    }
}

impl Value for &str {
    fn put(self, out: &mut BytesMut) -> bool {
        self.as_bytes().put(out)
    }
}

impl<V: Value> Value for Option<V> {
    fn put(self, out: &mut BytesMut) -> bool {
        if let Some(value) = self {
            return value.put(out);
        }
        out.put_i32(NULL);
        false
    }
}

impl ToSql for Column {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        let Kind::Array(element) = ty.kind() else {
            return Err(format!("a column is no {ty}").into());
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
