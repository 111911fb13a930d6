//! On which nodes each table is. Everything that belongs to a domain is on one node, the same for
//! all tables, so that a transaction of a domain sees one snapshot and commits at one moment. The
//! tables that are read before the domain is known, and the queue of tasks, are on the coordinator.

use std::fmt;

/// On which nodes a table is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Placement {
    /// On the coordinator, and the engine does not know the table. A transaction that writes such a
    /// table and a worker would commit on the worker first, and a crash in between would lose one
    /// half.
    Unknown,
    /// On the coordinator. The engine commits its changes together with those of the workers.
    Coordinator,
    /// A copy is on every node.
    EveryNode,
    /// The rows of a domain are on one node, with those of the other tables of this kind.
    ByDomain,
    /// Distributed in another way.
    Other,
}

impl fmt::Display for Placement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Unknown => "not distributed",
            Self::Coordinator => "on the coordinator",
            Self::EveryNode => "on every node",
            Self::ByDomain => "by domain",
            Self::Other => "in another way",
        })
    }
}

/// The table that all others of a domain follow.
pub(crate) const FIRST: &str = "domain_clocks";

/// All tables, in the order in which they are placed. A test compares the list with the catalogue
/// of a database.
pub static LAYOUT: &[(&str, Placement)] = &[
    ("domains", Placement::Coordinator),
    ("domain_removals", Placement::Coordinator),
    ("keys", Placement::Coordinator),
    ("sessions", Placement::Coordinator),
    ("task_queue", Placement::Coordinator),
    ("copy_progress", Placement::Coordinator),
    (FIRST, Placement::ByDomain),
    ("apps", Placement::ByDomain),
    ("agents", Placement::ByDomain),
    ("queues", Placement::ByDomain),
    ("views", Placement::ByDomain),
    ("idempotency_keys", Placement::ByDomain),
    ("webhooks", Placement::ByDomain),
    ("webhook_deliveries", Placement::ByDomain),
    ("changes", Placement::ByDomain),
    ("change_records", Placement::ByDomain),
    ("core_profiles", Placement::ByDomain),
    ("identities", Placement::ByDomain),
    ("profile_sets", Placement::ByDomain),
    ("app_profiles", Placement::ByDomain),
    ("app_profile_identities", Placement::ByDomain),
    ("tasks", Placement::ByDomain),
    ("imports", Placement::ByDomain),
    ("uploads", Placement::ByDomain),
    ("dry_runs", Placement::ByDomain),
    ("dry_run_state", Placement::ByDomain),
    ("payload_blocks", Placement::ByDomain),
    ("record_blocks", Placement::ByDomain),
    ("issues", Placement::ByDomain),
    ("issue_bodies", Placement::ByDomain),
    ("issue_counts", Placement::ByDomain),
    ("issue_count_deltas", Placement::ByDomain),
    ("issue_sets", Placement::ByDomain),
    ("issue_values", Placement::ByDomain),
    ("issue_set_deltas", Placement::ByDomain),
    ("issue_text_marks", Placement::ByDomain),
    ("issue_text_segments", Placement::ByDomain),
    ("issue_text_grams", Placement::ByDomain),
    ("attachments", Placement::ByDomain),
    ("attachment_pieces", Placement::ByDomain),
];
