//! An open transaction, which the shared rules work on: it runs the statements that both databases
//! read the same. Each module that knows a resource implements the other statements of its rules
//! for it. A method is one round trip, and runs on a thread that may block.

use std::error::Error;

use bytes::BytesMut;
use caseload_model::ids::DomainId;
use caseload_store::StoreError;
use caseload_store::admin::{ADD_BYTES, QUOTA_BYTES, require_room};
use caseload_store::changes::{ADD_BATCH, ADD_RECORD, LoggedBatch, TAKE_POSITIONS};
use caseload_store::idempotency::CommandStore;
use caseload_store::sql::{self, Query, Sql, Value};
use caseload_store::{checksum, values};
use futures_util::future::join_all;
use tokio::join;
use tokio_postgres::Row;
use tokio_postgres::types::{FromSql, IsNull, ToSql, Type, to_sql_checked};

use crate::domains::LOCK_DOMAIN;
use crate::engine::{BlockingClient, Client, Params};

/// One domain, in a transaction.
#[derive(Debug, Clone, Copy)]
pub struct DomainTx<'c> {
    pub(crate) db: &'c BlockingClient<'c>,
    pub(crate) domain: DomainId,
}

impl Sql for BlockingClient<'_> {
    fn change(&self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        let bound = bound(values);
        self.wait(self.client().execute(&native(sql), &parameters(&bound)))
    }

    fn each(
        &self,
        sql: &str,
        values: &[Value<'_>],
        read: &mut dyn FnMut(&dyn sql::Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let bound = bound(values);
        let rows = self.wait(self.client().rows(&native(sql), &parameters(&bound)))?;
        rows.iter().try_for_each(|row| read(&ReadRow(row)))
    }
}

impl Client {
    /// The rows of the answer to a query.
    pub(crate) async fn answer_to<T>(&self, query: &Query<T>) -> Result<Vec<T>, StoreError> {
        let values = query.values();
        let bound = bound(&values);
        let rows = self.rows(&native(&query.sql), &parameters(&bound)).await?;
        rows.iter().map(|row| (query.read)(&ReadRow(row))).collect()
    }
}

impl Sql for DomainTx<'_> {
    fn change(&self, sql: &str, values: &[Value<'_>]) -> Result<u64, StoreError> {
        self.db.change(sql, values)
    }

    fn each(
        &self,
        sql: &str,
        values: &[Value<'_>],
        read: &mut dyn FnMut(&dyn sql::Row) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        self.db.each(sql, values, read)
    }
}

impl CommandStore for DomainTx<'_> {
    const DOMAIN: &'static str = LOCK_DOMAIN;
    const DOMAIN_LOCK: &'static str = " FOR KEY SHARE";
    // Both numbers only increase.
    const CHANGE_MARK: &'static str = "SELECT last_change_at + last_profile_change_at
         FROM domain_clocks WHERE domain_id = ?1";

    fn domain(&self) -> DomainId {
        self.domain
    }

    /// They are written when the transaction ends, because the clock is locked last.
    fn store_bytes(&self, more: i64) -> Result<(), StoreError> {
        self.db.more_bytes.set(self.db.more_bytes.get() + more);
        Ok(())
    }

    /// Written when the transaction ends.
    fn add_batch(&self, batch: LoggedBatch) -> Result<(), StoreError> {
        self.db.batches.borrow_mut().push(batch);
        Ok(())
    }
}

impl<'c> DomainTx<'c> {
    /// Writes the bytes that were stored and the log; the last statements of a transaction, because
    /// they lock the clock.
    pub(crate) fn end(&self) -> Result<(), StoreError> {
        let (more, batches) = (self.db.more_bytes.take(), self.db.batches.take());
        let (client, domain) = (self.client(), self.domain);
        self.wait(async {
            // Sent together: a write waits once for all.
            let (bytes, log) =
                join!(end_bytes(client, domain, more), end_log(client, domain, &batches));
            // The first fault is the cause: after it, the transaction refuses other statements.
            bytes.and(log)
        })
    }

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

/// Adds to the bytes that the domain stores.
async fn end_bytes(client: &Client, domain: DomainId, more: i64) -> Result<(), StoreError> {
    if more == 0 {
        return Ok(());
    }
    let adding: [&(dyn ToSql + Sync); 2] = [&domain.0, &more];
    let add = client.prepare(&native(ADD_BYTES)).await?;
    let quota = client.prepare(&native(QUOTA_BYTES)).await?;
    let (stored, quota) = join!(
        client.prepared_row_opt(&add, &adding),
        client.prepared_row_opt(&quota, &adding[..1]),
    );
    let stored = stored?.map(|row| row.get(0));
    require_room(more, stored, quota?.and_then(|row| row.get(0)))
}

/// Adds batches to the log.
async fn end_log(
    client: &Client,
    domain: DomainId,
    batches: &[LoggedBatch],
) -> Result<(), StoreError> {
    for LoggedBatch { count, at, bytes, index } in batches {
        let sum = checksum::of(values![domain, at, bytes]);
        let row: [&(dyn ToSql + Sync); 5] = [&domain.0, count, &at.0, bytes, &sum];
        let take = client.prepare(&native(TAKE_POSITIONS)).await?;
        let add = client.prepare(&native(ADD_BATCH)).await?;
        let add_record = client.prepare(&native(ADD_RECORD)).await?;
        let records = join_all(index.iter().map(async |row| {
            let values = row.values(domain);
            client.prepared_execute(&add_record, &parameters(&bound(&values))).await
        }));
        let (taken, added, records) = join!(
            client.prepared_execute(&take, &row[..2]),
            client.prepared_execute(&add, &row),
            records,
        );
        taken.and(added)?;
        records.into_iter().try_for_each(|record| record.map(drop))?;
    }
    Ok(())
}

/// A statement as PostgreSQL writes it.
pub(crate) fn native(sql: &str) -> String {
    sql.replace('?', "$")
}

/// A value of a statement, in the format of the parameter's type.
#[derive(Debug)]
pub(crate) struct Bound<'v>(Value<'v>);

pub(crate) fn bound<'v>(values: &[Value<'v>]) -> Vec<Bound<'v>> {
    values.iter().map(|value| Bound(*value)).collect()
}

