//! Rows on their way into a table by a binary copy: written one after another into the bytes that
//! the database takes, and sent when all are there: while a copy is open, the database waits for
//! its server however long that takes. Nothing here knows a table.

use std::pin::pin;

use bytes::{BufMut as _, BytesMut};
use futures_util::SinkExt as _;
use tokio_postgres::Statement;

use super::Client;
use crate::StoreError;

/// What the form begins with: its name, no flags, no extension.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
const END: i16 = -1;
const NULL: i32 = -1;

/// Rows as the database takes them.
#[derive(Debug)]
pub(in crate::postgres) struct CopyRows(BytesMut);

impl CopyRows {
    pub(in crate::postgres) fn new() -> Self {
        Self(HEADER.into())
    }

    /// Begins a row of so many columns: that many values follow.
    pub(in crate::postgres) fn row(&mut self, columns: i16) -> &mut Self {
        self.0.put_i16(columns);
        self
    }

    pub(in crate::postgres) fn int8(&mut self, number: i64) -> &mut Self {
        self.0.put_i32(8);
        self.0.put_i64(number);
        self
    }

    pub(in crate::postgres) fn int2(&mut self, number: i16) -> &mut Self {
        self.0.put_i32(2);
        self.0.put_i16(number);
        self
    }

    pub(in crate::postgres) fn bytes(&mut self, bytes: &[u8]) -> &mut Self {
        let length = i32::try_from(bytes.len()).expect("a value has less than 2 GiB");
        self.0.put_i32(length);
        self.0.put_slice(bytes);
        self
    }

    /// The value, or null, by the function that writes one.
    pub(in crate::postgres) fn optional<T>(
        &mut self,
        value: Option<T>,
        write: impl FnOnce(&mut Self, T) -> &mut Self,
    ) -> &mut Self {
        if let Some(value) = value {
            return write(self, value);
        }
        self.0.put_i32(NULL);
        self
    }
}

impl Client {
    /// The statement that copies into `table`, as its name and columns are written in SQL.
    pub(in crate::postgres) async fn prepare_copy(
        &self,
        table: &str,
    ) -> Result<Statement, StoreError> {
        self.prepare(&format!("COPY {table} FROM STDIN (FORMAT binary)")).await
    }

    /// Copies the rows. Statements that are sent at once with it are run after it.
    pub(in crate::postgres) async fn copy_rows(
        &self,
        copy: &Statement,
        mut rows: CopyRows,
    ) -> Result<(), StoreError> {
        rows.0.put_i16(END);
        let mut sink = pin!(self.connection().copy_in(copy).await?);
        sink.send(rows.0.freeze()).await?;
        sink.finish().await?;
        Ok(())
    }
}
