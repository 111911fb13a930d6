//! Creates the apps, queues, agents and app profiles that imported issues name and whose ids are
//! free. They are collected while a chunk is planned and written when it ends, in the order of
//! their keys; no plan of the chunk reads them. The first issue of a chunk that names an id
//! decides.

use std::collections::BTreeMap;
use std::iter::repeat;

use caseload_model::ids::DomainId;
use caseload_model::issue::{App, AppProfileRow, ImportPlan};
use caseload_model::profile::IdentityKey;
use caseload_model::time::UnixMillis;
use tokio::join;
use tokio_postgres::types::ToSql;

use crate::engine::{Client, Params, first_cause};
use caseload_store::{StoreError, checksum};

const APPS: &str = "INSERT INTO apps (domain_id, id, publish_id, title, created_at)
     SELECT $1, a.id, a.publish_id, a.id, a.created_at
     FROM unnest($2::bytea[], $3::bytea[], $4::bigint[]) AS a(id, publish_id, created_at)";
const QUEUES: &str = "INSERT INTO queues (domain_id, id, name, created_at)
     SELECT $1, q.id, q.name, $4 FROM unnest($2::bytea[], $3::bytea[]) AS q(id, name)
     ON CONFLICT DO NOTHING";
const AGENTS: &str = "INSERT INTO agents (domain_id, id, name, email, created_at)
     SELECT $1, a.id, a.name, a.email, $5
     FROM unnest($2::bytea[], $3::bytea[], $4::bytea[]) AS a(id, name, email)
     ON CONFLICT DO NOTHING";
/// Only app profiles that are added get their identities.
const APP_PROFILES: &str = "WITH added AS (INSERT INTO app_profiles
     (domain_id, pid, app_id, name, emails, created_at, updated_at, fields, checksum,
     fields_checksum)
     SELECT $1, p.pid, p.app_id, p.name, p.emails, $6, $6, '', p.checksum, p.fields_checksum
     FROM unnest($2::bytea[], $3::bytea[], $4::bytea[], $5::bytea[], $7::bigint[], $8::bigint[])
     AS p(pid, app_id, name, emails, checksum, fields_checksum)
     ON CONFLICT DO NOTHING RETURNING pid)
     INSERT INTO app_profile_identities (domain_id, key, pid, kind)
     SELECT $1, i.key, i.pid, i.kind FROM unnest($9::bytea[], $10::bytea[], $11::bigint[])
     AS i(key, pid, kind) JOIN added ON added.pid = i.pid
     ON CONFLICT DO NOTHING";

/// The names of a chunk.
#[derive(Debug, Default)]
pub(super) struct ImportedNames {
    apps: Vec<App>,
    queues: BTreeMap<String, String>,
    agents: BTreeMap<String, (String, String)>,
    app_profiles: BTreeMap<String, AppProfileRow>,
}

impl ImportedNames {
    /// Adds the names of a plan.
    pub(super) fn add(&mut self, plan: &mut ImportPlan) {
        self.apps.extend_from_slice(&plan.apps);
        for queue in std::mem::take(&mut plan.queues) {
            self.queues.entry(queue.id).or_insert(queue.name);
        }
        for agent in std::mem::take(&mut plan.agents) {
            let email = agent.email.unwrap_or_default();
            self.agents.entry(agent.id).or_insert((agent.name, email));
        }
        for profile in std::mem::take(&mut plan.app_profiles) {
            self.app_profiles.entry(profile.pid.clone()).or_insert(profile);
        }
    }

    /// With times of change from `change_time`: one for each app, because apps are listed oldest
    /// first, and one for all other names.
    pub(super) fn timed(self, mut change_time: impl FnMut() -> i64) -> TimedNames {
        let of_apps = self.apps.iter().map(|_| change_time()).collect();
        let is_none =
            self.queues.is_empty() && self.agents.is_empty() && self.app_profiles.is_empty();
        let at = if is_none { 0 } else { change_time() };
        TimedNames { names: self, of_apps, at }
    }
}

/// The names of a chunk and their times of creation.
#[derive(Debug)]
pub(super) struct TimedNames {
    names: ImportedNames,
    of_apps: Vec<i64>,
    at: i64,
}

impl TimedNames {
    /// Writes all of them.
    pub(super) async fn write(self, client: &Client, domain: DomainId) -> Result<(), StoreError> {
        let Self { names, of_apps: times, at } = self;
        let ids: Vec<_> = names.apps.iter().map(|app| app.app_id.as_bytes()).collect();
        let publish_ids: Vec<_> = names.apps.iter().map(|app| app.publish_id.as_bytes()).collect();
        let of_apps: [&(dyn ToSql + Sync); 4] = [&domain.0, &ids, &publish_ids, &times];
        let keys: Vec<_> = names.queues.keys().map(String::as_bytes).collect();
        let queue_names: Vec<_> = names.queues.values().map(String::as_bytes).collect();
        let of_queues: [&(dyn ToSql + Sync); 4] = [&domain.0, &keys, &queue_names, &at];
        let (agent_names, emails): (Vec<_>, Vec<_>) =
            names.agents.values().map(|(name, email)| (name.as_bytes(), email.as_bytes())).unzip();
        let agents: Vec<_> = names.agents.keys().map(String::as_bytes).collect();
        let of_agents: [&(dyn ToSql + Sync); 5] = [&domain.0, &agents, &agent_names, &emails, &at];
        let profiles = || names.app_profiles.values();
        let pids: Vec<_> = profiles().map(|profile| profile.pid.as_bytes()).collect();
        let app_ids: Vec<_> = profiles().map(|profile| profile.app_id.as_bytes()).collect();
        let profile_names: Vec<_> = profiles().map(|profile| profile.name.as_bytes()).collect();
        let addresses: Vec<_> = profiles().map(|profile| &profile.emails[..]).collect();
        let made = UnixMillis(at);
        let sum = |profile| checksum::of_app_profile(domain, profile, made);
        let sums: Vec<i64> = profiles().map(sum).collect();
        let fields = |profile: &AppProfileRow| {
            checksum::of_app_profile_fields(domain, &profile.pid, made, &[])
        };
        let fields: Vec<i64> = profiles().map(fields).collect();
        let of = |profile| AppProfileRow::identities(profile).into_iter().zip(repeat(profile));
        let identities: Vec<(IdentityKey, &AppProfileRow)> = profiles().flat_map(of).collect();
        let keys_of_profiles: Vec<_> = identities.iter().map(|(key, _)| key.as_bytes()).collect();
        let owners: Vec<_> = identities.iter().map(|(_, profile)| profile.pid.as_bytes()).collect();
        let kinds: Vec<_> = identities.iter().map(|(key, _)| key.type_code()).collect();
        let of_profiles: [&(dyn ToSql + Sync); 11] = [
            &domain.0,
            &pids,
            &app_ids,
            &profile_names,
            &addresses,
            &at,
            &sums,
            &fields,
            &keys_of_profiles,
            &owners,
            &kinds,
        ];
        let answers = join!(
            insert(client, APPS, ids.len(), &of_apps),
            insert(client, QUEUES, keys.len(), &of_queues),
            insert(client, AGENTS, agents.len(), &of_agents),
            insert(client, APP_PROFILES, pids.len(), &of_profiles),
        );
        first_cause(<[_; 4]>::from(answers))
    }
}

/// Runs the statement if it has rows.
async fn insert(
    client: &Client,
    statement: &str,
    rows: usize,
    params: Params<'_>,
) -> Result<(), StoreError> {
    if rows > 0 {
        client.execute(statement, params).await?;
    }
    Ok(())
}
