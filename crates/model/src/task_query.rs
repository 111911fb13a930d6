//! The parameters of a task list, parsed into types. Single values and pages have the grammar of
//! the issue list; docs/api.md, "Listing tasks".

use crate::parameters::instant::Bound;
use crate::parameters::{Paging, ParameterFault, Parameters, paging};
use crate::task::{Action, Family, Outcome, Task, TaskStatus};
use crate::time::UnixMillis;

/// The filters for the retries and runs of a task or import.
const PARENT_TASK: &str = "parent-task-id";
const PARENT_IMPORT: &str = "parent-import-id";
/// The filter for the tasks of an import, and its value for the tasks of none.
const OF_IMPORT: &str = "import-id";
const NO_IMPORT: &str = "none";
/// The parameters of both lists. `format` is a matter of HTTP, which reads its value.
const SHARED_PARAMETERS: [&str; 12] = [
    "status",
    "action",
    "outcome",
    "created-since",
    "created-until",
    "dry-run",
    "submitted-by",
    "page",
    "page-size",
    "format",
    "bom",
    "spreadsheet",
];
/// The parameters of a task list.
pub const LIST_PARAMETERS: [&str; 14] = list_parameters(&[PARENT_TASK, OF_IMPORT]);
/// The same of a list of imports.
pub const IMPORT_LIST_PARAMETERS: [&str; 13] = list_parameters(&[PARENT_IMPORT]);

const fn list_parameters<const N: usize>(own: &[&'static str]) -> [&'static str; N] {
    let mut all = [""; N];
    let mut at = 0;
    while at < N {
        all[at] = match at.checked_sub(SHARED_PARAMETERS.len()) {
            None => SHARED_PARAMETERS[at],
            Some(other) => own[other],
        };
        at += 1;
    }
    all
}

const DEEPER: &str = "Narrow the list with created-until, status or action.";

/// A request for a list of tasks, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskListRequest {
    pub filter: TaskFilter,
    pub paging: Paging,
}

/// The tasks of a list. The default is all tasks; the filters combine with AND.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskFilter {
    /// Tasks in one of these states.
    pub statuses: Option<Vec<TaskStatus>>,
    /// Tasks of one of these actions.
    pub actions: Option<Vec<Action>>,
    /// Completed tasks that ended in one of these ways.
    pub outcomes: Option<Vec<Outcome>>,
    /// Tasks accepted at this time or later.
    pub created_since: Option<UnixMillis>,
    /// Tasks accepted at this time or earlier.
    pub created_until: Option<UnixMillis>,
    pub dry_run: Option<bool>,
    /// Retries and runs of this task.
    pub parent_id: Option<String>,
    /// Tasks of this import; of no import if the id is empty.
    pub import_id: Option<String>,
    /// Tasks submitted with one of these keys, each by its id or by its name.
    pub submitted_by: Option<Vec<String>>,
}

impl TaskFilter {
    /// The meaning of the filter.
    pub fn matches(&self, task: &Task) -> bool {
        fn among<T: PartialEq>(chosen: Option<&Vec<T>>, value: &T) -> bool {
            chosen.is_none_or(|chosen| chosen.contains(value))
        }
        let submitter = task.origin.submitted_by.as_ref();
        among(self.statuses.as_ref(), &task.status)
            && among(self.actions.as_ref(), &task.action)
            && self
                .outcomes
                .as_ref()
                .is_none_or(|chosen| task.outcome.is_some_and(|outcome| chosen.contains(&outcome)))
            && self.created_since.is_none_or(|since| task.created_at >= since)
            && self.created_until.is_none_or(|until| task.created_at <= until)
            && self.dry_run.is_none_or(|dry_run| task.dry_run == dry_run)
            && self.parent_id.as_ref().is_none_or(|id| task.parent_id.as_ref() == Some(id))
            && self
                .import_id
                .as_ref()
                .is_none_or(|id| task.import_id.as_deref().unwrap_or_default() == id)
            && self.submitted_by.as_ref().is_none_or(|keys| {
                submitter.is_some_and(|by| keys.contains(&by.key_id) || keys.contains(&by.key_name))
            })
    }
}

