//! The nodes that store the data: one database server, or the nodes of a cluster. This type alone
//! knows the difference, and its consequences.
//!
//! Plain PostgreSQL makes one plan for all parameters: a statement of this store has one good plan,
//! and planning would cost more than running it. A cluster plans with the parameters, because the
//! id of the domain decides which node runs the statement.
//!
//! The rows of a domain are on one worker, and the queue of tasks is on the coordinator. A
//! transaction that writes to both commits on the coordinator first, and its changes on the worker
//! are visible a moment later; if the coordinator stops in between, the engine commits them once it
//! runs again. Until then the rows are locked. A transaction that relies on a row of the queue must
//! therefore lock the rows of the worker, too, before it reads them.

/// Which nodes store the data.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Nodes {
    /// One database server.
    One,
    /// A coordinator and its workers.
    Many,
}

impl Nodes {
    pub(super) const fn of(distributed: bool) -> Self {
        if distributed { Self::Many } else { Self::One }
    }

    /// The settings of a write, as statements. The nodes get those that follow them, too: a wait
    /// for a lock on a worker ends in time only by a limit of the worker's.
    pub(super) const fn settings_of_write(self) -> &'static str {
        match self {
            Self::One => "",
            Self::Many => "SET LOCAL citus.propagate_set_commands = 'local'; ",
        }
    }

    /// The settings of a transaction of look-ups, as statements. The nodes get those that follow
    /// them, too.
    pub(crate) const fn settings(self) -> &'static str {
        match self {
            Self::One => "SET LOCAL plan_cache_mode = force_generic_plan",
            Self::Many => {
                "SET LOCAL plan_cache_mode = force_custom_plan; \
                 SET LOCAL citus.propagate_set_commands = 'local'"
            }
        }
    }
}

/// The facts about the database that are found out once, when the store is opened.
#[derive(Debug, Clone, Copy)]
pub(super) struct Database {
    /// Whether a pooler assigns connections per transaction. Notifications do not pass through it.
    pub(super) pooled: bool,
    pub(super) nodes: Nodes,
}
