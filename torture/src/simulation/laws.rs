//! The laws that hold in every schedule: the invariants of ARCHITECTURE.md, by their numbers there,
//! and one that only a simulation can show, that every task ends. The first half of invariant 1 is
//! about source code; `cargo xtask tidy` checks that.

/// A law.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Law {
    /// 1: the same events lead to the same history.
    Pure,
    /// 2: effects, records and counts commit together, under the current lease, in payload order.
    Chunk,
    /// 3: acknowledged writes are there; failed ones are not.
    Durable,
    /// 4: a repeat finds the first task and its answer.
    Repeat,
    /// 5: times are in commit order.
    Times,
    /// 6: a command changes rows of its own domain only.
    Domain,
    /// 7: totals are exact.
    Totals,
    /// 8: digits and characters stay.
    Digits,
    /// 9: queues are bounded, and expired rows go.
    Bounds,
    /// 10: a list has the matches of a naive filter.
    Lists,
    /// Every task ends once the faults are over, and no domain waits for another one's tasks.
    Ends,
}

impl Law {
    pub(super) const fn sentence(self) -> &'static str {
        match self {
            Self::Pure => "1: the same events lead to the same history",
            Self::Chunk => "2: a chunk commits whole, under its lease, in order",
            Self::Durable => "3: acknowledged writes are durable",
            Self::Repeat => "4: a repeat makes no second task",
            Self::Times => "5: times are in commit order",
            Self::Domain => "6: a command changes its own domain only",
            Self::Totals => "7: totals are exact",
            Self::Digits => "8: digits and characters stay",
            Self::Bounds => "9: queues are bounded, and expired rows go",
            Self::Lists => "10: a list has the matches of a naive filter",
            Self::Ends => "every task ends once the faults are over",
        }
    }
}
