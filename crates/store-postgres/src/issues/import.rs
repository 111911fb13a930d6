//! The statements of an import ([`ImportStore`]). The domain's clock is locked before the first
//! plan, because the milliseconds and ids that a plan takes must stay free until the chunk commits;
//! so chunks of imports are short. A dry run locks nothing: it plans from its snapshot.

use std::collections::HashMap;
use std::ops::Range;

use caseload_model::ids::DomainId;
use caseload_model::issue::{App, ImportPlan, IssueFragments, StoredIssue, TimeWindow};
use caseload_model::time::UnixMillis;
use futures_util::FutureExt as _;
use tokio::try_join;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::super::engine::Client;
use super::super::rows::text;
use super::columns::NewRow;
use super::copy_pipeline::CopyPipeline;
use super::deltas::Deltas;
use super::import_names::ImportedNames;
use super::page::{FRAGMENTS, FRAGMENTS_COUNT, body};
use crate::tx::DomainTx;
use caseload_store::issues::{ImportState, ImportStore, IndexChanges, IndexedIssue, entries_of};
use caseload_store::rowset::row_number;
use caseload_store::{ApplyChunk, ChunkEntries, StoreError};

/// The import of one chunk.
#[derive(Debug)]
pub(crate) struct Import<'c> {
    tx: DomainTx<'c>,
    now: UnixMillis,
    dry_run: bool,
    clock: Clock,
    pipeline: CopyPipeline<'c>,
    changes: IndexChanges,
    names: ImportedNames,
}

/// The clock's numbers after the issues of the chunk so far.
#[derive(Debug, Default)]
struct Clock {
    last_row: i64,
    last_change: i64,
}

impl ImportStore for Import<'_> {
    fn known(&mut self) -> Result<ImportState, StoreError> {
        let (client, domain) = (self.tx.client(), self.tx.domain);
        let (known, clock) = self.tx.wait(read_known(client, domain, self.dry_run))?;
        self.clock = clock;
        Ok(known)
    }

    fn stored(&mut self, ids: &[u64]) -> Result<HashMap<u64, StoredIssue>, StoreError> {
        let (client, domain) = (self.tx.client(), self.tx.domain);
        let ids: Vec<i64> = ids.iter().map(|id| *id as i64).collect();
        self.tx.wait(async {
            self.pipeline.end().await?;
            stored(client, domain, &ids).await
        })
    }

    fn taken(&mut self, windows: &[TimeWindow]) -> Result<Vec<Vec<UnixMillis>>, StoreError> {
        let (client, domain) = (self.tx.client(), self.tx.domain);
        self.tx.wait(async {
            self.pipeline.end().await?;
            taken(client, domain, windows).await
        })
    }

    fn insert(
        &mut self,
        part: &ChunkEntries,
        slice: Range<usize>,
        plan: &mut ImportPlan,
    ) -> Result<(), StoreError> {
        self.names.add(plan);
        let entries = entries_of(&part.work, &slice)?;
        for issue in &plan.issues {
            let prepared = entries[issue.source]
                .item
                .as_ref()
                .map_err(|_| StoreError::Corrupt("a refused entry was planned".to_owned()))?;
            self.clock.last_row += 1;
            let row = row_number(self.clock.last_row)?;
            let (columns, body) = (&issue.columns, &prepared.body);
            let new = NewRow { row, columns, head: &issue.head, body };
            self.pipeline.add(&new);
            let fragments = &IssueFragments::new(&issue.head, body);
            self.changes.change(row.into(), None, Some(IndexedIssue { columns, fragments }))?;
        }
        if plan.issues.is_empty() { Ok(()) } else { self.tx.wait(self.pipeline.send()) }
    }
}

impl<'c> Import<'c> {
    pub(crate) fn new(tx: DomainTx<'c>, command: &ApplyChunk) -> Self {
        Self {
            tx,
            now: command.now,
            dry_run: command.dry_run,
            clock: Clock::default(),
            pipeline: CopyPipeline::new(tx.client(), tx.domain),
            changes: IndexChanges::default(),
            names: ImportedNames::default(),
        }
    }

    /// Whether another transaction waits for the end of the chunk, as every writer of the domain
    /// does.
    pub(crate) fn is_waited_for(&mut self) -> Result<bool, StoreError> {
        self.tx.wait(self.pipeline.waited_for())
    }

    /// Writes the index update, the names and the clock's numbers of the chunk, all in one flight.
    pub(crate) async fn finish(&mut self, known: Option<&ImportState>) -> Result<(), StoreError> {
        let Some(known) = known else { return Ok(()) };
        let (client, domain) = (self.tx.client(), self.tx.domain);
        let Self { clock, pipeline, now, .. } = self;
        let (changes, names) = (std::mem::take(&mut self.changes), std::mem::take(&mut self.names));
        pipeline.send_all().await?;
        let names = names.timed(|| clock.change_time(*now));
        pipeline.send_beside(names.write(client, domain).boxed())?;
        // This runs while the database writes the issues and their names.
        let deltas = Deltas::of_new(domain, changes)?;
        let update = client.prepare(UPDATE_CLOCK).await?;
        let (last_id, last_app) =
            (known.last_issue_id as i64, known.next_publish_number as i64 - 1);
        let created_at = known.max_created_at.unwrap_or_default().0;
        let numbers: [&(dyn ToSql + Sync); 6] =
            [&domain.0, &last_id, &created_at, &last_app, &clock.last_row, &clock.last_change];
        try_join!(
            pipeline.end(),
            deltas.write(client, domain),
            client.prepared_execute(&update, &numbers),
        )?;
        Ok(())
    }
}

