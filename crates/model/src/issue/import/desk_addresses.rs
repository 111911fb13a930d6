//! The addresses that messages of the desk get if an entry gives none: that of the agent, or else
//! that of the domain's desk. They belong to the domain and not to the entry, so a repeated import
//! may fill in others. Therefore the plan does not compare an address that was filled in.

use std::cell::OnceCell;
use std::collections::HashMap;

use crate::fold::fold;
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
    /// Agent ids, in order, by folded address. Made for the first assignee with an address.
    ids: OnceCell<HashMap<String, Vec<String>>>,
}

impl<'a> FilledAddresses<'a> {
    pub(super) fn new(addresses: &'a DeskAddresses, domain: &DomainName) -> Self {
        Self {
            desk: addresses.desk.address(domain),
            agents: &addresses.agents,
            ids: OnceCell::new(),
        }
    }

    /// The address of a message by this agent.
    pub(super) fn of(&self, agent: &str) -> &str {
        self.agents.get(agent).unwrap_or(&self.desk)
    }

    /// The agents with this address.
    pub(super) fn agents_with(&self, email: &str) -> &[String] {
        let ids = self.ids.get_or_init(|| {
            let mut ids: HashMap<String, Vec<String>> = HashMap::new();
            for (id, email) in self.agents {
                ids.entry(fold(email)).or_default().push(id.clone());
            }
            for ids in ids.values_mut() {
                ids.sort_unstable();
            }
            ids
        });
        ids.get(&fold(email)).map_or(&[], Vec::as_slice)
    }
}

/// Whether this is the default address of some domain's desk. No agent has this address, so an
/// import gives it to none.
pub(super) fn is_default_address(email: &str) -> bool {
    email.starts_with("desk@") && email.ends_with(".invalid")
}
