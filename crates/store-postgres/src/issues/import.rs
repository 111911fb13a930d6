//! The statements of an import ([`ImportStore`]). The domain's clock is locked before the first
//! plan, because the milliseconds and ids that a plan takes must stay free until the chunk commits;
//! so chunks of imports are short. A dry run locks nothing: it plans from its snapshot.

use std::ops::Range;
use std::sync::Arc;

use caseload_model::change::Effect;
use caseload_model::issue::write::IssueRecord;
use caseload_model::issue::{ImportContext, ImportPlan, IssueFragments, StoredIssue, TimeWindow};
use caseload_model::time::UnixMillis;
use caseload_store::issues::{
    FRAGMENTS, FreeRows, ImportStore, IndexChanges, IndexedIssue, entries_of, stored_issue,
};
use caseload_store::rowset::row_number;
use caseload_store::sql::Sql;
use caseload_store::{ApplyChunk, ChunkEntries, StoreError, values};
use futures_util::FutureExt as _;
use parking_lot::Mutex;
use tokio::join;
use tokio_postgres::types::ToSql;

use super::columns::NewRow;
use super::copy_pipeline::CopyPipeline;
use super::deltas::Deltas;
use super::import_names::ImportedNames;
use crate::engine::first_cause;
use crate::tx::DomainTx;

/// The import of one chunk.
#[derive(Debug)]
pub(crate) struct Import<'c> {
    tx: DomainTx<'c>,
    now: UnixMillis,
    dry_run: bool,
    clock: Clock,
    pipeline: CopyPipeline<'c>,
    changes: IndexChanges,
    upsert: bool,
    names: ImportedNames,
    /// The records that were created by their names.
    created: Arc<Mutex<Vec<Effect>>>,
}

/// The clock's numbers after the issues of the chunk so far.
#[derive(Debug, Default)]
struct Clock {
    last_row: i64,
    last_change: i64,
}

impl<'c> ImportStore for Import<'c> {
    type Domain = DomainTx<'c>;

    fn domain(&self) -> DomainTx<'c> {
        self.tx
    }

    /// Locks the clock unless it is a dry run.
    fn clock(&mut self) -> Result<(u64, u64), StoreError> {
        let lock = if self.dry_run { "" } else { " FOR UPDATE" };
        let select = format!(
            "SELECT last_issue_id, last_app_number, last_issue_row, last_change_at
             FROM domain_clocks WHERE domain_id = $1{lock}"
        );
        let found = self.tx.find(&select, values![self.tx.domain], |row| {
            self.clock = Clock { last_row: row.get(2)?, last_change: row.get(3)? };
            Ok((row.get(0)?, row.get(1)?))
        });
        found?.ok_or(StoreError::LeaseLost)
    }

    fn stored(&mut self, ids: &[i64]) -> Result<Vec<(u64, StoredIssue)>, StoreError> {
        self.tx.wait(self.pipeline.end())?;
        let select = format!(
            "SELECT {FRAGMENTS}, i.id, i.created_at, i.original_created_at
             FROM unnest($2::bigint[]) AS named(id)
             CROSS JOIN LATERAL (SELECT * FROM issues
             WHERE domain_id = $1 AND id = named.id OFFSET 0) i
             CROSS JOIN LATERAL (SELECT * FROM issue_bodies
             WHERE domain_id = $1 AND row = i.row OFFSET 0) b"
        );
        self.tx.list(&select, values![self.tx.domain, ids], stored_issue)
    }

    fn taken(&mut self, windows: &[TimeWindow]) -> Result<Vec<Vec<UnixMillis>>, StoreError> {
        self.tx.wait(self.pipeline.end())?;
        let from: Vec<i64> = windows.iter().map(|window| window.from.0).collect();
        let until: Vec<i64> = windows.iter().map(|window| window.until.0).collect();
        let mut taken = vec![Vec::new(); windows.len()];
        self.tx.each(
            "SELECT w.n - 1, i.created_at
             FROM unnest($2::bigint[], $3::bigint[]) WITH ORDINALITY AS w(since, until, n)
             CROSS JOIN LATERAL (SELECT created_at FROM issues
             WHERE domain_id = $1 AND created_at BETWEEN w.since AND w.until OFFSET 0) i",
            values![self.tx.domain, from, until],
            &mut |row| {
                if let Some(taken) = taken.get_mut(row.get::<u64>(0)? as usize) {
                    taken.push(row.get(1)?);
                }
                Ok(())
            },
        )?;
        Ok(taken)
    }

    fn unindex(&mut self, removed: Vec<(u32, IssueRecord)>) -> Result<(), StoreError> {
        for (row, issue) in &removed {
            let (columns, fragments) = (&issue.columns, &issue.fragments());
            let before = IndexedIssue { columns, fragments };
            self.changes.change((*row).into(), Some(before), None)?;
        }
        Ok(())
    }

    fn take_created(&mut self) -> Vec<Effect> {
        std::mem::take(&mut *self.created.lock())
    }

    fn insert(
        &mut self,
        part: &ChunkEntries,
        slice: Range<usize>,
        plan: &mut ImportPlan,
        rows: FreeRows,
    ) -> Result<(), StoreError> {
        self.names.add(plan);
        let entries = entries_of(&part.work, &slice)?;
        for issue in &plan.issues {
            let prepared = entries[issue.source]
                .item
                .as_ref()
                .map_err(|_| StoreError::Corrupt("a refused entry was planned".to_owned()))?;
            let row = match rows.get(&issue.columns.id) {
                Some(row) => *row,
                None => self.clock.next_row()?,
            };
            let (columns, body) = (&issue.columns, &prepared.body);
            let new = NewRow { row, columns, head: &issue.head, body };
            self.pipeline.add(&new);
            let fragments = &IssueFragments::new(&issue.head, body);
            self.changes.change(row.into(), None, Some(IndexedIssue { columns, fragments }))?;
        }
        if plan.issues.is_empty() {
            return Ok(());
        }
        let pipeline = &mut self.pipeline;
        self.tx.wait(async {
            let sent = pipeline.send().await;
            pipeline.caused(sent).await
        })
    }
}

