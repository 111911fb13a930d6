//! Pages that are a scan of one index, and lists that are one flight: the page and its total, in
//! the snapshot of one transaction. The page is asked for first, so it is rendered while the
//! database counts. Invariant: the list is the one that [`caseload_store::query::list`] and
//! [`caseload_store::query::step`] would give.

use caseload_model::ids::DomainId;
use caseload_store::StoreError;
use caseload_store::query::plan::CounterTotal;
use caseload_store::query::{RenderedPage, Rendering, Scan};
use futures_util::future::try_join;
use tokio_postgres::types::ToSql;

use super::counts::Count;
use super::page::{self, PageStats};
use super::sql::{self, Bounds, has_ties};
use crate::engine::Session;

/// The total, if it is asked for, and the page. A page with a long issue takes a second flight.
pub(super) async fn one_flight(
    session: &Session,
    domain: DomainId,
    asked: (Option<&CounterTotal>, &Scan<'_>),
    rendering: &Rendering,
) -> Result<(Option<u64>, RenderedPage), StoreError> {
    let scan = asked.1;
    if scan.limit <= sql::LIGHT_ISSUES_MAX {
        let select = BoundScan::light_select(scan, rendering);
        let (total, page, stats) = flight(session, domain, asked, rendering, &select).await?;
        if !stats.is_incomplete {
            return Ok((total, page));
        }
    }
    let select = BoundScan::select(scan, rendering);
    let (total, page, _) = flight(session, domain, asked, rendering, &select).await?;
    Ok((total, page))
}

/// The total, if it is asked for, and the page that `select` selects.
async fn flight(
    session: &Session,
    domain: DomainId,
    (total, scan): (Option<&CounterTotal>, &Scan<'_>),
    rendering: &Rendering,
    select_page: &str,
) -> Result<(Option<u64>, RenderedPage, PageStats), StoreError> {
    let page = BoundScan::new(scan);
    let question = total.map(CounterTotal::question);
    let count = question.as_ref().map(Count::new);
    let select = count.as_ref().and_then(|count| count.select(&domain));
    // Everything is prepared before anything is sent.
    let of_page = session.prepare(select_page).await?;
    let of_total = match &select {
        Some((select, _)) => Some(session.prepare(select).await?),
        None => None,
    };
    let client = session.client();
    let page = async {
        let rows = client.prepared_stream(&of_page, &page.parameters(&domain.0)).await?;
        let mut out = RenderedPage::default();
        let stats = page::render_stream(rows, rendering, &mut out).await?;
        out.found = stats.rows;
        Ok((out, stats))
    };
    let counted = async {
        let (Some(statement), Some((_, params))) = (&of_total, &select) else { return Ok(None) };
        client.prepared_row(statement, params).await.map(Some)
    };
    let ((page, stats), row) = session.in_one_flight(try_join(page, counted)).await?;
    let summands = match (&count, &row) {
        (Some(count), Some(row)) => count.summands(row),
        _ => (0, [0; 2]),
    };
    Ok((total.map(|total| total.counted(summands).total()), page, stats))
}

/// The values that a scan is bound to.
pub(super) struct BoundScan {
    bounds: Bounds,
    limit: i64,
    offset: i64,
    /// The id after which the scan begins.
    id: i64,
}

impl BoundScan {
    pub(super) fn new(scan: &Scan<'_>) -> Self {
        let mut bounds = Bounds::of(&scan.query, scan.index);
        let sort = scan.query.sort;
        let id = bounds.begin_after(scan.after, sort.order, has_ties(sort.key));
        Self { bounds, limit: scan.limit as i64, offset: scan.offset as i64, id }
    }

    /// Selects the fragments that are shown, without those of long issues.
    pub(super) fn light_select(scan: &Scan<'_>, rendering: &Rendering) -> String {
        let sort = scan.query.sort;
        let page = format!("({}) c", sql::page(scan.index, sort.order));
        let order = sql::order(sort.key, sort.order);
        sql::light(rendering.view, &page, &order, scan.limit)
    }

    /// Selects the fragments that are shown.
    pub(super) fn select(scan: &Scan<'_>, rendering: &Rendering) -> String {
        let sort = scan.query.sort;
        let order = sql::order(sort.key, sort.order);
        let page = sql::page(scan.index, sort.order);
        sql::bounded(rendering.view, &format!("({page}) c"), "c.at, c.id", &order)
    }

    pub(super) fn parameters<'p>(&'p self, domain: &'p i64) -> [&'p (dyn ToSql + Sync); 8] {
        let [since, until, states, ratings] = self.bounds.parameters();
        [domain, since, until, states, ratings, &self.limit, &self.offset, &self.id]
    }
}
