//! The parameters of a list that is read by cursor instead of by page: `cursor`, the opaque token;
//! `after`, the position of a record in plain text, for clients that lost a stream in the middle;
//! and `count`. Whether a token belongs to the list depends on the domain, so
//! [`ListScope::position`] checks that later.

use super::{Cursor, CursorId, CursorScope, IssueQuery, ListPosition, Sort};
use crate::error_code::ErrorCode;
use crate::ids::{DomainId, ISSUE_ID_MAX};
use crate::parameters::{ParameterFault, Parameters};
use crate::time::read::parse_moment;

/// The cursors that begin a list. The second one is for clients whose library drops parameters
/// without a value: they would read one page by number and believe that the list ends there.
const BEGINNINGS: [&str; 2] = ["", "*"];

/// The start of a list that is read by cursor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CursorPaging<Id = u64> {
    start: Start<Id>,
    /// Whether the caller wants the total.
    pub count: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Start<Id> {
    Beginning,
    Cursor(Cursor<Id>),
    After(ListPosition<Id>),
}

impl<Id> Default for CursorPaging<Id> {
    fn default() -> Self {
        Self { start: Start::Beginning, count: false }
    }
}

/// A list, as its cursors know it: its records and their order.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ListScope {
    scope: CursorScope,
    sort: Sort,
}

impl ListScope {
    pub(crate) const fn new(scope: CursorScope, sort: Sort) -> Self {
        Self { scope, sort }
    }

    /// The position after which the list continues; `None` at its beginning. Fails if the cursor
    /// belongs to another list.
    pub fn position<Id: Clone>(
        self,
        paging: &CursorPaging<Id>,
    ) -> Result<Option<ListPosition<Id>>, ParameterFault> {
        let cursor = match &paging.start {
            Start::Beginning => return Ok(None),
            Start::After(position) => return Ok(Some(position.clone())),
            Start::Cursor(cursor) => cursor,
        };
        if cursor.sort == self.sort && cursor.scope == self.scope {
            return Ok(Some(cursor.after.clone()));
        }
        let detail = if cursor.sort == self.sort {
            "the cursor belongs to a list with other filters or of another domain; send the same \
             filters with it as before, or * to begin this list"
                .to_owned()
        } else {
            format!(
                "the cursor belongs to a list with sort-by={} and sort-order={}; send the same \
                 order and filters with it as before, or * to begin this list",
                cursor.sort.key.as_str(),
                cursor.sort.order.as_str()
            )
        };
        let (parameter, code) = ("cursor".to_owned(), ErrorCode::InvalidValue);
        Err(ParameterFault { parameter, code, detail })
    }

    /// The token from which the list continues after this position and number of pages.
    pub fn cursor<Id: CursorId>(self, after: ListPosition<Id>, pages: u32) -> String {
        Cursor { scope: self.scope, sort: self.sort, after, pages }.encode()
    }
}

impl IssueQuery {
    /// The list of the domain's issues that the query describes.
    pub fn scope(&self, domain: DomainId) -> ListScope {
        ListScope::new(CursorScope::of(domain, self), self.sort)
    }
}

impl<Id> CursorPaging<Id> {
    /// Pages that were delivered before this one.
    pub const fn pages_before(&self) -> u32 {
        match &self.start {
            Start::Cursor(cursor) => cursor.pages,
            Start::Beginning | Start::After(_) => 0,
        }
    }
}

/// Reads the three parameters of a list of issues; `None` if it is read by page.
pub(crate) fn read(parameters: &mut Parameters<'_>) -> Option<CursorPaging> {
    read_with(parameters, |id| number(id, ISSUE_ID_MAX))
}

/// The same for any list; `parse_id` reads the id that a caller writes in `after`.
pub(crate) fn read_with<Id: CursorId>(
    parameters: &mut Parameters<'_>,
    parse_id: impl Fn(&str) -> Option<Id>,
) -> Option<CursorPaging<Id>> {
    let count = parameters.boolean("count");
    let (cursor, after) = (parameters.get("cursor"), parameters.get("after"));
    let start = match (cursor, after) {
        (None, None) => {
            if let Some((spelled, _)) = parameters.get("count") {
                let detail = "count needs cursor (* to begin); a list by page always has its \
                              totals";
                parameters.fault(spelled, ErrorCode::ConflictingParameter, detail);
            }
            return None;
        }
        (Some(_), Some((spelled, _))) => {
            let detail = "after and cursor both say where to continue; give one of them";
            parameters.fault(spelled, ErrorCode::ConflictingParameter, detail);
            Start::Beginning
        }
        (Some((_, token)), None) if BEGINNINGS.contains(&token) => Start::Beginning,
        (Some((spelled, token)), None) => {
            if let Ok(cursor) = Cursor::decode(token) {
                Start::Cursor(cursor)
            } else {
                let detail = "the cursor is damaged: send it exactly as next-cursor or the header \
                              Link gave it, or empty or * to begin";
                parameters.fault(spelled, ErrorCode::InvalidValue, detail);
                Start::Beginning
            }
        }
        (None, Some((spelled, value))) => {
            let position = parse_position(value, parse_id);
            if position.is_none() {
                let detail = format!(
                    "{value:?} is not a position in a list; the instant that the list is sorted by \
                     and the id of the last record received are expected, such as 1672539706000,42"
                );
                parameters.fault(spelled, ErrorCode::InvalidValue, detail);
            }
            position.map_or(Start::Beginning, Start::After)
        }
    };
    if let Some((spelled, _)) = parameters.get("page") {
        let detail = "page does not go with cursor or after, which say where to continue; leave \
                      page out (page-size may stay)";
        parameters.fault(spelled, ErrorCode::ConflictingParameter, detail);
    }
    Some(CursorPaging { start, count: count.unwrap_or_default() })
}

