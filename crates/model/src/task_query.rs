//! The parameters of a task list, parsed into types. Single values and pages have the grammar of
//! the issue list; docs/api.md, "Listing tasks".

use crate::parameters::{Paging, ParameterFault, Parameters, paging};
use crate::task::{Action, Family, TaskStatus};

/// The parameters of a task list. `format` is a matter of HTTP, which reads its value.
pub const LIST_PARAMETERS: [&str; 5] = ["status", "action", "page", "page-size", "format"];
const DEEPER: &str = "Narrow the list with status and action.";

/// A request for a list of tasks, newest first.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TaskListRequest {
    /// Tasks in one of these states; `None` for all.
    pub statuses: Option<Vec<TaskStatus>>,
    /// Tasks of one of these actions; `None` for all of the path's.
    pub actions: Option<Vec<Action>>,
    pub paging: Paging,
}

/// Reads the parameters of a list of `family`'s tasks: decoded, otherwise as the caller sent them.
pub fn parse_task_list(
    family: Family,
    pairs: &[(String, String)],
) -> Result<TaskListRequest, Vec<ParameterFault>> {
    let statuses: Vec<_> = TaskStatus::ALL.iter().map(|s| (s.as_str(), *s)).collect();
    let actions: Vec<_> = Action::of_family(family).map(|a| (a.as_str(), a)).collect();
    let mut parameters = Parameters::new(pairs, &LIST_PARAMETERS);
    let request = TaskListRequest {
        statuses: parameters.words("status", &statuses),
        actions: parameters.words("action", &actions),
        paging: paging(&mut parameters, "tasks", DEEPER),
    };
    if parameters.faults.is_empty() { Ok(request) } else { Err(parameters.faults) }
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
            let mut found = parse(pairs).unwrap().statuses.unwrap();
            found.sort_unstable();
            assert_eq!(Some(found), both, "{pairs:?}");
        }
        let one = parse(&[("action", "get_app_profiles"), ("page_size", "5")]).unwrap();
        assert_eq!(one.actions, Some(vec![Action::GetAppProfiles]));
        assert_eq!(one.paging, Paging { page: 1, page_size: 5 });
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
