//! The states of issues in the words of other desks. Only tables know them: a program can send the
//! words of this product.

use super::words::plain;
use crate::issue::IssueState;

/// Words of other desks for a state.
const WORDS: [(IssueState, &[&str]); 4] = [
    (IssueState::New, &["open", "opened", "active", "unassigned", "to do", "in progress"]),
    (
        IssueState::AgentReplied,
        &["pending", "on hold", "hold", "waiting", "waiting on customer", "awaiting customer"],
    ),
    (IssueState::Resolved, &["solved", "closed", "done", "completed", "fixed", "archived"]),
    (IssueState::Rejected, &["spam", "declined", "invalid", "cancelled", "canceled"]),
];

/// The state that a word means.
pub(super) fn state_of(word: &str) -> Option<&'static str> {
    own_state(word).or_else(|| {
        let word = plain(word);
        let means = |words: &[&str]| words.iter().any(|known| plain(known) == word);
        let (state, _) = WORDS.iter().find(|(_, words)| means(words))?;
        Some(state.as_str())
    })
}

/// The state with this name, in any case, and with blanks or underscores for hyphens.
pub(super) fn own_state(word: &str) -> Option<&'static str> {
    let word = plain(word);
    IssueState::ALL.iter().map(|state| state.as_str()).find(|name| plain(name) == word)
}
