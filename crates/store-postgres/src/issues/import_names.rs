//! Creates the apps, queues, agents and app profiles that imported issues name and whose ids are
//! free. They are collected while a chunk is planned and written when it ends, in the order of
//! their keys; no plan of the chunk reads them. The first issue of a chunk that names an id
//! decides.

use std::collections::BTreeMap;
use std::iter::repeat;

use caseload_model::change::{ChangeAction, Effect, Resource};
use caseload_model::ids::DomainId;
use caseload_model::issue::{App, AppProfileRow, ImportPlan};
use caseload_model::profile::IdentityKey;
use caseload_model::time::UnixMillis;
use tokio::join;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use crate::engine::{Client, Params, store_error};
use caseload_store::{StoreError, checksum};

const APPS: &str = "INSERT INTO apps (domain_id, id, publish_id, title, created_at)
     SELECT $1, a.id, a.publish_id, a.id, a.created_at
     FROM unnest($2::bytea[], $3::bytea[], $4::bigint[]) AS a(id, publish_id, created_at)
     RETURNING id";
const QUEUES: &str = "INSERT INTO queues (domain_id, id, name, created_at)
     SELECT $1, q.id, q.name, $4 FROM unnest($2::bytea[], $3::bytea[]) AS q(id, name)
     ON CONFLICT DO NOTHING RETURNING id";
const AGENTS: &str = "INSERT INTO agents (domain_id, id, name, email, created_at)
     SELECT $1, a.id, a.name, a.email, $5
     FROM unnest($2::bytea[], $3::bytea[], $4::bytea[]) AS a(id, name, email)
     ON CONFLICT DO NOTHING RETURNING id";
const APP_PROFILES: &str = "INSERT INTO app_profiles
     (domain_id, pid, app_id, name, emails, created_at, updated_at, fields, checksum,
     fields_checksum)
     SELECT $1, p.pid, p.app_id, p.name, p.emails, $6, $6, '', p.checksum, p.fields_checksum
     FROM unnest($2::bytea[], $3::bytea[], $4::bytea[], $5::bytea[], $7::bigint[], $8::bigint[])
     AS p(pid, app_id, name, emails, checksum, fields_checksum)
     ON CONFLICT DO NOTHING RETURNING pid";
/// Only app profiles that were added get their identities.
const IDENTITIES: &str = "INSERT INTO app_profile_identities (domain_id, key, pid, kind)
     SELECT $1, i.key, i.pid, i.kind FROM unnest($2::bytea[], $3::bytea[], $4::bigint[])
     AS i(key, pid, kind) ON CONFLICT DO NOTHING";

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
    /// Writes all of them; the effects of those that are new.
    pub(super) async fn write(
        self,
        client: &Client,
        domain: DomainId,
    ) -> Result<Vec<Effect>, StoreError> {
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
        let (apps, queues, agents, app_profiles) = join!(
            insert(client, APPS, ids.len(), &of_apps),
            insert(client, QUEUES, keys.len(), &of_queues),
            insert(client, AGENTS, agents.len(), &of_agents),
            write_app_profiles(client, domain, &names.app_profiles, at),
        );
        let added = [
            (Resource::App, apps?),
            (Resource::Queue, queues?),
            (Resource::Agent, agents?),
            (Resource::AppProfile, app_profiles?),
        ];
        let created = added.into_iter().flat_map(|(resource, ids)| {
            ids.into_iter().map(move |id| Effect::new(resource, &*id, ChangeAction::Created))
        });
        Ok(created.collect())
    }
}

/// Writes app profiles whose pids are free, with their identities; the pids of those.
async fn write_app_profiles(
    client: &Client,
    domain: DomainId,
    named: &BTreeMap<String, AppProfileRow>,
    at: i64,
) -> Result<Vec<String>, StoreError> {
    let profiles = || named.values();
    let pids: Vec<_> = profiles().map(|profile| profile.pid.as_bytes()).collect();
    let app_ids: Vec<_> = profiles().map(|profile| profile.app_id.as_bytes()).collect();
    let names: Vec<_> = profiles().map(|profile| profile.name.as_bytes()).collect();
    let addresses: Vec<_> = profiles().map(|profile| &profile.emails[..]).collect();
    let made = UnixMillis(at);
    let sum = |profile| checksum::of_app_profile(domain, profile, made);
    let sums: Vec<i64> = profiles().map(sum).collect();
    let fields =
        |profile: &AppProfileRow| checksum::of_app_profile_fields(domain, &profile.pid, made, &[]);
    let fields: Vec<i64> = profiles().map(fields).collect();
    let columns: [&(dyn ToSql + Sync); 8] =
        [&domain.0, &pids, &app_ids, &names, &addresses, &at, &sums, &fields];
    let added = insert(client, APP_PROFILES, pids.len(), &columns).await?;
    let of = |profile| AppProfileRow::identities(profile).into_iter().zip(repeat(profile));
    let identities: Vec<(IdentityKey, &AppProfileRow)> =
        added.iter().filter_map(|pid| named.get(pid)).flat_map(of).collect();
    let keys: Vec<_> = identities.iter().map(|(key, _)| key.as_bytes()).collect();
    let owners: Vec<_> = identities.iter().map(|(_, profile)| profile.pid.as_bytes()).collect();
    let kinds: Vec<_> = identities.iter().map(|(key, _)| key.type_code()).collect();
    let columns: [&(dyn ToSql + Sync); 4] = [&domain.0, &keys, &owners, &kinds];
    if !keys.is_empty() {
        client.execute(IDENTITIES, &columns).await?;
    }
    Ok(added)
}

/// Runs the statement if it has rows; the ids of those that it added.
async fn insert(
    client: &Client,
    statement: &str,
    rows: usize,
    params: Params<'_>,
) -> Result<Vec<String>, StoreError> {
    if rows == 0 {
        return Ok(Vec::new());
    }
    let added = client.rows(statement, params).await?;
    let id = |row: &Row| {
        let id = String::from_utf8(row.try_get(0).map_err(store_error)?);
        id.map_err(|_| StoreError::Corrupt("an id is not UTF-8".to_owned()))
    };
    added.iter().map(id).collect()
}
