//! The addresses that messages of the desk get if an entry gives none: that of the agent, or else
//! that of the domain's desk. They belong to the domain and not to the entry, so a repeated import
//! may fill in others. Therefore the plan does not compare an address that was filled in.

use std::collections::HashMap;

use crate::ids::DomainName;
use crate::issue::write::Desk;

/// The addresses of a domain.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct DeskAddresses {
    pub desk: Desk,
    /// By agent id, without agents whose address is unknown.
    pub agents: HashMap<String, String>,
}

/// The addresses of a domain, with the default of the desk filled in.
pub(super) struct FilledAddresses<'a> {
    desk: String,
    agents: &'a HashMap<String, String>,
}

impl<'a> FilledAddresses<'a> {
    pub(super) fn new(addresses: &'a DeskAddresses, domain: &DomainName) -> Self {
        Self { desk: addresses.desk.address(domain), agents: &addresses.agents }
    }

    /// The address of a message by this agent.
    pub(super) fn of(&self, agent: &str) -> &str {
        self.agents.get(agent).unwrap_or(&self.desk)
    }
}

/// Whether this is the default address of some domain's desk. No agent has this address, so an
/// import gives it to none.
pub(super) fn is_default_address(email: &str) -> bool {
    email.starts_with("desk@") && email.ends_with(".invalid")
}
