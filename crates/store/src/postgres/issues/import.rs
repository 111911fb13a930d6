//! Importing issues: reads what a plan of the model's needs, asks for the plan, writes what it
//! says. The domain's clock is locked before the first plan, because a plan must know which
//! milliseconds and ids are free and stay so until the chunk commits; chunks of imports are kept
//! short for it. A dry run locks nothing: it plans from its snapshot.

use std::collections::HashMap;

use caseload_model::ids::DomainId;
use caseload_model::issue::{
    App, ImportPlan, IssueFragments, NewIssue, StoredIssue, Window, named_issue_ids,
};
use caseload_model::record::{ChunkRecords, Prepared};
use caseload_model::time::UnixMillis;

use super::super::engine::Client;
use super::super::rows::text;
use super::columns::{self, NewRow};
use super::deltas;
use super::page::{FRAGMENTS, FRAGMENTS_COUNT, body};
use crate::issues::{Changes, Indexed, Known, Planning, row_number};
use crate::{ApplyChunk, StoreError};

/// What the slices of one chunk share.
#[derive(Debug)]
pub(in crate::postgres) struct Import {
    domain: DomainId,
    now: UnixMillis,
    dry_run: bool,
    clock: Option<Clock>,
    changes: Changes,
}

/// The clock's numbers as the chunk leaves them, and what else is known.
#[derive(Debug)]
struct Clock {
    known: Known,
    last_row: i64,
    last_change: i64,
    /// The time of change of queues, agents and app profiles.
    changed_at: Option<i64>,
}

impl Import {
    pub(in crate::postgres) fn new(command: &ApplyChunk) -> Self {
        Self {
            domain: command.domain,
            now: command.now,
            dry_run: command.dry_run,
            clock: None,
            changes: Changes::default(),
        }
    }

    /// Imports `entries`, whose bytes are in `payload`, and returns their records.
    pub(in crate::postgres) async fn import(
        &mut self,
        client: &Client,
        payload: &[u8],
        entries: &[Prepared<NewIssue>],
    ) -> Result<ChunkRecords, StoreError> {
        let mut clock = match self.clock.take() {
            Some(clock) => clock,
            None => Clock::read(client, self.domain, self.dry_run).await?,
        };
        let (known, mut plan) = self.plan(client, clock.known, payload, entries).await?;
        clock.known = known;
        if !self.dry_run {
            clock.keep_names(client, self.domain, self.now, &plan).await?;
            self.keep_issues(client, &mut clock, &plan, entries).await?;
            clock.known.add(&mut plan);
        }
        self.clock = Some(clock);
        Ok(plan.records)
    }

    /// Plans the entries, answering questions about taken milliseconds until none is left.
    async fn plan(
        &self,
        client: &Client,
        known: Known,
        payload: &[u8],
        entries: &[Prepared<NewIssue>],
    ) -> Result<(Known, ImportPlan), StoreError> {
        let ids = named_issue_ids(entries);
        let ids: Vec<i64> = known.maybe_taken(&ids).map(|id| id as i64).collect();
        let stored = stored(client, self.domain, &ids).await?;
        let mut planning = Planning::new(known, stored, payload, entries, self.dry_run);
        let plan = loop {
            match planning.plan() {
                Ok(plan) => break plan,
                Err(windows) => {
                    let taken = taken(client, self.domain, &windows).await?;
                    for (window, taken) in windows.into_iter().zip(taken) {
                        planning.note(window, taken);
                    }
                }
            }
        };
        Ok((planning.end(), plan))
    }

    async fn keep_issues(
        &mut self,
        client: &Client,
        clock: &mut Clock,
        plan: &ImportPlan,
        entries: &[Prepared<NewIssue>],
    ) -> Result<(), StoreError> {
        if plan.issues.is_empty() {
            return Ok(());
        }
        let mut rows = Vec::with_capacity(plan.issues.len());
        for issue in &plan.issues {
            let prepared = entries[issue.source]
                .item
                .as_ref()
                .map_err(|_| StoreError::Corrupt("a refused entry was planned".to_owned()))?;
            clock.last_row += 1;
            let row = row_number(clock.last_row)?;
            let (columns, body) = (&issue.columns, &prepared.body);
            rows.push(NewRow { row, columns, head: &issue.head, body });
            let fragments = &IssueFragments::new(&issue.head, body);
            self.changes.change(clock.last_row, None, Some(Indexed { columns, fragments }))?;
        }
        columns::add(client, self.domain, &rows).await
    }

