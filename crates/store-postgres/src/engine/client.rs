//! A connection as rooms use it: each statement is prepared once per connection, and a fault is the
//! contract's. Statements that are sent without waiting for each other's answers are prepared
//! before ([`Client::prepare`]): what is prepared while others run could be overtaken by them.
//! Invariant: a connection goes back to the pool only where nothing else uses it any more; where
//! something does, it is closed, and the database undoes what was not committed.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use deadpool_postgres::Object;
use tokio_postgres::types::{BorrowToSql, ToSql};
use tokio_postgres::{Row, RowStream, Statement};

use super::error::store_error;
use caseload_store::StoreError;

/// What a statement is given.
pub(crate) type Params<'p> = &'p [&'p (dyn ToSql + Sync)];

/// A connection with a transaction open on it. It may be used from several tasks; the last of them
/// that lets go of it closes it.
#[derive(Debug, Clone)]
pub(crate) struct Client(Arc<Connection>);

/// A connection of the pool's, which is closed unless it is taken out of here.
#[derive(Debug)]
struct Connection {
    object: Option<Object>,
    /// Something was given up that may reach the database at any time.
    spoiled: AtomicBool,
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(object) = self.object.take() {
            drop(Object::take(object));
        }
    }
}

impl Client {
    pub(super) fn new(connection: Object) -> Self {
        let spoiled = AtomicBool::new(false);
        Self(Arc::new(Connection { object: Some(connection), spoiled }))
    }

    pub(super) fn connection(&self) -> &Object {
        self.0.object.as_ref().expect("a connection is there until nobody has it")
    }

    /// Notes that something was given up which another task had begun.
    pub(super) fn spoil(&self) {
        self.0.spoiled.store(true, Ordering::Release);
    }

    /// Whether it can only be closed.
    pub(super) fn is_spoiled(&self) -> bool {
        self.0.spoiled.load(Ordering::Acquire)
    }

    /// Back to the pool, unless another task uses it.
    pub(super) fn into_pool(self) {
        if let Some(mut connection) = Arc::into_inner(self.0) {
            drop(connection.object.take());
        }
    }

    /// The statement, prepared at the first time on this connection.
    pub(crate) async fn prepare(&self, sql: &str) -> Result<Statement, StoreError> {
        self.connection().prepare_cached(sql).await.map_err(store_error)
    }

    /// All rows.
    pub(crate) async fn rows(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
        let statement = self.prepare(sql).await?;
        self.connection().query(&statement, params).await.map_err(store_error)
    }

    /// The one row there is.
    pub(crate) async fn row(&self, sql: &str, params: Params<'_>) -> Result<Row, StoreError> {
        let statement = self.prepare(sql).await?;
        self.prepared_row(&statement, params).await
    }

    /// The one row there is, or none.
    pub(crate) async fn row_opt(
        &self,
        sql: &str,
        params: Params<'_>,
    ) -> Result<Option<Row>, StoreError> {
        let statement = self.prepare(sql).await?;
        self.prepared_row_opt(&statement, params).await
    }

    /// How many rows were changed.
    pub(crate) async fn execute(&self, sql: &str, params: Params<'_>) -> Result<u64, StoreError> {
        let statement = self.prepare(sql).await?;
        self.prepared_execute(&statement, params).await
    }

    /// The rows as they come, for reads of any length.
    pub(crate) async fn stream<P, I>(&self, sql: &str, params: I) -> Result<RowStream, StoreError>
    where
        P: BorrowToSql,
        I: IntoIterator<Item = P>,
        I::IntoIter: ExactSizeIterator,
    {
        let statement = self.prepare(sql).await?;
        self.connection().query_raw(&statement, params).await.map_err(store_error)
    }

    pub(crate) async fn prepared_row(
        &self,
        statement: &Statement,
        params: Params<'_>,
    ) -> Result<Row, StoreError> {
        self.prepared_row_opt(statement, params)
            .await?
            .ok_or_else(|| StoreError::Corrupt("a row that is always there is missing".to_owned()))
    }

    pub(crate) async fn prepared_row_opt(
        &self,
        statement: &Statement,
        params: Params<'_>,
    ) -> Result<Option<Row>, StoreError> {
        self.connection().query_opt(statement, params).await.map_err(store_error)
    }

    pub(crate) async fn prepared_rows(
        &self,
        statement: &Statement,
        params: Params<'_>,
    ) -> Result<Vec<Row>, StoreError> {
        self.connection().query(statement, params).await.map_err(store_error)
    }

    /// The rows as they come.
    pub(crate) async fn prepared_stream(
        &self,
        statement: &Statement,
        params: Params<'_>,
    ) -> Result<RowStream, StoreError> {
        self.connection().query_raw(statement, params.iter().copied()).await.map_err(store_error)
    }

    pub(crate) async fn prepared_execute(
        &self,
        statement: &Statement,
        params: Params<'_>,
    ) -> Result<u64, StoreError> {
        self.connection().execute(statement, params).await.map_err(store_error)
    }

    /// Statements without parameters and answers.
    pub(crate) async fn batch(&self, sql: &str) -> Result<(), StoreError> {
        self.connection().batch_execute(sql).await.map_err(store_error)
    }
}
