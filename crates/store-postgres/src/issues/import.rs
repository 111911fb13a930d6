//! Importing issues: reads what a plan of the model's needs, asks for the plan, writes what it
//! says. The domain's clock is locked before the first plan, because a plan must know which
//! milliseconds and ids are free and stay so until the chunk commits; chunks of imports are kept
//! short for it. A dry run locks nothing: it plans from its snapshot.

use std::collections::HashMap;

use caseload_model::ids::DomainId;
use caseload_model::issue::{
    App, ImportPlan, IssueFragments, NewIssue, StoredIssue, TimeWindow, named_issue_ids,
};
use caseload_model::record::{ChunkRecords, PreparedEntry};
use caseload_model::time::UnixMillis;
use futures_util::FutureExt as _;
use tokio::try_join;
use tokio_postgres::types::ToSql;

use super::super::engine::Client;
use super::super::rows::text;
use super::columns::NewRow;
use super::copy_pipeline::CopyPipeline;
use super::deltas::Deltas;
use super::import_names::ImportedNames;
use super::page::{FRAGMENTS, FRAGMENTS_COUNT, body};
use caseload_store::issues::{ImportPlanner, ImportState, IndexChanges, IndexedIssue};
use caseload_store::rowset::row_number;
use caseload_store::{ApplyChunk, StoreError};

/// What the slices of one chunk share.
#[derive(Debug)]
pub(crate) struct Import<'c> {
    client: &'c Client,
    domain: DomainId,
    now: UnixMillis,
    dry_run: bool,
    clock: Option<Clock>,
    pipeline: CopyPipeline<'c>,
    changes: IndexChanges,
    names: ImportedNames,
}

/// The clock's numbers as the chunk leaves them, and what else is known.
#[derive(Debug)]
struct Clock {
    known: ImportState,
    last_row: i64,
    last_change: i64,
}

impl<'c> Import<'c> {
    pub(crate) fn new(client: &'c Client, command: &ApplyChunk) -> Self {
        Self {
            client,
            domain: command.domain,
            now: command.now,
            dry_run: command.dry_run,
            clock: None,
            pipeline: CopyPipeline::new(client, command.domain),
            changes: IndexChanges::default(),
            names: ImportedNames::default(),
        }
    }

    /// Imports `entries`, whose bytes are in `payload`, and returns their records.
    pub(crate) async fn import(
        &mut self,
        payload: &[u8],
        entries: &[PreparedEntry<NewIssue>],
    ) -> Result<ChunkRecords, StoreError> {
        let mut clock = match self.clock.take() {
            Some(clock) => clock,
            None => Clock::read(self.client, self.domain, self.dry_run).await?,
        };
        let (known, mut plan) = self.plan(clock.known, payload, entries).await?;
        clock.known = known;
        if !self.dry_run {
            self.names.add(&mut plan);
            self.keep_issues(&mut clock, &plan, entries).await?;
            clock.known.add(&mut plan);
        }
        self.clock = Some(clock);
        Ok(plan.records)
    }

    /// Whether somebody is known to wait for the chunk to end: every writer of the domain does.
    pub(crate) async fn is_waited_for(&mut self) -> Result<bool, StoreError> {
        if self.dry_run { Ok(false) } else { self.pipeline.waited_for().await }
    }

    /// Plans the entries, answering questions about taken milliseconds until none is left.
    async fn plan(
        &mut self,
        known: ImportState,
        payload: &[u8],
        entries: &[PreparedEntry<NewIssue>],
    ) -> Result<(ImportState, ImportPlan), StoreError> {
        let ids = named_issue_ids(entries);
        let ids: Vec<i64> = known.maybe_taken(&ids).map(|id| id as i64).collect();
        let mut found = HashMap::new();
        if !ids.is_empty() {
            self.pipeline.end().await?;
            found = stored(self.client, self.domain, &ids).await?;
        }
        let mut planning = ImportPlanner::new(known, found, payload, entries, self.dry_run);
        let plan = loop {
            match planning.plan() {
                Ok(plan) => break plan,
                Err(windows) => {
                    self.pipeline.end().await?;
                    let taken = taken(self.client, self.domain, &windows).await?;
                    for (window, taken) in windows.into_iter().zip(taken) {
                        planning.note(window, taken);
                    }
                }
            }
        };
        Ok((planning.end(), plan))
    }