    /// Writes what the chunk comes to: what issues are found by, and the clock's numbers. Whether
    /// issues were added.
    pub(in crate::postgres) async fn finish(self, client: &Client) -> Result<(), StoreError> {
        let Some(clock) = self.clock.filter(|_| !self.dry_run) else { return Ok(()) };
        deltas::keep(client, self.domain, self.changes).await?;
        let known = &clock.known;
        client
            .execute(
                "UPDATE domain_clocks SET last_issue_id = greatest(last_issue_id, $2),
                 last_created_at = greatest(last_created_at, $3),
                 last_app_number = greatest(last_app_number, $4),
                 last_issue_row = $5, last_change_at = $6 WHERE domain_id = $1",
                &[
                    &self.domain.0,
                    &(known.last_issue_id as i64),
                    &known.max_created_at.unwrap_or_default().0,
                    &(known.next_publish_number as i64 - 1),
                    &clock.last_row,
                    &clock.last_change,
                ],
            )
            .await?;
        Ok(())
    }
}

impl Clock {
    /// Locks the clock, unless only to look, and reads what is known of the domain then.
    async fn read(client: &Client, domain: DomainId, look: bool) -> Result<Self, StoreError> {
        let lock = if look { "" } else { " FOR UPDATE" };
        let clock = client
            .row_opt(
                &format!(
                    "SELECT last_issue_id, last_app_number, last_issue_row, last_change_at
                     FROM domain_clocks WHERE domain_id = $1{lock}"
                ),
                &[&domain.0],
            )
            .await?
            .ok_or(StoreError::LeaseLost)?;
        // Only now, so that what whoever held the clock before has committed is seen.
        let newest = client
            .row("SELECT max(created_at) FROM issues WHERE domain_id = $1", &[&domain.0])
            .await?;
        let found = client
            .rows(
                "SELECT a.id, a.publish_id, a.id = d.default_app_id FROM domains d
                 JOIN apps a ON a.domain_id = d.id WHERE d.id = $1 AND a.domain_id = $1
                 ORDER BY a.created_at, a.id",
                &[&domain.0],
            )
            .await?;
        let (mut apps, mut default_app) = (Vec::new(), None);
        for row in &found {
            let app = App { app_id: text(row, 0)?, publish_id: text(row, 1)? };
            if row.get(2) {
                default_app = Some(app.clone());
            }
            apps.push(app);
        }
        Ok(Self {
            known: Known {
                default_app: default_app.ok_or_else(|| {
                    StoreError::Corrupt("a domain without default app".to_owned())
                })?,
                apps,
                next_publish_number: clock.get::<_, i64>(1).unsigned_abs() + 1,
                last_issue_id: clock.get::<_, i64>(0).unsigned_abs(),
                max_created_at: newest.get::<_, Option<i64>>(0).map(UnixMillis),
            },
            last_row: clock.get(2),
            last_change: clock.get(3),
            changed_at: None,
        })
    }

    fn change_time(&mut self, now: UnixMillis) -> i64 {
        self.last_change = now.0.max(self.last_change + 1);
        self.last_change
    }

    /// Apps, queues, agents and app profiles: each is made where its id is free.
    async fn keep_names(
        &mut self,
        client: &Client,
        domain: DomainId,
        now: UnixMillis,
        plan: &ImportPlan,
    ) -> Result<(), StoreError> {
        let bytes = |text: &'_ str| text.as_bytes().to_vec();
        if !plan.apps.is_empty() {
            // A time of its own each: apps are found oldest first.
            let times: Vec<i64> = plan.apps.iter().map(|_| self.change_time(now)).collect();
            let ids: Vec<_> = plan.apps.iter().map(|app| bytes(&app.app_id)).collect();
            let publish_ids: Vec<_> = plan.apps.iter().map(|app| bytes(&app.publish_id)).collect();
            client
                .execute(
                    "INSERT INTO apps (domain_id, id, publish_id, title, created_at)
                     SELECT $1, a.id, a.publish_id, a.id, a.created_at
                     FROM unnest($2::bytea[], $3::bytea[], $4::bigint[])
                     AS a(id, publish_id, created_at)",
                    &[&domain.0, &ids, &publish_ids, &times],
                )
                .await?;
        }
        if plan.queues.is_empty() && plan.agents.is_empty() && plan.app_profiles.is_empty() {
            return Ok(());
        }
        let at = match self.changed_at {
            Some(at) => at,
            None => self.change_time(now),
        };
        self.changed_at = Some(at);
        let ids: Vec<_> = plan.queues.iter().map(|queue| bytes(&queue.id)).collect();
        let names: Vec<_> = plan.queues.iter().map(|queue| bytes(&queue.name)).collect();
        if !ids.is_empty() {
            client
                .execute(
                    "INSERT INTO queues (domain_id, id, name, created_at)
                     SELECT $1, q.id, q.name, $4 FROM unnest($2::bytea[], $3::bytea[])
                     AS q(id, name) ON CONFLICT DO NOTHING",
                    &[&domain.0, &ids, &names, &at],
                )
                .await?;
        }
        keep_people(client, domain, plan, at).await
    }
}

