//! The parameters of the log: the place to begin, the filter of changes, and how long a caller
//! waits. All faults of a request are found at once.

use super::{Author, Change, ChangeAction, RecordId, Resource};
use crate::error_code::ErrorCode;
use crate::json::Json;
use crate::parameters::{Bound, ParameterFault, Parameters, paging};
use crate::time::UnixMillis;

/// The parameters of the log. `format` is a matter of HTTP, which reads its value.
pub const CHANGE_PARAMETERS: [&str; 13] = [
    "cursor",
    "since",
    "resources",
    "actions",
    "ids",
    "by-task",
    "by-key",
    "page-size",
    "wait",
    "includes",
    "collapse",
    "format",
    "trailer",
];

/// How long a caller may have an answer held back.
pub const WAIT_SECONDS_MAX: u64 = 60;

/// A place in the log.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum LogPlace {
    /// Before the oldest stored change.
    #[default]
    Oldest,
    /// After the last change.
    Latest,
    /// After this position.
    After(u64),
    /// Before the first change at this time or later.
    Since(UnixMillis),
}

/// The changes to read: those that meet every condition. A list that is given but empty matches
/// nothing.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeFilter {
    pub resources: Option<Vec<Resource>>,
    pub actions: Option<Vec<ChangeAction>>,
    pub ids: Option<Vec<RecordId>>,
    /// The ids of the tasks that did it.
    pub by_task: Option<Vec<String>>,
    /// The ids of the keys with which it was done.
    pub by_key: Option<Vec<String>>,
}

impl ChangeFilter {
    pub fn matches(&self, change: &Change) -> bool {
        let Self { resources, actions, ids, by_task, by_key } = self;
        let effect = &change.effect;
        let (task, key) = match &*change.by {
            Author::Task { id } => (Some(id), None),
            Author::Key { id, .. } => (None, Some(id)),
            Author::Unknown | Author::Command { .. } => (None, None),
        };
        has(resources.as_ref(), Some(&effect.resource))
            && has(actions.as_ref(), Some(&effect.action))
            && has(ids.as_ref(), Some(&effect.id))
            && has(by_task.as_ref(), task)
            && has(by_key.as_ref(), key)
    }
}

/// Whether the list has the value; one that is not given has all.
fn has<T: PartialEq>(list: Option<&Vec<T>>, value: Option<&T>) -> bool {
    list.is_none_or(|list| value.is_some_and(|value| list.contains(value)))
}

/// A request for changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ChangeRequest {
    pub from: LogPlace,
    pub filter: ChangeFilter,
    /// The most changes of a page.
    pub page_size: u64,
    /// How long to wait for the first change, in seconds.
    pub wait_seconds: u64,
    /// Whether each change is shown with its record.
    pub with_records: bool,
    /// Whether a page has only the last change of each record.
    pub collapse: bool,
    /// Whether a stream leaves out the line that confirms its end.
    pub without_trailer: bool,
}

/// Reads the parameters of the log: decoded, otherwise as the caller sent them.
pub fn parse_changes(pairs: &[(String, String)]) -> Result<ChangeRequest, Vec<ParameterFault>> {
    let mut parameters = Parameters::new(pairs, &CHANGE_PARAMETERS);
    let resources: Vec<_> = Resource::ALL.iter().map(|word| (word.as_str(), *word)).collect();
    let actions: Vec<_> = ChangeAction::ALL.iter().map(|word| (word.as_str(), *word)).collect();
    let included = parameters.words("includes", &[("record", ())]);
    let request = ChangeRequest {
        from: place(&mut parameters),
        filter: ChangeFilter {
            resources: parameters.words("resources", &resources),
            actions: parameters.words("actions", &actions),
            ids: parameters.list("ids", "a list of ids of records", record_id),
            by_task: parameters.texts("by-task"),
            by_key: parameters.texts("by-key"),
        },
        page_size: paging(&mut parameters, "changes", "").page_size,
        wait_seconds: wait(&mut parameters),
        with_records: included.is_some_and(|words| !words.is_empty()),
        collapse: parameters.boolean("collapse") == Some(true),
        without_trailer: parameters.boolean("trailer") == Some(false),
    };
    if parameters.faults.is_empty() { Ok(request) } else { Err(parameters.faults) }
}

