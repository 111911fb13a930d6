//! Reading issues: a typed query in, rendered bytes out. What a filter means is the model's; how it
//! is answered from indexes and counters is each backend's.

use std::time::Duration;

use caseload_model::ids::DomainId;
use caseload_model::issue_query::{IssueQuery, IssueView, Paging};

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
    /// `created_at` of the last issue on this page, for links that leave the page limit.
    pub last_created_at: Option<i64>,
}

/// Asks for one issue.
#[derive(Debug, Clone)]
pub struct GetIssue {
    pub domain: DomainId,
    pub id: u64,
    pub view: IssueView,
    pub budget: Duration,
}
