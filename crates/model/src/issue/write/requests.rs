//! The typed requests of the writing calls. A request names its references (agents, an app, a
//! queue, issues) together with the fields that have them, so that a failed lookup can name the
//! wrong field. [`References`] has all of these at once.

use super::merge::CustomFieldPatch;
use crate::issue::IssueState;

/// A reference of a request, and the field that holds it, as the caller spelled it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Reference<T> {
    pub field: String,
    pub to: T,
}

/// Which agent a reference means.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum AgentSelector {
    Id(String),
    /// Folded.
    Email(String),
}

/// The assignee that an edit sets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Assignment {
    Unassign,
    Agent(Vec<Reference<AgentSelector>>),
}

/// A new issue.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct CreateRequest {
    pub body: String,
    /// The body if absent.
    pub title: Option<String>,
    pub email: Option<String>,
    pub author_name: Option<String>,
    pub end_user_id: Option<String>,
    pub identifier: Option<String>,
    pub tags: Vec<String>,
    /// A JSON map, its scalars strings.
    pub meta: Option<Vec<u8>>,
    pub custom_fields: CustomFieldPatch,
    pub platform_type: Option<String>,
    pub app_id: Option<Reference<String>>,
    pub language: Option<String>,
    pub cc: Option<Vec<String>>,
}

/// A message to add.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct MessageRequest {
    pub body: String,
    /// The message is the end user's if absent.
    pub agent: Option<Reference<AgentSelector>>,
}

/// A private note to add.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NoteRequest {
    pub text: String,
    /// The note is the desk's if absent.
    pub author: Option<Reference<AgentSelector>>,
}

/// Changes of one issue or of many; absent fields stay unchanged.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct EditRequest {
    pub title: Option<String>,
    /// All tags; if given, none are added or removed.
    pub tags: Option<Vec<String>>,
    pub add_tags: Vec<String>,
    /// None of them is in `add_tags`.
    pub remove_tags: Vec<String>,
    /// A JSON merge patch, its scalars strings.
    pub meta: Option<Vec<u8>>,
    pub custom_fields: Option<CustomFieldPatch>,
    pub status: Option<IssueState>,
    pub assignment: Option<Assignment>,
    pub queue_id: Option<Reference<String>>,
    /// The agent who edits; only looked up.
    pub acting: Option<Reference<AgentSelector>>,
}

/// The same changes of many issues, and a message of the desk to each.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct BulkEditRequest {
    /// Each id once, in the given order; the field as the caller spelled it.
    pub issue_ids: Reference<Vec<u64>>,
    pub edit: EditRequest,
    pub message: Option<String>,
    /// An agent's id or address, or any name.
    pub action_taken_by: Option<String>,
}

impl Default for Reference<Vec<u64>> {
    fn default() -> Self {
        Self { field: "issue-ids".to_owned(), to: Vec::new() }
    }
}

/// Everything that a request refers to.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct References {
    pub app: Option<Reference<String>>,
    pub agents: Vec<Reference<AgentSelector>>,
    pub queue: Option<Reference<String>>,
    pub issues: Option<Reference<Vec<u64>>>,
}

impl CreateRequest {
    pub fn references(&self) -> References {
        References { app: self.app_id.clone(), ..References::default() }
    }
}

impl MessageRequest {
    pub fn references(&self) -> References {
        References { agents: self.agent.clone().into_iter().collect(), ..References::default() }
    }
}

impl NoteRequest {
    pub fn references(&self) -> References {
        References { agents: self.author.clone().into_iter().collect(), ..References::default() }
    }
}

impl EditRequest {
    pub fn references(&self) -> References {
        let assigned = match &self.assignment {
            Some(Assignment::Agent(agents)) => agents.as_slice(),
            _ => &[],
        };
        References {
            agents: assigned.iter().chain(&self.acting).cloned().collect(),
            queue: self.queue_id.clone(),
            ..References::default()
        }
    }
}

impl BulkEditRequest {
    pub fn references(&self) -> References {
        References { issues: Some(self.issue_ids.clone()), ..self.edit.references() }
    }
}
