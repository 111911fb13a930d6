//! Reads query parameters into a [`ListRequest`]. All faults of a request are found at once, and
//! each says what would be right: dropping a filter silently would return the wrong issues.

use super::condition::{Subject, parse_condition};
use super::custom_fields::parse_custom_fields;
use super::rating::parse_rating;
use super::{
    Condition, CursorPaging, IssueQuery, Person, RatingSet, Sort, SortKey, SortOrder, TimeRange,
    columns, cursor_paging,
};
use crate::error_code::ErrorCode;
use crate::fold::fold;
use crate::ids::ISSUE_ID_MAX;
use crate::issue::{IssueState, IssueView, TimestampFormat};
use crate::json::Json;
use crate::parameters::instant::Bound;
use crate::parameters::{Paging, ParameterFault, Parameters, paging};

/// How many of the parameters of a list are filters; they come first.
pub(super) const FILTERS: usize = 27;
/// The parameters of a list. `format` is a matter of HTTP, which reads its value.
pub const LIST_PARAMETERS: [&str; 40] = [
    "created-since",
    "created-until",
    "updated-since",
    "updated-until",
    "state-since",
    "state-until",
    "state",
    "ids",
    "app-ids",
    "platform-types",
    "queue-ids",
    "end-user-ids",
    "core-profile-id",
    "issue-modes",
    "tags",
    "languages",
    "assignee-ids",
    "assignee-emails",
    "author-emails",
    "text",
    "title",
    "messages",
    "notes",
    "feedback-comment",
    "custom-fields",
    "feedback-rating",
    "redacted",
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
    "trailer",
    "columns",
];
/// The parameters of a single issue.
pub const SINGLE_PARAMETERS: [&str; 3] = ["includes", "excludes", "timestamp-format"];

/// How to read beyond the last numbered page.
const DEEPER: &str = "To read further, send cursor instead of page: * to begin, then the \
    next-cursor of the previous answer, until it is null (the header Link has it as rel=next). \
    Or walk by time: sort-by=creation-time, sort-order=asc, without page; process every issue but \
    the last, set created_since to the created_at of the last, repeat until one issue is left";

/// A request for a list.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListRequest {
    pub query: IssueQuery,
    pub view: IssueView,
    /// Whether `includes` names `meta`, which maps always show: a table then has a column of it.
    pub meta_column: bool,
    pub paging: Paging,
    /// Whether the caller gave `page`.
    pub explicit_paging: bool,
    /// Set if the list is read by cursor; `paging` then only gives the page size.
    pub cursor: Option<CursorPaging>,
    /// Whether a stream leaves out the line that confirms its end.
    pub without_trailer: bool,
    /// The columns of a table, if the caller names them.
    pub columns: Option<Vec<String>>,
}

impl ListRequest {
    /// The columns of the list as a table, and the view that has the members for them.
    pub fn table(&self) -> (Vec<String>, IssueView) {
        let default = || columns::default_columns(&self.view, self.meta_column);
        let columns = self.columns.clone().unwrap_or_else(default);
        let view = columns::view_of(&columns, &self.view);
        (columns, view)
    }
}

