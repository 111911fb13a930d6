//! A connection for the modules that send SQL. Each statement is prepared once per connection, and
//! faults become those of the contract. Statements that are sent without waiting for each other
//! must be prepared before ([`Client::prepare`]), because other statements could overtake a
//! preparation. Invariant: a connection returns to the pool only if no task uses it; otherwise it
//! is closed, and the database rolls back.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use deadpool_postgres::Object;
use futures_util::future::try_join_all;
use tokio_postgres::types::{BorrowToSql, ToSql};
use tokio_postgres::{Row, RowStream, Statement};

use super::error::store_error;
use super::nodes::Nodes;
use caseload_store::StoreError;

/// The parameters of a statement.
pub(crate) type Params<'p> = &'p [&'p (dyn ToSql + Sync)];

/// A connection with an open transaction. Several tasks may use it, and the last one that drops it
/// closes the connection.
#[derive(Debug, Clone)]
pub(crate) struct Client {
    connection: Arc<Connection>,
    nodes: Nodes,
}

/// A connection of the pool. Dropping it closes the connection.
#[derive(Debug)]
struct Connection {
    object: Option<Object>,
    /// A task was dropped whose statements may still reach the database.
    broken: AtomicBool,
}

impl Drop for Connection {
    fn drop(&mut self) {
        if let Some(object) = self.object.take() {
            drop(Object::take(object));
        }
    }
}

impl Client {
    pub(super) fn new(connection: Object, nodes: Nodes) -> Self {
        let broken = AtomicBool::new(false);
        let connection = Arc::new(Connection { object: Some(connection), broken });
        Self { connection, nodes }
    }

    /// Which nodes store the data.
    pub(crate) const fn nodes(&self) -> Nodes {
        self.nodes
    }

    pub(super) fn connection(&self) -> &Object {
        self.connection.object.as_ref().expect("a connection exists until it returns to the pool")
    }

    /// Marks the connection as unusable, because a task was dropped while it used the connection.
    pub(super) fn mark_broken(&self) {
        self.connection.broken.store(true, Ordering::Release);
    }

    /// Whether the connection must be closed.
    pub(super) fn is_broken(&self) -> bool {
        self.connection.broken.load(Ordering::Acquire)
    }

    /// Returns the connection to the pool, unless another task uses it.
    pub(super) fn into_pool(self) {
        if let Some(mut connection) = Arc::into_inner(self.connection) {
            drop(connection.object.take());
        }
    }

    /// The statement, prepared on its first use on this connection.
    pub(crate) async fn prepare(&self, sql: &str) -> Result<Statement, StoreError> {
        self.connection().prepare_cached(sql).await.map_err(store_error)
    }

    /// All rows.
    pub(crate) async fn rows(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
        let statement = self.prepare(sql).await?;
        self.connection().query(&statement, params).await.map_err(store_error)
    }

    /// The only row.
    pub(crate) async fn row(&self, sql: &str, params: Params<'_>) -> Result<Row, StoreError> {
        let statement = self.prepare(sql).await?;
        self.prepared_row(&statement, params).await
    }

    /// The only row, if there is one.
    pub(crate) async fn row_opt(
        &self,
        sql: &str,
        params: Params<'_>,
    ) -> Result<Option<Row>, StoreError> {
        let statement = self.prepare(sql).await?;
        self.prepared_row_opt(&statement, params).await
    }

    /// The number of changed rows.
    pub(crate) async fn execute(&self, sql: &str, params: Params<'_>) -> Result<u64, StoreError> {
        let statement = self.prepare(sql).await?;
        self.prepared_execute(&statement, params).await
    }

    /// The rows as a stream, for reads of any length.
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

    /// The rows as a stream.
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

    /// Runs statements without parameters and results, which `; ` separates, in one flight. On a
    /// cluster each is a text of its own: the coordinator sends the nodes the whole text that a
    /// `SET LOCAL` is in, and they warn of a second `BEGIN`.
    pub(crate) async fn batch_each(&self, statements: &str) -> Result<(), StoreError> {
        match self.nodes {
            Nodes::One => self.batch(statements).await,
            // The first poll sends all, in this order.
            Nodes::Many => {
                try_join_all(statements.split("; ").map(|text| self.batch(text))).await.map(drop)
            }
        }
    }

    /// Runs a text without parameters and results.
    pub(crate) async fn batch(&self, sql: &str) -> Result<(), StoreError> {
        self.connection().batch_execute(sql).await.map_err(store_error)
    }
}
