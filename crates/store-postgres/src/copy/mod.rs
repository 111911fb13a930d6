//! A PostgreSQL database as the source or the target of a copy, on one connection. A source is read
//! in one snapshot, under locks that permit others to read but not to write. A target receives rows
//! by `COPY`, in transactions that also record the progress. Only the last transaction waits for
//! the disk, because a database that lost its latest commits can resume the copy. A copy is refused
//! while a server or command has a session.

mod statements;
#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests;
mod wire;

use std::collections::HashMap;
use std::pin::pin;
use std::sync::Arc;

use futures_util::TryStreamExt;
use parking_lot::Mutex;
use tokio::task::JoinHandle;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::error::SqlState;
use tokio_postgres::types::{ToSql, Type};
use tokio_postgres::{Client, Row};

use super::engine::Engine;
use super::issues::{compact_remaining, join_parts};
use super::{PostgresAddress, check};
use crate::engine::store_error;
use crate::sessions::refuse_servers;
use caseload_store::copy::end::{CopyEnd, Progress, Side, refused};
use caseload_store::copy::numbering::{ROW_SPANS, RowSpan};
use caseload_store::copy::rows::{CopyBatch, Rows, Value, decode, encode};
use caseload_store::copy::tables::{MARK_TEXTS, TABLES, Table};
use caseload_store::failpoint::{self, Failpoint};
use caseload_store::{CheckReport, StoreError, StoreFuture};
use statements::TableStatements;
use wire::{ReceivedValue, SentValue};

/// Rows of the first batch of a table, while their size is unknown.
const FIRST_ROWS: usize = 64;
/// Statements of a copy have no time limit, apart from waiting for a lock.
const NO_TIME_LIMIT: &str = "SET LOCAL statement_timeout = 0; \
    SET LOCAL idle_in_transaction_session_timeout = 0; SET LOCAL lock_timeout = '10s'";

/// Tables of this backend that are not in the list of copied tables.
const OWN_TABLES: &[&str] = &[
    "task_queue",
    "issue_count_deltas",
    "issue_set_deltas",
    "issue_text_marks",
    "issue_text_segments",
    "issue_text_grams",
];

/// Fails if the store is the target of an unfinished copy.
pub(super) async fn refuse_unfinished(
    engine: &Engine,
    address: &PostgresAddress,
) -> Result<(), StoreError> {
    let sql = "SELECT EXISTS (SELECT 1 FROM copy_progress)";
    let unfinished = engine.read(None, (), |client, ()| {
        Box::pin(async { Ok(client.row(sql, &[]).await?.get::<_, bool>(0)) })
    });
    if unfinished.await? {
        return Err(StoreError::CopyUnfinished { store: address.to_string() });
    }
    Ok(())
}

/// Opens a store as the source or the target of a copy.
pub async fn open_copy_end(
    address: &PostgresAddress,
    side: Side,
) -> Result<Arc<dyn CopyEnd>, StoreError> {
    let may_create = side == Side::Target;
    let (client, driver) = Engine::connect_alone(address, may_create).await?;
    let end = PostgresEnd { address: address.clone(), client, driver, row_bytes: Mutex::default() };
    refuse_servers(&end.client, address, refused).await?;
    if side == Side::Source {
        end.compact().await?;
        end.begin_source().await?;
    }
    Ok(Arc::new(end))
}

struct PostgresEnd {
    address: PostgresAddress,
    client: Client,
    /// Drives the connection until the client is dropped.
    driver: JoinHandle<()>,
    /// The average size of the rows of each table in its last batch.
    row_bytes: Mutex<HashMap<&'static str, usize>>,
}

impl PostgresEnd {
    /// Opens the transaction in which a source is read.
    async fn begin_source(&self) -> Result<(), StoreError> {
        let names: Vec<&str> =
            TABLES.iter().map(|table| table.name).chain(OWN_TABLES.iter().copied()).collect();
        let begin = format!(
            "BEGIN ISOLATION LEVEL REPEATABLE READ; {NO_TIME_LIMIT}; LOCK TABLE {} IN SHARE MODE",
            names.join(", ")
        );
        self.client.batch_execute(&begin).await.map_err(|error| {
            if error.code() == Some(&SqlState::LOCK_NOT_AVAILABLE) {
                return refused(format!(
                    "another session writes to {}; stop it first",
                    self.address
                ));
            }
            store_error(error)
        })?;
        self.refuse_deltas().await
    }