/// `INSTANT,ID`.
fn parse_position<Id>(
    text: &str,
    parse_id: impl Fn(&str) -> Option<Id>,
) -> Option<ListPosition<Id>> {
    let (at, id) = text.split_once(',')?;
    Some(ListPosition { at: parse_moment(at).ok()?.at, id: parse_id(id)? })
}

/// An id that is a number, of digits alone.
pub(crate) fn number(text: &str, max: u64) -> Option<u64> {
    text.parse().ok().filter(|id| is_digits(text) && *id <= max)
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::issue_query::{ListRequest, parse_list};
    use crate::time::UnixMillis;

    const DOMAIN: DomainId = DomainId(1);

    fn parse(pairs: &[(&str, &str)]) -> Result<ListRequest, Vec<ParameterFault>> {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        parse_list(&pairs.iter().map(owned).collect::<Vec<_>>())
    }

    fn token(pairs: &[(&str, &str)]) -> String {
        let query = parse(pairs).expect("good parameters").query;
        let after = ListPosition { at: UnixMillis(5), id: 7 };
        Cursor { scope: CursorScope::of(DOMAIN, &query), sort: query.sort, after, pages: 3 }
            .encode()
    }

    #[test]
    fn a_list_by_cursor_starts_empty_and_continues_with_a_token_or_a_position() {
        let token = token(&[("state", "new")]);
        let at = |at, id| Some(ListPosition { at: UnixMillis(at), id });
        for (pairs, position, pages) in [
            (&[("cursor", "")][..], None, 0),
            (&[("cursor", "*")], None, 0),
            (&[("state", "new"), ("cursor", &token)], at(5, 7), 3),
            (&[("page_size", "9"), ("state", "[\"new\"]"), ("cursor", &token)], at(5, 7), 3),
            (&[("after", "12,42")], at(12, 42), 0),
            (&[("after", "-12,0")], at(-12, 0), 0),
            (&[("after", "2023-01-01T02:21:46.000Z,42")], at(1_672_539_706_000, 42), 0),
        ] {
            let request = parse(pairs).expect("good parameters");
            let paging = request.cursor.expect("a paging");
            assert_eq!(request.query.scope(DOMAIN).position(&paging), Ok(position), "{pairs:?}");
            assert_eq!((paging.pages_before(), paging.count), (pages, false));
        }
        assert_eq!(parse(&[("page", "1")]).expect("good parameters").cursor, None);
        for (count, wanted) in [("true", true), ("false", false)] {
            let paging =
                parse(&[("cursor", ""), ("count", count)]).expect("good parameters").cursor;
            assert_eq!(paging.map(|paging| paging.count), Some(wanted));
        }
    }

    #[test]
    fn a_cursor_of_another_list_is_rejected_with_the_right_parameters() {
        let token = token(&[("state", "new"), ("sort-order", "asc")]);
        for (pairs, domain, said) in [
            (&[("state", "new"), ("sort-order", "asc")][..], DomainId(2), "other filters"),
            (&[("state", "resolved"), ("sort-order", "asc")], DOMAIN, "other filters"),
            (&[("sort-order", "asc")], DOMAIN, "other filters"),
            (&[("state", "new")], DOMAIN, "sort-by=creation-time and sort-order=asc"),
            (
                &[("state", "new"), ("sort-order", "asc"), ("sort-by", "update-time")],
                DOMAIN,
                "sort-by=creation-time and sort-order=asc",
            ),
        ] {
            let request = parse(&[pairs, &[("cursor", &token)]].concat()).expect("parameters");
            let paging = request.cursor.expect("a paging");
            let fault = request.query.scope(domain).position(&paging).expect_err("another list");
            assert!(fault.detail.contains(said), "{pairs:?}: {}", fault.detail);
        }
    }

    #[test]
    fn parameters_that_contradict_each_other_and_malformed_positions_are_faults() {
        use ErrorCode::{ConflictingParameter as Conflicting, InvalidValue as Invalid};
        let token = token(&[]);
        for (pairs, parameter, code) in [
            (&[("count", "true")][..], "count", Conflicting),
            (&[("count", "yes"), ("cursor", "")], "count", Invalid),
            (&[("cursor", ""), ("page", "1")], "page", Conflicting),
            (&[("cursor", &token), ("after", "1,2")], "after", Conflicting),
            (&[("after", "1,2"), ("page", "2")], "page", Conflicting),
            (&[("cursor", &token[1..])], "cursor", Invalid),
            (&[("cursor", " ")], "cursor", Invalid),
            (&[("cursor", "null")], "cursor", Invalid),
            (&[("after", "")], "after", Invalid),
            (&[("after", "1")], "after", Invalid),
            (&[("after", "1,")], "after", Invalid),
            (&[("after", "1,-2")], "after", Invalid),
            (&[("after", "1,+2")], "after", Invalid),
            (&[("after", "+1,2")], "after", Invalid),
            (&[("after", "1,9007199254740992")], "after", Invalid),
            (&[("after", "99999999999999999999,2")], "after", Invalid),
        ] {
            let faults = parse(pairs).expect_err("faulty parameters");
            assert_eq!(faults.len(), 1, "{pairs:?}: {faults:?}");
            assert_eq!((faults[0].parameter.as_str(), faults[0].code), (parameter, code));
        }
    }
}