const UPDATE_CLOCK: &str = "UPDATE domain_clocks SET last_issue_id = greatest(last_issue_id, $2),
     last_created_at = greatest(last_created_at, $3),
     last_app_number = greatest(last_app_number, $4), last_issue_row = $5, last_change_at = $6
     WHERE domain_id = $1";

impl Clock {
    fn change_time(&mut self, now: UnixMillis) -> i64 {
        self.last_change = now.0.max(self.last_change + 1);
        self.last_change
    }
}

/// Locks the clock unless it is a dry run, and then reads the state of the domain.
async fn read_known(
    client: &Client,
    domain: DomainId,
    dry_run: bool,
) -> Result<(ImportState, Clock), StoreError> {
    let lock = if dry_run { "" } else { " FOR UPDATE" };
    let clock = client
        .row_opt(
            &format!(
                "SELECT last_issue_id, last_app_number, last_issue_row, last_change_at
                 FROM domain_clocks WHERE domain_id = $1{lock}"
            ),
            &[&domain.0],
        )
        .await?
        .ok_or(StoreError::LeaseLost)?;
    // This comes after the lock, so it sees the commits of the transactions that held it before.
    let newest =
        client.row("SELECT max(created_at) FROM issues WHERE domain_id = $1", &[&domain.0]).await?;
    let found = client
        .rows(
            "SELECT a.id, a.publish_id, a.id = d.default_app_id FROM domains d
             JOIN apps a ON a.domain_id = d.id WHERE d.id = $1 AND a.domain_id = $1
             ORDER BY a.created_at, a.id",
            &[&domain.0],
        )
        .await?;
    let app =
        |row: &Row| Ok((App { app_id: text(row, 0)?, publish_id: text(row, 1)? }, row.get(2)));
    let apps = found.iter().map(app).collect::<Result<_, StoreError>>()?;
    let newest: Option<i64> = newest.get(0);
    let known = ImportState::new(apps, clock.get(1), clock.get(0), newest.map(UnixMillis))?;
    Ok((known, Clock { last_row: clock.get(2), last_change: clock.get(3) }))
}

/// The stored issues among `ids`.
async fn stored(
    client: &Client,
    domain: DomainId,
    ids: &[i64],
) -> Result<HashMap<u64, StoredIssue>, StoreError> {
    let found = client
        .rows(
            &format!(
                "SELECT {FRAGMENTS}, i.id, i.created_at, i.original_created_at
                 FROM unnest($2::bigint[]) AS named(id)
                 CROSS JOIN LATERAL (SELECT * FROM issues
                 WHERE domain_id = $1 AND id = named.id OFFSET 0) i
                 CROSS JOIN LATERAL (SELECT * FROM issue_bodies
                 WHERE domain_id = $1 AND row = i.row OFFSET 0) b"
            ),
            &[&domain.0, &ids],
        )
        .await?;
    let stored = found.iter().map(|row| {
        let id: i64 = row.get(FRAGMENTS_COUNT);
        let original: Option<i64> = row.get(FRAGMENTS_COUNT + 2);
        let issue = StoredIssue {
            head: row.get(0),
            body: body(row),
            created_at: UnixMillis(row.get(FRAGMENTS_COUNT + 1)),
            original_created_at: original.map(UnixMillis),
        };
        (id.unsigned_abs(), issue)
    });
    Ok(stored.collect())
}

/// The instants of creation in each window.
pub(super) async fn taken(
    client: &Client,
    domain: DomainId,
    windows: &[TimeWindow],
) -> Result<Vec<Vec<UnixMillis>>, StoreError> {
    let from: Vec<i64> = windows.iter().map(|window| window.from.0).collect();
    let until: Vec<i64> = windows.iter().map(|window| window.until.0).collect();
    let found = client
        .rows(
            "SELECT w.n, i.created_at
             FROM unnest($2::bigint[], $3::bigint[]) WITH ORDINALITY AS w(since, until, n)
             CROSS JOIN LATERAL (SELECT created_at FROM issues
             WHERE domain_id = $1 AND created_at BETWEEN w.since AND w.until OFFSET 0) i",
            &[&domain.0, &from, &until],
        )
        .await?;
    let mut taken = vec![Vec::new(); windows.len()];
    for row in &found {
        let n: i64 = row.get(0);
        if let Some(taken) = taken.get_mut((n - 1) as usize) {
            taken.push(UnixMillis(row.get(1)));
        }
    }
    Ok(taken)
}
