//! The stored state that a plan of an import needs, the plan, and how that of a dry run changes the
//! state.

use std::collections::{HashMap, HashSet};

use super::app_profile::AppProfileRow;
use super::apps::App;
use super::taken_timestamps::TakenTimestamps;
use crate::issue::{AgentMention, IssueBody, IssueColumns, IssueQueue, NewIssue};
use crate::record::{ChunkRecords, PreparedEntry};
use crate::time::UnixMillis;

/// An issue as it is stored.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredIssue {
    pub created_at: UnixMillis,
    pub original_created_at: Option<UnixMillis>,
    /// The members from `id` to `cc`, without braces.
    pub head: Vec<u8>,
    pub body: IssueBody,
}

/// The state of the domain that a plan needs.
#[derive(Debug, Clone)]
pub struct ImportContext {
    /// The app of entries that name none.
    pub default_app: App,
    /// The domain's apps, oldest first.
    pub apps: Vec<App>,
    /// The number to try for the next publish id; taken ones are skipped.
    pub next_publish_number: u64,
    /// The last generated issue id of the domain, or a greater imported one, except those beyond
    /// [`ISSUE_ID_COUNTED_MAX`](crate::ids::ISSUE_ID_COUNTED_MAX).
    pub last_issue_id: u64,
    /// Ids beyond the greatest one that counts and the last one that no stored issue has,
    /// ascending: as many as [`free_ids_needed`](super::free_ids_needed) asks for.
    pub free_ids: Vec<u64>,
    /// The stored issues among [`named_issue_ids`](super::named_issue_ids).
    pub stored: HashMap<u64, StoredIssue>,
    /// Those of the named issues that earlier entries of a dry run would have made, each with the
    /// index of its entry.
    pub earlier: HashMap<u64, (u32, StoredIssue)>,
    /// Of a file: those of the named issues that its earlier entries have changed. Without it, no
    /// entry is warned of a repeat.
    pub changed: Option<HashSet<u64>>,
    pub taken_timestamps: TakenTimestamps,
}

impl ImportContext {
    /// Goes on to the state that the entries of a dry run would have left. Returns the issues that
    /// they would have made, by their ids, each with the index of its entry.
    pub fn go_on(
        &mut self,
        entries: &[PreparedEntry<NewIssue>],
        plan: ImportPlan,
    ) -> Vec<(u64, (u32, StoredIssue))> {
        for at in plan.freed {
            self.taken_timestamps.free(at);
        }
        self.apps.extend(plan.apps);
        self.next_publish_number = plan.next_publish_number;
        self.last_issue_id = plan.last_issue_id;
        let mut planned = Vec::with_capacity(plan.issues.len());
        for IssueRow { columns, head, source } in plan.issues {
            let at = columns.created_at;
            self.taken_timestamps.add(at);
            let Ok(issue) = &entries[source].item else { continue };
            let stored = StoredIssue {
                created_at: at,
                original_created_at: columns.original_created_at,
                head,
                body: issue.body.clone(),
            };
            planned.push((columns.id, (entries[source].entry.index, stored)));
        }
        planned
    }
}

/// An issue to insert. Its other fragments are those of the entry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IssueRow {
    pub columns: IssueColumns,
    pub head: Vec<u8>,
    /// The index of its entry among the planned ones.
    pub source: usize,
}

/// The rows to write, in one transaction. Apps, queues, agents and app profiles are inserted if
/// their ids are free; each occurs once. Of a dry run nothing is written: see
/// [`ImportContext::go_on`].
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImportPlan {
    pub issues: Vec<IssueRow>,
    /// Ids of stored issues that issues of the plan replace; each once.
    pub replaced: Vec<u64>,
    /// The milliseconds of replaced issues that their replacements do not keep.
    pub freed: Vec<UnixMillis>,
    pub apps: Vec<App>,
    pub queues: Vec<IssueQueue>,
    pub agents: Vec<AgentMention>,
    pub app_profiles: Vec<AppProfileRow>,
    pub last_issue_id: u64,
    pub next_publish_number: u64,
    /// The latest `created_at` of the domain; `None` while it has no issue.
    pub max_created_at: Option<UnixMillis>,
    pub records: ChunkRecords,
}
