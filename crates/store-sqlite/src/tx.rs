//! One domain in the transaction of a connection: the store that the shared rules work on. The
//! modules of tasks, profiles and issues implement the statements of their rules for it. The writer
//! thread runs one command at a time, so no statement locks anything.

use caseload_model::ids::DomainId;
use caseload_store::StoreError;
use rusqlite::{Connection, Params, Row};

use crate::Fault;

/// One domain, in the transaction of the connection.
#[derive(Debug, Clone, Copy)]
pub(crate) struct DomainTx<'c> {
    pub(crate) conn: &'c Connection,
    pub(crate) domain: DomainId,
}

impl DomainTx<'_> {
    /// Runs a statement; how many rows it changed.
    pub(crate) fn execute(&self, sql: &str, params: impl Params) -> Result<u64, StoreError> {
        let run = || -> Result<_, Fault> { Ok(self.conn.prepare_cached(sql)?.execute(params)?) };
        Ok(run()? as u64)
    }

    /// Runs a statement once for each item; how many rows it changed.
    pub(crate) fn execute_each<'i, T, P: Params>(
        &self,
        sql: &str,
        items: &'i [T],
        params: impl Fn(&'i T) -> P,
    ) -> Result<u64, StoreError> {
        let run = || -> Result<_, Fault> {
            let mut statement = self.conn.prepare_cached(sql)?;
            items.iter().try_fold(0, |rows, item| Ok(rows + statement.execute(params(item))?))
        };
        Ok(run()? as u64)
    }

    /// All rows.
    pub(crate) fn rows<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> Result<T, Fault>,
    ) -> Result<Vec<T>, StoreError> {
        let run = || -> Result<_, Fault> {
            self.conn.prepare_cached(sql)?.query_and_then(params, read)?.collect()
        };
        Ok(run()?)
    }

    /// The first row, if there is one.
    pub(crate) fn row<T>(
        &self,
        sql: &str,
        params: impl Params,
        read: impl FnMut(&Row<'_>) -> Result<T, Fault>,
    ) -> Result<Option<T>, StoreError> {
        let run = || -> Result<_, Fault> {
            self.conn.prepare_cached(sql)?.query_and_then(params, read)?.next().transpose()
        };
        Ok(run()?)
    }

    /// The first row of the query for each item that has one.
    pub(crate) fn row_of_each<'i, T, P: Params, R, C: FromIterator<R>>(
        &self,
        sql: &str,
        items: &'i [T],
        params: impl Fn(&'i T) -> P,
        read: impl Fn(&'i T, &Row<'_>) -> Result<R, Fault>,
    ) -> Result<C, StoreError> {
        let run = || -> Result<_, Fault> {
            let mut statement = self.conn.prepare_cached(sql)?;
            let mut row = |item| {
                let mut rows = statement.query(params(item))?;
                rows.next()?.map(|row| read(item, row)).transpose()
            };
            items.iter().filter_map(|item| row(item).transpose()).collect()
        };
        Ok(run()?)
    }
}
