//! The statements of the writing commands ([`IssueStore`]). Commands of one domain run in
//! parallel, on any server: an issue is locked before it is read to be changed, and the domain's
//! clock is locked from the first read of it until the transaction ends.

use caseload_model::issue::INSTANT_MS_MAX;
use caseload_model::issue::write::IssueRecord;
use caseload_model::time::UnixMillis;
use caseload_store::checksum;
use caseload_store::issues::{
    COLUMNS, COLUMNS_END, FRAGMENT_BYTES, FRAGMENTS, IndexChanges, IssueAllocation, IssueStore,
    Replacement, free_instant, live_id, taken_instants,
};
use caseload_store::profiles::CLOCK_AHEAD_MS_MAX;
use caseload_store::rowset::row_number;
use caseload_store::sql::Sql;
use caseload_store::{StoreError, values};
use tokio::join;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::columns::{NewRow, record};
use super::deltas::Deltas;
use crate::rows::instant;
use crate::tx::DomainTx;

/// The time of the change that the clock gives out next, `$2` being now. An issue is created at
/// that time, or now if the clock is far ahead; this instant is free if it is later than the latest
/// one of all issues.
const CHANGE: &str = "greatest($2::bigint, last_change_at + 1)";

impl IssueStore for DomainTx<'_> {
    const BODY: &'static str = "domain_id = ?1 AND row = ?2";

    fn rows_of(&self, ids: &[u64]) -> Result<Vec<Option<u32>>, StoreError> {
        let ids: Vec<i64> = ids.iter().map(|id| i64::try_from(*id).unwrap_or(-1)).collect();
        let found = self.rows(
            "SELECT i.row FROM unnest($2::bigint[]) WITH ORDINALITY AS named(id, n)
             LEFT JOIN issues i ON i.domain_id = $1 AND i.id = named.id ORDER BY named.n",
            &[&self.domain.0, &ids],
        )?;
        let row = |row: &Row| row.get::<_, Option<i64>>(0).map(row_number).transpose();
        found.iter().map(row).collect()
    }

    fn issue(&self, id: u64) -> Result<Option<(u32, IssueRecord)>, StoreError> {
        let Ok(id) = i64::try_from(id) else { return Ok(None) };
        // The second statement sees the commit that the first one waited for.
        let lock = "SELECT 1 FROM issues WHERE domain_id = $1 AND id = $2 FOR NO KEY UPDATE";
        let select = format!(
            "SELECT {FRAGMENTS}, {COLUMNS}, i.row FROM issues i
             JOIN issue_bodies b ON b.domain_id = $1 AND b.row = i.row
             WHERE i.domain_id = $1 AND i.id = $2"
        );
        let (locked, found) = self.wait(async {
            let client = self.client();
            let (lock, select) = (client.prepare(lock).await?, client.prepare(&select).await?);
            let params: [&(dyn ToSql + Sync); 2] = [&self.domain.0, &id];
            Ok(join!(
                client.prepared_row_opt(&lock, &params),
                client.prepared_row_opt(&select, &params),
            ))
        })?;
        // The first fault is the cause: after it, the transaction refuses the other statement.
        let is_locked = locked?.is_some();
        let Some(row) = found? else { return Ok(None) };
        // While the first statement waited, an import replaced the issue, whose row is a new one.
        if !is_locked {
            return Err(StoreError::Contended);
        }
        Ok(Some((row_number(row.get(COLUMNS_END))?, record(&row)?)))
    }

    fn lock(&self, rows: &[u32]) -> Result<(), StoreError> {
        let rows: Vec<i64> = rows.iter().copied().map(i64::from).collect();
        // Always in the same order, so that two of these cannot deadlock.
        let locked = self.execute(
            "SELECT 1 FROM issues WHERE domain_id = $1 AND row = ANY($2)
             ORDER BY row FOR NO KEY UPDATE",
            &[&self.domain.0, &rows],
        )?;
        if locked < rows.len() as u64 { Err(StoreError::Contended) } else { Ok(()) }
    }

    fn stored_bytes(&self, rows: &[u32]) -> Result<Vec<u64>, StoreError> {
        let numbers: Vec<i64> = rows.iter().copied().map(i64::from).collect();
        let found = self.rows(
            &format!(
                "SELECT b.bytes FROM unnest($2::bigint[]) WITH ORDINALITY AS c(row, n)
                 CROSS JOIN LATERAL (SELECT ({FRAGMENT_BYTES})::bigint AS bytes FROM issue_bodies
                 WHERE domain_id = $1 AND row = c.row OFFSET 0) b ORDER BY c.n"
            ),
            &[&self.domain.0, &numbers],
        )?;
        if found.len() < rows.len() {
            return Err(StoreError::Corrupt("an issue without fragments".to_owned()));
        }
        Ok(found.iter().map(|row| row.get::<_, i64>(0).cast_unsigned()).collect())
    }

    fn records(&self, rows: &[u32]) -> Result<Vec<IssueRecord>, StoreError> {
        let numbers: Vec<i64> = rows.iter().copied().map(i64::from).collect();
        let found = self.rows(
            &format!(
                "SELECT {FRAGMENTS}, {COLUMNS}
                 FROM unnest($2::bigint[]) WITH ORDINALITY AS c(row, n)
                 CROSS JOIN LATERAL (SELECT * FROM issues
                 WHERE domain_id = $1 AND row = c.row OFFSET 0) i
                 CROSS JOIN LATERAL (SELECT * FROM issue_bodies
                 WHERE domain_id = $1 AND row = c.row OFFSET 0) b ORDER BY c.n"
            ),
            &[&self.domain.0, &numbers],
        )?;
        if found.len() < rows.len() {
            return Err(StoreError::Corrupt("an issue without fragments".to_owned()));
        }
        found.iter().map(record).collect()
    }

    fn change_time(&self, now: UnixMillis) -> Result<UnixMillis, StoreError> {
        let found = self.row_opt(
            &format!(
                "UPDATE domain_clocks SET last_change_at = {CHANGE}
                 WHERE domain_id = $1 RETURNING last_change_at"
            ),
            &[&self.domain.0, &now.0],
        )?;
        found.map(|row| UnixMillis(row.get(0))).ok_or(StoreError::LeaseLost)
    }

    fn allocate(&self, now: UnixMillis) -> Result<IssueAllocation, StoreError> {
        let change =
            format!("CASE WHEN {CHANGE} > $2 + {CLOCK_AHEAD_MS_MAX} THEN $2 ELSE {CHANGE} END");
        let live = format!(
            "greatest({change}, CASE WHEN last_live_created_at > $2 + {CLOCK_AHEAD_MS_MAX}
             THEN 0 ELSE last_live_created_at + 1 END)"
        );
        let live = format!("{live} + ({live} = last_created_at)::int");
        let clock = self
            .row_opt(
                &format!(
                    "UPDATE domain_clocks SET last_change_at = {CHANGE},
                     last_issue_id = last_issue_id + 1, last_issue_row = last_issue_row + 1,
                     last_live_created_at = {live},
                     last_created_at = greatest(last_created_at, {live})
                     WHERE domain_id = $1 RETURNING last_issue_id, last_live_created_at,
                     last_created_at, last_change_at, last_issue_row"
                ),
                &[&self.domain.0, &now.0],
            )?
            .ok_or(StoreError::LeaseLost)?;
        let id = live_id(self, clock.get::<_, i64>(0).unsigned_abs())?;
        let (created_at, latest) = (instant(&clock, 1), instant(&clock, 2));
        let created_at = if created_at == latest && latest.0 <= INSTANT_MS_MAX {
            created_at
        } else {
            self.free_instant(created_at, latest)?
        };
        let (changed_at, row) = (instant(&clock, 3), Some(row_number(clock.get(4))?));
        Ok(IssueAllocation { id, created_at, changed_at, row })
    }

    fn insert(&self, allocation: &IssueAllocation, issue: &IssueRecord) -> Result<i64, StoreError> {
        let row =
            allocation.row.ok_or_else(|| StoreError::Corrupt("an issue without row".to_owned()))?;
        let IssueRecord { columns, head, body } = issue;
        let new = NewRow { row, columns, head, body };
        self.wait(new.insert(self.client(), self.domain))?;
        Ok(row.into())
    }

    fn replace(&self, replaced: &[Replacement]) -> Result<(), StoreError> {
        let facts = || replaced.iter().map(|replaced| &replaced.issue.columns.facts);
        let rows: Vec<i64> = replaced.iter().map(|replaced| replaced.row.into()).collect();
        let updated: Vec<i64> = facts().map(|facts| facts.updated_at.0).collect();
        let changed: Vec<i64> = facts().map(|facts| facts.changed_at.0).collect();
        let states: Vec<i16> = facts().map(|facts| facts.state.code() as i16).collect();
        let assignees: Vec<_> =
            facts().map(|facts| facts.assignee_id.as_deref().map(str::as_bytes)).collect();
        let queues: Vec<_> =
            facts().map(|facts| facts.queue.as_ref().map(|queue| queue.id.as_bytes())).collect();
        let bodies = || replaced.iter().map(|replaced| &replaced.issue.body);
        let heads: Vec<_> = replaced.iter().map(|replaced| &replaced.issue.head[..]).collect();
        let messages: Vec<_> = bodies().map(|body| &body.messages[..]).collect();
        let metas: Vec<_> = bodies().map(|body| &body.meta[..]).collect();
        let fields: Vec<_> = bodies().map(|body| &body.custom_fields[..]).collect();
        let shown_queues: Vec<_> = bodies().map(|body| body.queue.as_deref()).collect();
        let notes: Vec<_> = bodies().map(|body| body.private_notes.as_deref()).collect();
        let sums: Vec<_> = replaced
            .iter()
            .map(|replaced| checksum::of_fragments(&replaced.issue.fragments()))
            .collect();
        let sums: Vec<&[u8]> = sums.iter().map(|sums| &sums[..]).collect();
        let (columns, fragments) = self.wait(async {
            let client = self.client();
            let columns = client.prepare(UPDATE_COLUMNS).await?;
            let fragments = client.prepare(UPDATE_FRAGMENTS).await?;
            let of_columns: [&(dyn ToSql + Sync); 7] =
                [&self.domain.0, &rows, &updated, &changed, &states, &assignees, &queues];
            let of_fragments: [&(dyn ToSql + Sync); 9] = [
                &self.domain.0,
                &rows,
                &heads,
                &messages,
                &metas,
                &fields,
                &shown_queues,
                &notes,
                &sums,
            ];
            Ok(join!(
                client.prepared_execute(&columns, &of_columns),
                client.prepared_execute(&fragments, &of_fragments),
            ))
        })?;
        columns.and(fragments).map(drop)
    }

    fn delete(&self, rows: &[u32]) -> Result<(), StoreError> {
        let rows: Vec<i64> = rows.iter().copied().map(i64::from).collect();
        for delete in [
            "DELETE FROM issue_bodies WHERE domain_id = $1 AND row = ANY ($2)",
            "DELETE FROM issues WHERE domain_id = $1 AND row = ANY ($2)",
        ] {
            self.change(delete, values![self.domain, rows])?;
        }
        Ok(())
    }

    fn update_index(&self, changes: IndexChanges) -> Result<(), StoreError> {
        let deltas = Deltas::new(self.domain, changes)?;
        self.wait(deltas.write(self.client(), self.domain))
    }
}

