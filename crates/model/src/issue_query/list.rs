//! From query parameters to a [`ListRequest`]. All faults of a request are found at once, and each
//! one says what would be right: a filter that is silently dropped would answer with wrong data.

use super::condition_parse::Subject;
use super::parameters::Parameters;
use super::{
    Condition, IssueQuery, IssueView, ListRequest, PAGE_DEPTH_MAX, PAGE_SIZE_DEFAULT,
    PAGE_SIZE_MAX, Paging, ParameterFault, RatingSet, Sort, SortKey, SortOrder, TimeRange,
    TimestampFormat, condition_parse, cursor_paging, custom_fields_parse, rating,
};
use crate::error_code::ErrorCode;
use crate::ids::ISSUE_ID_MAX;
use crate::issue::IssueState;
use crate::json::Json;

/// What a list takes.
pub const LIST_PARAMETERS: [&str; 34] = [
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
    "issue-modes",
    "tags",
    "languages",
    "assignee-ids",
    "assignee-emails",
    "author-emails",
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
];
/// What a single issue takes.
pub const SINGLE_PARAMETERS: [&str; 3] = ["includes", "excludes", "timestamp-format"];

/// How to read beyond the last numbered page.
const DEEPER: &str = "To read further, send cursor instead of page: empty to begin, then what \
    next-cursor of the answer before says, until it is null (the header Link has it as rel=next). \
    Or walk by time: sort-by=creation-time, sort-order=asc, without page; process every issue but \
    the last, set created_since to the created_at of the last, repeat until one issue is left";