    /// Compacts the deltas that the last server left.
    async fn compact(&self) -> Result<(), StoreError> {
        let engine = Engine::open(&self.address, false).await?;
        let compacted = async {
            while compact_remaining(&engine).await? {}
            join_parts(&engine).await
        };
        let compacted = compacted.await;
        engine.close();
        compacted
    }

    /// Fails if there are deltas, because a copy takes only the base rows of counters and term
    /// sets.
    async fn refuse_deltas(&self) -> Result<(), StoreError> {
        let domains = "SELECT id FROM domains";
        let domains = self.client.query(domains, &[]).await.map_err(store_error)?;
        let domains: Vec<i64> = domains.iter().map(|row| row.get(0)).collect();
        let left = "SELECT EXISTS (SELECT 1 FROM issue_count_deltas WHERE domain_id = ANY ($1)
             UNION ALL SELECT 1 FROM issue_set_deltas WHERE domain_id = ANY ($1)
             UNION ALL SELECT 1 FROM issue_values WHERE domain_id = ANY ($1)
             GROUP BY domain_id, kind, block, value HAVING count(*) > 1)";
        let left = self.client.query_one(left, &[&domains]).await.map_err(store_error)?;
        if left.get(0) {
            return Err(refused(format!(
                "another session has just written issues to {}; stop it and try again",
                self.address
            )));
        }
        Ok(())
    }

    /// The number of rows that make a batch of about the wanted bytes.
    fn limit(&self, table: &Table, batch: CopyBatch) -> i64 {
        let known = self.row_bytes.lock();
        let wanted = match known.get(table.name) {
            Some(bytes) => batch.bytes / bytes.max(&1),
            None => FIRST_ROWS,
        };
        wanted.clamp(1, batch.rows.max(1)) as i64
    }

    async fn read_batch(
        &self,
        table: &'static Table,
        position: Option<Vec<u8>>,
        batch: CopyBatch,
    ) -> Result<Rows, StoreError> {
        let statements = TableStatements::of(&self.client, table).await?;
        let limit = self.limit(table, batch);
        let after = match position.as_deref().map(decode) {
            None => Vec::new(),
            Some(Some(key)) if key.len() == statements.key_width => key,
            Some(_) => return Err(StoreError::Corrupt("the position of a copy".to_owned())),
        };
        let sql = if after.is_empty() { &statements.first } else { &statements.further };
        let params: Vec<SentValue<'_>> =
            after.into_iter().chain([Value::Integer(limit)]).map(SentValue).collect();
        let params = params.iter().map(|value| value as &(dyn ToSql + Sync));
        let mut found = pin!(
            self.client.query_raw(sql, params.collect::<Vec<_>>()).await.map_err(store_error)?
        );
        let width = table.columns.len();
        let mut rows = Rows::new(width);
        let mut last = None;
        while let Some(row) = found.try_next().await.map_err(store_error)? {
            for place in 0..width {
                rows.push(value_of(&row, place)?);
            }
            last = Some(row);
        }
        if let Some(last) = last.filter(|_| rows.len() as i64 == limit) {
            let key = (width..width + statements.key_width).map(|place| value_of(&last, place));
            rows.next = Some(encode(key.collect::<Result<Vec<_>, _>>()?));
        }
        if !rows.is_empty() {
            let mut known = self.row_bytes.lock();
            known.insert(table.name, rows.bytes_len() / rows.len());
        }
        Ok(rows)
    }

    async fn write_batch(
        &self,
        table: &'static Table,
        rows: &Rows,
        progress: &Progress,
    ) -> Result<(), StoreError> {
        // The last commit of the copy makes all commits durable.
        let begin = format!("BEGIN; {NO_TIME_LIMIT}; SET LOCAL synchronous_commit = off");
        self.client.batch_execute(&begin).await.map_err(store_error)?;
        self.save_progress(progress).await?;
        if !rows.is_empty() {
            let statements = TableStatements::of(&self.client, table).await?;
            let copied = rows.iter().map(|row| {
                statements.written.iter().map(|at| SentValue(row.value(*at))).collect::<Vec<_>>()
            });
            self.copy_in(&statements.copy_in, &statements.types, copied).await?;
            if table.name == "tasks" {
                self.queue(table, rows).await?;
            }
        }
        failpoint::reached(Failpoint::CopyBeforeCommit);
        self.client.batch_execute("COMMIT").await.map_err(store_error)?;
        failpoint::reached(Failpoint::CopyAfterCommit);
        Ok(())
    }

    async fn copy_in<'a>(
        &self,
        sql: &str,
        types: &[Type],
        rows: impl Iterator<Item = Vec<SentValue<'a>>>,
    ) -> Result<(), StoreError> {
        let sink = self.client.copy_in(sql).await.map_err(store_error)?;
        let mut writer = pin!(BinaryCopyInWriter::new(sink, types));
        for row in rows {
            writer.as_mut().write_raw(row).await.map_err(store_error)?;
        }
        writer.finish().await.map_err(store_error)?;
        Ok(())
    }

    /// Adds the tasks that are not completed to the queue.
    async fn queue(&self, table: &Table, rows: &Rows) -> Result<(), StoreError> {
        const COMPLETED: i64 = 4;
        const CREATED: i64 = 1;
        let place = |name| table.offset_of(name).unwrap_or_default();
        let status = place("status");
        let unfinished = rows.iter().filter(|row| row.integer(status) != COMPLETED);
        let queued = unfinished.map(|row| {
            let of = |name| SentValue(row.value(place(name)));
            let seen = Value::Integer(i64::from(row.integer(status) > CREATED));
            let [domain, task] = ["domain_id", "id"].map(of);
            let [seq, writes, not_before] = ["seq", "writes", "not_before"].map(of);
            vec![domain, task, seq, writes, SentValue(seen), not_before]
        });
        let types = [Type::INT8, Type::BYTEA, Type::INT8, Type::BOOL, Type::BOOL, Type::INT8];
        self.copy_in(
            "COPY task_queue (domain_id, task_id, seq, writes, queued, not_before)
             FROM STDIN (FORMAT binary)",
            &types,
            queued,
        )
        .await
    }

    /// Records the progress, unless a newer run has taken over.
    async fn save_progress(&self, progress: &Progress) -> Result<(), StoreError> {
        let Progress { attempt, table, position, rows, .. } = progress;
        let updated = self
            .client
            .execute(
                "UPDATE copy_progress SET table_name = $1, position = $2, copied_rows = $3
                 WHERE id = 1 AND attempt = $4",
                &[table, position, rows, attempt],
            )
            .await
            .map_err(store_error)?;
        if updated == 0 { Err(overtaken()) } else { Ok(()) }
    }
}