fn place(parameters: &mut Parameters<'_>) -> LogPlace {
    let since = parameters.bound("since", Bound::Since);
    let Some((spelled, cursor)) = parameters.get("cursor") else {
        return since.map_or(LogPlace::Oldest, LogPlace::Since);
    };
    if parameters.get("since").is_some() {
        let detail = "since and cursor are two places to begin; send one of them";
        parameters.fault(spelled, ErrorCode::ConflictingParameter, detail);
    }
    parse_place(cursor).unwrap_or_else(|detail| {
        parameters.fault(spelled, ErrorCode::InvalidValue, detail);
        LogPlace::Oldest
    })
}

/// Reads a cursor of the log.
pub fn parse_place(cursor: &str) -> Result<LogPlace, String> {
    match cursor {
        "" | "*" => Ok(LogPlace::Oldest),
        "latest" => Ok(LogPlace::Latest),
        digits if digits.bytes().all(|byte| byte.is_ascii_digit()) => {
            // One that is too large is after the last change, too.
            Ok(LogPlace::After(digits.parse().unwrap_or(u64::MAX)))
        }
        other => {
            let shown: String = other.chars().take(100).collect();
            Err(format!(
                "{shown:?} is not a place in the log; send * to begin at the oldest stored \
                 change, latest for the changes from now on, or the next-cursor of an answer of \
                 this call, which is digits"
            ))
        }
    }
}

fn wait(parameters: &mut Parameters<'_>) -> u64 {
    let seconds = parameters.number("wait").unwrap_or(0);
    if seconds > WAIT_SECONDS_MAX
        && let Some((spelled, value)) = parameters.get("wait")
    {
        let detail = format!("wait is 0 to {WAIT_SECONDS_MAX} whole seconds, not {value}");
        parameters.fault(spelled, ErrorCode::OutOfRange, detail);
    }
    seconds
}

/// The id of a record: a text, or a number as JSON.
fn record_id(item: &Json<'_>) -> Option<RecordId> {
    match item {
        Json::Number(digits) => Some((&**digits).into()),
        other => other.as_str().filter(|text| !text.is_empty()).map(RecordId::from),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use super::*;

    fn parse(query: &[(&str, &str)]) -> Result<ChangeRequest, Vec<ParameterFault>> {
        let pairs: Vec<_> =
            query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        parse_changes(&pairs)
    }

    #[test]
    fn a_cursor_is_a_position_or_a_word() {
        for (cursor, place) in [
            ("", LogPlace::Oldest),
            ("*", LogPlace::Oldest),
            ("latest", LogPlace::Latest),
            ("0", LogPlace::After(0)),
            ("17", LogPlace::After(17)),
            ("99999999999999999999", LogPlace::After(u64::MAX)),
        ] {
            assert_eq!(parse(&[("cursor", cursor)]).unwrap().from, place, "{cursor}");
        }
        let request = parse(&[("since", "1970-01-02")]).unwrap();
        assert_eq!(request.from, LogPlace::Since(UnixMillis(86_400_000)));
        assert_eq!((request.page_size, request.wait_seconds), (100, 0));
    }

    #[test]
    fn lists_come_in_every_form() {
        let filter = |query| parse(query).unwrap().filter;
        let issues = Some(vec![Resource::Issue, Resource::Task]);
        assert_eq!(filter(&[("resources", "issue,task")]).resources, issues);
        assert_eq!(filter(&[("resources[]", "issue"), ("resources[]", "task")]).resources, issues);
        let ids = Some(vec![RecordId::from(28), RecordId::from("acme_x")]);
        assert_eq!(filter(&[("ids", "28,acme_x")]).ids, ids);
        assert_eq!(filter(&[("ids", "[28,\"acme_x\"]")]).ids, ids);
        assert_eq!(filter(&[("by_task", "[]")]).by_task, Some(Vec::new()));
    }

    #[test]
    fn all_faults_are_found_at_once() {
        let faults = parse(&[
            ("cursor", "MTIz"),
            ("since", "1"),
            ("resources", "issues"),
            ("actions", "made"),
            ("ids", "1,,2"),
            ("page-size", "1001"),
            ("wait", "61"),
            ("includes", "records"),
            ("collapse", "maybe"),
            ("page", "2"),
        ]);
        let mut found: Vec<String> = faults.unwrap_err().into_iter().map(|f| f.parameter).collect();
        found.sort_unstable();
        let wrong = [
            "actions",
            "collapse",
            "cursor",
            "cursor",
            "ids",
            "includes",
            "page",
            "page-size",
            "resources",
            "wait",
        ];
        assert_eq!(found, wrong);
    }
}
