//! The SQL of queries that an index decides alone: spans of time, states and ratings are
//! predicates, the count and the page read the index. [`caseload_store::query`] answers other
//! filters with sets of rows. The statements name their index, because the planner's estimates know
//! nothing of a domain's data. Invariant: the SQL matches the issues that `IssueQuery::matches`
//! matches.

use caseload_model::ids::DomainId;
use caseload_model::issue_query::{
    IssueQuery, ListPosition, RatingSet, Sort, SortKey, SortOrder, TimeRange,
};
use rusqlite::types::Value;

use caseload_store::query::{Index, Scan};

/// The name of an index.
pub(super) const fn name_of(index: Index) -> &'static str {
    match index {
        Index::Creation => "issues_by_creation",
        Index::State => "issues_by_state",
        Index::Rating => "issues_by_rating",
        Index::Update => "issues_by_update",
        Index::Change => "issues_by_change",
    }
}

/// A statement and its parameters.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Sql {
    pub(super) text: String,
    pub(super) parameters: Vec<Value>,
}

/// Counts the matches through `index`.
pub(super) fn count(domain: DomainId, query: &IssueQuery, index: Index) -> Sql {
    let mut predicates = Predicates::new(domain, query);
    predicates.states(query);
    predicates.rating(query);
    predicates.condition_of(index);
    let Predicates { text, parameters } = predicates;
    let index = name_of(index);
    Sql { text: format!("SELECT count(*) FROM issues INDEXED BY {index} WHERE {text}"), parameters }
}

/// Selects `row` of the matches, in order, after the scan's position if it has one.
pub(super) fn page(domain: DomainId, scan: &Scan<'_>) -> Sql {
    let Scan { ref query, after, index, limit, offset } = *scan;
    let mut predicates = Predicates::new(domain, query);
    if let Some(position) = after {
        predicates.after(query.sort, position);
    }
    // An index by state or rating is sorted within each value: the runs are merged.
    let runs: Vec<String> = match index {
        Index::State => {
            predicates.rating(query);
            let states = query.states.iter().flatten();
            states.map(|state| format!(" AND state = {}", state.code())).collect()
        }
        Index::Rating => {
            predicates.states(query);
            let ratings = query.rating.into_iter().flat_map(RatingSet::ratings);
            ratings.map(|rating| format!(" AND rating = {rating}")).collect()
        }
        _ => {
            predicates.states(query);
            predicates.rating(query);
            vec![String::new()]
        }
    };
    predicates.condition_of(index);
    let (keys, order) = order(query);
    let Predicates { text, mut parameters } = predicates;
    let selects: Vec<String> = runs
        .iter()
        .map(|run| {
            let index = name_of(index);
            format!("SELECT row, {keys} FROM issues INDEXED BY {index} WHERE {text}{run}")
        })
        .collect();
    let places = (parameters.len() + 1, parameters.len() + 2);
    parameters.extend([Value::Integer(limit as i64), Value::Integer(offset as i64)]);
    let text = format!(
        "{} ORDER BY {order} LIMIT ?{} OFFSET ?{}",
        selects.join(" UNION ALL "),
        places.0,
        places.1
    );
    Sql { text, parameters }
}

/// The columns to sort by, and the order by their numbers. Instants of creation are unique, so ids
/// settle no ties there.
const fn order(query: &IssueQuery) -> (&'static str, &'static str) {
    let ascending = matches!(query.sort.order, SortOrder::Ascending);
    match (query.sort.key, ascending) {
        (SortKey::CreationTime, true) => ("created_at", "2"),
        (SortKey::CreationTime, false) => ("created_at", "2 DESC"),
        (SortKey::UpdateTime, true) => ("updated_at, id", "2, 3"),
        (SortKey::UpdateTime, false) => ("updated_at, id", "2 DESC, 3 DESC"),
        (SortKey::StateChangeTime, true) => ("changed_at, id", "2, 3"),
        (SortKey::StateChangeTime, false) => ("changed_at, id", "2 DESC, 3 DESC"),
    }
}

/// Predicates joined by AND.
struct Predicates {
    text: String,
    parameters: Vec<Value>,
}

impl Predicates {
    /// The predicates of all filters but states and rating.
    fn new(domain: DomainId, query: &IssueQuery) -> Self {
        let mut new =
            Self { text: "domain_id = ?1".to_owned(), parameters: vec![Value::Integer(domain.0)] };
        new.range("created_at", query.created);
        new.range("updated_at", query.updated);
        new.range("changed_at", query.changed);
        new
    }

    /// The condition of an index that does not hold every issue.
    fn condition_of(&mut self, index: Index) {
        if index == Index::Rating {
            self.and("rating IS NOT NULL");
        }
    }

    fn and(&mut self, predicate: &str) {
        self.text.push_str(" AND ");
        self.text.push_str(predicate);
    }

    /// Binds a value and returns its placeholder.
    fn bind(&mut self, value: Value) -> String {
        self.parameters.push(value);
        format!("?{}", self.parameters.len())
    }

    fn range(&mut self, column: &str, range: TimeRange) {
        for (bound, operator) in [(range.since, ">="), (range.until, "<=")] {
            if let Some(bound) = bound {
                let place = self.bind(Value::Integer(bound.0));
                self.and(&format!("{column} {operator} {place}"));
            }
        }
    }

    /// A range of the index that begins right after the position.
    fn after(&mut self, sort: Sort, position: ListPosition) {
        let operator = if sort.order == SortOrder::Ascending { '>' } else { '<' };
        let at = self.bind(Value::Integer(position.at.0));
        let column = match sort.key {
            SortKey::CreationTime => return self.and(&format!("created_at {operator} {at}")),
            SortKey::StateChangeTime => "changed_at",
            SortKey::UpdateTime => "updated_at",
        };
        let id = self.bind(Value::Integer(position.id as i64));
        self.and(&format!("({column}, id) {operator} ({at}, {id})"));
    }

    fn states(&mut self, query: &IssueQuery) {
        let Some(states) = &query.states else { return };
        let codes: Vec<String> = states.iter().map(|state| state.code().to_string()).collect();
        self.and(&format!("state IN ({})", codes.join(", ")));
    }

    fn rating(&mut self, query: &IssueQuery) {
        let Some(set) = query.rating else { return };
        let ratings: Vec<String> = set.ratings().map(|rating| rating.to_string()).collect();
        let rated = format!("rating IN ({})", ratings.join(", "));
        if set.has_missing() {
            self.and(&format!("(rating IS NULL OR {rated})"));
        } else {
            self.and(&rated);
        }
    }
}
