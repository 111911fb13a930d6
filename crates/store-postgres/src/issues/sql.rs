//! The statements that read an index of issues: counts and pages of queries that an index decides
//! alone. Every value of a query is a parameter, so there are few statements, each prepared and
//! planned once per connection; a missing bound is the end of time. A page looks up each of its
//! issues by row. The `OFFSET 0`s keep the planner from other joins, for which its estimates of
//! unknown numbers are not good enough.

use caseload_model::issue::IssueState;
use caseload_model::issue_query::{
    IssueQuery, IssueView, ListPosition, RatingSet, SortKey, SortOrder, TimeRange,
};

use caseload_store::query::Index;
use caseload_store::query::counters::range_of;
use caseload_store::query::stored_sets::{column_of, direction};

/// The four parameters of a query for an index.
#[derive(Debug)]
pub(super) struct Bounds {
    since: i64,
    until: i64,
    states: Vec<i16>,
    ratings: Vec<i16>,
}

impl Bounds {
    pub(super) fn of(query: &IssueQuery, index: Index) -> Self {
        let range = range_of(query, index.order());
        let (since, until) = bounds(range);
        let states = query.states.as_deref().unwrap_or(IssueState::ALL);
        let ratings = query.rating.unwrap_or(RatingSet::ALL).ratings();
        Self {
            since,
            until,
            states: states.iter().map(|state| state.code() as i16).collect(),
            ratings: ratings.map(i16::from).collect(),
        }
    }

    /// Moves the bounds after a position, in an order without ties. Returns the id after which the
    /// scan continues within ties.
    pub(super) fn begin_after(
        &mut self,
        after: Option<ListPosition>,
        order: SortOrder,
        ties: bool,
    ) -> i64 {
        let ascending = order == SortOrder::Ascending;
        let Some(after) = after else {
            // Before the first issue of its instant: no id is that small, or that large.
            return if ascending { i64::MIN } else { i64::MAX };
        };
        if ascending {
            self.since = if ties { after.at.0 } else { after.at.0.saturating_add(1) };
            self.until = if after.at.0 == i64::MAX && !ties { i64::MIN } else { self.until };
        } else {
            self.until = if ties { after.at.0 } else { after.at.0.saturating_sub(1) };
            self.since = if after.at.0 == i64::MIN && !ties { i64::MAX } else { self.since };
        }
        after.id as i64
    }

    /// From the second placeholder on, in the order of [`count`].
    pub(super) fn parameters(&self) -> [&(dyn tokio_postgres::types::ToSql + Sync); 4] {
        [&self.since, &self.until, &self.states, &self.ratings]
    }
}

/// The ends of a range, or those of time.
pub(super) fn bounds(range: TimeRange) -> (i64, i64) {
    (range.since.map_or(i64::MIN, |at| at.0), range.until.map_or(i64::MAX, |at| at.0))
}

/// Counts the matches through `index`. Its parameters begin at `from` (since, until, states,
/// ratings); the domain is at 1.
pub(super) fn count(index: Index, from: usize) -> String {
    let predicates = predicates(index, from);
    format!("SELECT count(*) FROM issues WHERE domain_id = $1 AND {predicates}")
}

fn predicates(index: Index, from: usize) -> String {
    let column = column_of(index.order());
    let [since, until, states, ratings] = [from, from + 1, from + 2, from + 3];
    let span = format!("{column} BETWEEN ${since}::bigint AND ${until}::bigint");
    let states = format!("state = ANY(${states}::smallint[])");
    // Each parameter is used, so that the database knows its type.
    let ratings = format!("${ratings}::smallint[]");
    match index {
        Index::Creation => format!("{span} AND {} AND {}", given(from + 2), given(from + 3)),
        Index::Rating => format!("{span} AND {states} AND rating = ANY({ratings})"),
        _ => format!("{span} AND {states} AND {}", given(from + 3)),
    }
}

/// A predicate that is true and only uses a parameter that the index does not need.
fn given(place: usize) -> String {
    format!("${place}::smallint[] IS NOT NULL")
}