impl DomainTx<'_> {
    /// [`free_instant`] if an import brought issues of the future. The clock learns it.
    fn free_instant(&self, from: UnixMillis, latest: UnixMillis) -> Result<UnixMillis, StoreError> {
        let free = free_instant(from, latest, |window| taken_instants(self, window))?;
        let set = "UPDATE domain_clocks SET
                   last_created_at = least(greatest(last_created_at, $2), $3),
                   last_live_created_at = least(greatest(last_live_created_at, $2), $3)
                   WHERE domain_id = $1";
        self.change(set, values![self.domain, free, INSTANT_MS_MAX])?;
        Ok(free)
    }
}

const UPDATE_COLUMNS: &str = "UPDATE issues i SET updated_at = e.updated_at,
     changed_at = e.changed_at, state = e.state, assignee_id = e.assignee_id, queue_id = e.queue_id
     FROM unnest($2::bigint[], $3::bigint[], $4::bigint[], $5::smallint[], $6::bytea[], $7::bytea[])
     AS e(row, updated_at, changed_at, state, assignee_id, queue_id)
     WHERE i.domain_id = $1 AND i.row = e.row";
const UPDATE_FRAGMENTS: &str = "UPDATE issue_bodies b SET head = e.head, messages = e.messages,
     meta = e.meta, custom_fields = e.custom_fields, queue = e.queue,
     private_notes = e.private_notes, checksums = e.checksums
     FROM unnest($2::bigint[], $3::bytea[], $4::bytea[], $5::bytea[], $6::bytea[], $7::bytea[],
     $8::bytea[], $9::bytea[])
     AS e(row, head, messages, meta, custom_fields, queue, private_notes, checksums)
     WHERE b.domain_id = $1 AND b.row = e.row";
