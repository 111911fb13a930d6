//! Sums of counters over days, and counts through an index: one statement for all summands of a
//! total. The model says which counters there are. A sum adds the counters and their deltas. If no
//! single day is wanted, spans of 32 days are added up as one counter each.

use std::collections::BTreeMap;

use caseload_model::ids::DomainId;
use caseload_model::issue::Facet;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::sql::{self, Bounds};
use crate::engine::BlockingClient;
use caseload_store::StoreError;
use caseload_store::query::{CountQuestion, CounterSum, Days};

/// The question for the summands of a total: whole days, then the ends in their order.
pub(super) struct Count<'q> {
    sums: Option<BoundSum<'q>>,
    ends: Vec<Bounds>,
    question: &'q CountQuestion<'q>,
}

impl<'q> Count<'q> {
    pub(super) fn new(question: &'q CountQuestion<'q>) -> Self {
        let ends = question.ends.iter().flatten();
        Self {
            sums: question.whole.as_ref().map(|sums| BoundSum::new(sums, sums.days.counters())),
            ends: ends.map(|query| Bounds::of(query, question.index)).collect(),
            question,
        }
    }

    /// The statement and its parameters; none if there is nothing to ask.
    pub(super) fn select<'p>(
        &'p self,
        domain: &'p DomainId,
    ) -> Option<(String, Vec<&'p (dyn ToSql + Sync)>)> {
        let mut parts = Vec::new();
        let mut params: Vec<&(dyn ToSql + Sync)> = vec![&domain.0];
        if let Some(sums) = &self.sums {
            parts.push(sum(2, sums.off.is_some()));
            sums.add_to(&mut params);
        }
        for end in &self.ends {
            parts.push(format!("({})", sql::count(self.question.index, params.len() + 1)));
            params.extend(end.parameters());
        }
        (!parts.is_empty()).then(|| (format!("SELECT {}", parts.join(", ")), params))
    }

    /// The summands, from the answer.
    pub(super) fn summands(&self, found: &Row) -> (u64, [u64; 2]) {
        let mut places = 0..found.len();
        let mut next = || {
            let count: i64 = places.next().map_or(0, |place| found.get(place));
            count.max(0).unsigned_abs()
        };
        let whole = if self.sums.is_some() { next() } else { 0 };
        (whole, self.question.ends.map(|end| if end.is_some() { next() } else { 0 }))
    }
}

/// The sums of counters day by day.
pub(super) fn by_day(
    db: &BlockingClient<'_>,
    domain: DomainId,
    sums: &CounterSum<'_>,
) -> Result<BTreeMap<i64, i64>, StoreError> {
    let bound = BoundSum::new(sums, [sums.days]);
    let mut params: Vec<&(dyn ToSql + Sync)> = vec![&domain.0];
    bound.add_to(&mut params);
    let mut halves = vec![counters("day, n", 2, 3), deltas("day, n", 2, 3)];
    if bound.off.is_some() {
        halves.extend([counters("day, -n", 6, 7), deltas("day, -n", 6, 7)]);
    }
    let select =
        format!("SELECT day, sum(n)::bigint FROM ({}) c GROUP BY day", halves.join(" UNION ALL "));
    let found = db.wait(db.client().rows(&select, &params))?;
    Ok(found.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// The parameters of a [`CounterSum`]: facet, values, ranges of counters, and the subtracted
/// ratings.
struct BoundSum<'q> {
    facet: i16,
    values: Vec<&'q [u8]>,
    /// The first and the last counter of each range, numbered like days.
    firsts: Vec<i64>,
    lasts: Vec<i64>,
    off: Option<(i16, Vec<&'q [u8]>)>,
}

impl<'q> BoundSum<'q> {
    fn new(sums: &CounterSum<'q>, ranges: impl IntoIterator<Item = Days>) -> Self {
        let bytes = |values: &'q [Vec<u8>]| values.iter().map(Vec::as_slice).collect::<Vec<_>>();
        let off = (!sums.subtracted_ratings.is_empty())
            .then(|| (Facet::Rating.code() as i16, bytes(sums.subtracted_ratings)));
        let (firsts, lasts) = ranges.into_iter().map(|days| (days.from, days.until)).unzip();
        let facet = sums.facet.code() as i16;
        Self { facet, values: bytes(sums.values), firsts, lasts, off }
    }

    fn add_to<'p>(&'p self, params: &mut Vec<&'p (dyn ToSql + Sync)>) {
        params.extend([&self.facet as &(dyn ToSql + Sync), &self.values]);
        params.extend([&self.firsts as &(dyn ToSql + Sync), &self.lasts]);
        if let Some((facet, values)) = &self.off {
            params.extend([facet as &(dyn ToSql + Sync), values]);
        }
    }
}

/// Counters of a facet and values, bound at these placeholders; the ranges are at 4 and 5.
fn counters(columns: &str, facet: u8, values: u8) -> String {
    of_table("issue_counts", columns, facet, values)
}

/// Their deltas.
fn deltas(columns: &str, facet: u8, values: u8) -> String {
    of_table("issue_count_deltas", columns, facet, values)
}

fn of_table(table: &str, columns: &str, facet: u8, values: u8) -> String {
    format!(
        "SELECT {columns} FROM unnest($4::bigint[], $5::bigint[]) AS r(first, last)
         CROSS JOIN LATERAL (SELECT day, n FROM {table} WHERE domain_id = $1
         AND facet = ${facet} AND value = ANY(${values}) AND day BETWEEN r.first AND r.last
         OFFSET 0) c"
    )
}

/// The sum of counters as an expression; facet, values and ranges are bound from 2 on.
fn sum(facet: u8, has_off: bool) -> String {
    let total = |facet: u8, values: u8| {
        let sum = "coalesce(sum(n), 0)::bigint";
        format!("(({}) + ({}))", counters(sum, facet, values), deltas(sum, facet, values))
    };
    let whole = total(facet, facet + 1);
    if has_off { format!("{whole} - {}", total(6, 7)) } else { whole }
}
