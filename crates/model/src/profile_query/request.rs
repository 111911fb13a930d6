//! A request for a list of profiles, as its parameters describe it. The module `list` reads it, and
//! `columns` chooses the columns of its table.

use super::position::ProfileId;
use super::query::{ProfileQuery, ProfileView};
use crate::issue_query::CursorPaging;
use crate::parameters::Paging;

/// A request for a list.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ProfileListRequest {
    pub query: ProfileQuery,
    pub view: ProfileView,
    pub paging: Paging,
    /// Whether the caller gave `page`.
    pub explicit_paging: bool,
    /// Set if the list is read by cursor; `paging` then only gives the page size.
    pub cursor: Option<CursorPaging<ProfileId>>,
    /// Whether a stream leaves out the line that confirms its end.
    pub without_trailer: bool,
    /// The columns of a table, if the caller names them.
    pub columns: Option<Vec<String>>,
}
