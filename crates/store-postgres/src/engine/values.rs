//! Values in PostgreSQL's binary format. The same code writes the values of a row for a `COPY` of
//! many rows and for a statement that inserts one. This module does not know the tables.

use std::error::Error;

use bytes::{Buf as _, BufMut as _, BytesMut};
use tokio_postgres::types::{IsNull, ToSql, Type, to_sql_checked};

const NULL: i32 = -1;

/// Takes the values of a row in order.
pub(crate) trait Values {
    /// Adds the next value or null.
    fn add<V: Value>(&mut self, value: V) -> &mut Self;
}

/// The values of one row, as the parameters of a statement.
#[derive(Debug, Default)]
pub(crate) struct BoundRow(Vec<BoundValue>);

/// A value; `None` is null.
#[derive(Debug)]
struct BoundValue(Option<BytesMut>);

impl BoundRow {
    /// The statement that inserts the row. `table` is the table with its columns, in SQL.
    pub(crate) fn insert(&self, table: &str) -> String {
        let places: Vec<String> = (1..=self.0.len()).map(|place| format!("${place}")).collect();
        format!("INSERT INTO {table} VALUES ({})", places.join(", "))
    }

    pub(crate) fn parameters(&self) -> Vec<&(dyn ToSql + Sync)> {
        self.0.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
    }
}

impl Values for BoundRow {
    fn add<V: Value>(&mut self, value: V) -> &mut Self {
        let mut bytes = BytesMut::new();
        let is_there = value.put(&mut bytes);
        bytes.advance(size_of::<i32>());
        self.0.push(BoundValue(is_there.then_some(bytes)));
        self
    }
}

impl ToSql for BoundValue {
    fn to_sql(&self, _: &Type, out: &mut BytesMut) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        Ok(self.0.as_ref().map_or(IsNull::Yes, |bytes| {
            out.put_slice(bytes);
            IsNull::No
        }))
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// A type that a column can store.
pub(crate) trait Value {
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
