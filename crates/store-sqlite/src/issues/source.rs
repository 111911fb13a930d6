//! SQLite's answers to the questions of [`Source`]: each is a statement or two, read row by row, so
//! a caller that has enough stops the statement.

use std::collections::BTreeMap;

use caseload_model::ids::DomainId;
use caseload_model::issue_query::{SortKey, SortOrder, TimeRange};
use caseload_model::time::UnixMillis;
use caseload_store::StoreError;
use caseload_store::query::stored_sets::{Noun, column_of, direction};
use caseload_store::query::{
    self, CountQuestion, CounterSum, Index, IssueTexts, Matches, RenderedPage, Rendering,
    Selection, Source, StoredSets, TextFragments, TextSearch, Thresholds, TimedRow, TimedRows,
};
use caseload_store::rowset::row_number;
use caseload_store::throttle::Throttle;
use roaring::RoaringBitmap;
use rusqlite::{Connection, Row, params};

use super::{counts, matches, page, sql};
use crate::Fault;
use crate::engine::FurtherReaders;
use crate::tx::DomainTx;

/// The issues of one domain, in the snapshot of the connection.
#[derive(Debug, Clone, Copy)]
pub struct IssueSource<'c> {
    pub(crate) tx: DomainTx<'c>,
    pub(crate) thresholds: Thresholds,
    /// Those that a search in texts may use.
    pub(crate) further: Option<&'c FurtherReaders>,
}

impl<'c> IssueSource<'c> {
    pub(crate) const fn new(conn: &'c Connection, domain: DomainId) -> Self {
        let tx = DomainTx { conn, domain };
        Self { tx, thresholds: Thresholds::USUAL, further: None }
    }

    /// The same issues for a read that may use further readers.
    pub(crate) const fn with(self, further: &'c FurtherReaders) -> Self {
        Self { further: Some(further), ..self }
    }
}

impl<'c> TimedRows for IssueSource<'c> {
    const CREATED_ONE_BY_ONE: bool = true;

    type Store = DomainTx<'c>;

    fn thresholds(&self) -> Thresholds {
        self.thresholds
    }

    fn sets(&self) -> StoredSets<'_, DomainTx<'c>> {
        StoredSets { store: &self.tx, noun: Noun::Issue }
    }

    fn walk_span(
        &self,
        key: SortKey,
        order: SortOrder,
        span: TimeRange,
        mut visit: impl FnMut(TimedRow) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let (index, column) = (sql::name_of(Index::of_order(key)), column_of(key));
        let order = direction(order);
        let (id, ties) = match key {
            SortKey::CreationTime => ("0", String::new()),
            SortKey::UpdateTime | SortKey::StateChangeTime => ("id", format!(", id {order}")),
        };
        let mut walk = || -> Result<(), Fault> {
            let mut select = self.tx.conn.prepare_cached(&format!(
                "SELECT row, {column}, {id} FROM issues INDEXED BY {index}
                 WHERE domain_id = ?1 AND {column} BETWEEN ?2 AND ?3
                 ORDER BY {column} {order}{ties}"
            ))?;
            let since = span.since.map_or(i64::MIN, |at| at.0);
            let until = span.until.map_or(i64::MAX, |at| at.0);
            let mut stored = select.query(params![self.tx.domain.0, since, until])?;
            while let Some(row) = stored.next()? {
                if !visit(timed(row)?)? {
                    break;
                }
            }
            Ok(())
        };
        Ok(walk()?)
    }
}