impl<'c> Import<'c> {
    pub(crate) fn new(tx: DomainTx<'c>, command: &ApplyChunk) -> Self {
        Self {
            tx,
            now: command.clock.now(),
            dry_run: command.dry_run,
            clock: Clock::default(),
            pipeline: CopyPipeline::new(tx.client(), tx.domain),
            changes: IndexChanges::default(),
            upsert: command.upsert,
            names: ImportedNames::default(),
            created: Arc::default(),
        }
    }

    /// Whether the import may replace issues. Their rows are locked before the clock, which the
    /// first slice locks, so that such a chunk has one slice.
    pub(crate) const fn is_upsert(&self) -> bool {
        self.upsert
    }

    /// Whether another transaction waits for the end of the chunk, as every writer of the domain
    /// does.
    pub(crate) fn has_waiters(&mut self) -> Result<bool, StoreError> {
        let pipeline = &mut self.pipeline;
        self.tx.wait(async {
            let asked = pipeline.has_waiters().await;
            pipeline.caused(asked).await
        })
    }

    /// Writes the index update, the names and the clock's numbers of the chunk, all in one flight.
    pub(crate) async fn finish(
        &mut self,
        imported: Option<&ImportContext>,
    ) -> Result<(), StoreError> {
        let Some(imported) = imported else { return Ok(()) };
        let written = self.write(imported).await;
        self.pipeline.caused(written).await
    }

    async fn write(&mut self, imported: &ImportContext) -> Result<(), StoreError> {
        let (client, domain) = (self.tx.client(), self.tx.domain);
        let Self { clock, pipeline, now, .. } = self;
        let (changes, names) = (std::mem::take(&mut self.changes), std::mem::take(&mut self.names));
        pipeline.send_all().await?;
        // Before the names are sent: while their answer, a row for each, is not read, the
        // connection reads no other one.
        let update = client.prepare(UPDATE_CLOCK).await?;
        let before = clock.last_change;
        let names = names.timed(|| clock.change_time(*now));
        if clock.last_change == before {
            clock.change_time(*now);
        }
        let created = self.created.clone();
        let named = async move {
            let added = names.write(client, domain).await?;
            created.lock().extend(added);
            Ok(())
        };
        pipeline.send_with_issues(named.boxed())?;
        // This runs while the database writes the issues and their names.
        let deltas = if self.upsert {
            Deltas::new(domain, changes)?
        } else {
            Deltas::of_new(domain, changes)?
        };
        let (last_id, last_app) =
            (imported.last_issue_id as i64, imported.next_publish_number as i64 - 1);
        let created_at = imported.taken_timestamps.max_created_at().unwrap_or_default().0;
        let numbers: [&(dyn ToSql + Sync); 6] =
            [&domain.0, &last_id, &created_at, &last_app, &clock.last_row, &clock.last_change];
        let clock = client.prepared_execute(&update, &numbers);
        let (issues, deltas, clock) = join!(pipeline.end(), deltas.write(client, domain), clock);
        first_cause([issues, deltas, clock.map(drop)])
    }
}

const UPDATE_CLOCK: &str = "UPDATE domain_clocks SET
     last_issue_id = greatest(last_issue_id, $2), last_created_at = greatest(last_created_at, $3),
     last_app_number = greatest(last_app_number, $4), last_issue_row = $5, last_change_at = $6
     WHERE domain_id = $1";

impl Clock {
    fn next_row(&mut self) -> Result<u32, StoreError> {
        self.last_row += 1;
        row_number(self.last_row)
    }

    fn change_time(&mut self, now: UnixMillis) -> i64 {
        self.last_change = now.0.max(self.last_change + 1);
        self.last_change
    }
}
