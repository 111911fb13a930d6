//! PostgreSQL's answers to the questions of [`Source`]; most of them take one round trip. They are
//! asked from a thread that may block. A question that could find very many rows is asked in
//! portions.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::pin::pin;

use caseload_model::ids::DomainId;
use caseload_model::issue::{TermKind, TermRange, day_term, term_day};
use caseload_model::issue_query::{IssueQuery, ListPosition, Sort, SortKey, SortOrder, TimeRange};
use caseload_model::time::UnixMillis;
use futures_util::TryStreamExt as _;
use futures_util::future::{try_join, try_join_all};
use roaring::RoaringBitmap;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::counts::Count;
use super::page::PageStats;
use super::scan::BoundScan;
use super::sql::{bounds, column_of, direction};
use super::{counts, matches, page, sets, sql};
use crate::engine::{BlockingClient, Params, store_error};
use caseload_store::StoreError;
use caseload_store::query::{
    self, CountQuestion, CounterSum, DaySplit, Days, Index, IssueTexts, Matches, RenderedPage,
    Rendering, Scan, Selection, Source, TextFragments, TextSearch, TimedRow, TimedRows,
};
use caseload_store::rowset::row_number;
use caseload_store::throttle::Throttle;

/// Sets of days in the first portion.
const DAY_SETS: i64 = 256;
/// Entries of an index in one portion.
const SPAN_ENTRIES: i64 = 1000;
/// Issues in one portion of texts.
const TEXTS: usize = 200;
/// Issues in the first portion of fragments, and in the largest, if they may not fit.
const ISSUES_FIRST: usize = 100;
const ISSUES_MAX: usize = 1000;
/// Given rows as `c`, numbered in their order.
const THESE_ROWS: &str = "unnest($2::bigint[]) WITH ORDINALITY AS c(row, n)";

/// One domain, in the snapshot of a transaction.
#[derive(Debug, Clone, Copy)]
pub struct IssueSource<'c> {
    pub(crate) db: &'c BlockingClient<'c>,
    pub(crate) domain: DomainId,
}

impl IssueSource<'_> {
    fn rows(&self, sql: &str, params: Params<'_>) -> Result<Vec<Row>, StoreError> {
        self.db.wait(self.db.client().rows(sql, params))
    }

    /// The row of an issue.
    pub(super) fn row_of(&self, id: u64) -> Result<Option<u32>, StoreError> {
        let found = self.rows(matches::ROWS_OF_IDS, &[&self.domain.0, &[id as i64].as_slice()])?;
        found.first().map(|row| row_number(row.get(0))).transpose()
    }

    /// The rows of a scan.
    fn rows_of(&self, scan: &Scan<'_>) -> Result<Vec<u32>, StoreError> {
        let page = BoundScan::new(scan);
        let params = page.parameters(&self.domain.0);
        let found = self.rows(&sql::page(scan.index, scan.query.sort.order), &params)?;
        found.iter().map(|row| row_number(row.get(0))).collect()
    }

    /// Renders the issues that a statement selects, while the database sends them.
    fn render_page(
        &self,
        select: &str,
        params: Params<'_>,
        rendering: &Rendering,
        out: &mut RenderedPage,
    ) -> Result<PageStats, StoreError> {
        self.db.wait(async {
            let client = self.db.client();
            let statement = client.prepare(select).await?;
            let rows = client.prepared_stream(&statement, params).await?;
            page::render_stream(rows, rendering, out).await
        })
    }

    /// Renders a page of at most `limit` issues if none of them is long; `None` if one is.
    fn render_light(
        &self,
        limit: u64,
        select: &str,
        params: Params<'_>,
        rendering: &Rendering,
    ) -> Result<Option<RenderedPage>, StoreError> {
        if limit > sql::LIGHT_ISSUES_MAX {
            return Ok(None);
        }
        let mut out = RenderedPage::default();
        let stats = self.render_page(select, params, rendering, &mut out)?;
        out.found = stats.rows;
        Ok((!stats.is_incomplete).then_some(out))
    }

    /// Renders the issues in these rows, in the order given, until the page is full.
    fn render_rows(
        &self,
        rows: &[u32],
        rendering: &Rendering,
        out: &mut RenderedPage,
    ) -> Result<(), StoreError> {
        let select = sql::bounded(rendering.view, THESE_ROWS, "c.n", "n");
        let before = out.count;
        let stats = self.render_page(&select, &[&self.domain.0, &numbers(rows)], rendering, out)?;
        // Fewer are sent only after the page is full.
        if stats.rows < rows.len() && out.count - before == stats.rows {
            return Err(StoreError::Corrupt("an issue without fragments".to_owned()));
        }
        Ok(())
    }

    /// Renders issues in portions until the page has as many bytes as it may have.
    fn render_portions(
        &self,
        rows: &[u32],
        rendering: &Rendering,
    ) -> Result<RenderedPage, StoreError> {
        let mut out = RenderedPage { found: rows.len(), ..RenderedPage::default() };
        let rows = &rows[..rows.len().min(rendering.issues_max)];
        let mut portion = ISSUES_FIRST;
        while out.count < rows.len() {
            let left = &rows[out.count..];
            let left = &left[..left.len().min(portion)];
            let before = out.count;
            self.render_rows(left, rendering, &mut out)?;
            if out.count - before < left.len() {
                break;
            }
            let room = rendering.bytes_max.saturating_sub(out.body.len());
            let usual = (out.body.len() / out.count.max(1)).max(1);
            portion = (room / usual + 1).min(ISSUES_MAX);
        }
        Ok(out)
    }

    /// Sets of whole days of a time, at most `limit` bases and `limit` deltas.
    fn day_sets(
        &self,
        key: SortKey,
        order: SortOrder,
        days: Days,
        limit: i64,
    ) -> Result<(Vec<Row>, Vec<Row>), StoreError> {
        let way = direction(order);
        let half = |table: &str, columns: &str, ties: &str| {
            format!(
                "SELECT {columns} FROM {table} WHERE domain_id = $1 AND kind = $2
                 AND value BETWEEN $3 AND $4 ORDER BY value {way}, block {way}{ties} LIMIT $5"
            )
        };
        let base = half("issue_sets", sets::BASE, "");
        let delta = half("issue_set_deltas", sets::DELTA, &format!(", seq {way}"));
        let kind = sets::kind_of(key).code() as i16;
        let (from, until) = (day_term(days.from), day_term(days.until));
        let (from, until) = (from.as_slice(), until.as_slice());
        let params: [&(dyn ToSql + Sync); 5] = [&self.domain.0, &kind, &from, &until, &limit];
        self.db.wait(async {
            let client = self.db.client();
            let (base, delta) = (client.prepare(&base).await?, client.prepare(&delta).await?);
            let rows =
                (client.prepared_rows(&base, &params), client.prepared_rows(&delta, &params));
            try_join(rows.0, rows.1).await
        })
    }
}

