//! Lookups of the apps, agents, queues and profiles that a request refers to. A failed lookup adds
//! a fault with the name of the field, and the lookups go on, so a caller learns all faults at
//! once.

use caseload_model::error_code::ErrorCode;
use caseload_model::fold::fold;
use caseload_model::issue::write::{
    AgentSelector, AgentSummary, AppProfileSummary, Assignment, Desk, EditRequest, EditTargets,
    Reference, References,
};
use caseload_model::issue::{App, DeskAddresses, IssueQueue};
use caseload_model::issue_query::ParameterFault;

use super::IssueStore;
use crate::idempotency::CommandStore;
use crate::sql::Row;
use crate::{StoreError, values};

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
        let found = self.store.find(
            "SELECT a.id, a.publish_id, a.id = d.default_app_id FROM domains d JOIN apps a
             ON a.domain_id = d.id AND a.id = coalesce(?2, d.default_app_id)
             WHERE d.id = ?1 AND a.domain_id = ?1",
            values![self.store.domain(), given.map(|given| &given.to)],
            |row| Ok((App { app_id: row.get(0)?, publish_id: row.get(1)? }, row.get(2)?)),
        )?;
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
        let select = "SELECT id, name, email FROM agents WHERE domain_id = ?1 AND id = ?2";
        self.store.find(select, values![self.store.domain(), id], agent)
    }

    /// The oldest agent with this address. The address is folded.
    pub(super) fn agent_by_email(&self, email: &str) -> Result<Option<AgentSummary>, StoreError> {
        let is_meant =
            |agent: &AgentSummary| !agent.email.is_empty() && fold(&agent.email) == email;
        Ok(agents(self.store)?.into_iter().find(is_meant))
    }

    fn queue(&mut self, given: &Reference<String>) -> Result<Option<IssueQueue>, StoreError> {
        let select = "SELECT id, name FROM queues WHERE domain_id = ?1 AND id = ?2";
        let found = self.store.find(select, values![self.store.domain(), given.to], queue)?;
        if found.is_none() {
            self.unknown(&given.field, "queue", &given.to, "GET /queues lists the queues");
        }
        Ok(found)
    }

    pub(super) fn app_profile(&self, pid: &str) -> Result<Option<AppProfileSummary>, StoreError> {
        self.store.find(
            "SELECT pid, name, emails FROM app_profiles WHERE domain_id = ?1 AND pid = ?2",
            values![self.store.domain(), pid],
            |row| {
                let (pid, name, emails) = (row.get(0)?, row.get(1)?, row.get(2)?);
                Ok(AppProfileSummary { pid, name, emails })
            },
        )
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

/// The agents of the domain, oldest first.
fn agents(store: &impl CommandStore) -> Result<Vec<AgentSummary>, StoreError> {
    let select = "SELECT id, name, email FROM agents WHERE domain_id = ?1 ORDER BY created_at, id";
    store.list(select, values![store.domain()], agent)
}

fn agent(row: &dyn Row) -> Result<AgentSummary, StoreError> {
    Ok(AgentSummary { id: row.get(0)?, name: row.get(1)?, email: row.get(2)? })
}

fn queue(row: &dyn Row) -> Result<IssueQueue, StoreError> {
    Ok(IssueQueue { id: row.get(0)?, name: row.get(1)? })
}

/// The queues of the domain, oldest first. Imports create the queues that they name.
pub fn queues(store: &impl CommandStore) -> Result<Vec<IssueQueue>, StoreError> {
    let select = "SELECT id, name FROM queues WHERE domain_id = ?1 ORDER BY created_at, id";
    store.list(select, values![store.domain()], queue)
}

/// The author of messages and notes that no agent signs.
pub(super) fn desk(store: &impl CommandStore) -> Result<Desk, StoreError> {
    let select = "SELECT desk_name, desk_email FROM domains WHERE id = ?1";
    let desk = |row: &dyn Row| Ok(Desk { name: row.get(0)?, email: row.get(1)? });
    store.find(select, values![store.domain()], desk)?.ok_or_else(StoreError::unknown_domain)
}

/// The addresses of the domain's desk and of its agents.
pub fn desk_addresses(store: &impl CommandStore) -> Result<DeskAddresses, StoreError> {
    let agents = agents(store)?.into_iter().filter(|agent| !agent.email.is_empty());
    let agents = agents.map(|agent| (agent.id, agent.email)).collect();
    Ok(DeskAddresses { desk: desk(store)?, agents })
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