impl Source for IssueSource<'_> {
    const TEXTS_PER_QUESTION: usize = 32;

    fn matches(&self, matches: &Matches) -> Result<RoaringBitmap, StoreError> {
        matches::find(self, &self.tx, matches)
    }

    fn count(&self, question: &CountQuestion<'_>) -> Result<(u64, [u64; 2]), StoreError> {
        let whole = match &question.whole {
            Some(sum) => counts::total(self.tx.conn, self.tx.domain, sum)?,
            None => 0,
        };
        let mut ends = [0; 2];
        for (count, end) in ends.iter_mut().zip(question.ends) {
            if let Some(query) = end {
                let sql = sql::count(self.tx.domain, query, question.index);
                *count = counts::run(self.tx.conn, &sql)?;
            }
        }
        Ok((whole, ends))
    }

    fn count_by_day(&self, sum: &CounterSum<'_>) -> Result<BTreeMap<i64, i64>, StoreError> {
        Ok(counts::by_day(self.tx.conn, self.tx.domain, sum)?)
    }

    fn render(
        &self,
        selection: Selection<'_>,
        rendering: &Rendering,
    ) -> Result<RenderedPage, StoreError> {
        Ok(match selection {
            Selection::Rows(rows) => page::render_rows(self.tx.conn, rows, rendering)?,
            Selection::Scan(scan) => {
                let sql = sql::page(self.tx.domain, scan);
                page::render_scan(self.tx.conn, &sql, scan.limit, rendering)?
            }
        })
    }

    fn search(
        &self,
        search: &TextSearch<'_>,
        throttle: &mut Throttle,
    ) -> Result<RoaringBitmap, StoreError> {
        let Self { tx: DomainTx { conn, domain }, thresholds, further } = *self;
        let Some(further) = further.filter(|_| search.issues() >= thresholds.shared_search_min)
        else {
            return query::search(self, search, throttle);
        };
        let (seen, mut second) = (texts_seen(conn, domain)?, throttle.another());
        std::thread::scope(|scope| {
            let running = scope.spawn(move || {
                further.run(domain, second.deadline(), |conn| {
                    if texts_seen(conn, domain)? != seen {
                        return Ok(RoaringBitmap::new());
                    }
                    Ok(query::search(&IssueSource::new(conn, domain), search, &mut second)?)
                })
            });
            let passed = query::search(self, search, throttle);
            let ended = running.join().unwrap_or_else(|_| {
                Some(Err(StoreError::Unavailable("a search panicked".to_owned()).into()))
            });
            Ok(passed? | ended.transpose()?.unwrap_or_default())
        })
    }

    fn texts(
        &self,
        fragments: TextFragments,
        rows: &[u32],
        mut visit: impl FnMut(u32, IssueTexts<'_>) -> Result<bool, StoreError>,
    ) -> Result<(), StoreError> {
        let wanted = |wanted: bool, column: &'static str| if wanted { column } else { "NULL" };
        let mut read = || -> Result<(), Fault> {
            let mut select = self.tx.conn.prepare_cached(&format!(
                "SELECT row, {}, {}, {}, {}, {} FROM rarray(?1) wanted
                 CROSS JOIN issue_bodies ON row = wanted.value",
                wanted(fragments.head, "head"),
                wanted(fragments.custom_fields, "custom_fields"),
                wanted(fragments.feedback, "feedback"),
                wanted(fragments.private_notes, "private_notes"),
                wanted(fragments.messages, "messages"),
            ))?;
            let mut found = select.query([page::numbers(rows.iter().copied())])?;
            let mut seen = 0;
            while let Some(issue) = found.next()? {
                let texts = IssueTexts {
                    head: fragment(issue, 1)?,
                    custom_fields: fragment(issue, 2)?,
                    feedback: fragment(issue, 3)?,
                    private_notes: fragment(issue, 4)?,
                    messages: fragment(issue, 5)?,
                };
                if !visit(row_number(issue.get(0)?)?, texts)? {
                    return Ok(());
                }
                seen += 1;
            }
            if seen < rows.len() {
                return Err(StoreError::Corrupt("an issue without fragments".to_owned()).into());
            }
            Ok(())
        };
        Ok(read()?)
    }
}

/// What says which texts a snapshot has: the latest mark for the text index, because each write of
/// texts and each deletion of issues leaves one, and whether the domain is there, because its
/// deletion leaves none. Readers that share a search have to agree on it.
fn texts_seen(conn: &Connection, domain: DomainId) -> Result<(i64, bool), Fault> {
    let mut select = conn.prepare_cached(
        "SELECT coalesce((SELECT seq FROM sqlite_sequence WHERE name = 'issue_text_marks'), 0),
         EXISTS (SELECT 1 FROM domains WHERE id = ?1)",
    )?;
    Ok(select.query_row(params![domain.0], |row| Ok((row.get(0)?, row.get(1)?)))?)
}

/// An issue's row, instant and id.
fn timed(row: &Row<'_>) -> Result<TimedRow, Fault> {
    Ok(TimedRow {
        row: row_number(row.get(0)?)?,
        at: UnixMillis(row.get(1)?),
        id: row.get::<_, i64>(2)?.unsigned_abs(),
    })
}

fn fragment<'r>(row: &'r Row<'_>, column: usize) -> rusqlite::Result<Option<&'r [u8]>> {
    Ok(row.get_ref(column)?.as_blob_or_null()?)
}
