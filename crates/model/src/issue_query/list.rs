//! Reads query parameters into a [`ListRequest`]. All faults of a request are found at once, and
//! each says what would be right: dropping a filter silently would return the wrong issues.

use super::custom_fields::parse_custom_fields;
use super::filters::{FilterKind, ISSUE_FILTERS, IssueFilter, with_filters};
use super::rating::parse_rating;
use super::{
    CursorPaging, IssueQuery, Person, RatingSet, Sort, SortKey, SortOrder, TimeRange, columns,
    cursor_paging,
};
use crate::error_code::ErrorCode;
use crate::fold::fold_text;
use crate::ids::ISSUE_ID_MAX;
use crate::issue::{IssueState, IssueView, TimestampFormat};
use crate::parameters::{Paging, ParameterFault, Parameters, paging};

/// The parameters of a list that are not filters. `format` is a matter of HTTP, which reads its
/// value.
const NO_FILTERS: [&str; 15] = [
    "includes",
    "excludes",
    "timestamp-format",
    "sort-by",
    "sort-order",
    "page",
    "page-size",
    "cursor",
    "after",
    "count",
    "format",
    "bom",
    "spreadsheet",
    "trailer",
    "columns",
];
/// The parameters of a list; the filters come first.
pub const LIST_PARAMETERS: [&str; ISSUE_FILTERS.len() + NO_FILTERS.len()] =
    with_filters(&NO_FILTERS);
/// The parameters of a single issue.
pub const SINGLE_PARAMETERS: [&str; 3] = ["includes", "excludes", "timestamp-format"];

/// How to read beyond the last numbered page.
const DEEPER: &str = "To read further, send cursor instead of page: * to begin, then the \
    next-cursor of the previous answer, until it is null (the header Link has it as rel=next). \
    Or walk by time: sort-by=creation-time, sort-order=asc, without page; process every issue but \
    the last, set created_since to the created_at of the last, repeat until one issue is left";

/// A request for a list of issues or, with other parameters, of profiles.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListRequest<Query = IssueQuery, View = IssueView, Id = u64> {
    pub query: Query,
    pub view: View,
    pub paging: Paging,
    /// Whether the caller gave `page`.
    pub explicit_paging: bool,
    /// Set if the list is read by cursor; `paging` then only gives the page size.
    pub cursor: Option<CursorPaging<Id>>,
    /// Whether a stream leaves out the line that confirms its end.
    pub without_trailer: bool,
    /// The columns of a table, if the caller names them.
    pub columns: Option<Vec<String>>,
}

impl ListRequest {
    /// The columns of the list as a table, and the view that has the members for them.
    pub fn table(&self) -> (Vec<String>, IssueView) {
        let default = || columns::default_columns(&self.view);
        let columns = self.columns.clone().unwrap_or_else(default);
        let view = columns::view_of(&columns, &self.view);
        (columns, view)
    }
}

/// A word of `includes`.
#[derive(Clone, Copy)]
enum Include {
    /// Always shown.
    Meta,
    CustomFields,
    Feedback,
    PrivateNotes,
    Queue,
    PredictLabels,
    SentimentAnalysis,
    SmartIntents,
}

const INCLUDES: [(&str, Include); 8] = [
    ("meta", Include::Meta),
    ("custom_fields", Include::CustomFields),
    ("feedback", Include::Feedback),
    ("private_notes", Include::PrivateNotes),
    ("queue", Include::Queue),
    ("predict_labels", Include::PredictLabels),
    ("sentiment_analysis", Include::SentimentAnalysis),
    ("smart_intents", Include::SmartIntents),
];

/// Reads the parameters of a list: decoded, otherwise as the caller sent them.
pub fn parse_list(pairs: &[(String, String)]) -> Result<ListRequest, Vec<ParameterFault>> {
    let mut parameters = Parameters::new(pairs, &LIST_PARAMETERS);
    let query = query(&mut parameters);
    let request = ListRequest {
        query,
        view: view(&mut parameters, IssueView::default()),
        paging: paging(&mut parameters, "issues", DEEPER),
        explicit_paging: parameters.get("page").is_some(),
        cursor: cursor_paging::read(&mut parameters),
        without_trailer: parameters.boolean("trailer") == Some(false),
        columns: columns::ISSUE_COLUMNS.read(&mut parameters),
    };
    if parameters.faults.is_empty() { Ok(request) } else { Err(parameters.faults) }
}

/// Reads the parameters of a single issue, which shows custom fields by default.
pub fn parse_single(pairs: &[(String, String)]) -> Result<IssueView, Vec<ParameterFault>> {
    let mut parameters = Parameters::new(pairs, &SINGLE_PARAMETERS);
    let default = IssueView { custom_fields: true, ..IssueView::default() };
    let view = view(&mut parameters, default);
    if parameters.faults.is_empty() { Ok(view) } else { Err(parameters.faults) }
}

