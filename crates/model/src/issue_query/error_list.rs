//! The parameters of the results and the errors of a task, and which error records they select. A
//! filter selects whole records: one fault that meets all of it is enough. Without a parameter of
//! pages the errors are a file; with one they are a list with totals, by page or by cursor.

use super::{CursorPaging, ListScope, cursor_paging};
use crate::error_code::EntryErrorCode;
use crate::ids::DomainId;
use crate::parameters::{Paging, ParameterFault, Parameters, paging};

/// The parameters of errors. `format` and `download` are matters of HTTP, which reads their values.
pub const ERROR_LIST_PARAMETERS: [&str; 11] = [
    "format",
    "bom",
    "spreadsheet",
    "download",
    "page",
    "page-size",
    "cursor",
    "count",
    "excludes",
    "code",
    "pointer",
];

/// The parameters of results.
pub const RESULT_PARAMETERS: [&str; 5] = ["format", "bom", "spreadsheet", "download", "includes"];

/// How to read beyond the last numbered page.
const DEEPER: &str = "To read further, send cursor instead of page: empty to begin, then the \
    next-cursor of the previous answer, until it is null";

/// A request for the errors of a task.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorListRequest {
    /// `None` for all of them as a file.
    pub pages: Option<ErrorPages>,
    pub filter: ErrorFilter,
    /// Whether records are shown without the entry as it was sent.
    pub exclude_entry: bool,
}

/// The part of a list of errors.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorPages {
    pub paging: Paging,
    /// Set if the list is read by cursor; `paging` then only gives the page size.
    pub cursor: Option<CursorPaging>,
}

/// The error records of a list. The default is all of them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ErrorFilter {
    /// Records with a fault of one of these codes.
    pub codes: Option<Vec<EntryErrorCode>>,
    /// Records with a fault at one of these pointers, spelled as the record spells it.
    pub pointers: Option<Vec<String>>,
}

impl ErrorFilter {
    /// Whether every record is selected.
    pub const fn is_empty(&self) -> bool {
        self.codes.is_none() && self.pointers.is_none()
    }

    /// Whether this fault selects its record. A fault without a pointer is about the whole entry,
    /// whose pointer is the empty text.
    pub fn takes(&self, code: &str, pointer: Option<&str>) -> bool {
        self.codes.as_ref().is_none_or(|codes| codes.iter().any(|one| one.as_str() == code))
            && self.pointers.as_ref().is_none_or(|pointers| {
                pointers.iter().any(|one| one == pointer.unwrap_or_default())
            })
    }

    /// The list of the selected errors of a task, as its cursors know it.
    pub fn scope(&self, domain: DomainId, task_id: &str) -> ListScope {
        ListScope::of_issue(domain, 0, &format!("errors of {task_id} {self:?}"))
    }
}

/// Reads the parameters of the errors of a task: decoded, otherwise as the caller sent them.
pub fn parse_error_list(
    pairs: &[(String, String)],
) -> Result<ErrorListRequest, Vec<ParameterFault>> {
    let mut parameters = Parameters::new(pairs, &ERROR_LIST_PARAMETERS);
    let codes: Vec<_> = EntryErrorCode::ALL.iter().map(|code| (code.as_str(), *code)).collect();
    let by_page = ["page", "page-size"].iter().any(|name| parameters.get(name).is_some());
    let paging = paging(&mut parameters, "errors", DEEPER);
    let cursor = cursor_paging::read(&mut parameters);
    let excluded = parameters.words("excludes", &[("entry", ())]);
    let request = ErrorListRequest {
        pages: (by_page || cursor.is_some()).then_some(ErrorPages { paging, cursor }),
        filter: ErrorFilter {
            codes: parameters.words("code", &codes),
            pointers: parameters.texts("pointer"),
        },
        exclude_entry: excluded.is_some_and(|words| !words.is_empty()),
    };
    if parameters.faults.is_empty() { Ok(request) } else { Err(parameters.faults) }
}

/// Reads the parameters of the results of a task: whether records are shown with their `changes`.
pub fn parse_results(pairs: &[(String, String)]) -> Result<bool, Vec<ParameterFault>> {
    let mut parameters = Parameters::new(pairs, &RESULT_PARAMETERS);
    let included = parameters.words("includes", &[("changes", ())]);
    let changes = included.is_some_and(|words| !words.is_empty());
    if parameters.faults.is_empty() { Ok(changes) } else { Err(parameters.faults) }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use super::*;

    fn parse(query: &[(&str, &str)]) -> Result<ErrorListRequest, Vec<ParameterFault>> {
        let pairs: Vec<_> =
            query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        parse_error_list(&pairs)
    }

    #[test]
    fn errors_are_a_file_until_a_page_or_a_cursor_is_asked_for() {
        assert_eq!(parse(&[]).unwrap(), ErrorListRequest::default());
        assert!(parse(&[("code", "too_long"), ("excludes", "entry")]).unwrap().pages.is_none());
        let second = parse(&[("page", "2"), ("page_size", "7")]).unwrap().pages.unwrap();
        assert_eq!(second.paging, Paging { page: 2, page_size: 7 });
        assert!(second.cursor.is_none());
        assert!(parse(&[("cursor", "*")]).unwrap().pages.unwrap().cursor.is_some());
    }

    #[test]
    fn one_fault_that_meets_the_whole_filter_selects_a_record() {
        let filter = |query| parse(query).unwrap().filter;
        let both = filter(&[("code", "too_long,required"), ("pointer", "/tags/3")]);
        for (code, pointer, taken) in [
            ("too_long", Some("/tags/3"), true),
            ("required", Some("/tags/3"), true),
            ("wrong_type", Some("/tags/3"), false),
            ("too_long", Some("/tags/30"), false),
            ("too_long", None, false),
        ] {
            assert_eq!(both.takes(code, pointer), taken, "{code} {pointer:?}");
        }
        let whole = filter(&[("pointer", "[\"\",\"/a,b\"]")]);
        assert!(whole.takes("invalid_json", None) && whole.takes("too_large", Some("")));
        assert!(whole.takes("required", Some("/a,b")) && !whole.takes("required", Some("/a")));
        assert!(filter(&[]).takes("required", None));
        assert!(!filter(&[("code", "[]")]).takes("required", None));
    }

    #[test]
    fn all_faults_are_found_at_once() {
        let faults =
            parse(&[("code", "nonsense"), ("excludes", "raw"), ("page", "0"), ("tags", "a")]);
        let mut found: Vec<String> = faults.unwrap_err().into_iter().map(|f| f.parameter).collect();
        found.sort_unstable();
        assert_eq!(found, ["code", "excludes", "page", "tags"]);
    }
}
