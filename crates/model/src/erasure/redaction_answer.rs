//! The id of a redaction and the answers about redactions, as clients of the API family expect
//! them. An id is a place in the log of changes: the issue, the time of the transaction, and the
//! places of the effects among all effects of that transaction. Invariant: an answer has ids and
//! times, and never a text that was redacted.

use std::fmt;
use std::str::FromStr;

use crate::json::{write_array, write_string};
use crate::task::{Outcome, Task};
use crate::time::UnixMillis;

/// The id of a redaction of issues. That of a person is the id of the task that erases them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RedactionId {
    /// The first issue that it changed.
    pub issue: u64,
    pub at: UnixMillis,
    /// The place of its first effect among those of the transaction, from 0.
    pub first: u32,
    /// How many issues it changed.
    pub count: u32,
}

impl fmt::Display for RedactionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { issue, at, first, count } = self;
        write!(f, "{issue}-{}-{first}-{count}", at.0)
    }
}

/// A text that is not the id of a redaction of issues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotRedactionId;

impl FromStr for RedactionId {
    type Err = NotRedactionId;

    fn from_str(text: &str) -> Result<Self, NotRedactionId> {
        let parts: Vec<&str> = text.split('-').collect();
        let &[issue, at, first, count] = &parts[..] else { return Err(NotRedactionId) };
        let id = || {
            let (issue, at) = (issue.parse().ok()?, UnixMillis(at.parse().ok()?));
            Some(Self { issue, at, first: first.parse().ok()?, count: count.parse().ok()? })
        };
        // An id has one spelling.
        id().filter(|id| id.to_string() == text).ok_or(NotRedactionId)
    }
}

/// The outcome of one request of a form.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RedactionOutcome {
    pub external_redaction_id: Option<String>,
    /// The id of the redaction, or why there is none. `Ok(None)` if nothing was left to redact.
    pub redaction_id: Result<Option<String>, String>,
}

/// The answer to a form of redactions, in the order of its requests.
pub fn redactions_answer(outcomes: &[RedactionOutcome]) -> Vec<u8> {
    let mut out = b"{\"response\":".to_vec();
    write_array(outcomes, &mut out, |outcome, out| {
        let RedactionOutcome { external_redaction_id, redaction_id } = outcome;
        out.extend_from_slice(b"{\"success\":");
        out.extend_from_slice(if redaction_id.is_ok() { b"true" } else { b"false" });
        match redaction_id {
            Ok(Some(id)) => member("redaction_id", id, out),
            Ok(None) => member("reason", "nothing is left to redact", out),
            Err(why) => member("reason", why, out),
        }
        if let Some(external) = external_redaction_id {
            member("external_redaction_id", external, out);
        }
        out.push(b'}');
    });
    out.push(b'}');
    out
}

fn member(name: &str, text: &str, out: &mut Vec<u8>) {
    out.push(b',');
    write_string(name, out);
    out.push(b':');
    write_string(text, out);
}

/// The word for the state of a task that redacts a person, as the API family has it.
pub fn redaction_status(task: &Task) -> &'static str {
    match task.outcome {
        Some(Outcome::Succeeded) => DONE,
        Some(_) => REJECTED,
        None if task.started_at.is_some() => IN_PROGRESS,
        None => CREATED,
    }
}

/// A redaction that waits for its turn.
const CREATED: &str = "created";
const IN_PROGRESS: &str = "in_progress";
/// Nothing of it is left to do.
pub const DONE: &str = "done";
/// A redaction that was cancelled or failed.
const REJECTED: &str = "rejected";
/// Every state of a redaction.
pub const REDACTION_STATUSES: [&str; 4] = [CREATED, IN_PROGRESS, DONE, REJECTED];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_read_as_it_is_written() {
        let id = RedactionId { issue: 7, at: UnixMillis(1_767_225_600_000), first: 2, count: 3 };
        assert_eq!(id.to_string(), "7-1767225600000-2-3");
        assert_eq!(id.to_string().parse(), Ok(id));
        for other in [
            "",
            "7",
            "7-1-0",
            "7-1-0-1-",
            "07-1-0-1",
            "7-+1-0-1",
            "7-1-0-x",
            "7-1-0-99999999999",
            "0190b5e0-0000-7000-8000-000000000000",
        ] {
            assert_eq!(other.parse::<RedactionId>(), Err(NotRedactionId), "{other}");
        }
    }

    #[test]
    fn an_answer_has_a_reason_or_an_id() {
        let outcome = |external: Option<&str>, redaction_id| RedactionOutcome {
            external_redaction_id: external.map(str::to_owned),
            redaction_id,
        };
        let outcomes = [
            outcome(Some("e\"1"), Ok(Some("7-1-0-1".to_owned()))),
            outcome(None, Ok(None)),
            outcome(None, Err("unknown".to_owned())),
        ];
        assert_eq!(
            String::from_utf8_lossy(&redactions_answer(&outcomes)),
            concat!(
                r#"{"response":[{"success":true,"redaction_id":"7-1-0-1","#,
                r#""external_redaction_id":"e\"1"},"#,
                r#"{"success":true,"reason":"nothing is left to redact"},"#,
                r#"{"success":false,"reason":"unknown"}]}"#
            )
        );
    }
}