pub(super) fn query(parameters: &mut Parameters<'_>) -> IssueQuery {
    let mut query = IssueQuery::default();
    for filter in ISSUE_FILTERS {
        read(filter, parameters, &mut query);
    }
    query.sort = sort(parameters, SortKey::ALL, &query.updated);
    query
}

/// Reads a filter into its part of the query.
fn read(filter: &IssueFilter, parameters: &mut Parameters<'_>, query: &mut IssueQuery) {
    let name = filter.name;
    match &filter.kind {
        FilterKind::Instant(bound, part) => *(part.of)(query) = parameters.bound(name, *bound),
        FilterKind::States(part) => *(part.of)(query) = states(parameters, name),
        FilterKind::Ids(part) => {
            let expected = "a list of issue ids, whole numbers such as 28,29 or [\"28\",29]";
            let can_exist = |id: &u64| (1..=ISSUE_ID_MAX).contains(id);
            *(part.of)(query) = parameters.ids(name, expected, can_exist);
        }
        FilterKind::AnyOf(_, part) => *(part.of)(query) = parameters.texts(name),
        FilterKind::Person(part) => *(part.of)(query) = person(parameters, name),
        FilterKind::Condition(rules, part) => *(part.of)(query) = rules.read(parameters, name),
        FilterKind::Text(part) => *(part.of)(query) = text(parameters, name),
        FilterKind::CustomFields(part) => {
            let fields = parameters.filter(name, parse_custom_fields);
            *(part.of)(query) = fields.unwrap_or_default();
        }
        FilterKind::Rating(part) => {
            let set = parameters.filter(name, parse_rating);
            *(part.of)(query) = set.filter(|set| *set != RatingSet::ALL);
        }
        FilterKind::Boolean(part) => *(part.of)(query) = parameters.boolean(name),
    }
}

/// States, ascending and without repeats.
fn states(parameters: &mut Parameters<'_>, name: &str) -> Option<Vec<IssueState>> {
    let words: Vec<_> = IssueState::ALL.iter().map(|state| (state.as_str(), *state)).collect();
    let mut states = parameters.words(name, &words)?;
    states.sort_unstable();
    states.dedup();
    Some(states)
}

/// A text to search for, folded. An empty text may come from a field that was not filled in, so it
/// is a fault.
fn text(parameters: &mut Parameters<'_>, name: &str) -> Option<String> {
    let (spelled, text) = parameters.get(name)?;
    if text.is_empty() {
        let detail = format!("{spelled} is empty; leave {spelled} out to list everything");
        parameters.fault(spelled, ErrorCode::InvalidValue, detail);
        return None;
    }
    Some(fold_text(text))
}

/// The person with a core profile. An id that no profile can have is well formed but matches
/// nothing.
fn person(parameters: &mut Parameters<'_>, name: &str) -> Option<Person> {
    let (spelled, text) = parameters.get(name)?;
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        let detail = "core-profile-id is the id of one core profile, digits alone such as \
            188474421477632";
        parameters.fault(spelled, ErrorCode::InvalidValue, detail);
        return None;
    }
    Some(Person { core_profile_id: text.parse().unwrap_or(u64::MAX), pids: Vec::new() })
}

/// The order by one of `keys`. A client that filters by update time and names no order gets that
/// of updates.
pub(crate) fn sort(parameters: &mut Parameters<'_>, keys: &[SortKey], updated: &TimeRange) -> Sort {
    let keys: Vec<_> = keys.iter().map(|key| (key.as_str(), *key)).collect();
    let orders: Vec<_> = SortOrder::ALL.iter().map(|order| (order.as_str(), *order)).collect();
    let default = if updated.is_unbounded() { Sort::default().key } else { SortKey::UpdateTime };
    Sort {
        key: parameters.word("sort-by", &keys).unwrap_or(default),
        order: parameters.word("sort-order", &orders).unwrap_or(Sort::default().order),
    }
}

/// The view, and whether `includes` names `meta`.
fn view(parameters: &mut Parameters<'_>, default: IssueView) -> IssueView {
    let mut view = default;
    for include in parameters.words("includes", &INCLUDES).unwrap_or_default() {
        match include {
            Include::Meta => {}
            Include::CustomFields => view.custom_fields = true,
            Include::Feedback => view.feedback = true,
            Include::PrivateNotes => view.private_notes = true,
            Include::Queue => view.queue = true,
            Include::PredictLabels => view.predict_labels = true,
            Include::SentimentAnalysis => view.sentiment_analysis = true,
            Include::SmartIntents => view.smart_intents = true,
        }
    }
    let excludes = parameters.words("excludes", &[("messages", ())]);
    view.exclude_messages = excludes.is_some_and(|words| !words.is_empty());
    let formats = [("unix", TimestampFormat::Unix), ("iso-8601", TimestampFormat::Iso8601)];
    view.timestamps = parameters.word("timestamp-format", &formats).unwrap_or_default();
    view
}