/// Agents and app profiles.
async fn keep_people(
    client: &Client,
    domain: DomainId,
    plan: &ImportPlan,
    at: i64,
) -> Result<(), StoreError> {
    let agents = &plan.agents;
    if !agents.is_empty() {
        let ids: Vec<_> = agents.iter().map(|agent| agent.id.as_bytes()).collect();
        let names: Vec<_> = agents.iter().map(|agent| agent.name.as_bytes()).collect();
        let email = |email: &Option<String>| email.clone().unwrap_or_default().into_bytes();
        let emails: Vec<_> = agents.iter().map(|agent| email(&agent.email)).collect();
        client
            .execute(
                "INSERT INTO agents (domain_id, id, name, email, created_at)
                 SELECT $1, a.id, a.name, a.email, $5
                 FROM unnest($2::bytea[], $3::bytea[], $4::bytea[]) AS a(id, name, email)
                 ON CONFLICT DO NOTHING",
                &[&domain.0, &ids, &names, &emails, &at],
            )
            .await?;
    }
    let profiles = &plan.app_profiles;
    if !profiles.is_empty() {
        let pids: Vec<_> = profiles.iter().map(|profile| profile.pid.as_bytes()).collect();
        let apps: Vec<_> = profiles.iter().map(|profile| profile.app_id.as_bytes()).collect();
        let names: Vec<_> = profiles.iter().map(|profile| profile.name.as_bytes()).collect();
        let emails: Vec<_> = profiles.iter().map(|profile| &profile.emails[..]).collect();
        client
            .execute(
                "INSERT INTO app_profiles
                 (domain_id, pid, app_id, name, emails, created_at, updated_at, fields)
                 SELECT $1, p.pid, p.app_id, p.name, p.emails, $6, $6, ''
                 FROM unnest($2::bytea[], $3::bytea[], $4::bytea[], $5::bytea[])
                 AS p(pid, app_id, name, emails) ON CONFLICT DO NOTHING",
                &[&domain.0, &pids, &apps, &names, &emails, &at],
            )
            .await?;
    }
    Ok(())
}

/// The stored issues among `ids`.
async fn stored(
    client: &Client,
    domain: DomainId,
    ids: &[i64],
) -> Result<HashMap<u64, StoredIssue>, StoreError> {
    if ids.is_empty() {
        return Ok(HashMap::new());
    }
    let found = client
        .rows(
            &format!(
                "SELECT {FRAGMENTS}, i.id, i.created_at, i.original_created_at
                 FROM unnest($2::bigint[]) AS named(id)
                 CROSS JOIN LATERAL (SELECT * FROM issues
                 WHERE domain_id = $1 AND id = named.id OFFSET 0) i
                 CROSS JOIN LATERAL (SELECT * FROM issue_bodies
                 WHERE domain_id = $1 AND row = i.row OFFSET 0) b"
            ),
            &[&domain.0, &ids],
        )
        .await?;
    let stored = found.iter().map(|row| {
        let id: i64 = row.get(FRAGMENTS_COUNT);
        let original: Option<i64> = row.get(FRAGMENTS_COUNT + 2);
        let issue = StoredIssue {
            head: row.get(0),
            body: body(row),
            created_at: UnixMillis(row.get(FRAGMENTS_COUNT + 1)),
            original_created_at: original.map(UnixMillis),
        };
        (id.unsigned_abs(), issue)
    });
    Ok(stored.collect())
}

/// The instants of creation in each window.
async fn taken(
    client: &Client,
    domain: DomainId,
    windows: &[Window],
) -> Result<Vec<Vec<UnixMillis>>, StoreError> {
    let from: Vec<i64> = windows.iter().map(|window| window.from.0).collect();
    let until: Vec<i64> = windows.iter().map(|window| window.until.0).collect();
    let found = client
        .rows(
            "SELECT w.n, i.created_at
             FROM unnest($2::bigint[], $3::bigint[]) WITH ORDINALITY AS w(since, until, n)
             CROSS JOIN LATERAL (SELECT created_at FROM issues
             WHERE domain_id = $1 AND created_at BETWEEN w.since AND w.until OFFSET 0) i",
            &[&domain.0, &from, &until],
        )
        .await?;
    let mut taken = vec![Vec::new(); windows.len()];
    for row in &found {
        let n: i64 = row.get(0);
        if let Some(taken) = taken.get_mut((n - 1) as usize) {
            taken.push(UnixMillis(row.get(1)));
        }
    }
    Ok(taken)
}
