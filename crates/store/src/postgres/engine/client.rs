//! A connection as rooms use it: each statement is prepared once per connection, and a fault is the
//! contract's. Statements that are sent without waiting for each other's answers are prepared
//! before ([`Client::prepare`]): what is prepared while others run could be overtaken by them.

use deadpool_postgres::Object;
use tokio_postgres::types::{BorrowToSql, ToSql};
use tokio_postgres::{Row, RowStream, Statement};

use crate::StoreError;

/// What a statement is given.
pub(in crate::postgres) type Params<'p> = &'p [&'p (dyn ToSql + Sync)];

/// A connection with a transaction open on it.
#[derive(Debug)]
pub(in crate::postgres) struct Client(Object);

impl Client {
    pub(super) const fn new(connection: Object) -> Self {
        Self(connection)
    }

    pub(super) fn connection(&self) -> &tokio_postgres::Client {
        &self.0
    }

    /// Back to the pool.
    pub(super) fn into_pool(self) {
        drop(self.0);
    }

    /// Closes the connection; the database undoes what was not committed.
    pub(super) fn hang_up(self) {
        drop(Object::take(self.0));
    }

    /// The statement, prepared at the first time on this connection.
    pub(in crate::postgres) async fn prepare(&self, sql: &str) -> Result<Statement, StoreError> {
        Ok(self.0.prepare_cached(sql).await?)
    }

    /// All rows.
    pub(in crate::postgres) async fn rows(
        &self,
        sql: &str,
        params: Params<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        let statement = self.prepare(sql).await?;
        Ok(self.0.query(&statement, params).await?)
    }

    /// The one row there is.
    pub(in crate::postgres) async fn row(
        &self,
        sql: &str,
        params: Params<'_>,
    ) -> Result<Row, StoreError> {
        let statement = self.prepare(sql).await?;
        self.prepared_row(&statement, params).await
    }

    /// The one row there is, or none.
    pub(in crate::postgres) async fn row_opt(
        &self,
        sql: &str,
        params: Params<'_>,
    ) -> Result<Option<Row>, StoreError> {
        let statement = self.prepare(sql).await?;
        self.prepared_row_opt(&statement, params).await
    }

    /// How many rows were changed.
    pub(in crate::postgres) async fn execute(
        &self,
        sql: &str,
        params: Params<'_>,
    ) -> Result<u64, StoreError> {
        let statement = self.prepare(sql).await?;
        self.prepared_execute(&statement, params).await
    }

    /// The rows as they come, for reads of any length.
    pub(in crate::postgres) async fn stream<P, I>(
        &self,
        sql: &str,
        params: I,
    ) -> Result<RowStream, StoreError>
    where
        P: BorrowToSql,
        I: IntoIterator<Item = P>,
        I::IntoIter: ExactSizeIterator,
    {
        let statement = self.prepare(sql).await?;
        Ok(self.0.query_raw(&statement, params).await?)
    }

    pub(in crate::postgres) async fn prepared_row(
        &self,
        statement: &Statement,
        params: Params<'_>,
    ) -> Result<Row, StoreError> {
        self.prepared_row_opt(statement, params)
            .await?
            .ok_or_else(|| StoreError::Corrupt("a row that is always there is missing".to_owned()))
    }

    pub(in crate::postgres) async fn prepared_row_opt(
        &self,
        statement: &Statement,
        params: Params<'_>,
    ) -> Result<Option<Row>, StoreError> {
        Ok(self.0.query_opt(statement, params).await?)
    }

    pub(in crate::postgres) async fn prepared_rows(
        &self,
        statement: &Statement,
        params: Params<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        Ok(self.0.query(statement, params).await?)
    }

    /// The rows as they come.
    pub(in crate::postgres) async fn prepared_stream(
        &self,
        statement: &Statement,
        params: Params<'_>,
    ) -> Result<RowStream, StoreError> {
        Ok(self.0.query_raw(statement, params.iter().copied()).await?)
    }

    pub(in crate::postgres) async fn prepared_execute(
        &self,
        statement: &Statement,
        params: Params<'_>,
    ) -> Result<u64, StoreError> {
        Ok(self.0.execute(statement, params).await?)
    }

    /// Statements without parameters and answers.
    pub(in crate::postgres) async fn batch(&self, sql: &str) -> Result<(), StoreError> {
        Ok(self.0.batch_execute(sql).await?)
    }
}
