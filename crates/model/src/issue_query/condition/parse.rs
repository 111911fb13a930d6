//! Reads condition objects: `{"and":[…],"or":[…],"nor":[…],"exists":"true"}`. One table here says
//! which of the four keys a parameter takes and whether its values are compared without case. An
//! empty object matches every issue. An empty `and` or `nor` always holds; an empty `or` never
//! does. A bare list of values means `or`, also for a parameter whose map has no such key.

use super::Condition;
use crate::fold::fold;
use crate::json::Json;
use crate::parameters::json_value::{self, FilterFaults};

/// A key of a condition object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Key {
    And,
    Or,
    Nor,
    Exists,
}

impl Key {
    const fn as_str(self) -> &'static str {
        match self {
            Self::And => "and",
            Self::Or => "or",
            Self::Nor => "nor",
            Self::Exists => "exists",
        }
    }
}

/// The parameters whose values are condition objects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subject {
    Tags,
    Languages,
    AssigneeIds,
    AssigneeEmails,
    AuthorEmails,
    Title,
    Messages,
    Notes,
    FeedbackComment,
}

impl Subject {
    /// The name of the parameter, with hyphens.
    pub(crate) const fn parameter(self) -> &'static str {
        match self {
            Self::Tags => "tags",
            Self::Languages => "languages",
            Self::AssigneeIds => "assignee-ids",
            Self::AssigneeEmails => "assignee-emails",
            Self::AuthorEmails => "author-emails",
            Self::Title => "title",
            Self::Messages => "messages",
            Self::Notes => "notes",
            Self::FeedbackComment => "feedback-comment",
        }
    }

    /// The keys that its object may have.
    const fn keys(self) -> &'static [Key] {
        match self {
            Self::Tags
            | Self::Languages
            | Self::AssigneeIds
            | Self::Title
            | Self::Messages
            | Self::Notes => &[Key::And, Key::Or, Key::Nor, Key::Exists],
            Self::AssigneeEmails => &[Key::Or],
            Self::AuthorEmails => &[Key::Or, Key::Exists],
            Self::FeedbackComment => &[Key::And, Key::Nor, Key::Exists],
        }
    }

    /// Whether its values are compared without case, and therefore folded.
    const fn is_folded(self) -> bool {
        match self {
            Self::Tags | Self::Languages | Self::AssigneeIds => false,
            Self::AssigneeEmails
            | Self::AuthorEmails
            | Self::Title
            | Self::Messages
            | Self::Notes
            | Self::FeedbackComment => true,
        }
    }

    /// An example for error messages.
    const fn example(self) -> &'static str {
        match self {
            Self::FeedbackComment => "{\"and\":[\"a\"],\"exists\":true}",
            _ => "{\"or\":[\"a\",\"b\"]}",
        }
    }

    /// A list of values, folded if they are compared without case.
    fn values(self, json: &Json<'_>, at: &str, faults: &mut FilterFaults) -> Vec<String> {
        if self.is_folded() {
            json_value::folded_texts(json, at, faults)
        } else {
            json_value::texts(json, at, faults)
        }
    }
}

impl Subject {
    /// The condition that a bare list means: at least one of the values.
    pub(crate) fn any_of(self, mut values: Vec<String>) -> Condition {
        if self.is_folded() {
            values = values.iter().map(|value| fold(value)).collect();
            values.sort_unstable();
            values.dedup();
        }
        Condition { or: Some(values), ..Condition::default() }
    }
}

/// Reads the value of a subject's parameter; each fault is a sentence.
pub(crate) fn parse_condition(subject: Subject, value: &str) -> Result<Condition, Vec<String>> {
    let keys: Vec<&str> = subject.keys().iter().map(|key| key.as_str()).collect();
    let example = format!("a map such as {}", subject.example());
    let tree = json_value::parse(value, &example)?;
    let mut faults = FilterFaults::default();
    let mut condition = Condition::default();
    for (word, at, value) in json_value::members(&tree, "", &example, &mut faults) {
        let Some(key) = subject.keys().iter().find(|key| key.as_str() == word) else {
            faults.unknown(&at, word, "a key here", &keys);
            continue;
        };
        match key {
            Key::And => condition.and = subject.values(value, &at, &mut faults),
            Key::Or => condition.or = Some(subject.values(value, &at, &mut faults)),
            Key::Nor => condition.nor = subject.values(value, &at, &mut faults),
            Key::Exists => condition.exists = json_value::boolean(value, &at, &mut faults),
        }
    }
    faults.result(condition)
}