fn numbers(rows: &[u32]) -> Vec<i64> {
    rows.iter().copied().map(i64::from).collect()
}

impl TimedRows for IssueSource<'_> {
    type Error = StoreError;

    const CREATED_ONE_BY_ONE: bool = true;

    fn span(&self, key: SortKey, split: &DaySplit) -> Result<RoaringBitmap, StoreError> {
        let kind = sets::kind_of(key);
        let days = split.days.map_or_else(Vec::new, |days| days.sets(kind));
        let whole = sets::select_range(kind);
        let column = column_of(key);
        let edge = |places: [u8; 2]| {
            format!(
                "SELECT row FROM issues WHERE domain_id = $1
                 AND {column} BETWEEN ${} AND ${}",
                places[0], places[1]
            )
        };
        let edges = format!("{} UNION ALL {}", edge([2, 3]), edge([4, 5]));
        // An empty span, if the span has no such end.
        let nothing = (i64::MAX, i64::MIN);
        let (before, after) =
            (split.before.map_or(nothing, bounds), split.after.map_or(nothing, bounds));
        let has_edges = split.before.is_some() || split.after.is_some();
        let (whole, edges) = self.db.wait(async {
            let client = self.db.client();
            let (whole, edges) = (client.prepare(&whole).await?, client.prepare(&edges).await?);
            let days = days.iter().map(async |TermRange { kind, from, until }| {
                let params: Params<'_> = &[&self.domain.0, &(kind.code() as i16), from, until];
                client.prepared_rows(&whole, params).await
            });
            let ends = async {
                if !has_edges {
                    return Ok(Vec::new());
                }
                let params: Params<'_> =
                    &[&self.domain.0, &before.0, &before.1, &after.0, &after.1];
                client.prepared_rows(&edges, params).await
            };
            try_join(try_join_all(days), ends).await
        })?;
        let mut rows = RoaringBitmap::new();
        for sets in whole {
            rows |= sets::union(&sets)?;
        }
        for row in edges {
            rows.insert(row_number(row.get(0))?);
        }
        Ok(rows)
    }

    fn walk_days(
        &self,
        key: SortKey,
        order: SortOrder,
        mut days: Days,
        mut visit: impl FnMut(i64, &RoaringBitmap) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let ascending = order == SortOrder::Ascending;
        let mut limit = DAY_SETS;
        loop {
            let (base, delta) = self.day_sets(key, order, days, limit)?;
            // If the answer is full, its last day may have more rows.
            let full = |rows: &Vec<Row>| {
                let last = rows.last().filter(|_| rows.len() as i64 == limit)?;
                term_day(last.get(0))
            };
            let ends = [full(&base), full(&delta)];
            let end = if ascending {
                ends.into_iter().flatten().min()
            } else {
                ends.into_iter().flatten().max()
            };
            let known = |day: i64| match end {
                Some(end) => {
                    if ascending {
                        day < end
                    } else {
                        day > end
                    }
                }
                None => true,
            };
            let mut rows: Vec<Row> = base.into_iter().chain(delta).collect();
            rows.sort_by_cached_key(|row| {
                (row.get::<_, Vec<u8>>(0), row.get::<_, i64>(1), row.get::<_, i64>(2))
            });
            let mut shown = 0;
            let mut sets: Vec<_> = sets::by_value(&rows)?.into_iter().collect();
            if !ascending {
                sets.reverse();
            }
            for (value, set) in sets {
                let day = term_day(&value).ok_or_else(|| {
                    StoreError::Corrupt("a set of a day without a day".to_owned())
                })?;
                if !known(day) {
                    break;
                }
                shown += 1;
                if !visit(day, &set)? {
                    return Ok(());
                }
            }
            let Some(end) = end else { return Ok(()) };
            if ascending {
                days.from = end;
            } else {
                days.until = end;
            }
            if shown == 0 {
                limit *= 4;
            }
        }
    }

    fn walk_span(
        &self,
        key: SortKey,
        order: SortOrder,
        span: TimeRange,
        mut visit: impl FnMut(TimedRow) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let mut query = IssueQuery { sort: Sort { key, order }, ..IssueQuery::default() };
        match key {
            SortKey::CreationTime => query.created = span,
            SortKey::UpdateTime => query.updated = span,
            SortKey::StateChangeTime => query.changed = span,
        }
        let mut after = None;
        loop {
            let index = Index::of_order(key);
            let (query, limit) = (Cow::Borrowed(&query), SPAN_ENTRIES as u64);
            let scan = BoundScan::new(&Scan { query, after, index, limit, offset: 0 });
            let params = scan.parameters(&self.domain.0);
            let found = self.rows(&sql::page(index, order), &params)?;
            for row in &found {
                let issue = timed(row)?;
                after = Some(ListPosition { at: issue.at, id: issue.id });
                if !visit(issue)? {
                    return Ok(());
                }
            }
            if (found.len() as i64) < SPAN_ENTRIES {
                return Ok(());
            }
        }
    }

    fn instants(
        &self,
        key: SortKey,
        rows: &RoaringBitmap,
        mut visit: impl FnMut(TimedRow),
    ) -> Result<(), StoreError> {
        if rows.is_empty() {
            return Ok(());
        }
        let column = column_of(key);
        let select = format!(
            "SELECT i.row, i.{column}, i.id FROM unnest($2::bigint[]) AS c(row)
             CROSS JOIN LATERAL (SELECT row, {column}, id FROM issues
             WHERE domain_id = $1 AND row = c.row OFFSET 0) i"
        );
        let numbers: Vec<i64> = rows.iter().map(i64::from).collect();
        for row in self.rows(&select, &[&self.domain.0, &numbers])? {
            visit(timed(&row)?);
        }
        Ok(())
    }
}

