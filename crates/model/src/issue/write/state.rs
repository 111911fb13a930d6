//! The state machine of issues: which state follows a message or a change of the assignee. Events
//! apply one after another, and a state that the caller names overrides theirs.

use crate::issue::IssueState;
use crate::issue::message::Origin;

/// The state after a message. A message to a closed issue reopens it.
pub(super) const fn after_message(state: IssueState, origin: Origin) -> IssueState {
    use IssueState::{AgentReplied, Rejected, Resolved, WaitingForAgent};
    match (origin, state) {
        (Origin::EndUser, AgentReplied | Resolved | Rejected) => WaitingForAgent,
        (Origin::EndUser, open) => open,
        (Origin::Agent, _) => AgentReplied,
    }
}

/// The state after the assignee changed from `before` to `after`. Removing the assignee returns an
/// issue that an agent was working on to the new ones. Closed issues stay closed, and an issue that
/// waits for another assignee still waits for one.
pub(super) fn after_assignment(
    state: IssueState,
    before: Option<&str>,
    after: Option<&str>,
) -> IssueState {
    use IssueState::{AgentReplied, New, NewForAgent, WaitingForAgent};
    match (before, after, state) {
        (Some(_), None, NewForAgent | AgentReplied | WaitingForAgent) => New,
        (before, Some(_), New) if before != after => NewForAgent,
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
    fn the_state_after_each_event_is_as_the_table_says() {
        // State, then the state after: an end user's message, an agent's message, assigning an
        // unassigned issue, reassigning it, unassigning it.
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
                PendingReassignment,
            ),
            (Resolved, WaitingForAgent, AgentReplied, Resolved, Resolved, Resolved),
            (Rejected, WaitingForAgent, AgentReplied, Rejected, Rejected, Rejected),
        ];
        assert_eq!(table.map(|row| row.0).as_slice(), IssueState::ALL, "no state is left out");
        for (state, end_user, agent, assigned, reassigned, unassigned) in table {
            assert_eq!(after_message(state, Origin::EndUser), end_user, "{state:?}");
            assert_eq!(after_message(state, Origin::Agent), agent, "{state:?}");
            assert_eq!(after_assignment(state, None, Some("a")), assigned, "{state:?}");
            assert_eq!(after_assignment(state, Some("a"), Some("b")), reassigned, "{state:?}");
            assert_eq!(after_assignment(state, Some("a"), None), unassigned, "{state:?}");
            assert_eq!(after_assignment(state, None, None), state, "nothing was unassigned");
            let same = after_assignment(state, Some("a"), Some("a"));
            assert_eq!(same, state, "nothing was assigned");
        }
    }
}