/// Reads the parameters of a list of `family`'s tasks: decoded, otherwise as the caller sent them.
pub fn parse_task_list(
    family: Family,
    pairs: &[(String, String)],
) -> Result<TaskListRequest, Vec<ParameterFault>> {
    parse_list(family, pairs, (&LIST_PARAMETERS, PARENT_TASK), "tasks")
}

/// Reads the parameters of a list of `family`'s imports, which has the filters of a task list.
pub fn parse_import_list(
    family: Family,
    pairs: &[(String, String)],
) -> Result<TaskListRequest, Vec<ParameterFault>> {
    parse_list(family, pairs, (&IMPORT_LIST_PARAMETERS, PARENT_IMPORT), "imports")
}

fn parse_list(
    family: Family,
    pairs: &[(String, String)],
    (known, parent): (&[&'static str], &'static str),
    noun: &str,
) -> Result<TaskListRequest, Vec<ParameterFault>> {
    let statuses: Vec<_> = TaskStatus::ALL.iter().map(|s| (s.as_str(), *s)).collect();
    let shown = Action::ALL.iter().filter(|action| action.family() == family);
    let actions: Vec<_> = shown.map(|action| (action.as_str(), *action)).collect();
    let outcomes: Vec<_> = Outcome::ALL.iter().map(|o| (o.as_str(), *o)).collect();
    let mut parameters = Parameters::new(pairs, known);
    let id_of = |id: &str| if id == NO_IMPORT { String::new() } else { id.to_owned() };
    let filter = TaskFilter {
        statuses: parameters.words("status", &statuses),
        actions: parameters.words("action", &actions),
        outcomes: parameters.words("outcome", &outcomes),
        created_since: parameters.bound("created-since", Bound::Since),
        created_until: parameters.bound("created-until", Bound::Until),
        dry_run: parameters.boolean("dry-run"),
        parent_id: parameters.get(parent).map(|(_, id)| id.to_owned()),
        import_id: parameters.get(OF_IMPORT).map(|(_, id)| id_of(id)),
        submitted_by: parameters.texts("submitted-by"),
    };
    let paging = paging(&mut parameters, noun, DEEPER);
    let request = TaskListRequest { filter, paging };
    if parameters.faults.is_empty() { Ok(request) } else { Err(parameters.faults) }
}

/// The parameters of a payload.
pub const PAYLOAD_PARAMETERS: [&str; 2] = ["only", "download"];

/// The parameters of the rejects of an import.
pub const REJECT_PARAMETERS: [&str; 1] = ["download"];

/// A request for the payload of a task.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PayloadRequest {
    /// `None` for all entries that are stored.
    pub only: Option<PayloadPart>,
    /// Whether to send a gzip file.
    pub download: bool,
}

/// The entries of a payload that a request selects.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PayloadPart {
    pub failed: bool,
    pub unprocessed: bool,
}

/// Reads the parameters of a payload: decoded, otherwise as the caller sent them.
pub fn parse_payload(pairs: &[(String, String)]) -> Result<PayloadRequest, Vec<ParameterFault>> {
    parse_payload_of(pairs, &PAYLOAD_PARAMETERS)
}

/// Reads the parameters of the rejects of an import.
pub fn parse_rejects(pairs: &[(String, String)]) -> Result<PayloadRequest, Vec<ParameterFault>> {
    parse_payload_of(pairs, &REJECT_PARAMETERS)
}

