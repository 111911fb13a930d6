//! What moves an issue from state to state. A table small enough to read: events come one after
//! another, and a state that the caller names has the last word.

use crate::issue::IssueState;
use crate::issue::message::Origin;

/// The state after a message. One to a closed issue opens it again.
pub(super) const fn after_message(state: IssueState, origin: Origin) -> IssueState {
    use IssueState::{AgentReplied, Rejected, Resolved, WaitingForAgent};
    match (origin, state) {
        (Origin::EndUser, AgentReplied | Resolved | Rejected) => WaitingForAgent,
        (Origin::EndUser, open) => open,
        (Origin::Agent, _) => AgentReplied,
    }
}

/// The state after the assignee changed from `before` to `after`.
pub(super) fn after_assignment(
    state: IssueState,
    before: Option<&str>,
    after: Option<&str>,
) -> IssueState {
    match (before, after) {
        (Some(_), None) => IssueState::New,
        (_, Some(_)) if state == IssueState::New => IssueState::NewForAgent,
        _ => state,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use IssueState::{
        AgentReplied, New, NewForAgent, PendingReassignment, Rejected, Resolved, WaitingForAgent,
    };

    #[test]
    fn every_state_meets_every_event() {
        // State, then what it becomes by an end user's message, an agent's message, assigning an
        // unassigned issue, handing it to another agent, unassigning it.
        let table = [
            (New, New, AgentReplied, NewForAgent, NewForAgent, New),
            (NewForAgent, NewForAgent, AgentReplied, NewForAgent, NewForAgent, New),
            (AgentReplied, WaitingForAgent, AgentReplied, AgentReplied, AgentReplied, New),
            (WaitingForAgent, WaitingForAgent, AgentReplied, WaitingForAgent, WaitingForAgent, New),
            (
                PendingReassignment,
                PendingReassignment,
                AgentReplied,
                PendingReassignment,
                PendingReassignment,
                New,
            ),
            (Resolved, WaitingForAgent, AgentReplied, Resolved, Resolved, New),
            (Rejected, WaitingForAgent, AgentReplied, Rejected, Rejected, New),
        ];
        assert_eq!(table.map(|row| row.0).as_slice(), IssueState::ALL, "no state is left out");
        for (state, end_user, agent, assigned, handed_on, unassigned) in table {
            assert_eq!(after_message(state, Origin::EndUser), end_user, "{state:?}");
            assert_eq!(after_message(state, Origin::Agent), agent, "{state:?}");
            assert_eq!(after_assignment(state, None, Some("a")), assigned, "{state:?}");
            assert_eq!(after_assignment(state, Some("a"), Some("b")), handed_on, "{state:?}");
            assert_eq!(after_assignment(state, Some("a"), None), unassigned, "{state:?}");
            assert_eq!(after_assignment(state, None, None), state, "nothing was unassigned");
        }
    }
}
