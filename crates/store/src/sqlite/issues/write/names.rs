//! What requests refer to: apps, agents, queues, profiles. Each look-up either finds it or notes a
//! fault under the field that named it; looking goes on, so that a caller learns all faults.

use caseload_model::error_code::ErrorCode;
use caseload_model::fold::fold;
use caseload_model::ids::DomainId;
use caseload_model::issue::write::{
    AgentBy, AgentName, Assignment, EditRequest, EditTargets, KnownProfile, Reference, References,
};
use caseload_model::issue::{App, IssueQueue};
use caseload_model::issue_query::ParameterFault;
use rusqlite::{Connection, OptionalExtension, params};

use crate::StoreError;

/// Characters of an id that a fault repeats.
const ID_CHARS_SHOWN: usize = 100;
/// Unknown issues that are named one by one.
const UNKNOWN_ISSUES_NAMED_MAX: usize = 20;

/// Looks things up in one domain and gathers what is not there.
pub(super) struct Names<'c> {
    conn: &'c Connection,
    domain: DomainId,
    pub(super) faults: Vec<ParameterFault>,
}

impl<'c> Names<'c> {
    pub(super) fn new(conn: &'c Connection, domain: DomainId) -> Self {
        Self { conn, domain, faults: Vec::new() }
    }

    /// Refuses the request where anything was not there.
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

    /// The app of an id, and whether it is the domain's default one; the default app where none is
    /// given.
    pub(super) fn app(
        &mut self,
        given: Option<&Reference<String>>,
    ) -> Result<Option<(App, bool)>, StoreError> {
        let found = self
            .conn
            .prepare_cached(
                "SELECT a.id, a.publish_id, a.id = d.default_app_id
                 FROM domains d JOIN apps a
                 ON a.domain_id = d.id AND a.id = ifnull(?2, d.default_app_id)
                 WHERE d.id = ?1",
            )?
            .query_row(params![self.domain.0, given.map(|given| &given.to)], |row| {
                Ok((App { app_id: row.get(0)?, publish_id: row.get(1)? }, row.get(2)?))
            })
            .optional()?;
        if let (None, Some(given)) = (&found, given) {
            self.unknown(&given.field, "app", &given.to, "GET /apps lists the apps by their id");
        }
        Ok(found)
    }

    pub(super) fn agent(
        &mut self,
        given: &Reference<AgentBy>,
    ) -> Result<Option<AgentName>, StoreError> {
        let found = match &given.to {
            AgentBy::Id(id) => self.agent_by_id(id)?,
            AgentBy::Email(email) => self.agent_by_email(email)?,
        };
        if found.is_none() {
            let (AgentBy::Id(text) | AgentBy::Email(text)) = &given.to;
            self.unknown(&given.field, "agent", text, "GET /agents lists the agents");
        }
        Ok(found)
    }

    pub(super) fn agent_by_id(&self, id: &str) -> Result<Option<AgentName>, StoreError> {
        Ok(self
            .conn
            .prepare_cached("SELECT id, name, email FROM agents WHERE domain_id = ?1 AND id = ?2")?
            .query_row(params![self.domain.0, id], |row| {
                Ok(AgentName { id: row.get(0)?, name: row.get(1)?, email: row.get(2)? })
            })
            .optional()?)
    }

    /// The oldest agent with this address, which is folded.
    pub(super) fn agent_by_email(&self, email: &str) -> Result<Option<AgentName>, StoreError> {
        let mut statement = self.conn.prepare_cached(
            "SELECT id, name, email FROM agents WHERE domain_id = ?1 ORDER BY created_at, id",
        )?;
        let mut rows = statement.query([self.domain.0])?;
        while let Some(row) = rows.next()? {
            let own: String = row.get(2)?;
            if !own.is_empty() && fold(&own) == email {
                return Ok(Some(AgentName { id: row.get(0)?, name: row.get(1)?, email: own }));
            }
        }
        Ok(None)
    }

    fn queue(&mut self, given: &Reference<String>) -> Result<Option<IssueQueue>, StoreError> {
        let found = self
            .conn
            .prepare_cached("SELECT id, name FROM queues WHERE domain_id = ?1 AND id = ?2")?
            .query_row(params![self.domain.0, given.to], |row| {
                Ok(IssueQueue { id: row.get(0)?, name: row.get(1)? })
            })
            .optional()?;
        if found.is_none() {
            self.unknown(&given.field, "queue", &given.to, "GET /queues lists the queues");
        }
        Ok(found)
    }

    pub(super) fn app_profile(&self, pid: &str) -> Result<Option<KnownProfile>, StoreError> {
        Ok(self
            .conn
            .prepare_cached(
                "SELECT pid, name, emails FROM app_profiles WHERE domain_id = ?1 AND pid = ?2",
            )?
            .query_row(params![self.domain.0, pid], |row| {
                Ok(KnownProfile { pid: row.get(0)?, name: row.get(1)?, emails: row.get(2)? })
            })
            .optional()?)
    }

    /// What an edit's references lead to.
    pub(super) fn targets(&mut self, edit: &EditRequest) -> Result<EditTargets, StoreError> {
        let mut targets = EditTargets::default();
        match &edit.assignment {
            None => {}
            Some(Assignment::Nobody) => targets.assignee = Some(None),
            Some(Assignment::Agent(agents)) => {
                let mut meant: Option<AgentName> = None;
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
    pub(super) fn issues(&mut self, given: &Reference<Vec<u64>>) -> Result<Vec<i64>, StoreError> {
        let mut find =
            self.conn.prepare_cached("SELECT row FROM issues WHERE domain_id = ?1 AND id = ?2")?;
        let mut rows = Vec::with_capacity(given.to.len());
        let mut unknown = Vec::new();
        for id in &given.to {
            let found =
                find.query_row(params![self.domain.0, *id as i64], |row| row.get(0)).optional()?;
            match found {
                Some(row) => rows.push(row),
                None => unknown.push(id.to_string()),
            }
        }
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
        Ok(rows)
    }
}

/// What of these references leads nowhere.
pub(in crate::sqlite) fn reference_faults(
    conn: &Connection,
    domain: DomainId,
    references: &References,
) -> Result<Vec<ParameterFault>, StoreError> {
    let mut names = Names::new(conn, domain);
    if let Some(issues) = &references.issues {
        names.issues(issues)?;
    }
    if let Some(app) = &references.app {
        names.app(Some(app))?;
    }
    for agent in &references.agents {
        names.agent(agent)?;
    }
    if let Some(queue) = &references.queue {
        names.queue(queue)?;
    }
    Ok(names.faults)
}