/// A word of `includes`.
#[derive(Clone, Copy)]
enum Include {
    /// Always there; asking for it changes nothing.
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

/// Reads the parameters of a list, decoded but otherwise as they came.
pub fn parse_list(pairs: &[(String, String)]) -> Result<ListRequest, Vec<ParameterFault>> {
    let mut parameters = Parameters::new(pairs, &LIST_PARAMETERS);
    let request = ListRequest {
        query: query(&mut parameters),
        view: view(&mut parameters, IssueView::default()),
        paging: paging(&mut parameters, "issues", DEEPER),
        explicit_paging: parameters.get("page").is_some(),
        cursor: cursor_paging::read(&mut parameters),
    };
    if parameters.faults.is_empty() { Ok(request) } else { Err(parameters.faults) }
}

/// Reads the parameters of a single issue, which shows custom fields unasked.
pub fn parse_single(pairs: &[(String, String)]) -> Result<IssueView, Vec<ParameterFault>> {
    let mut parameters = Parameters::new(pairs, &SINGLE_PARAMETERS);
    let unasked = IssueView { custom_fields: true, ..IssueView::default() };
    let view = view(&mut parameters, unasked);
    if parameters.faults.is_empty() { Ok(view) } else { Err(parameters.faults) }
}

fn query(parameters: &mut Parameters<'_>) -> IssueQuery {
    let states: Vec<_> = IssueState::ALL.iter().map(|state| (state.as_str(), *state)).collect();
    let updated = range(parameters, "updated-since", "updated-until");
    IssueQuery {
        created: range(parameters, "created-since", "created-until"),
        updated,
        changed: range(parameters, "state-since", "state-until"),
        states: parameters.words("state", &states, true).map(|mut states| {
            states.sort_unstable();
            states.dedup();
            states
        }),
        ids: ids(parameters),
        app_ids: parameters.texts("app-ids"),
        platform_types: parameters.texts("platform-types"),
        queue_ids: parameters.texts("queue-ids"),
        end_user_ids: parameters.texts("end-user-ids"),
        issue_modes: parameters.texts("issue-modes"),
        tags: condition(parameters, Subject::Tags),
        languages: condition(parameters, Subject::Languages),
        assignee_ids: condition(parameters, Subject::AssigneeIds),
        assignee_emails: condition(parameters, Subject::AssigneeEmails),
        author_emails: condition(parameters, Subject::AuthorEmails),
        messages: condition(parameters, Subject::Messages),
        notes: condition(parameters, Subject::Notes),
        feedback_comment: condition(parameters, Subject::FeedbackComment),
        custom_fields: parameters
            .filter("custom-fields", custom_fields_parse::parse)
            .unwrap_or_default(),
        rating: parameters
            .filter("feedback-rating", rating::parse)
            .filter(|set| *set != RatingSet::ALL),
        redacted: parameters.boolean("redacted"),
        sort: sort(parameters, &updated),
    }
}

fn range(parameters: &mut Parameters<'_>, since: &str, until: &str) -> TimeRange {
    TimeRange { since: parameters.instant(since), until: parameters.instant(until) }
}

/// Issue ids: strings or numbers. One that no issue can have is well formed and finds none.
fn ids(parameters: &mut Parameters<'_>) -> Option<Vec<u64>> {
    let expected = "a JSON array of issue ids, whole numbers such as [\"28\",29]";
    let ids = parameters.array("ids", expected, |item| {
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

/// The condition on a subject; one that is not given holds for every issue.
fn condition(parameters: &mut Parameters<'_>, subject: Subject) -> Condition {
    let read = |value: &str| condition_parse::parse(subject, value);
    parameters.filter(subject.parameter(), read).unwrap_or_default()
}

/// The order. A client that follows updates and says nothing gets them in their order.
fn sort(parameters: &mut Parameters<'_>, updated: &TimeRange) -> Sort {
    let keys: Vec<_> = SortKey::ALL.iter().map(|key| (key.as_str(), *key)).collect();
    let orders: Vec<_> = SortOrder::ALL.iter().map(|order| (order.as_str(), *order)).collect();
    let unsaid = if updated.is_unbounded() { Sort::default().key } else { SortKey::UpdateTime };
    Sort {
        key: parameters.word("sort-by", &keys).unwrap_or(unsaid),
        order: parameters.word("sort-order", &orders).unwrap_or(Sort::default().order),
    }
}

fn view(parameters: &mut Parameters<'_>, unasked: IssueView) -> IssueView {
    let mut view = unasked;
    for include in parameters.words("includes", &INCLUDES, false).unwrap_or_default() {
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
    let excludes = parameters.words("excludes", &[("messages", ())], false);
    view.exclude_messages = excludes.is_some_and(|words| !words.is_empty());
    let formats = [("unix", TimestampFormat::Unix), ("iso-8601", TimestampFormat::Iso8601)];
    view.timestamps = parameters.word("timestamp-format", &formats).unwrap_or_default();
    view
}

/// The page asked for; `records` is what is listed, `deeper` says how to read beyond the last page.
pub(crate) fn paging(parameters: &mut Parameters<'_>, records: &str, deeper: &str) -> Paging {
    let page = bounded(parameters, "page", u64::MAX, "pages count from 1");
    let size = bounded(
        parameters,
        "page-size",
        PAGE_SIZE_MAX,
        &format!("a page holds 1 to {PAGE_SIZE_MAX} {records}, {PAGE_SIZE_DEFAULT} where not said"),
    );
    let (Some(page), Some(page_size)) = (page.or_default(1), size.or_default(PAGE_SIZE_DEFAULT))
    else {
        return Paging::default();
    };
    if page.saturating_mul(page_size) > PAGE_DEPTH_MAX {
        let spelled = parameters.get("page").map_or("page", |(spelled, _)| spelled);
        let detail = format!(
            "page {page} with page-size {page_size} goes beyond {PAGE_DEPTH_MAX} {records}, the \
             deepest a numbered page may reach. {deeper}"
        );
        parameters.fault(spelled, ErrorCode::PageTooDeep, detail);
    }
    Paging { page, page_size }
}

/// A parameter that is a number from 1 on.
enum Bounded {
    Absent,
    Faulty,
    Number(u64),
}

impl Bounded {
    fn or_default(self, default: u64) -> Option<u64> {
        match self {
            Self::Absent => Some(default),
            Self::Faulty => None,
            Self::Number(number) => Some(number),
        }
    }
}

fn bounded(parameters: &mut Parameters<'_>, name: &str, max: u64, rule: &str) -> Bounded {
    let Some((spelled, value)) = parameters.get(name) else { return Bounded::Absent };
    match parameters.number(name) {
        None => Bounded::Faulty,
        Some(number) if (1..=max).contains(&number) => Bounded::Number(number),
        Some(_) => {
            let detail = format!("{value} is out of range: {rule}");
            parameters.fault(spelled, ErrorCode::OutOfRange, detail);
            Bounded::Faulty
        }
    }
}