/// A word of `includes`.
#[derive(Clone, Copy)]
enum Include {
    /// Always shown in maps; asking for it adds a column to a table.
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
    let (view, meta_column) = view(&mut parameters, IssueView::default());
    let request = ListRequest {
        query,
        view,
        meta_column,
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
    let (view, _) = view(&mut parameters, default);
    if parameters.faults.is_empty() { Ok(view) } else { Err(parameters.faults) }
}

pub(super) fn query(parameters: &mut Parameters<'_>) -> IssueQuery {
    let states: Vec<_> = IssueState::ALL.iter().map(|state| (state.as_str(), *state)).collect();
    let updated = range(parameters, "updated-since", "updated-until");
    IssueQuery {
        created: range(parameters, "created-since", "created-until"),
        updated,
        changed: range(parameters, "state-since", "state-until"),
        states: parameters.words("state", &states).map(|mut states| {
            states.sort_unstable();
            states.dedup();
            states
        }),
        ids: ids(parameters),
        app_ids: parameters.texts("app-ids"),
        platform_types: parameters.texts("platform-types"),
        queue_ids: parameters.texts("queue-ids"),
        end_user_ids: parameters.texts("end-user-ids"),
        person: person(parameters),
        issue_modes: parameters.texts("issue-modes"),
        tags: condition(parameters, Subject::Tags),
        languages: condition(parameters, Subject::Languages),
        assignee_ids: condition(parameters, Subject::AssigneeIds),
        assignee_emails: condition(parameters, Subject::AssigneeEmails),
        author_emails: condition(parameters, Subject::AuthorEmails),
        text: text(parameters),
        title: condition(parameters, Subject::Title),
        messages: condition(parameters, Subject::Messages),
        notes: condition(parameters, Subject::Notes),
        feedback_comment: condition(parameters, Subject::FeedbackComment),
        custom_fields: parameters.filter("custom-fields", parse_custom_fields).unwrap_or_default(),
        rating: parameters
            .filter("feedback-rating", parse_rating)
            .filter(|set| *set != RatingSet::ALL),
        redacted: parameters.boolean("redacted"),
        sort: sort(parameters, SortKey::ALL, &updated),
    }
}

/// A span of time by its two parameters.
pub(crate) fn range(parameters: &mut Parameters<'_>, since: &str, until: &str) -> TimeRange {
    let (since, until) =
        (parameters.bound(since, Bound::Since), parameters.bound(until, Bound::Until));
    TimeRange { since, until }
}

/// A text to search for, folded. An empty text may come from a field that was not filled in, so it
/// is a fault.
fn text(parameters: &mut Parameters<'_>) -> Option<String> {
    let (spelled, text) = parameters.get("text")?;
    if text.is_empty() {
        let detail = format!("{spelled} is empty; leave {spelled} out to list everything");
        parameters.fault(spelled, ErrorCode::InvalidValue, detail);
        return None;
    }
    Some(fold(text))
}

/// Issue ids: strings or numbers. An id that no issue can have is well formed but matches nothing.
fn ids(parameters: &mut Parameters<'_>) -> Option<Vec<u64>> {
    let expected = "a list of issue ids, whole numbers such as 28,29 or [\"28\",29]";
    let ids = parameters.list("ids", expected, |item| {
        let digits = match item {
            Json::Number(digits) => digits,
            other => other.as_str()?,
        };
        let plain = !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit());
        plain.then(|| digits.parse().ok().filter(|id| (1..=ISSUE_ID_MAX).contains(id)))
    })?;
    let mut ids: Vec<u64> = ids.into_iter().flatten().collect();
    ids.sort_unstable();
    ids.dedup();
    Some(ids)
}

/// The person with a core profile. An id that no profile can have is well formed but matches
/// nothing.
fn person(parameters: &mut Parameters<'_>) -> Option<Person> {
    let (spelled, text) = parameters.get("core-profile-id")?;
    if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_digit()) {
        let detail = "core-profile-id is the id of one core profile, digits alone such as \
            188474421477632";
        parameters.fault(spelled, ErrorCode::InvalidValue, detail);
        return None;
    }
    Some(Person { core_profile_id: text.parse().unwrap_or(u64::MAX), pids: Vec::new() })
}

/// The condition on a subject; one that is not given holds for every issue.
fn condition(parameters: &mut Parameters<'_>, subject: Subject) -> Condition {
    let map = |value: &str| parse_condition(subject, value);
    let list = |values| subject.any_of(values);
    parameters.condition(subject.parameter(), map, list).unwrap_or_default()
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
fn view(parameters: &mut Parameters<'_>, default: IssueView) -> (IssueView, bool) {
    let mut view = default;
    let mut meta = false;
    for include in parameters.words("includes", &INCLUDES).unwrap_or_default() {
        match include {
            Include::Meta => meta = true,
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
    (view, meta)
}