impl Source for IssueSource<'_> {
    const TEXTS_PER_QUESTION: usize = TEXTS;

    fn matches(&self, matches: &Matches) -> Result<RoaringBitmap, StoreError> {
        matches::find(self, self.db, self.domain, matches)
    }

    fn agents(&self, mut visit: impl FnMut(&str, &str)) -> Result<(), StoreError> {
        let select = "SELECT id, email FROM agents WHERE domain_id = $1";
        for row in self.rows(select, &[&self.domain.0])? {
            visit(text(&row, 0)?, text(&row, 1)?);
        }
        Ok(())
    }

    fn walk_terms(
        &self,
        kind: TermKind,
        mut visit: impl FnMut(&[u8], &RoaringBitmap) -> Result<(), StoreError>,
    ) -> Result<(), StoreError> {
        let select = sets::select(kind, "true");
        let found = self.rows(&select, &[&self.domain.0, &(kind.code() as i16)])?;
        sets::by_value(&found)?.iter().try_for_each(|(term, rows)| visit(term, rows))
    }

    fn count(&self, question: &CountQuestion<'_>) -> Result<(u64, [u64; 2]), StoreError> {
        let count = Count::new(question);
        let Some((select, params)) = count.select(&self.domain) else { return Ok((0, [0; 2])) };
        Ok(count.summands(&self.db.wait(self.db.client().row(&select, &params))?))
    }

    fn count_by_day(&self, sum: &CounterSum<'_>) -> Result<BTreeMap<i64, i64>, StoreError> {
        counts::by_day(self.db, self.domain, sum)
    }

    fn render(
        &self,
        selection: Selection<'_>,
        rendering: &Rendering,
    ) -> Result<RenderedPage, StoreError> {
        let limit = match selection {
            Selection::Scan(scan) => scan.limit,
            Selection::Rows(rows) => rows.len() as u64,
        };
        let is_roomy = page::is_roomy(rendering, limit);
        let mut out = RenderedPage::default();
        match selection {
            Selection::Scan(scan) if is_roomy => {
                let page = BoundScan::new(scan);
                let params = page.parameters(&self.domain.0);
                let select = BoundScan::light_select(scan, rendering);
                if let Some(page) = self.render_light(limit, &select, &params, rendering)? {
                    return Ok(page);
                }
                let select = BoundScan::select(scan, rendering);
                out.found = self.render_page(&select, &params, rendering, &mut out)?.rows;
            }
            Selection::Scan(scan) => {
                return self.render_portions(&self.rows_of(scan)?, rendering);
            }
            Selection::Rows(rows) if is_roomy => {
                let select = sql::light(rendering.view, THESE_ROWS, "n", limit);
                let params: Params<'_> = &[&self.domain.0, &numbers(rows)];
                if let Some(page) = self.render_light(limit, &select, params, rendering)? {
                    return Ok(page);
                }
                out.found = rows.len();
                self.render_rows(rows, rendering, &mut out)?;
            }
            Selection::Rows(rows) => return self.render_portions(rows, rendering),
        }
        Ok(out)
    }

    fn search(
        &self,
        search: &TextSearch<'_>,
        throttle: &mut Throttle,
    ) -> Result<RoaringBitmap, StoreError> {
        query::search(self, search, throttle)
    }

    fn texts(
        &self,
        fragments: TextFragments,
        rows: &[u32],
        mut visit: impl FnMut(u32, IssueTexts<'_>) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let wanted =
            |wanted: bool, column: &'static str| if wanted { column } else { "NULL::bytea" };
        let select = format!(
            "SELECT c.row, {}, {}, {}, {}, {} FROM unnest($2::bigint[]) WITH ORDINALITY AS c(row, n)
             CROSS JOIN LATERAL (SELECT * FROM issue_bodies
             WHERE domain_id = $1 AND row = c.row OFFSET 0) b ORDER BY c.n",
            wanted(fragments.head, "b.head"),
            wanted(fragments.custom_fields, "b.custom_fields"),
            wanted(fragments.feedback, "b.feedback"),
            wanted(fragments.private_notes, "b.private_notes"),
            wanted(fragments.messages, "b.messages"),
        );
        for rows in rows.chunks(TEXTS) {
            // One after the other while the database sends them: together they may be very long.
            let goes_on = self.db.wait(async {
                let client = self.db.client();
                let statement = client.prepare(&select).await?;
                let numbers = numbers(rows);
                let params: [&(dyn ToSql + Sync); 2] = [&self.domain.0, &numbers];
                let mut found = pin!(client.prepared_stream(&statement, &params).await?);
                let mut count = 0;
                while let Some(issue) = found.try_next().await.map_err(store_error)? {
                    count += 1;
                    if !visit(row_number(issue.get(0))?, texts_of(&issue))? {
                        return Ok(false);
                    }
                }
                if count < rows.len() {
                    return Err(StoreError::Corrupt("an issue without fragments".to_owned()));
                }
                Ok(true)
            })?;
            if !goes_on {
                break;
            }
        }
        Ok(())
    }
}

fn texts_of(row: &Row) -> IssueTexts<'_> {
    IssueTexts {
        head: row.get(1),
        custom_fields: row.get(2),
        feedback: row.get(3),
        private_notes: row.get(4),
        messages: row.get(5),
    }
}

fn timed(row: &Row) -> Result<TimedRow, StoreError> {
    Ok(TimedRow {
        row: row_number(row.get(0))?,
        at: UnixMillis(row.get(1)),
        id: row.get::<_, i64>(2).unsigned_abs(),
    })
}

fn text(row: &Row, column: usize) -> Result<&str, StoreError> {
    std::str::from_utf8(row.get(column))
        .map_err(|_| StoreError::Corrupt("a text is not UTF-8".to_owned()))
}
