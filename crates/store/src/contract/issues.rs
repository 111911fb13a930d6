//! Reading issues: a typed query in, rendered bytes out. What a filter means is the model's; how it
//! is answered from indexes and counters is each backend's.

use std::time::Duration;

use caseload_model::ids::DomainId;
use caseload_model::issue::ListVersion;
use caseload_model::issue_query::{IssueQuery, IssueView, ListPosition, Paging};

/// Asks for one page.
#[derive(Debug, Clone)]
pub struct ListIssues {
    pub domain: DomainId,
    pub query: IssueQuery,
    pub view: IssueView,
    pub paging: Paging,
    /// Time the read may take.
    pub budget: Duration,
}

/// One page, count and issues from the same snapshot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IssuePage {
    /// Exact number of matching issues.
    pub total_hits: u64,
    /// Issues on this page.
    pub count: u32,
    /// The issues as JSON maps, separated by commas, without brackets.
    pub body: Vec<u8>,
    /// Where the last issue on this page stands, for links that leave the page limit.
    pub last: Option<ListPosition>,
    /// Of the issues on this page.
    pub version: ListVersion,
}

/// How the issues of a step are written.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum StepForm {
    /// With commas between them.
    #[default]
    Commas,
    /// Each with a newline behind it.
    Lines,
}

/// Asks for the issues that follow a position.
#[derive(Debug, Clone)]
pub struct StepIssues {
    pub domain: DomainId,
    pub query: IssueQuery,
    pub view: IssueView,
    /// Only what comes after it in the query's order; everything where there is none.
    pub after: Option<ListPosition>,
    /// Issues at most, from 1 on.
    pub issues_max: u64,
    /// Bytes after which no further issue is written.
    pub bytes_max: usize,
    pub form: StepForm,
    /// Whether the total is wanted.
    pub count: bool,
    /// Time the read may take.
    pub budget: Duration,
}

/// Some issues of a list in its order, from one snapshot.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct IssueStep {
    pub count: u32,
    pub body: Vec<u8>,
    /// Where the last issue of this step stands; `None` in an empty step.
    pub last: Option<ListPosition>,
    /// Whether issues follow it.
    pub more: bool,
    /// Exact number of issues that match the query, wherever they stand; where it was asked for.
    pub total_hits: Option<u64>,
    /// Of the issues of this step.
    pub version: ListVersion,
}

/// Asks for one issue.
#[derive(Debug, Clone)]
pub struct GetIssue {
    pub domain: DomainId,
    pub id: u64,
    pub view: IssueView,
    pub budget: Duration,
}

/// One issue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct RenderedIssue {
    /// A JSON map.
    pub body: Vec<u8>,
    pub version: ListVersion,
}

/// One step of a list's plan, in words.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ExplainedStep {
    /// `agents`, `filter`, `span`, `set`, `texts`, `seek`, `total` or `page`.
    pub step: &'static str,
    /// Which counters, index or sets are read.
    pub how: String,
    /// Issues that the step lets through or counts, if it is measured.
    pub issues: Option<u64>,
}
