//! One domain in an open transaction: the type that the shared rules get. Each module that knows a
//! resource implements the resource's statements for it. A method is one round trip, and runs on a
//! thread that may block.

use caseload_model::ids::DomainId;
use caseload_store::StoreError;
use tokio_postgres::Row;

use crate::engine::{BlockingClient, Client, Params};

/// One domain, in a transaction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DomainTx<'c> {
    pub(crate) db: &'c BlockingClient<'c>,
    pub(crate) domain: DomainId,
}

impl<'c> DomainTx<'c> {
    pub(crate) const fn client(&self) -> &'c Client {
        self.db.client()
    }

    /// Waits for an answer.
    pub(crate) fn wait<T>(
        &self,
        answer: impl Future<Output = Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        self.db.wait(answer)
    }

    /// All rows.
    pub(crate) fn rows(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
        self.wait(self.client().rows(sql, params))
    }

    /// The one row that there is, or none.
    pub(crate) fn row_opt(&self, sql: &str, params: Params<'_>) -> Result<Option<Row>, StoreError> {
        self.wait(self.client().row_opt(sql, params))
    }

    /// How many rows were changed.
    pub(crate) fn execute(&self, sql: &str, params: Params<'_>) -> Result<u64, StoreError> {
        self.wait(self.client().execute(sql, params))
    }
}
