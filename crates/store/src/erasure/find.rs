//! Finds a person in the domain: core profiles, app profiles and issues that one identity or id
//! leads to, and those that their identities and ids lead to in turn, until nothing new is found.
//! All of it goes through indexes and is bounded. Placeholders lead to no record. Invariant: a
//! record that a part of the person leads to is found from the whole.

use std::collections::BTreeSet;

use caseload_model::erasure::{Person, Selector};
use caseload_model::error_code::ErrorCode;
use caseload_model::ids::{CoreProfileId, DomainName, IdentityKey};
use caseload_model::issue_query::ParameterFault;
use caseload_model::profile::{IdentityType, Placeholders, identity_keys};
use caseload_model::profile_query::address_keys;

use crate::checksum::CORE_PROFILES;
use crate::profile_lists::app_profiles_with;
use crate::profiles::{IDENTIFIERS, owners, stored_pids};
use crate::query::stored_sets::{BLOCKS_ALL, Noun};
use crate::query::{Rows, Set, SetStore, StoredSets};
use crate::{StoreError, values};

/// The most identities and ids of one person. More of them are those of an address that many share.
const PERSON_MAX: usize = 50_000;
/// Issues that are looked up at a time.
const ISSUES_AT_ONCE: usize = 1000;

/// The person that a selector names; `None` if the domain has no record of them.
pub(crate) fn find(
    store: &impl SetStore,
    selector: &Selector,
) -> Result<Option<Person>, StoreError> {
    let mut seed = Person::default();
    match selector {
        Selector::Identity(key) => drop(seed.identities.insert(key.clone())),
        Selector::CoreProfile(id) => drop(seed.core_profile_ids.insert(*id)),
        Selector::AppProfile(pid) => drop(seed.pids.insert(pid.clone())),
    }
    let person = find_all(store, seed)?;
    let has_records = !person.core_profile_ids.is_empty()
        || !person.issue_ids.is_empty()
        || !stored_pids(store, &person, 1)?.is_empty();
    Ok(Some(person).filter(|_| has_records))
}

/// The whole person, from a part of them. Core profiles and issues that are gone are left out.
pub(crate) fn find_all(store: &impl SetStore, mut person: Person) -> Result<Person, StoreError> {
    let select = "SELECT name, placeholders FROM domains WHERE id = ?1";
    let domain = store.find(select, values![store.domain()], |row| {
        Ok((row.get::<DomainName>(0)?, row.get::<Option<String>>(1)?))
    })?;
    let (name, own) = domain.ok_or_else(StoreError::unknown_domain)?;
    let placeholders = own.as_deref().map(Placeholders::of_list).unwrap_or_default();
    let core = std::mem::take(&mut person.core_profile_ids);
    person.issue_ids.clear();
    add_core(store, &mut person, &core)?;
    loop {
        person.drop_placeholders(&placeholders);
        let before = person.len();
        let keys: Vec<IdentityKey> = person.identities.iter().cloned().collect();
        let keys: Vec<&IdentityKey> = keys.iter().collect();
        let found = owners(store, &keys)?.into_values().collect();
        add_core(store, &mut person, &found)?;
        let pids = app_profiles_with(store, &name, &keys)?;
        person.pids.extend(pids.into_values().flatten());
        add_identities_of_apps(store, &mut person)?;
        person.drop_placeholders(&placeholders);
        add_issues(store, &mut person)?;
        person.drop_placeholders(&placeholders);
        if person.len() > PERSON_MAX {
            return Err(too_many());
        }
        if person.len() == before {
            return Ok(person);
        }
    }
}

/// Adds those of these core profiles that exist, with their identities.
fn add_core(
    store: &impl SetStore,
    person: &mut Person,
    ids: &BTreeSet<CoreProfileId>,
) -> Result<(), StoreError> {
    let new: Vec<i64> = ids
        .difference(&person.core_profile_ids)
        .filter_map(|id| i64::try_from(id.0).ok())
        .collect();
    if new.is_empty() {
        return Ok(());
    }
    let select = format!(
        "SELECT {} FROM core_profiles WHERE domain_id = ?1 AND id = ANY (?2)",
        CORE_PROFILES.select()
    );
    store.each(&select, values![store.domain(), new], &mut |row| {
        CORE_PROFILES.require(row)?;
        person.core_profile_ids.insert(CoreProfileId(row.get(1)?));
        person.identities.extend(identity_keys(row.get::<&[u8]>(3)?));
        Ok(())
    })
}

/// Adds the addresses and identifiers of the person's app profiles.
fn add_identities_of_apps(store: &impl SetStore, person: &mut Person) -> Result<(), StoreError> {
    let pids: Vec<&str> = person.pids.iter().map(String::as_str).collect();
    let mut found = Vec::new();
    let emails = "SELECT emails FROM app_profiles WHERE domain_id = ?1 AND pid = ANY (?2)";
    store.each(emails, values![store.domain(), pids], &mut |row| {
        found.extend(address_keys(row.get::<&[u8]>(0)?));
        Ok(())
    })?;
    store.each(IDENTIFIERS, values![store.domain(), pids], &mut |row| {
        found.extend(IdentityKey::from_bytes(row.get(1)?));
        Ok(())
    })?;
    person.identities.extend(found);
    Ok(())
}

/// Adds the issues that the person is the author of, with what these know of their author.
fn add_issues<S: SetStore>(store: &S, person: &mut Person) -> Result<(), StoreError> {
    let terms = person.author_terms().into_iter().filter(|(_, values)| !values.is_empty());
    let set = Set::Or(terms.map(|(kind, values)| Set::any(kind, values)).collect());
    let rows = match (StoredSets { store, noun: Noun::Issue }).rows(&set, &BLOCKS_ALL)? {
        Rows::In(rows) => rows,
        Rows::NotIn(_) => return Err(StoreError::Corrupt("issues without an author".to_owned())),
    };
    if rows.len() > PERSON_MAX as u64 {
        return Err(too_many());
    }
    let rows: Vec<i64> = rows.iter().map(i64::from).collect();
    let select = format!("SELECT id, hs_user_id, author_email FROM {}", S::ISSUE_ROWS);
    for rows in rows.chunks(ISSUES_AT_ONCE) {
        store.each(&select, values![store.domain(), rows], &mut |row| {
            person.issue_ids.insert(row.get(0)?);
            person.pids.insert(row.get(1)?);
            let address: String = row.get(2)?;
            if !address.is_empty() {
                person.identities.insert(IdentityKey::new(IdentityType::Email, &address));
            }
            Ok(())
        })?;
    }
    Ok(())
}

fn too_many() -> StoreError {
    let detail = format!(
        "this leads to more than {PERSON_MAX} identities and records, which are not those of one \
         person: an address or an id that many people share connects them; add it to the \
         placeholders of the domain, or name the person by another identity"
    );
    let (parameter, code) = ("identity".to_owned(), ErrorCode::TooLarge);
    StoreError::Refused(vec![ParameterFault { parameter, code, detail }])
}
