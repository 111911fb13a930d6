//! The parts of a list of issues or of profiles as a store answers them, each from one snapshot: a
//! numbered page with its total, or a step from one position to the next.

use caseload_model::issue::ListVersion;
use caseload_model::issue_query::ListPosition;

/// One page, with the total from the same snapshot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListPage<Id> {
    /// Exact number of matches.
    pub total_hits: u64,
    /// Records on this page.
    pub count: u32,
    /// The records as JSON maps, separated by commas, without brackets.
    pub body: Vec<u8>,
    /// The positions in the body of the paths of attachments, before which a server puts its
    /// address.
    pub urls: Vec<usize>,
    /// The position of the last record on this page, for links beyond the page limit, and to read
    /// on if the page was cut.
    pub last: Option<ListPosition<Id>>,
    /// Whether further records of the page did not fit into its bytes.
    pub more: bool,
    /// The version of the records on this page.
    pub version: ListVersion,
}

/// Some records of a list in its order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ListStep<Id> {
    pub count: u32,
    pub body: Vec<u8>,
    /// As in [`ListPage::urls`].
    pub urls: Vec<usize>,
    /// The position of the last record of this step; `None` in an empty step.
    pub last: Option<ListPosition<Id>>,
    /// Whether records follow it.
    pub more: bool,
    /// Exact number of records that match the query at any position, if the request asked for it.
    pub total_hits: Option<u64>,
    /// The version of the records of this step, if they have commas between them.
    pub version: ListVersion,
}

/// How the records of a step are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StepForm {
    /// With commas between them.
    #[default]
    Commas,
    /// Each followed by a newline.
    Lines,
}