/// Selects `row`, `at` and `id` of the matches, in order. Parameters are the domain, since, until,
/// states, ratings, the limit, the offset and an id: of the issues at the first instant of the
/// range, only those after this id.
pub(super) fn page(index: Index, order: SortOrder) -> String {
    let column = column_of(index.order());
    let way = direction(order);
    let run = |condition: &str| {
        format!(
            "SELECT i.row, i.{column} AS at, 0::bigint AS id FROM issues i
             WHERE i.domain_id = $1 AND i.{column} BETWEEN $2::bigint AND $3::bigint
             AND {condition} ORDER BY i.{column} {way} LIMIT $6::bigint + $7::bigint"
        )
    };
    let unused = |places: &[usize]| {
        let named: Vec<_> = places.iter().map(|place| given(*place)).collect();
        named.join(" AND ")
    };
    match index {
        Index::Creation => format!(
            "SELECT i.row, i.created_at AS at, 0::bigint AS id FROM issues i
             WHERE i.domain_id = $1 AND i.created_at BETWEEN $2::bigint AND $3::bigint
             AND {} AND $8::bigint IS NOT NULL
             ORDER BY i.created_at {way} LIMIT $6::bigint OFFSET $7::bigint",
            unused(&[4, 5])
        ),
        // The index is sorted within each state or rating: the runs are merged.
        Index::State => format!(
            "SELECT r.row, r.at, r.id FROM unnest($4::smallint[]) AS s(state)
             CROSS JOIN LATERAL ({}) r WHERE {} AND $8::bigint IS NOT NULL
             ORDER BY r.at {way} LIMIT $6::bigint OFFSET $7::bigint",
            run("i.state = s.state"),
            unused(&[5])
        ),
        Index::Rating => format!(
            "SELECT r.row, r.at, r.id FROM unnest($5::smallint[]) AS s(rating)
             CROSS JOIN LATERAL ({}) r WHERE $8::bigint IS NOT NULL
             ORDER BY r.at {way} LIMIT $6::bigint OFFSET $7::bigint",
            run("i.rating = s.rating AND i.state = ANY($4::smallint[])")
        ),
        Index::Update | Index::Change => {
            let (start, operator) = match order {
                SortOrder::Ascending => ("$2", '>'),
                SortOrder::Descending => ("$3", '<'),
            };
            format!(
                "SELECT i.row, i.{column} AS at, i.id FROM issues i
                 WHERE i.domain_id = $1 AND i.{column} BETWEEN $2::bigint AND $3::bigint
                 AND (i.{column}, i.id) {operator} ({start}::bigint, $8::bigint)
                 AND i.state = ANY($4::smallint[]) AND {}
                 ORDER BY i.{column} {way}, i.id {way} LIMIT $6::bigint OFFSET $7::bigint",
                unused(&[5])
            )
        }
    }
}

/// Whether ids order the issues of one instant.
pub(super) const fn has_ties(key: SortKey) -> bool {
    !matches!(key, SortKey::CreationTime)
}

/// The order of a page, by its columns.
pub(super) fn order(key: SortKey, order: SortOrder) -> String {
    let way = direction(order);
    if has_ties(key) { format!("at {way}, id {way}") } else { format!("at {way}") }
}

/// The fragments of an issue `b` that a view shows, in their order. Long fragments that the view
/// hides are not selected; short ones are not worth a statement of their own.
pub(super) fn shown(view: IssueView) -> String {
    let long = |shown: bool, column: &'static str, hidden: &'static str| {
        if shown { column } else { hidden }
    };
    format!(
        "b.head, {}, b.meta, {}, b.feedback, b.queue, {}, b.predict_labels,
         b.sentiment_analysis, b.smart_intents, b.checksums",
        long(!view.exclude_messages, "b.messages", "''::bytea"),
        long(view.custom_fields, "b.custom_fields", "''::bytea"),
        long(view.private_notes, "b.private_notes", "NULL::bytea"),
    )
}

/// The database sends no issue that begins after this many bytes of a page of any limit. This is
/// more than the longest issue and the largest page have, so one issue more than fits is always
/// sent: an issue begins no later by the bytes of its long fragments than on the page.
const SENT_BYTES_MAX: usize = 16 << 20;

/// Issues of a page that is first read as if none were long. Of more issues, one that is not rare
/// would be too long, and the page would be read twice.
pub(super) const LIGHT_ISSUES_MAX: u64 = 256;

/// Selects the shown fragments of the rows `c` of `wanted`, at most `limit` rows, in an order by
/// columns of `c`. An issue has nulls if `limit` issues as long would have more than
/// [`SENT_BYTES_MAX`]; most pages have none, and adding the lengths up takes the database a third
/// of its time for a page.
pub(super) fn light(view: IssueView, wanted: &str, order: &str, limit: u64) -> String {
    let longest = (SENT_BYTES_MAX as u64 / limit.max(1)).max(1);
    // Pages of similar limits share a statement.
    let longest = 1_u64 << longest.ilog2();
    format!(
        "SELECT {} FROM {wanted} LEFT JOIN LATERAL (SELECT * FROM issue_bodies
         WHERE domain_id = $1 AND row = c.row AND {} <= {longest} OFFSET 0) b ON TRUE
         ORDER BY {order}",
        shown(view),
        bytes(view)
    )
}

/// The bytes of the shown fragments that may be long. They are read without the fragments.
fn bytes(view: IssueView) -> String {
    let long = [
        (!view.exclude_messages, " + octet_length(messages)"),
        (view.custom_fields, " + octet_length(custom_fields)"),
        (view.private_notes, " + coalesce(octet_length(private_notes), 0)"),
    ];
    let sums = long.iter().filter(|(shown, _)| *shown).map(|(_, sum)| *sum);
    std::iter::once("octet_length(meta)").chain(sums).collect()
}

/// Selects the shown fragments of the rows `c` of `wanted`, in an order by the columns `keys` of
/// `c`, up to a number of bytes of the shown ones.
pub(super) fn bounded(view: IssueView, wanted: &str, keys: &str, order: &str) -> String {
    format!(
        "SELECT {} FROM (SELECT b.*, {keys}, b.bytes AS own,
         sum(b.bytes) OVER (ORDER BY {order} ROWS UNBOUNDED PRECEDING) AS so_far
         FROM {wanted} CROSS JOIN LATERAL (SELECT *,
         {} AS bytes FROM issue_bodies
         WHERE domain_id = $1 AND row = c.row OFFSET 0) b) b
         WHERE b.so_far - b.own <= {SENT_BYTES_MAX} ORDER BY {order}",
        shown(view),
        bytes(view)
    )
}