pub(crate) fn parameters<'b>(bound: &'b [Bound<'_>]) -> Vec<&'b (dyn ToSql + Sync)> {
    bound.iter().map(|value| value as &(dyn ToSql + Sync)).collect()
}

impl ToSql for Bound<'_> {
    fn to_sql(
        &self,
        ty: &Type,
        out: &mut BytesMut,
    ) -> Result<IsNull, Box<dyn Error + Sync + Send>> {
        // No column has a number outside its type, so that the nearest one compares the same.
        let int4 = |number: i64| number.clamp(i32::MIN.into(), i32::MAX.into()) as i32;
        match (self.0, ty) {
            (Value::Null, _) => Ok(IsNull::Yes),
            (Value::Int(number), &Type::BOOL) => (number != 0).to_sql(ty, out),
            (Value::Int(number), &Type::INT2) => i16::try_from(number)?.to_sql(ty, out),
            (Value::Int(number), &Type::INT4) => int4(number).to_sql(ty, out),
            (Value::Int(number), _) => number.to_sql(ty, out),
            (Value::Text(text), _) => text.as_bytes().to_sql(ty, out),
            (Value::Bytes(bytes), _) => bytes.to_sql(ty, out),
            (Value::Ints(list), &Type::INT4_ARRAY) => {
                list.iter().map(|number| int4(*number)).collect::<Vec<_>>().to_sql(ty, out)
            }
            (Value::Ints(list), _) => list.to_sql(ty, out),
            (Value::Texts(list), _) => list.to_sql(ty, out),
            (Value::Blobs(list), _) => list.to_sql(ty, out),
        }
    }

    fn accepts(_: &Type) -> bool {
        true
    }

    to_sql_checked!();
}

/// A value of a row.
struct Read<'r>(Value<'r>);

impl<'r> FromSql<'r> for Read<'r> {
    fn from_sql(ty: &Type, raw: &'r [u8]) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(match *ty {
            Type::BOOL => Value::Int(bool::from_sql(ty, raw)?.into()),
            Type::INT2 => Value::Int(i16::from_sql(ty, raw)?.into()),
            Type::INT4 => Value::Int(i32::from_sql(ty, raw)?.into()),
            Type::INT8 => Value::Int(i64::from_sql(ty, raw)?),
            _ => Value::Bytes(raw),
        }))
    }

    fn from_sql_null(_: &Type) -> Result<Self, Box<dyn Error + Sync + Send>> {
        Ok(Self(Value::Null))
    }

    fn accepts(_: &Type) -> bool {
        true
    }
}

/// A row that the shared rules read.
pub(crate) struct ReadRow<'r>(pub(crate) &'r Row);

impl sql::Row for ReadRow<'_> {
    fn value(&self, column: usize) -> Result<Value<'_>, StoreError> {
        let read = self.0.try_get::<_, Read<'_>>(column);
        read.map(|read| read.0).map_err(|error| StoreError::Corrupt(error.to_string()))
    }
}