    async fn keep_issues(
        &mut self,
        clock: &mut Clock,
        plan: &ImportPlan,
        entries: &[PreparedEntry<NewIssue>],
    ) -> Result<(), StoreError> {
        for issue in &plan.issues {
            let prepared = entries[issue.source]
                .item
                .as_ref()
                .map_err(|_| StoreError::Corrupt("a refused entry was planned".to_owned()))?;
            clock.last_row += 1;
            let row = row_number(clock.last_row)?;
            let (columns, body) = (&issue.columns, &prepared.body);
            let new = NewRow { row, columns, head: &issue.head, body };
            self.pipeline.add(&new);
            let fragments = &IssueFragments::new(&issue.head, body);
            self.changes.change(clock.last_row, None, Some(IndexedIssue { columns, fragments }))?;
        }
        if plan.issues.is_empty() { Ok(()) } else { self.pipeline.send().await }
    }

    /// IssueStatements what the chunk comes to: what issues are found by, what they name, and the
    /// clock's numbers. All of it is sent at once.
    pub(crate) async fn finish(self) -> Result<(), StoreError> {
        let Self { client, domain, now, mut pipeline, changes, names, .. } = self;
        let Some(mut clock) = self.clock.filter(|_| !self.dry_run) else { return Ok(()) };
        pipeline.send_all().await?;
        let names = names.timed(|| clock.change_time(now));
        pipeline.send_beside(names.keep(client, domain).boxed())?;
        // While the database takes the issues and what they name.
        let deltas = Deltas::of_new(domain, changes)?;
        let update = client.prepare(KEEP_CLOCK).await?;
        let known = &clock.known;
        let (last_id, last_app) =
            (known.last_issue_id as i64, known.next_publish_number as i64 - 1);
        let created_at = known.max_created_at.unwrap_or_default().0;
        let numbers: [&(dyn ToSql + Sync); 6] =
            [&domain.0, &last_id, &created_at, &last_app, &clock.last_row, &clock.last_change];
        try_join!(
            pipeline.end(),
            deltas.keep(client, domain),
            client.prepared_execute(&update, &numbers),
        )?;
        Ok(())
    }
}

const KEEP_CLOCK: &str = "UPDATE domain_clocks SET last_issue_id = greatest(last_issue_id, $2),
     last_created_at = greatest(last_created_at, $3),
     last_app_number = greatest(last_app_number, $4), last_issue_row = $5, last_change_at = $6
     WHERE domain_id = $1";

impl Clock {
    /// Locks the clock, unless only to look, and reads what is known of the domain then.
    async fn read(client: &Client, domain: DomainId, look: bool) -> Result<Self, StoreError> {
        let lock = if look { "" } else { " FOR UPDATE" };
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
        // Only now, so that what whoever held the clock before has committed is seen.
        let newest = client
            .row("SELECT max(created_at) FROM issues WHERE domain_id = $1", &[&domain.0])
            .await?;
        let found = client
            .rows(
                "SELECT a.id, a.publish_id, a.id = d.default_app_id FROM domains d
                 JOIN apps a ON a.domain_id = d.id WHERE d.id = $1 AND a.domain_id = $1
                 ORDER BY a.created_at, a.id",
                &[&domain.0],
            )
            .await?;
        let (mut apps, mut default_app) = (Vec::new(), None);
        for row in &found {
            let app = App { app_id: text(row, 0)?, publish_id: text(row, 1)? };
            if row.get(2) {
                default_app = Some(app.clone());
            }
            apps.push(app);
        }
        Ok(Self {
            known: ImportState {
                default_app: default_app.ok_or_else(|| {
                    StoreError::Corrupt("a domain without default app".to_owned())
                })?,
                apps,
                next_publish_number: clock.get::<_, i64>(1).unsigned_abs() + 1,
                last_issue_id: clock.get::<_, i64>(0).unsigned_abs(),
                max_created_at: newest.get::<_, Option<i64>>(0).map(UnixMillis),
            },
            last_row: clock.get(2),
            last_change: clock.get(3),
        })
    }

    fn change_time(&mut self, now: UnixMillis) -> i64 {
        self.last_change = now.0.max(self.last_change + 1);
        self.last_change
    }
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
async fn taken(
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
