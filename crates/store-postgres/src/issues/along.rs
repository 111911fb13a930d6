//! Pages along an index, and lists of which everything is asked in one flight: the page and its
//! total, both in the snapshot of one transaction. The page is asked for first, so that it is
//! written while the total is counted. Invariant: the same list as [`caseload_store::issues::list`]
//! and [`caseload_store::issues::step`] would give.

use caseload_model::ids::DomainId;
use futures_util::future::try_join;
use tokio_postgres::types::ToSql;

use super::super::engine::Session;
use super::counts::Counting;
use super::page;
use super::sql::{self, Asked, has_ties};
use caseload_store::StoreError;
use caseload_store::issues::{Along, AtOnce, Question, Shown, Written};

/// The total, where it is asked for, and the page.
pub(super) async fn at_once(
    session: &Session,
    domain: DomainId,
    asked: &AtOnce<'_>,
) -> Result<(Option<u64>, Written), StoreError> {
    let along = asked.along();
    let page = PageOf::new(&along);
    let question = asked.question();
    let total = question.as_ref().map(Question::total);
    let counting = total.as_ref().map(Counting::new);
    let select = counting.as_ref().and_then(|counting| counting.select(&domain));
    // Nothing is sent before all of it is prepared.
    let of_page = session.prepare(&PageOf::select(&along, &asked.shown)).await?;
    let of_total = match &select {
        Some((select, _)) => Some(session.prepare(select).await?),
        None => None,
    };
    let client = session.client();
    let page = async {
        let rows = client.prepared_stream(&of_page, &page.parameters(&domain.0)).await?;
        page::write_as_they_come(rows, &asked.shown).await
    };
    let counted = async {
        let (Some(statement), Some((_, params))) = (&of_total, &select) else { return Ok(None) };
        client.prepared_row(statement, params).await.map(Some)
    };
    let (page, counted) = session.whole(try_join(page, counted)).await?;
    let parts = match (&counting, &counted) {
        (Some(counting), Some(row)) => counting.parts(row),
        _ => (0, [0; 2]),
    };
    Ok((question.map(|question| question.counted(parts).total()), page))
}

/// What a page along an index is bound to.
pub(super) struct PageOf {
    asked: Asked,
    limit: i64,
    offset: i64,
    /// The id to go on behind.
    id: i64,
}

impl PageOf {
    pub(super) fn new(along: &Along<'_>) -> Self {
        let mut asked = Asked::of(along.query, along.index);
        let sort = along.query.sort;
        let id = asked.after(along.after, sort.order, has_ties(sort.key));
        Self { asked, limit: along.limit as i64, offset: along.offset as i64, id }
    }

    /// Selects the fragments that are shown.
    pub(super) fn select(along: &Along<'_>, shown: &Shown) -> String {
        let sort = along.query.sort;
        format!(
            "SELECT {} FROM ({}) c CROSS JOIN LATERAL (SELECT * FROM issue_bodies
             WHERE domain_id = $1 AND row = c.row OFFSET 0) b ORDER BY {}",
            sql::shown(shown.view),
            sql::page(along.index, sort.order),
            sql::order(sort.key, sort.order),
        )
    }

    pub(super) fn parameters<'p>(&'p self, domain: &'p i64) -> [&'p (dyn ToSql + Sync); 8] {
        let [since, until, states, ratings] = self.asked.parameters();
        [domain, since, until, states, ratings, &self.limit, &self.offset, &self.id]
    }
}
