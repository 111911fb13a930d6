//! Plans a slice of an action that patches core profiles: the profiles that are created
//! or change, the identities that change owners, and the records of all entries. Entries take
//! effect in order, each on the outcome of those before it: a profile may be updated several times,
//! and an entry may take an identity that an earlier one released. A failed entry changes nothing.
//! An entry without an id is about the profile that has one of its identities; the others are added
//! to it.

use std::collections::{BTreeSet, HashMap, HashSet};
use std::hash::BuildHasher;

use super::changes::write_changes;
use super::checker::quoted;
use super::clean::{Digits, cleaned_json};
use super::core_state::{CorePlan, CoreState};
use super::field::CORE;
use super::identity::{IdentityType, nth, warning};
use super::merge::{Lists, Update, update};
use super::new_ids::NewIds;
use super::plan_create::{conflict, name_of, shown, type_and_value, write_id};
use super::plan_get::missing;
use super::prepare::{CorePatch, has_core_id};
use super::rejected::{merge_faults, prepared_json, refuse};
use super::stored::StoredRecord;
use crate::change::{ChangeAction, Effect, FieldNames, Resource};
use crate::error_code::{EntryErrorCode, EntryWarningCode};
use crate::ids::{CoreProfileId, IdentityKey};
use crate::json::{Json, ValuePath};
use crate::payload::Entry;
use crate::record::{
    ChunkRecords, EntryFault, EntryWarning, NamedRecords, PreparedEntry, Rejection,
};
use crate::task::Action;

/// Profiles of an ambiguous entry that its detail names.
const NAMED_OWNERS_MAX: usize = 2;

/// The identities by which entries without an id find their profiles; rejected entries are among
/// them. A plan needs the fields of the profiles that have these.
pub fn finding_identities(
    entries: &[PreparedEntry<CorePatch>],
) -> impl Iterator<Item = &IdentityKey> + Clone {
    let accepted = entries
        .iter()
        .filter_map(|prepared| prepared.item.as_ref().ok())
        .filter(|patch| patch.id.is_none())
        .flat_map(|patch| patch.identities.iter().flatten());
    let rejected = entries
        .iter()
        .filter_map(|prepared| prepared.item.as_ref().err()?.named.as_deref())
        .filter(|named| named.core_profile.is_none())
        .flat_map(|named| named.identities.iter().map(|(_, key)| key));
    accepted.chain(rejected)
}

/// Plans `entries` of an action that patches, whose bytes are in `payload`. `owners` has the owner
/// of every identity that they name, if it has one; `records` has the fields text of every profile
/// that they name, if it exists, and of the owners of [`finding_identities`]. Rejected entries name
/// profiles and identities, too. `earlier` are the profiles that earlier entries of the file have
/// changed; without it, no entry is warned of a repeat. `ids` gives ids to new profiles. A dry run
/// is planned in the same way: its outcome is not written, but laid over the stored records for the
/// next slice, and its records have the changes.
pub fn plan_core_patches<S: BuildHasher, T: BuildHasher>(
    action: Action,
    payload: &[u8],
    entries: &[PreparedEntry<CorePatch>],
    records: &HashMap<CoreProfileId, Vec<u8>, S>,
    owners: &HashMap<IdentityKey, CoreProfileId, T>,
    earlier: Option<&BTreeSet<CoreProfileId>>,
    ids: &mut NewIds,
) -> CorePlan {
    let mut planner = Planner {
        action,
        payload,
        state: CoreState::new(records, owners),
        changes: matches!(ids, NewIds::DryRun).then(Vec::new),
        joins: Vec::new(),
        ids,
        earlier,
        changed: HashSet::new(),
    };
    let mut out = ChunkRecords::default();
    for prepared in entries {
        let entry = &prepared.entry;
        let planned = match &prepared.item {
            Ok(patch) => planner.apply(entry, patch),
            Err(rejected) => Err(planner.rejected(entry, rejected)),
        };
        match planned {
            Ok((id, effect)) => {
                planner.warn_of_repeat(entry, id, effect.is_some());
                let warnings = prepared.warnings_and(&planner.joins);
                planner.joins.clear();
                out.outcome(entry, effect, &warnings, |out| {
                    write_id(id, out);
                    if let Some(changes) = &mut planner.changes {
                        out.append(changes);
                    }
                });
            }
            Err(stored) => {
                refuse(planner.action, planner.payload, prepared, stored, &mut out);
            }
        }
    }
    planner.state.into_plan(out)
}

struct Planner<'p, S, T> {
    action: Action,
    payload: &'p [u8],
    state: CoreState<'p, S, T>,
    /// Ids of new profiles.
    ids: &'p mut NewIds,
    /// Of a dry run: the changes of the present entry, for its record.
    changes: Option<Vec<u8>>,
    /// The warnings of the present entry about identities that may be another person's.
    joins: Vec<EntryWarning>,
    /// Profiles that entries before this slice have changed.
    earlier: Option<&'p BTreeSet<CoreProfileId>>,
    /// Those that entries of this slice have changed.
    changed: HashSet<CoreProfileId>,
}

