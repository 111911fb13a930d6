//! SQLite's answers to the questions of [`IssueReads`]: each a statement or two, run and read row
//! by row, so that whoever has enough stops it. The statements on sets and counters are in rooms of
//! their own.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use caseload_model::ids::DomainId;
use caseload_model::issue::{TermKind, day_term, term_day};
use caseload_model::issue_query::{SortKey, SortOrder, TimeRange};
use caseload_model::time::UnixMillis;
use roaring::RoaringBitmap;
use rusqlite::{Connection, Row, params};

use super::sets::{Sets, blob, column_of, kind_of};
use super::{counts, page, sql};
use crate::store_error;
use caseload_store::StoreError;
use caseload_store::issues::{
    Chosen, Days, Index, IssueReads, PlacedRow, Shown, Split, Sums, TextParts, TextsOf, Total,
    Written, decode, row_number,
};

/// One domain, in the snapshot of the connection.
#[derive(Clone, Copy)]
pub(crate) struct Reads<'c> {
    pub(crate) conn: &'c Connection,
    pub(crate) domain: DomainId,
}

impl<'c> Reads<'c> {
    const fn sets(&self) -> Sets<'c> {
        Sets { conn: self.conn, domain: self.domain }
    }
}

impl IssueReads for Reads<'_> {
    const TEXTS_AT_ONCE: usize = 32;
    const ASKS_AT_ONCE: bool = false;

    fn any(
        &self,
        kind: TermKind,
        values: &[impl AsRef<[u8]>],
    ) -> Result<RoaringBitmap, StoreError> {
        Ok(self.sets().any(kind, values, 0..=u32::MAX)?)
    }

    fn any_in(
        &self,
        kind: TermKind,
        values: &[impl AsRef<[u8]>],
        blocks: RangeInclusive<u32>,
    ) -> Result<RoaringBitmap, StoreError> {
        Ok(self.sets().any(kind, values, blocks)?)
    }

    fn between(
        &self,
        kind: TermKind,
        from: &[u8],
        until: &[u8],
    ) -> Result<RoaringBitmap, StoreError> {
        Ok(self.sets().between(kind, from, until)?)
    }

    fn ids(&self, ids: &[u64]) -> Result<RoaringBitmap, StoreError> {
        Ok(self.sets().ids(ids)?)
    }

    fn agents(&self, mut visit: impl FnMut(&str, &str)) -> Result<(), StoreError> {
        let mut select = self
            .conn
            .prepare_cached("SELECT id, email FROM agents WHERE domain_id = ?1")
            .map_err(store_error)?;
        let mut found = select.query([self.domain.0]).map_err(store_error)?;
        while let Some(row) = found.next().map_err(store_error)? {
            visit(text(row, 0).map_err(store_error)?, text(row, 1).map_err(store_error)?);
        }
        Ok(())
    }

    fn span(&self, key: SortKey, split: &Split) -> Result<RoaringBitmap, StoreError> {
        Ok(self.sets().span(key, split)?)
    }

    fn walk_days(
        &self,
        key: SortKey,
        order: SortOrder,
        days: Days,
        mut visit: impl FnMut(i64, &RoaringBitmap) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let order = direction(order);
        let mut select = self
            .conn
            .prepare_cached(&format!(
                "SELECT value, block, rows FROM issue_sets
             WHERE domain_id = ?1 AND kind = ?2 AND value BETWEEN ?3 AND ?4
             ORDER BY value {order}, block {order}"
            ))
            .map_err(store_error)?;
        let (from, until) = (day_term(days.from), day_term(days.until));
        let mut stored = select
            .query(params![self.domain.0, kind_of(key).code(), from, until])
            .map_err(store_error)?;
        let mut day: Option<i64> = None;
        let mut rows = RoaringBitmap::new();
        while let Some(row) = stored.next().map_err(store_error)? {
            let of = term_day(blob(row, 0).map_err(store_error)?)
                .ok_or_else(|| StoreError::Corrupt("a set of a day without a day".to_owned()))?;
            if let Some(day) = day.filter(|day| *day != of) {
                if !visit(day, &rows)? {
                    return Ok(());
                }
                rows.clear();
            }
            day = Some(of);
            decode(
                row.get(1).map_err(store_error)?,
                blob(row, 2).map_err(store_error)?,
                &mut rows,
            )?;
        }
        if let Some(day) = day {
            visit(day, &rows)?;
        }
        Ok(())
    }

    fn walk_span(
        &self,
        key: SortKey,
        order: SortOrder,
        span: TimeRange,
        mut visit: impl FnMut(PlacedRow) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let (index, column) = (sql::name_of(Index::of_order(key)), column_of(key));
        let order = direction(order);
        let (id, ties) = match key {
            SortKey::CreationTime => ("0", String::new()),
            SortKey::UpdateTime | SortKey::StateChangeTime => ("id", format!(", id {order}")),
        };
        let mut select = self
            .conn
            .prepare_cached(&format!(
                "SELECT row, {column}, {id} FROM issues INDEXED BY {index}
             WHERE domain_id = ?1 AND {column} BETWEEN ?2 AND ?3
             ORDER BY {column} {order}{ties}"
            ))
            .map_err(store_error)?;
        let since = span.since.map_or(i64::MIN, |at| at.0);
        let until = span.until.map_or(i64::MAX, |at| at.0);
        let mut stored = select.query(params![self.domain.0, since, until]).map_err(store_error)?;
        while let Some(row) = stored.next().map_err(store_error)? {
            let issue = PlacedRow {
                row: row_number(row.get(0).map_err(store_error)?)?,
                at: UnixMillis(row.get(1).map_err(store_error)?),
                id: row.get::<_, i64>(2).map_err(store_error)?.unsigned_abs(),
            };
            if !visit(issue)? {
                break;
            }
        }
        Ok(())
    }

    fn instants(
        &self,
        key: SortKey,
        rows: &RoaringBitmap,
        mut visit: impl FnMut(PlacedRow),
    ) -> Result<(), StoreError> {
        let column = column_of(key);
        let mut select = self
            .conn
            .prepare_cached(&format!(
                "SELECT row, {column}, id FROM rarray(?1) wanted
             CROSS JOIN issues ON row = wanted.value"
            ))
            .map_err(store_error)?;
        let mut found = select.query([page::numbers(rows)]).map_err(store_error)?;
        let mut seen = 0;
        while let Some(row) = found.next().map_err(store_error)? {
            seen += 1;
            visit(PlacedRow {
                row: row_number(row.get(0).map_err(store_error)?)?,
                at: UnixMillis(row.get(1).map_err(store_error)?),
                id: row.get::<_, i64>(2).map_err(store_error)?.unsigned_abs(),
            });
        }
        if seen < rows.len() {
            return Err(StoreError::Corrupt(
                "a set of rows holds one that is not there".to_owned(),
            ));
        }
        Ok(())
    }

    fn total(&self, total: &Total<'_>) -> Result<(u64, [u64; 2]), StoreError> {
        let whole = match &total.whole {
            Some(sums) => counts::total(self.conn, self.domain, sums)?,
            None => 0,
        };
        let mut edges = [0; 2];
        for (count, edge) in edges.iter_mut().zip(total.edges) {
            if let Some(query) = edge {
                *count = counts::run(self.conn, &sql::count(self.domain, query, total.index))?;
            }
        }
        Ok((whole, edges))
    }

    fn by_day(&self, sums: &Sums<'_>) -> Result<BTreeMap<i64, i64>, StoreError> {
        Ok(counts::by_day(self.conn, self.domain, sums)?)
    }

    fn write(&self, chosen: &Chosen<'_>, shown: &Shown) -> Result<Written, StoreError> {
        match chosen {
            Chosen::Rows(rows) => Ok(page::write_rows(self.conn, rows, shown)?),
            Chosen::Along(along) => Ok(page::write_along(
                self.conn,
                &sql::page(self.domain, along),
                along.limit,
                shown,
            )?),
        }
    }

    fn texts(
        &self,
        parts: TextParts,
        rows: &[u32],
        mut visit: impl FnMut(u32, TextsOf<'_>) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let wanted = |wanted: bool, column: &'static str| if wanted { column } else { "NULL" };
        let mut select = self
            .conn
            .prepare_cached(&format!(
                "SELECT row, {}, {}, {}, {} FROM rarray(?1) wanted
             CROSS JOIN issue_bodies ON row = wanted.value",
                wanted(parts.custom_fields, "custom_fields"),
                wanted(parts.feedback, "feedback"),
                wanted(parts.private_notes, "private_notes"),
                wanted(parts.messages, "messages"),
            ))
            .map_err(store_error)?;
        let mut found = select.query([page::numbers(rows.iter().copied())]).map_err(store_error)?;
        let mut seen = 0;
        while let Some(issue) = found.next().map_err(store_error)? {
            let texts = TextsOf {
                custom_fields: fragment(issue, 1).map_err(store_error)?,
                feedback: fragment(issue, 2).map_err(store_error)?,
                private_notes: fragment(issue, 3).map_err(store_error)?,
                messages: fragment(issue, 4).map_err(store_error)?,
            };
            if !visit(row_number(issue.get(0).map_err(store_error)?)?, texts)? {
                return Ok(());
            }
            seen += 1;
        }
        if seen < rows.len() {
            return Err(StoreError::Corrupt("an issue without fragments".to_owned()));
        }
        Ok(())
    }
}

const fn direction(order: SortOrder) -> &'static str {
    match order {
        SortOrder::Ascending => "ASC",
        SortOrder::Descending => "DESC",
    }
}

fn text<'r>(row: &'r Row<'_>, column: usize) -> rusqlite::Result<&'r str> {
    Ok(row.get_ref(column)?.as_str()?)
}

fn fragment<'r>(row: &'r Row<'_>, column: usize) -> rusqlite::Result<Option<&'r [u8]>> {
    Ok(row.get_ref(column)?.as_blob_or_null()?)
}
