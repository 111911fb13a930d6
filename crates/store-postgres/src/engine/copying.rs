//! Writing rows into a table by binary `COPY`. The rows are first collected in one buffer and then
//! sent at once, because the database waits without a limit for the rest of an open copy. This
//! module does not know the tables.

use std::pin::pin;

use bytes::{BufMut as _, BytesMut};
use futures_util::SinkExt as _;
use futures_util::future::try_join_all;
use tokio::task::JoinSet;
use tokio_postgres::{Error, Statement};

use super::Client;
use super::error::store_error;
use super::values::{Value, Values};
use caseload_store::StoreError;

/// The header of the format: its signature, no flags, no extension.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
const END: i16 = -1;
/// Bytes that the driver gets at a time. It copies them into a buffer that the connection retains.
const PIECE_BYTES: usize = 1 << 20;

/// Rows in the binary format of `COPY`.
#[derive(Debug)]
pub(crate) struct CopyRows(BytesMut);

impl CopyRows {
    pub(crate) fn new() -> Self {
        Self(HEADER.into())
    }

    /// An empty buffer with room for this many bytes of rows.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        let mut rows = BytesMut::with_capacity(HEADER.len() + bytes);
        rows.put_slice(HEADER);
        Self(rows)
    }

    /// Begins a row; the values of its columns follow.
    pub(crate) fn row(&mut self, columns: i16) -> &mut Self {
        self.0.put_i16(columns);
        self
    }

    /// Adds the next value or null of the row.
    pub(crate) fn add<V: Value>(&mut self, value: V) -> &mut Self {
        value.put(&mut self.0);
        self
    }

    /// Bytes so far.
    pub(crate) fn len(&self) -> usize {
        self.0.len()
    }
}

impl Values for CopyRows {
    fn add<V: Value>(&mut self, value: V) -> &mut Self {
        self.add(value)
    }
}

impl Client {
    /// The statement that copies into `table`, which is the table with its columns, in SQL.
    pub(crate) async fn prepare_copy(&self, table: &str) -> Result<Statement, StoreError> {
        self.prepare(&format!("COPY {table} FROM STDIN (FORMAT binary)")).await
    }

    /// Copies the rows. Statements that are sent together with it run after it. The fault is the
    /// database's own, because the caller may know the meaning of a violated constraint.
    pub(crate) async fn copy_rows(
        &self,
        copy: &Statement,
        mut rows: CopyRows,
    ) -> Result<(), Error> {
        rows.0.put_i16(END);
        let mut rows = rows.0.freeze();
        let mut sink = pin!(self.connection().copy_in(copy).await?);
        while !rows.is_empty() {
            sink.feed(rows.split_to(rows.len().min(PIECE_BYTES))).await?;
        }
        sink.finish().await?;
        Ok(())
    }

    /// Runs copies one after the other in a task of their own, while the caller continues.
    /// Statements that are sent later may overtake them, so that a dependent statement has to await
    /// the result. Dropping the result cancels the copies and fails the transaction.
    pub(crate) fn copy_in_background<const COPIES: usize>(
        &self,
        copies: [(Statement, CopyRows); COPIES],
    ) -> impl Future<Output = Result<(), StoreError>> + use<COPIES> {
        let client = self.clone();
        let mut background = BackgroundCopy { client: self.clone(), copying: JoinSet::new() };
        background.copying.spawn(async move {
            let copies = copies.map(|(copy, rows)| {
                let client = &client;
                async move { client.copy_rows(&copy, rows).await }
            });
            try_join_all(copies).await.map(drop)
        });
        async move {
            match background.copying.join_next().await {
                Some(Ok(copied)) => Ok(copied.map_err(store_error)?),
                Some(Err(error)) => Err(StoreError::Unavailable(format!("a copy failed: {error}"))),
                None => Ok(()),
            }
        }
    }
}

/// Copies that run in another task.
struct BackgroundCopy {
    client: Client,
    copying: JoinSet<Result<(), Error>>,
}

impl Drop for BackgroundCopy {
    fn drop(&mut self) {
        if !self.copying.is_empty() {
            self.client.mark_broken();
        }
    }
}