impl<S: BuildHasher, T: BuildHasher> Planner<'_, S, T> {
    /// One entry: its profile and effect, or all of its faults.
    fn apply(
        &mut self,
        entry: &Entry,
        patch: &CorePatch,
    ) -> Result<(CoreProfileId, Option<Effect>), Vec<EntryFault>> {
        let keys = patch.identities.as_deref().unwrap_or_default();
        let Some(id) = patch.id else {
            let owners = self.state.owners(keys.iter().enumerate());
            return match (owners.as_slice(), &patch.new_fields) {
                ([(_, id)], _) => self.merge(entry, *id, patch, Lists::Add),
                ([], Some(fields)) => Ok(self.create(entry, fields, keys)),
                (owners, _) => Err(vec![not_one(&prepared_json(self.payload, entry), owners)]),
            };
        };
        if self.state.fields(id).is_none() {
            let json = prepared_json(self.payload, entry);
            let mut faults = vec![missing(&CORE, self.payload, entry)];
            faults.extend(self.conflicts(&json, keys.iter().enumerate(), id));
            return Err(faults);
        }
        self.merge(entry, id, patch, self.lists())
    }

    /// Warns of an entry whose profile an earlier entry of the file has changed, and notes whether
    /// this one changed it.
    fn warn_of_repeat(&mut self, entry: &Entry, id: CoreProfileId, has_effect: bool) {
        let Some(earlier) = self.earlier else { return };
        if earlier.contains(&id) || self.changed.contains(&id) {
            let json = prepared_json(self.payload, entry);
            let field = if has_core_id(&json) { self.action.id_field() } else { "identities" };
            let value = json.get(field).cloned().unwrap_or(Json::Null);
            let advice = "give each person one entry, and two people identities of their own";
            self.joins.push(EntryWarning::repeated(field, &value, &name_of(id), advice));
        } else if has_effect {
            self.changed.insert(id);
        }
    }

    /// The effect of identities in an entry that names its profile by id.
    fn lists(&self) -> Lists {
        if self.action == Action::UpsertCoreProfiles { Lists::Add } else { Lists::Replace }
    }

    fn create(
        &mut self,
        entry: &Entry,
        fields: &[u8],
        keys: &[IdentityKey],
    ) -> (CoreProfileId, Option<Effect>) {
        let id = self.ids.take(entry);
        self.state.write(id, fields.to_vec());
        self.state.add(id, keys.iter());
        (id, Some(effect(id, ChangeAction::Created, FieldNames::default())))
    }

    /// Merges an entry into the profile `id`, which exists.
    fn merge(
        &mut self,
        entry: &Entry,
        id: CoreProfileId,
        patch: &CorePatch,
        lists: Lists,
    ) -> Result<(CoreProfileId, Option<Effect>), Vec<EntryFault>> {
        let digits = Digits::new();
        let json = cleaned_json(self.action, self.payload, entry, &digits);
        let stored = self.state.fields(id).expect("the owner of an identity was read");
        let stored = StoredRecord::of(&CORE, stored);
        let outcome = update(&CORE, &stored, &json, lists, entry.numbers());
        let wanted = patch.identities.iter().flatten().enumerate();
        let conflicts = self.conflicts(&json, wanted, id);
        let outcome = match outcome {
            Err(mut faults) => {
                faults.extend(conflicts);
                return Err(faults);
            }
            Ok(_) if !conflicts.is_empty() => return Err(conflicts),
            Ok(outcome) => outcome,
        };
        let Update::Changed { fields, names } = outcome else { return Ok((id, None)) };
        if let Some(given) = &patch.identities {
            let before = stored.identity_keys();
            assert!(!given.is_empty(), "an update would leave a core profile without identity");
            if lists == Lists::Replace {
                self.state.remove(id, before.iter().filter(|key| !given.contains(key)));
            }
            self.state.add(id, given.iter().filter(|key| !before.contains(key)));
            if self.action == Action::UpsertCoreProfiles {
                self.joins = joins(&json, id, &before, given);
            }
        }
        if let Some(out) = &mut self.changes
            && let Some(before) = self.state.fields(id)
        {
            write_changes(&CORE, before, &fields, out);
        }
        self.state.write(id, fields);
        Ok((id, Some(effect(id, ChangeAction::Updated, names))))
    }

    /// The faults of identities that another profile than `id` has.
    fn conflicts<'k>(
        &self,
        json: &Json<'_>,
        wanted: impl Iterator<Item = (usize, &'k IdentityKey)>,
        id: CoreProfileId,
    ) -> Vec<EntryFault> {
        let other = |key| self.state.owner(key).filter(|owner| *owner != id);
        let taken = wanted.filter_map(|(n, key)| Some((n, other(key)?)));
        taken.map(|(n, owner)| conflict(json, n, owner)).collect()
    }

    /// The faults that stored records add to those of a rejected entry.
    fn rejected(&self, entry: &Entry, rejected: &Rejection) -> Vec<EntryFault> {
        let Some(named) = rejected.named.as_deref() else { return Vec::new() };
        let digits = Digits::new();
        let json = cleaned_json(self.action, self.payload, entry, &digits);
        let Some(id) = named.core_profile else {
            return self.rejected_without_id(&json, rejected, named);
        };
        let mut faults = match self.state.fields(id) {
            Some(fields) => merge_faults(&CORE, fields, &json, rejected, self.lists()),
            None => vec![missing(&CORE, self.payload, entry)],
        };
        let wanted = named.identities.iter().map(|(n, key)| (*n, key));
        faults.extend(self.conflicts(&json, wanted, id));
        faults
    }

    /// If the id of an entry is itself the fault, none of its identities is known to be another
    /// profile's.
    fn rejected_without_id(
        &self,
        json: &Json<'_>,
        rejected: &Rejection,
        named: &NamedRecords,
    ) -> Vec<EntryFault> {
        if has_core_id(json) {
            return Vec::new();
        }
        let owners = self.state.owners(named.identities.iter().map(|(n, key)| (*n, key)));
        match owners.as_slice() {
            [(_, id)] => {
                let fields = self.state.fields(*id).expect("the owner of an identity was read");
                merge_faults(&CORE, fields, json, rejected, Lists::Add)
            }
            [] if self.action == Action::UpsertCoreProfiles => Vec::new(),
            // A faulty identity may be the one that would have found the profile.
            [] if named.identities.is_empty()
                || named.identities.len() < given_identities(json) =>
            {
                Vec::new()
            }
            owners => vec![not_one(json, owners)],
        }
    }
}

