//! Lookups of the apps, agents, queues and profiles that a request refers to. A failed lookup adds
//! a fault with the name of the field, and the lookups go on, so a caller learns all faults at
//! once.

use caseload_model::error_code::ErrorCode;
use caseload_model::fold::fold;
use caseload_model::issue::write::{
    AgentSelector, AgentSummary, AppProfileSummary, Assignment, EditRequest, EditTargets,
    Reference, References,
};
use caseload_model::issue::{App, DeskAddresses, IssueQueue};
use caseload_model::issue_query::ParameterFault;

use super::IssueStore;
use crate::StoreError;

/// Characters of an id that a fault repeats.
const ID_CHARS_SHOWN: usize = 100;
/// Unknown issues that a fault names one by one.
const UNKNOWN_ISSUES_NAMED_MAX: usize = 20;

/// Looks up names in one domain and collects faults.
pub(super) struct Lookups<'w, W> {
    store: &'w W,
    pub(super) faults: Vec<ParameterFault>,
}

impl<'w, W: IssueStore> Lookups<'w, W> {
    pub(super) fn new(store: &'w W) -> Self {
        Self { store, faults: Vec::new() }
    }

    /// Refuses the request if a lookup failed.
    pub(super) fn check(self) -> Result<(), StoreError> {
        if self.faults.is_empty() { Ok(()) } else { Err(StoreError::Refused(self.faults)) }
    }

    fn fault(&mut self, field: &str, code: ErrorCode, detail: String) {
        self.faults.push(ParameterFault { parameter: field.to_owned(), code, detail });
    }

    fn unknown(&mut self, field: &str, what: &str, id: &str, where_to_look: &str) {
        let id: String = id.chars().take(ID_CHARS_SHOWN).collect();
        let detail = format!("the domain has no {what} {id:?}; {where_to_look}");
        self.fault(field, ErrorCode::InvalidValue, detail);
    }

    /// The app with this id, and whether it is the domain's default app; the default app if no id
    /// is given.
    pub(super) fn app(
        &mut self,
        given: Option<&Reference<String>>,
    ) -> Result<Option<(App, bool)>, StoreError> {
        let found = self.store.app(given.map(|given| given.to.as_str()))?;
        if let (None, Some(given)) = (&found, given) {
            self.unknown(&given.field, "app", &given.to, "GET /apps lists the apps by their id");
        }
        Ok(found)
    }

    pub(super) fn agent(
        &mut self,
        given: &Reference<AgentSelector>,
    ) -> Result<Option<AgentSummary>, StoreError> {
        let found = match &given.to {
            AgentSelector::Id(id) => self.agent_by_id(id)?,
            AgentSelector::Email(email) => self.agent_by_email(email)?,
        };
        if found.is_none() {
            let (AgentSelector::Id(text) | AgentSelector::Email(text)) = &given.to;
            self.unknown(&given.field, "agent", text, "GET /agents lists the agents");
        }
        Ok(found)
    }

    pub(super) fn agent_by_id(&self, id: &str) -> Result<Option<AgentSummary>, StoreError> {
        self.store.agent(id)
    }

    /// The oldest agent with this address. The address is folded.
    pub(super) fn agent_by_email(&self, email: &str) -> Result<Option<AgentSummary>, StoreError> {
        let is_meant =
            |agent: &AgentSummary| !agent.email.is_empty() && fold(&agent.email) == email;
        Ok(self.store.agents()?.into_iter().find(is_meant))
    }

    fn queue(&mut self, given: &Reference<String>) -> Result<Option<IssueQueue>, StoreError> {
        let found = self.store.queue(&given.to)?;
        if found.is_none() {
            self.unknown(&given.field, "queue", &given.to, "GET /queues lists the queues");
        }
        Ok(found)
    }

    pub(super) fn app_profile(&self, pid: &str) -> Result<Option<AppProfileSummary>, StoreError> {
        self.store.app_profile(pid)
    }

    /// The agents and the queue that an edit refers to.
    pub(super) fn targets(&mut self, edit: &EditRequest) -> Result<EditTargets, StoreError> {
        let mut targets = EditTargets::default();
        match &edit.assignment {
            None => {}
            Some(Assignment::Unassign) => targets.assignee = Some(None),
            Some(Assignment::Agent(agents)) => {
                let mut meant: Option<AgentSummary> = None;
                for given in agents {
                    let Some(agent) = self.agent(given)? else { continue };
                    if meant.as_ref().is_some_and(|meant| meant.id != agent.id) {
                        let detail = format!(
                            "{} and {} name different agents; send one of them",
                            agents[0].field, given.field
                        );
                        self.fault(&given.field, ErrorCode::ConflictingParameter, detail);
                    }
                    meant = Some(agent);
                }
                targets.assignee = Some(meant);
            }
        }
        if let Some(acting) = &edit.acting {
            self.agent(acting)?;
        }
        if let Some(queue) = &edit.queue_id {
            targets.queue = self.queue(queue)?;
        }
        Ok(targets)
    }

    /// The rows of these issues, in the order given.
    pub(super) fn issues(&mut self, given: &Reference<Vec<u64>>) -> Result<Vec<u32>, StoreError> {
        let found = self.store.rows_of(&given.to)?;
        let missing = given.to.iter().zip(&found).filter(|(_, row)| row.is_none());
        let mut unknown: Vec<String> = missing.map(|(id, _)| id.to_string()).collect();
        if !unknown.is_empty() {
            let more = unknown.len().saturating_sub(UNKNOWN_ISSUES_NAMED_MAX);
            unknown.truncate(UNKNOWN_ISSUES_NAMED_MAX);
            let more = if more > 0 { format!(" and {more} more") } else { String::new() };
            let detail = format!(
                "the domain has no issue {}{more}; nothing was changed",
                unknown.join(", ")
            );
            self.fault(&given.field, ErrorCode::InvalidValue, detail);
        }
        Ok(found.into_iter().flatten().collect())
    }
}

/// The addresses of the domain's desk and of its agents.
pub fn desk_addresses<W: IssueStore>(store: &W) -> Result<DeskAddresses, StoreError> {
    let agents = store.agents()?.into_iter().filter(|agent| !agent.email.is_empty());
    let agents = agents.map(|agent| (agent.id, agent.email)).collect();
    Ok(DeskAddresses { desk: store.desk()?, agents })
}

/// The faults of references that lead nowhere.
pub fn reference_faults<W: IssueStore>(
    store: &W,
    references: &References,
) -> Result<Vec<ParameterFault>, StoreError> {
    let mut lookups = Lookups::new(store);
    if let Some(issues) = &references.issues {
        lookups.issues(issues)?;
    }
    if let Some(app) = &references.app {
        lookups.app(Some(app))?;
    }
    for agent in &references.agents {
        lookups.agent(agent)?;
    }
    if let Some(queue) = &references.queue {
        lookups.queue(queue)?;
    }
    Ok(lookups.faults)
}
