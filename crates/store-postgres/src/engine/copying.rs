//! Rows on their way into a table by a binary copy: written one after another into the bytes that
//! the database takes, and sent when all are there: while a copy is open, the database waits for
//! its server however long that takes. Nothing here knows a table.

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

/// What the form begins with: its name, no flags, no extension.
const HEADER: &[u8] = b"PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0";
const END: i16 = -1;

/// Rows as the database takes them.
#[derive(Debug)]
pub(crate) struct CopyRows(BytesMut);

impl CopyRows {
    pub(crate) fn new() -> Self {
        Self(HEADER.into())
    }

    /// With room for so many bytes.
    pub(crate) fn with_capacity(bytes: usize) -> Self {
        let mut rows = BytesMut::with_capacity(HEADER.len() + bytes);
        rows.put_slice(HEADER);
        Self(rows)
    }

    /// Begins a row of so many columns: that many values follow.
    pub(crate) fn row(&mut self, columns: i16) -> &mut Self {
        self.0.put_i16(columns);
        self
    }

    /// The row's next value, or null, as [`Value`] writes it.
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
    /// The statement that copies into `table`, as its name and columns are written in SQL.
    pub(crate) async fn prepare_copy(&self, table: &str) -> Result<Statement, StoreError> {
        self.prepare(&format!("COPY {table} FROM STDIN (FORMAT binary)")).await
    }

    /// Copies the rows. Statements that are sent at once with it are run after it. A fault is the
    /// database's own: who calls may know what a broken constraint means.
    pub(crate) async fn copy_rows(
        &self,
        copy: &Statement,
        mut rows: CopyRows,
    ) -> Result<(), Error> {
        rows.0.put_i16(END);
        let mut sink = pin!(self.connection().copy_in(copy).await?);
        sink.send(rows.0.freeze()).await?;
        sink.finish().await?;
        Ok(())
    }

    /// Copies the rows of each, one after another, beside whatever else the caller does. Statements
    /// that are sent later may overtake it; what depends on it waits for the answer. Where that is
    /// dropped, the copy is given up, and the transaction with it.
    pub(crate) fn copy_beside<const COPIES: usize>(
        &self,
        copies: [(Statement, CopyRows); COPIES],
    ) -> impl Future<Output = Result<(), StoreError>> + use<COPIES> {
        let client = self.clone();
        let mut beside = Beside { client: self.clone(), copying: JoinSet::new() };
        beside.copying.spawn(async move {
            let copies = copies.map(|(copy, rows)| {
                let client = &client;
                async move { client.copy_rows(&copy, rows).await }
            });
            try_join_all(copies).await.map(drop)
        });
        async move {
            match beside.copying.join_next().await {
                Some(Ok(copied)) => Ok(copied.map_err(store_error)?),
                Some(Err(error)) => Err(StoreError::Unavailable(format!("a copy failed: {error}"))),
                None => Ok(()),
            }
        }
    }
}

/// Copies that another task is at, until it has ended.
struct Beside {
    client: Client,
    copying: JoinSet<Result<(), Error>>,
}

impl Drop for Beside {
    fn drop(&mut self) {
        if !self.copying.is_empty() {
            self.client.spoil();
        }
    }
}
