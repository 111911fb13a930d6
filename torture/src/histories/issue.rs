//! One issue as its clients see it: its tag, its state and its messages. The sequential
//! specification is written from the API's description alone.

use caseload_testdata::SplitMix;
use reqwest::Method;
use serde_json::{Value, json};
use todc_utils::specifications::Specification;

use super::checker::Operation;
use crate::stage::{Answered, Request};

/// States by number.
const STATES: [&str; 7] = [
    "new",
    "new-for-agent",
    "agent-replied",
    "waiting-for-agent",
    "pending-reassignment",
    "resolved",
    "rejected",
];
const NEW: usize = 0;
const WAITING_FOR_AGENT: usize = 3;
/// States from which a message of the end user makes the issue wait for an agent.
const ANSWERED: [usize; 3] = [2, 5, 6];
/// Messages of one issue, each with a number of its own.
const MESSAGES_MAX: u32 = 60;

/// The observable part of an issue.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct Issue {
    /// 0 for no tag.
    tag: u32,
    state: usize,
    /// A bit for each message that is there once.
    messages: u64,
}

#[derive(Debug, Clone)]
pub(super) enum OnIssue {
    Tag(u32),
    State(usize),
    Message(u32),
    Read(Option<Issue>),
}

impl Operation for OnIssue {
    fn is_read(&self) -> bool {
        matches!(self, Self::Read(_))
    }

    fn unanswered(&self) -> Self {
        if self.is_read() { Self::Read(None) } else { self.clone() }
    }
}

/// A new issue with its first message.
pub(super) struct OfIssue;

impl Specification for OfIssue {
    type State = Issue;
    type Operation = OnIssue;

    fn init() -> Issue {
        Issue { tag: 0, state: NEW, messages: 0 }
    }

    fn apply(operation: &OnIssue, before: &Issue) -> (bool, Issue) {
        let after = match operation {
            OnIssue::Tag(tag) => Issue { tag: *tag, ..*before },
            OnIssue::State(state) => Issue { state: *state, ..*before },
            OnIssue::Message(number) => {
                let answered = ANSWERED.contains(&before.state);
                Issue {
                    messages: before.messages | 1 << number,
                    state: if answered { WAITING_FOR_AGENT } else { before.state },
                    ..*before
                }
            }
            OnIssue::Read(seen) => return (seen.is_none_or(|seen| seen == *before), *before),
        };
        (true, after)
    }
}

/// The next request of a client about the issue of an id. `number` is unique on the issue.
pub(super) fn choose(random: &mut SplitMix, id: u64, number: u32) -> (OnIssue, Request) {
    let path = format!("issues/{id}");
    let write = |method, path: String, fields| Request { method, path, fields: Some(fields) };
    match random.below(8) {
        0 | 1 => {
            let fields = json!({ "tags": [number.to_string()] });
            (OnIssue::Tag(number), write(Method::PUT, path, fields))
        }
        2 => {
            let fields = json!({ "issue-ids": [id], "tags": [number.to_string()] });
            (OnIssue::Tag(number), write(Method::PUT, "issues".to_owned(), fields))
        }
        3 => {
            let state = random.below(STATES.len());
            let fields = json!({ "status": STATES[state] });
            (OnIssue::State(state), write(Method::PUT, path, fields))
        }
        4 if number < MESSAGES_MAX => {
            let fields = json!({ "message-body": number.to_string() });
            (OnIssue::Message(number), write(Method::POST, format!("{path}/messages"), fields))
        }
        _ => (OnIssue::Read(None), Request { method: Method::GET, path, fields: None }),
    }
}

/// The operation with the answer that it got.
pub(super) fn answered(operation: OnIssue, answer: &Answered) -> OnIssue {
    match operation {
        OnIssue::Read(_) => {
            OnIssue::Read(serde_json::from_str(&answer.text).ok().map(|v| read(&v)))
        }
        write => write,
    }
}

fn read(answer: &Value) -> Issue {
    // One issue comes in the envelope of a list.
    let issue = answer["issues"].get(0).unwrap_or(answer);
    let number = |text: &Value| text.as_str().and_then(|text| text.parse::<u32>().ok());
    let state = issue["state_data"]["state"].as_str().unwrap_or_default();
    let bodies = issue["messages"].as_array().cloned().unwrap_or_default();
    let mut messages = 0;
    for body in bodies.iter().filter_map(|message| number(&message["body"])) {
        // A message that is there twice is a bit that no message has.
        let bit = 1_u64 << body.min(62);
        messages |= if messages & bit == 0 { bit } else { 1 << 63 };
    }
    Issue {
        tag: number(&issue["tags"][0]).unwrap_or(0),
        state: STATES.iter().position(|name| *name == state).unwrap_or(STATES.len()),
        messages,
    }
}
