//! Deleting core and app profiles, by a task or one by a call. A core profile goes with its
//! identities; issues and profiles of the other kind stay. The rows of deleted profiles are not
//! cleared from pages: only the removal of a domain and an erasure promise that.

use caseload_model::change::{ChangeAction, Effect, Resource};
use caseload_model::erasure::Person;
use caseload_model::payload::Entry;
use caseload_model::profile::{
    CoreTarget, plan_app_deletes, plan_core_deletes, rejected_core_profiles, rejected_identities,
};
use caseload_model::profile_query::ProfileId;
use caseload_model::record::{ChunkRecords, PreparedEntry};
use caseload_model::time::UnixMillis;

use super::app_identities::remove_identities;
use super::changes::ProfileChanges;
use super::statements::{ProfileStore, app_profiles, sound};
use super::update::{end, read_core};
use crate::idempotency::CommandStore;
use crate::once::once;
use crate::{DeleteProfile, Idempotent, StoreError, StoredAnswer, values};

/// Deletes the profile of a call as a chunk with one entry does.
pub(crate) fn delete_one(
    store: &impl ProfileStore,
    command: &DeleteProfile,
) -> Result<Idempotent<StoredAnswer>, StoreError> {
    let DeleteProfile { origin, id } = command;
    once(store, origin, |done| {
        let clock = store.lock_profiles()?.ok_or_else(StoreError::unknown_domain)?;
        let mut changes = ProfileChanges::new(clock, None, origin.now);
        match id {
            ProfileId::Core(id) => {
                let target = CoreTarget { id: Some(*id), identities: Vec::new() };
                delete_core(store, &mut changes, &[], &[alone(target)])
            }
            ProfileId::App(pid) => delete_app(store, &mut changes, &[], &[alone(pid.clone())]),
        }?;
        let Some(clock) = changes.clock() else {
            return Err(StoreError::NotFound { what: "the profile".to_owned() });
        };
        let at = clock.last_change;
        match id {
            ProfileId::Core(id) => done.deleted(at, Resource::CoreProfile, id.0),
            ProfileId::App(pid) => done.deleted(at, Resource::AppProfile, &**pid),
        }
        changes.write_sets(store)?;
        store.advance_profiles(clock)?;
        Ok(StoredAnswer::default())
    })
}

/// Deletes the core profiles and app profiles of a person, of the latter at most `apps_max`; the
/// effects, which are `erased`.
pub(crate) fn erase_profiles(
    store: &impl ProfileStore,
    person: &Person,
    apps_max: usize,
    now: UnixMillis,
) -> Result<Vec<Effect>, StoreError> {
    let clock = store.lock_profiles()?.ok_or(StoreError::LeaseLost)?;
    let mut changes = ProfileChanges::new(clock, None, now);
    let core = person.core_profile_ids.iter();
    let core = core.map(|id| alone(CoreTarget { id: Some(*id), identities: Vec::new() }));
    let mut effects = delete_core(store, &mut changes, &[], &core.collect::<Vec<_>>())?.effects;
    let apps = stored_pids(store, person, apps_max)?.into_iter().map(alone);
    effects.extend(delete_app(store, &mut changes, &[], &apps.collect::<Vec<_>>())?.effects);
    changes.write_sets(store)?;
    if let Some(clock) = changes.clock() {
        store.advance_profiles(clock)?;
    }
    let erased = |effect| Effect { action: ChangeAction::Erased, index: None, ..effect };
    Ok(effects.into_iter().map(erased).collect())
}

/// The pids of the person's app profiles that exist.
pub(crate) fn stored_pids(
    store: &impl CommandStore,
    person: &Person,
    pids_max: usize,
) -> Result<Vec<String>, StoreError> {
    let pids: Vec<&str> = person.pids.iter().map(String::as_str).collect();
    let select = "SELECT pid FROM app_profiles WHERE domain_id = ?1 AND pid = ANY (?2) LIMIT ?3";
    store.list(select, values![store.domain(), pids, pids_max as u64], |row| row.get(0))
}

/// The only entry of a payload without bytes.
fn alone<T>(item: T) -> PreparedEntry<T> {
    let entry = Entry { index: 0, line: 1, range: 0..0, oversize: None, of_row: false };
    PreparedEntry { entry, item: Ok(item), warnings: Vec::new() }
}

/// Deletes the core profiles of some entries; their records.
pub fn delete_core(
    store: &impl ProfileStore,
    changes: &mut ProfileChanges,
    payload: &[u8],
    entries: &[PreparedEntry<CoreTarget>],
) -> Result<ChunkRecords, StoreError> {
    let named = sound(entries).flat_map(|target| &target.identities);
    let named: Vec<_> = named.chain(rejected_identities(entries)).collect();
    let ids = sound(entries).filter_map(|target| target.id);
    let ids = ids.chain(rejected_core_profiles(entries));
    let (stored, owners) = read_core(store, changes, ids, &named, named.iter().copied())?;
    let plan = plan_core_deletes(payload, entries, &stored.fields, &owners);
    end(store, changes, plan, &stored)
}

/// Deletes the app profiles of some entries; their records.
pub fn delete_app(
    store: &impl ProfileStore,
    changes: &mut ProfileChanges,
    payload: &[u8],
    entries: &[PreparedEntry<String>],
) -> Result<ChunkRecords, StoreError> {
    let pids: Vec<&str> = sound(entries).map(String::as_str).collect();
    let mut fields = app_profiles(store, &pids, changes.dry_run.is_none())?.fields;
    if let Some(earlier) = &mut changes.dry_run {
        earlier.lay_over_app(store, &mut fields)?;
    }
    let plan = plan_app_deletes(payload, entries, &fields);
    if let Some(dry_run) = &mut changes.dry_run {
        dry_run.note_app_deletes(plan.deleted);
    } else if !plan.deleted.is_empty() {
        changes.written = true;
        let pids: Vec<&str> = plan.deleted.iter().map(String::as_str).collect();
        let bytes = pids.iter().filter_map(|pid| fields.get(*pid)).map(Vec::len).sum::<usize>();
        remove_identities(store, &pids)?;
        let delete = "DELETE FROM app_profiles WHERE domain_id = ?1 AND pid = ANY (?2)";
        let deleted = store.change(delete, values![store.domain(), pids])?;
        assert_eq!(deleted, pids.len() as u64, "an app profile that was read is there");
        store.store_bytes(-(bytes as i64))?;
    }
    Ok(plan.records)
}