fn parse_payload_of(
    pairs: &[(String, String)],
    known: &[&'static str],
) -> Result<PayloadRequest, Vec<ParameterFault>> {
    let mut parameters = Parameters::new(pairs, known);
    let parts = [("failed", true), ("unprocessed", false)];
    let only = parameters.words("only", &parts).map(|chosen| PayloadPart {
        failed: chosen.contains(&true),
        unprocessed: chosen.contains(&false),
    });
    let download = parameters.boolean("download").unwrap_or_default();
    if parameters.faults.is_empty() {
        Ok(PayloadRequest { only, download })
    } else {
        Err(parameters.faults)
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use super::*;
    use crate::error_code::ErrorCode;

    fn parse(query: &[(&str, &str)]) -> Result<TaskListRequest, Vec<ParameterFault>> {
        let pairs: Vec<_> =
            query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        parse_task_list(Family::Identity, &pairs)
    }

    #[test]
    fn filters_are_words_lists_or_arrays() {
        assert_eq!(parse(&[]).unwrap(), TaskListRequest::default());
        let both = Some(vec![TaskStatus::Queued, TaskStatus::Completed]);
        for pairs in [
            &[("status", "queued,completed")][..],
            &[("status", "completed , queued")],
            &[("status", "[\"queued\",\"completed\"]")],
            &[("status", "queued"), ("status", "completed")],
            &[("status[]", "queued"), ("status[]", "completed")],
        ] {
            let mut found = parse(pairs).unwrap().filter.statuses.unwrap();
            found.sort_unstable();
            assert_eq!(Some(found), both, "{pairs:?}");
        }
        let one = parse(&[("action", "get_app_profiles"), ("page_size", "5")]).unwrap();
        assert_eq!(one.filter.actions, Some(vec![Action::GetAppProfiles]));
        assert_eq!(one.paging, Paging { page: 1, page_size: 5 });
    }

    #[test]
    fn the_filters_have_types() {
        let all = parse(&[
            ("outcome", "failed,cancelled"),
            ("created_since", "5"),
            ("created-until", "2026-01-01T00:00:00Z"),
            ("dry_run", "True"),
            ("parent_task_id", "t"),
            ("import_id", "none"),
            ("submitted_by", "nightly, sync"),
            ("submitted_by", "k1"),
        ]);
        let filter = TaskFilter {
            outcomes: Some(vec![Outcome::Failed, Outcome::Cancelled]),
            created_since: Some(UnixMillis(5)),
            created_until: Some(UnixMillis(1_767_225_600_000)),
            dry_run: Some(true),
            parent_id: Some("t".to_owned()),
            import_id: Some(String::new()),
            submitted_by: Some(vec!["k1".to_owned(), "nightly, sync".to_owned()]),
            ..TaskFilter::default()
        };
        assert_eq!(all.unwrap().filter, filter);
        let faults = parse(&[("outcome", "done"), ("created-since", "x"), ("dry-run", "maybe")]);
        assert_eq!(faults.unwrap_err().len(), 3);
    }

    #[test]
    fn a_payload_is_whole_or_a_part() {
        let parse = |value: &str| parse_payload(&[("only".to_owned(), value.to_owned())]);
        let part = |failed, unprocessed| Some(PayloadPart { failed, unprocessed });
        assert_eq!(parse_payload(&[]).unwrap(), PayloadRequest::default());
        for (value, only) in [
            ("failed", part(true, false)),
            ("unprocessed", part(false, true)),
            ("failed,unprocessed", part(true, true)),
            ("[\"unprocessed\",\"failed\"]", part(true, true)),
            ("[]", part(false, false)),
        ] {
            assert_eq!(parse(value).unwrap().only, only, "{value}");
        }
        let fault = &parse("succeeded").unwrap_err()[0];
        assert!(fault.detail.contains("failed, unprocessed"), "{}", fault.detail);
    }

    #[test]
    fn all_faults_are_found_at_once() {
        let faults = parse(&[
            ("status", "done"),
            ("action", "import_issues"),
            ("page", "0"),
            ("page-size", "1001"),
            ("order", "asc"),
        ])
        .unwrap_err();
        let mut found: Vec<_> = faults.iter().map(|f| (f.parameter.as_str(), f.code)).collect();
        found.sort_unstable_by_key(|(name, _)| *name);
        assert_eq!(
            found,
            [
                ("action", ErrorCode::InvalidValue),
                ("order", ErrorCode::UnknownParameter),
                ("page", ErrorCode::OutOfRange),
                ("page-size", ErrorCode::OutOfRange),
                ("status", ErrorCode::InvalidValue),
            ]
        );
        let deep = parse(&[("page", "501")]).unwrap_err();
        assert_eq!(deep[0].code, ErrorCode::PageTooDeep);
        assert!(deep[0].detail.contains("50000 tasks"), "{}", deep[0].detail);
        assert!(parse(&[("page", "500")]).is_ok());
    }
}