fn effect(id: CoreProfileId, action: ChangeAction, fields: FieldNames) -> Effect {
    Effect { fields, ..Effect::new(Resource::CoreProfile, id.0, action) }
}

/// The warnings about identities that an upsert adds to a profile which has one of the same type.
/// A person has several addresses and phone numbers, but one account of each kind.
fn joins(
    json: &Json<'_>,
    id: CoreProfileId,
    before: &[IdentityKey],
    given: &[IdentityKey],
) -> Vec<EntryWarning> {
    let added = given.iter().enumerate().filter(|(_, key)| !before.contains(key));
    added
        .filter_map(|(n, key)| {
            let kind = IdentityType::from_code(key.type_code())?;
            if matches!(kind, IdentityType::Email | IdentityType::PhoneNumber) {
                return None;
            }
            let own = before.iter().find(|own| own.is(kind))?;
            let (_, value, _) = nth(json, n)?;
            let detail = format!(
                "{} has the {} {} already, and this entry adds {}: if these are two people, give \
             each an entry with identities of their own",
                name_of(id),
                kind.as_str(),
                quoted(&own.beginning()),
                type_and_value(json, n)
            );
            Some(warning(EntryWarningCode::JoinsPeople, (n, kind), detail, value))
        })
        .collect()
}

fn given_identities(json: &Json<'_>) -> usize {
    match json.get("identities") {
        Some(Json::Array(items)) => items.len(),
        _ => 0,
    }
}

/// The fault of an entry whose identities belong to no profile or to several; each with the
/// position of one of its identities.
pub(super) fn not_one(json: &Json<'_>, owners: &[(usize, CoreProfileId)]) -> EntryFault {
    let pointer = ValuePath::field("identities").pointer();
    let (code, detail) = if owners.is_empty() {
        let detail = "no core profile has any of these identities".to_owned();
        (EntryErrorCode::NotFound, detail)
    } else {
        let named = owners.iter().take(NAMED_OWNERS_MAX);
        let named: Vec<String> = named
            .map(|(n, owner)| {
                format!("{} belongs to {}", type_and_value(json, *n), name_of(*owner))
            })
            .collect();
        let more = match owners.len() - named.len() {
            0 => String::new(),
            more => format!(", and others to {more} more"),
        };
        let detail = format!(
            "the identities are not those of one core profile: {}{more}; send an entry for each \
             profile",
            named.join(", ")
        );
        (EntryErrorCode::AmbiguousIdentity, detail)
    };
    let ids: Vec<_> = owners.iter().map(|(_, id)| *id).collect();
    let fault = EntryFault { owners: shown(&ids), ..EntryFault::new(code, pointer, detail) };
    match json.get("identities") {
        Some(value) => fault.with_value(value),
        None => fault,
    }
}
