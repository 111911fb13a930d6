//! PostgreSQL's answers to the questions of [`Source`]; most of them take one round trip. They are
//! asked from a thread that may block. A question that could find very many rows is asked in
//! portions.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::pin::pin;

use caseload_model::issue_query::{IssueQuery, ListPosition, Sort, SortKey, SortOrder, TimeRange};
use caseload_model::time::UnixMillis;
use futures_util::TryStreamExt as _;
use roaring::RoaringBitmap;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::counts::Count;
use super::page::PageStats;
use super::scan::BoundScan;
use super::{counts, page, sql};
use crate::engine::{Params, store_error};
use crate::tx::DomainTx;
use caseload_store::StoreError;
use caseload_store::query::find::within;
use caseload_store::query::stored_sets::{BLOCKS_ALL, Noun};
use caseload_store::query::{
    self, CountQuestion, CounterSum, Index, IssueTexts, Matches, RenderedPage, Rendering, Scan,
    Selection, Source, StoredSets, TextFragments, TextSearch, TimedRow, TimedRows,
};
use caseload_store::rowset::row_number;
use caseload_store::throttle::Throttle;

/// Entries of an index in one portion.
const SPAN_ENTRIES: i64 = 1000;
/// Issues in one portion of texts.
const TEXTS: usize = 200;
/// Issues in the first portion of fragments, and in the largest, if they may not fit.
const ISSUES_FIRST: usize = 100;
const ISSUES_MAX: usize = 1000;
/// Given rows as `c`, numbered in their order.
const THESE_ROWS: &str = "unnest($2::bigint[]) WITH ORDINALITY AS c(row, n)";

impl DomainTx<'_> {
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
}

fn numbers(rows: &[u32]) -> Vec<i64> {
    rows.iter().copied().map(i64::from).collect()
}

impl TimedRows for DomainTx<'_> {
    const CREATED_ONE_BY_ONE: bool = true;

    type Store = Self;

    fn sets(&self) -> StoredSets<'_, Self> {
        StoredSets { store: self, noun: Noun::Issue }
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
}

impl Source for DomainTx<'_> {
    const TEXTS_PER_QUESTION: usize = TEXTS;

    fn matches(&self, matches: &Matches) -> Result<RoaringBitmap, StoreError> {
        let found = self.sets().rows(&matches.filters, &BLOCKS_ALL)?;
        within(self, found, &matches.spans)
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