impl CopyEnd for PostgresEnd {
    fn read(
        &self,
        table: &'static Table,
        position: Option<Vec<u8>>,
        batch: CopyBatch,
    ) -> StoreFuture<'_, Rows> {
        Box::pin(self.read_batch(table, position, batch))
    }

    fn filled(&self) -> StoreFuture<'_, Option<&'static str>> {
        Box::pin(async {
            for table in TABLES.iter().map(|table| table.name).chain(OWN_TABLES.iter().copied()) {
                let sql = format!("SELECT EXISTS (SELECT 1 FROM {table})");
                if self.client.query_one(&sql, &[]).await.map_err(store_error)?.get(0) {
                    return Ok(Some(table));
                }
            }
            Ok(None)
        })
    }

    fn counts_over_domains(&self) -> bool {
        false
    }

    fn row_spans(&self) -> StoreFuture<'_, Vec<RowSpan>> {
        Box::pin(async {
            let rows = self.client.query(ROW_SPANS, &[]).await.map_err(store_error)?;
            let span = |row: &Row| {
                let (domain, least, largest) = (row.get(0), row.get(1), row.get(2));
                RowSpan { domain, least, largest, of_profiles: row.get(3) }
            };
            Ok(rows.iter().map(span).collect())
        })
    }

    fn last_domain_id(&self) -> StoreFuture<'_, i64> {
        Box::pin(async {
            let name: String = self
                .client
                .query_one("SELECT pg_get_serial_sequence('domains', 'id')", &[])
                .await
                .map_err(store_error)?
                .get(0);
            let sql = format!("SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM {name}");
            Ok(self.client.query_one(&sql, &[]).await.map_err(store_error)?.get(0))
        })
    }

    fn progress(&self) -> StoreFuture<'_, Option<Progress>> {
        Box::pin(async {
            let row = self
                .client
                .query_opt(
                    "SELECT source, origin, attempt, table_name, position, copied_rows
                     FROM copy_progress",
                    &[],
                )
                .await
                .map_err(store_error)?;
            Ok(row.map(|row| Progress {
                source: row.get(0),
                origin: row.get(1),
                attempt: row.get(2),
                table: row.get(3),
                position: row.get(4),
                rows: row.get(5),
            }))
        })
    }

    fn begin(&self, progress: Progress) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let Progress { source, origin, attempt, table, position, rows } = &progress;
            let begun = self
                .client
                .execute(
                    "INSERT INTO copy_progress
                     (id, source, origin, attempt, table_name, position, copied_rows)
                     VALUES (1, $1, $2, $3, $4, $5, $6)
                     ON CONFLICT (id) DO UPDATE SET attempt = excluded.attempt
                     WHERE copy_progress.attempt = excluded.attempt - 1",
                    &[source, origin, attempt, table, position, rows],
                )
                .await
                .map_err(store_error)?;
            if begun == 0 { Err(overtaken()) } else { Ok(()) }
        })
    }

    fn clear(&self) -> StoreFuture<'_, ()> {
        Box::pin(async {
            let names: Vec<&str> =
                TABLES.iter().map(|table| table.name).chain(OWN_TABLES.iter().copied()).collect();
            let sql = format!("TRUNCATE {}, copy_progress", names.join(", "));
            self.client.batch_execute(&sql).await.map_err(store_error)
        })
    }

    fn write(&self, table: &'static Table, rows: Rows, progress: Progress) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let written = self.write_batch(table, &rows, &progress).await;
            if written.is_err() {
                // If this fails too, the transaction ends with the session.
                drop(self.client.batch_execute("ROLLBACK").await);
            }
            written
        })
    }

    fn set_derived(&self, last_domain_id: i64) -> StoreFuture<'_, ()> {
        Box::pin(async move {
            let settle = format!(
                "BEGIN; {NO_TIME_LIMIT};
                 SELECT setval(pg_get_serial_sequence('domains', 'id'), {}, {});
                 UPDATE domain_clocks c SET last_profile_change_at = last_change_at,
                 last_task_seq = coalesce(
                   (SELECT max(t.seq) FROM tasks t WHERE t.domain_id = c.domain_id), 0),
                 last_issue_row = coalesce(
                   (SELECT max(i.\"row\") FROM issues i WHERE i.domain_id = c.domain_id), 0);
                 DELETE FROM issue_text_marks; {MARK_TEXTS};
                 COMMIT; ANALYZE",
                last_domain_id.max(1),
                last_domain_id > 0,
            );
            self.client.batch_execute(&settle).await.map_err(store_error)?;
            failpoint::reached(Failpoint::CopyBeforeFinish);
            Ok(())
        })
    }

    fn check(&self) -> StoreFuture<'_, CheckReport> {
        Box::pin(async {
            let engine = Engine::open(&self.address, false).await?;
            let report = check::run(&engine).await;
            engine.close();
            report
        })
    }

    fn finish(&self) -> StoreFuture<'_, ()> {
        Box::pin(async {
            // This commit also makes all earlier ones durable.
            let done =
                "BEGIN; SET LOCAL synchronous_commit = on; DELETE FROM copy_progress; COMMIT";
            self.client.batch_execute(done).await.map_err(store_error)
        })
    }

    fn close(&self) -> StoreFuture<'_, ()> {
        Box::pin(async {
            let undone = self.client.batch_execute("ROLLBACK").await;
            self.driver.abort();
            undone.map_err(store_error)
        })
    }
}

fn value_of(row: &Row, place: usize) -> Result<Value<'_>, StoreError> {
    Ok(row.try_get::<_, ReceivedValue<'_>>(place).map_err(store_error)?.0)
}

fn overtaken() -> StoreError {
    refused("another run of this copy has taken it up")
}
