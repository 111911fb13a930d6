//! The parameters of the lists of one issue: its messages, or its private notes, oldest first. They
//! are those of the issue list that choose a part of it.

use super::{
    CursorPaging, CursorScope, ListScope, Sort, SortKey, SortOrder, TimestampFormat, cursor_paging,
};
use crate::ids::DomainId;
use crate::parameters::{Paging, ParameterFault, Parameters, paging};

/// The parameters of a list of messages or notes. `format` is a matter of HTTP, which reads its
/// value.
pub const MESSAGE_LIST_PARAMETERS: [&str; 8] =
    ["page", "page-size", "cursor", "count", "timestamp-format", "format", "bom", "spreadsheet"];

/// How to read beyond the last numbered page.
const DEEPER: &str = "To read further, send cursor instead of page: empty to begin, then the \
    next-cursor of the previous answer, until it is null";
/// The order of these lists.
const OLDEST_FIRST: Sort = Sort { key: SortKey::CreationTime, order: SortOrder::Ascending };

/// A request for messages or notes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessageListRequest {
    pub paging: Paging,
    /// Set if the list is read by cursor; `paging` then only gives the page size.
    pub cursor: Option<CursorPaging>,
    pub timestamps: TimestampFormat,
}

impl ListScope {
    /// The list of this name within an issue, such as `messages`, oldest first. The number in a
    /// position is the record's place in the issue, from 0.
    pub fn of_issue(domain: DomainId, issue_id: u64, list: &str) -> Self {
        Self::new(CursorScope::of_issue(domain, issue_id, list), OLDEST_FIRST)
    }
}

/// Reads the parameters of a list of `records`, messages or notes: decoded, otherwise as the caller
/// sent them.
pub fn parse_message_list(
    pairs: &[(String, String)],
    records: &str,
) -> Result<MessageListRequest, Vec<ParameterFault>> {
    let mut parameters = Parameters::new(pairs, &MESSAGE_LIST_PARAMETERS);
    let formats = [("unix", TimestampFormat::Unix), ("iso-8601", TimestampFormat::Iso8601)];
    let request = MessageListRequest {
        paging: paging(&mut parameters, records, DEEPER),
        cursor: cursor_paging::read(&mut parameters),
        timestamps: parameters.word("timestamp-format", &formats).unwrap_or_default(),
    };
    if parameters.faults.is_empty() { Ok(request) } else { Err(parameters.faults) }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use super::*;
    use crate::error_code::ErrorCode;
    use crate::issue_query::ListPosition;
    use crate::time::UnixMillis;

    fn parse(query: &[(&str, &str)]) -> Result<MessageListRequest, Vec<ParameterFault>> {
        let pairs: Vec<_> =
            query.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        parse_message_list(&pairs, "messages")
    }

    #[test]
    fn a_part_of_the_list_is_chosen_by_page_or_by_cursor() {
        assert_eq!(parse(&[]).unwrap(), MessageListRequest::default());
        let third = parse(&[("page", "3"), ("page_size", "7")]).unwrap();
        assert_eq!(third.paging, Paging { page: 3, page_size: 7 });
        let scope = ListScope::of_issue(DomainId(1), 5, "messages");
        let after = ListPosition { at: UnixMillis(9), id: 2 };
        let token = scope.cursor(after, 1);
        let request = parse(&[("cursor", &token), ("timestamp-format", "iso-8601")]).unwrap();
        assert_eq!(request.timestamps, TimestampFormat::Iso8601);
        let cursor = request.cursor.unwrap();
        assert_eq!(scope.position(&cursor), Ok(Some(after)));
        assert_eq!(cursor.pages_before(), 1);
        for other in [
            ListScope::of_issue(DomainId(2), 5, "messages"),
            ListScope::of_issue(DomainId(1), 6, "messages"),
            ListScope::of_issue(DomainId(1), 5, "private_notes"),
        ] {
            assert_eq!(other.position(&cursor).unwrap_err().code, ErrorCode::InvalidValue);
        }
        let begun = parse(&[("cursor", ""), ("count", "true")]).unwrap().cursor.unwrap();
        assert_eq!(scope.position(&begun), Ok(None));
        assert!(begun.count);
    }

    #[test]
    fn all_faults_are_found_at_once() {
        let faults = parse(&[("page", "0"), ("cursor", "x"), ("tags", "a"), ("count", "maybe")]);
        let mut found: Vec<String> = faults.unwrap_err().into_iter().map(|f| f.parameter).collect();
        found.sort_unstable();
        found.dedup();
        assert_eq!(found, ["count", "cursor", "page", "tags"]);
        assert_eq!(parse(&[("page", "501")]).unwrap_err()[0].code, ErrorCode::PageTooDeep);
    }
}
