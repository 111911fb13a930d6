//! The desk of a domain: the author of messages and notes that no agent signs. Its name and its
//! address belong to the domain; the operator sets them. A message of the desk always has an
//! address, because clients take an author without one for an end user or fail: the agent's, or
//! else the desk's. The default address is in the domain `invalid` (RFC 2606), which no mail ever
//! reaches.

use super::author::AgentSummary;
use crate::fold::fold;
use crate::ids::{DomainName, app_profile_id};

/// The name of the desk until another one is set.
const DESK_NAME: &str = "Desk";
/// Longest name or address of a desk, in code points.
pub const DESK_TEXT_CHARS_MAX: usize = 255;

/// The desk of a domain.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Desk {
    pub name: String,
    /// `None` until one is set.
    pub email: Option<String>,
}

impl Default for Desk {
    fn default() -> Self {
        Self { name: DESK_NAME.to_owned(), email: None }
    }
}

impl Desk {
    /// The address, which is never empty.
    pub fn address(&self, domain: &DomainName) -> String {
        let given = self.email.clone().filter(|email| !email.is_empty());
        given.unwrap_or_else(|| Self::default_address(domain))
    }

    /// The address of a desk without one.
    pub fn default_address(domain: &DomainName) -> String {
        format!("desk@{domain}.invalid")
    }

    /// The desk as the author of a message or note.
    pub fn author(&self, domain: &DomainName) -> AgentSummary {
        self.author_named(domain, &self.name)
    }

    /// A person at the desk who is known by name only.
    pub fn author_named(&self, domain: &DomainName, name: &str) -> AgentSummary {
        let seed = format!("agent\0{}", fold(name));
        let id = app_profile_id(domain, seed.as_bytes());
        AgentSummary { id, name: name.to_owned(), email: self.address(domain) }
    }

    /// The agent as the author of a message or note: with the address of the desk if the agent has
    /// none.
    pub fn signed(&self, domain: &DomainName, mut agent: AgentSummary) -> AgentSummary {
        if agent.email.is_empty() {
            agent.email = self.address(domain);
        }
        agent
    }
}
