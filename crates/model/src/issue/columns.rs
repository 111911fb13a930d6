//! The columns of an issue: the typed values that filters, sorting and counters use. Columns are
//! never rendered; the fragments are the issue on the wire.

use super::render::Members;
use crate::task::words;
use crate::time::UnixMillis;

words! {
    /// The state of an issue. All states except `Resolved` and `Rejected` are open.
    IssueState {
        New = 1 "new",
        NewForAgent = 2 "new-for-agent",
        AgentReplied = 3 "agent-replied",
        WaitingForAgent = 4 "waiting-for-agent",
        PendingReassignment = 5 "pending-reassignment",
        Resolved = 6 "resolved",
        Rejected = 7 "rejected",
    }
}

/// The queue an issue waits in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueQueue {
    pub id: String,
    pub name: String,
}

impl IssueQueue {
    /// The map that an issue shows.
    pub(super) fn render(&self) -> Vec<u8> {
        let mut out = b"{".to_vec();
        let mut members = Members::new(&mut out, false);
        members.text("id", &self.id);
        members.text("name", &self.name);
        out.push(b'}');
        out
    }
}

/// The columns that an entry alone determines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueFacts {
    pub updated_at: UnixMillis,
    /// When the state last changed.
    pub changed_at: UnixMillis,
    pub state: IssueState,
    /// `None` if the issue is unassigned.
    pub assignee_id: Option<String>,
    pub assignee_name: Option<String>,
    pub queue: Option<IssueQueue>,
    /// The app profile of the author.
    pub hs_user_id: String,
    /// Folded; empty if unknown.
    pub author_email: String,
    /// 1 to 5, if the end user rated the issue.
    pub rating: Option<u8>,
    pub language: Option<String>,
    pub platform_type: Option<String>,
    /// `None` means [`ISSUE_MODE_DEFAULT`](super::ISSUE_MODE_DEFAULT).
    pub issue_mode: Option<String>,
    pub redacted: bool,
    /// As sent, in the same order and with repeats.
    pub tags: Vec<String>,
}

/// Every column of an issue.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueColumns {
    /// 1 to 2^53 - 1, unique per domain.
    pub id: u64,
    /// Unique per domain.
    pub created_at: UnixMillis,
    /// The original instant, if `created_at` was moved because another issue had it.
    pub original_created_at: Option<UnixMillis>,
    pub app_id: String,
    pub app_publish_id: String,
    pub facts: IssueFacts,
}
