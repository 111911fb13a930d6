//! Rules of profiles: stored fields parse, and identities and core profiles refer to each other.

use std::collections::{BTreeMap, HashMap};

use caseload_model::ids::{CoreProfileId, DomainName};
use caseload_model::json;
use caseload_model::profile::{IdentityKey, identity_keys};
use caseload_model::profile_query::{address_keys, pids_of_uid};

use super::domains::{Domains, Scope};
use super::{CheckedStore, Findings};
use crate::{StoreError, values};

/// Profiles whose identities are looked up in one query.
const PROFILES_MAX: usize = 1000;

/// A core profile as it is stored.
struct Stored {
    domain: i64,
    id: CoreProfileId,
    fields: Vec<u8>,
    beyond_clock: bool,
    row: i64,
}

/// The owners of identities, by domain and key.
type Owners = HashMap<(i64, Vec<u8>), CoreProfileId>;

const fn profile_id(id: i64) -> CoreProfileId {
    CoreProfileId(id.unsigned_abs())
}

/// Each core profile, and the owners of its identities.
pub fn core<S: CheckedStore>(store: &S, findings: &mut Findings) -> Result<(), StoreError> {
    let domains = Domains::read(store)?;
    let (mut count, mut keys_count) = (0, 0);
    let mut last = BTreeMap::new();
    for scope in domains.scopes(store) {
        let mut after = i64::MIN;
        loop {
            let portion = portion(&scope, after)?;
            let Some(end) = portion.last() else { break };
            after = end.row;
            let owners = owners(store, &portion)?;
            for profile in &portion {
                let Some(name) = domains.name(profile.domain) else { continue };
                count += 1;
                order(findings, name, last.insert(profile.domain, profile.id), profile.id);
                keys_count += core_profile(findings, name, profile, &owners);
            }
        }
    }
    findings.verified("core profiles", count);
    findings.verified("identities of core profiles", keys_count);
    Ok(())
}

/// The next core profiles.
fn portion<S: CheckedStore>(scope: &Scope<'_, S>, after: i64) -> Result<Vec<Stored>, StoreError> {
    let select = format!(
        "SELECT t.domain_id, t.id, t.fields, t.id > c.last_core_profile_id, t.row
         FROM core_profiles t LEFT JOIN domain_clocks c ON c.domain_id = t.domain_id
         WHERE t.domain_id = {} AND t.row > {} ORDER BY t.row LIMIT {PROFILES_MAX}",
        scope.domain_of("t"),
        scope.place_behind()
    );
    scope.list_with(&select, after, |row| {
        Ok(Stored {
            domain: row.get(0)?,
            id: profile_id(row.get(1)?),
            fields: row.get(2)?,
            beyond_clock: row.get::<Option<bool>>(3)? == Some(true),
            row: row.get(4)?,
        })
    })
}

/// The owners of the identities of these profiles.
fn owners(store: &impl CheckedStore, profiles: &[Stored]) -> Result<Owners, StoreError> {
    let mut named = BTreeMap::<i64, Vec<IdentityKey>>::new();
    for profile in profiles {
        named.entry(profile.domain).or_default().extend(identities_of(&profile.fields));
    }
    let mut owners = Owners::new();
    for (domain, keys) in named {
        let keys: Vec<&[u8]> = keys.iter().map(IdentityKey::as_bytes).collect();
        let select = "SELECT key, core_profile_id FROM identities
                      WHERE domain_id = ?1 AND key = ANY (?2)";
        store.each(select, values![domain, keys], &mut |row| {
            owners.insert((domain, row.get(0)?), profile_id(row.get(1)?));
            Ok(())
        })?;
    }
    Ok(owners)
}

/// Each identity, and the profile that it belongs to.
pub fn identities<S: CheckedStore>(store: &S, findings: &mut Findings) -> Result<(), StoreError> {
    let domains = Domains::read(store)?;
    let mut count = 0;
    for scope in domains.scopes(store) {
        let d = scope.domain_of("t");
        let select = format!(
            "SELECT t.domain_id, t.core_profile_id, t.key, p.fields FROM identities t
             LEFT JOIN core_profiles p ON p.domain_id = {d} AND p.id = t.core_profile_id
             WHERE t.domain_id = {d}"
        );
        scope.each(&select, |row| {
            let Some(name) = domains.name_in(row, 0)? else { return Ok(()) };
            count += 1;
            identity(findings, name, profile_id(row.get(1)?), row.get(2)?, row.get(3)?);
            Ok(())
        })?;
    }
    findings.verified("identities", count);
    Ok(())
}

/// Each app profile.
pub fn app<S: CheckedStore>(store: &S, findings: &mut Findings) -> Result<(), StoreError> {
    let domains = Domains::read(store)?;
    let (mut count, mut identities_count) = (0, 0);
    let mut addresses = BTreeMap::<&str, [u64; 2]>::new();
    for scope in domains.scopes(store) {
        let d = scope.domain_of("t");
        let profiles = format!(
            "SELECT t.domain_id, t.pid, t.fields, t.emails, a.id IS NOT NULL FROM app_profiles t
             LEFT JOIN apps a ON a.domain_id = {d} AND a.id = t.app_id WHERE t.domain_id = {d}"
        );
        scope.each(&profiles, |row| {
            let Some(name) = domains.name_in(row, 0)? else { return Ok(()) };
            count += 1;
            let pid: String = row.get(1)?;
            let found = app_profile(findings, name, &pid, row.get(2)?, row.get(3)?, row.get(4)?);
            addresses.entry(name).or_default()[0] += found;
            Ok(())
        })?;
        let identities = format!(
            "SELECT t.domain_id, t.pid, t.key, t.kind, p.app_id, p.emails
             FROM app_profile_identities t
             LEFT JOIN app_profiles p ON p.domain_id = {d} AND p.pid = t.pid
             WHERE t.domain_id = {d}"
        );
        scope.each(&identities, |row| {
            let Some(name) = domains.name_in(row, 0)? else { return Ok(()) };
            identities_count += 1;
            let (pid, app): (String, Option<String>) = (row.get(1)?, row.get(4)?);
            let identity = AppIdentity {
                domain: name,
                pid: &pid,
                key: row.get(2)?,
                kind: row.get(3)?,
                profile: app.as_deref().zip(row.get(5)?),
            };
            addresses.entry(name).or_default()[1] += u64::from(identity.check(findings));
            Ok(())
        })?;
    }
    findings.verified("app profiles", count);
    for (domain, [addresses, indexed]) in addresses {
        app_identities(findings, domain, addresses, indexed);
    }
    findings.verified("identities of app profiles", identities_count);
    Ok(())
}

/// The fields parse, and each identity in them is registered for the profile. Returns the number of
/// identities.
fn core_profile(findings: &mut Findings, domain: &str, profile: &Stored, owners: &Owners) -> u64 {
    let Stored { id, fields, beyond_clock, .. } = profile;
    let mut broken = |rule: &str| {
        findings.fault(format!("domain {domain}, core profile {id}: {rule}"));
    };
    if *beyond_clock {
        broken("its id is beyond the domain's clock");
    }
    if !parses(fields) {
        broken("its fields are not JSON");
        return 0;
    }
    let keys = identity_keys(fields);
    if keys.is_empty() {
        broken("it has no identity");
    }
    for key in &keys {
        match owners.get(&(profile.domain, key.as_bytes().to_vec())) {
            Some(found) if found == id => {}
            Some(other) => {
                broken(&format!("one of its identities belongs to core profile {other}"));
            }
            None => broken("one of its identities is not registered"),
        }
    }
    keys.len() as u64
}

/// The rows of a domain have the order of ids; `last` is the profile in the row before.
fn order(findings: &mut Findings, domain: &str, last: Option<CoreProfileId>, id: CoreProfileId) {
    if last.is_some_and(|last| last >= id) {
        findings.fault(format!("domain {domain}, core profile {id}: its row is out of order"));
    }
}

/// The profile of a registered identity exists and has the identity; `fields` are those of the
/// profile.
fn identity(
    findings: &mut Findings,
    domain: &str,
    id: CoreProfileId,
    key: &[u8],
    fields: Option<&[u8]>,
) {
    let rule = match fields {
        None => "an identity leads to it, but it is not there",
        // The check of core profiles reports unreadable fields.
        Some(fields) if !parses(fields) => return,
        Some(fields) if identity_keys(fields).iter().all(|own| own.as_bytes() != key) => {
            "an identity leads to it that it does not have"
        }
        Some(_) => return,
    };
    findings.fault(format!("domain {domain}, core profile {id}: {rule}"));
}

/// Fields and addresses parse, and the app exists. Returns how many addresses the index has of it.
fn app_profile(
    findings: &mut Findings,
    domain: &str,
    pid: &str,
    fields: &[u8],
    emails: &[u8],
    app_is_there: bool,
) -> u64 {
    let mut broken = |rule: &str| {
        findings.fault(format!("domain {domain}, app profile {pid}: {rule}"));
    };
    if !parses(fields) {
        broken("its fields are not JSON");
    }
    if !matches!(json::parse(emails), Ok(json::Json::Array(_))) {
        broken("its addresses are not a JSON array");
    }
    if !app_is_there {
        broken("its app is not there");
    }
    let mut keys = address_keys(emails);
    keys.sort_unstable();
    keys.dedup();
    keys.len() as u64
}

/// An identity by which an app profile is found.
#[derive(Debug)]
struct AppIdentity<'r> {
    domain: &'r str,
    pid: &'r str,
    key: &'r [u8],
    kind: i64,
    /// The app and the addresses of the profile; `None` if it is not there.
    profile: Option<(&'r str, &'r [u8])>,
}

impl AppIdentity<'_> {
    /// The profile exists and has the identity. Returns whether it is one of its addresses.
    fn check(&self, findings: &mut Findings) -> bool {
        let Self { domain, pid, key, kind, profile } = self;
        let mut broken = |rule: &str| {
            findings.fault(format!("domain {domain}, app profile {pid}: {rule}"));
        };
        let Some((app, emails)) = *profile else {
            broken("an identity leads to it, but it is not there");
            return false;
        };
        let found = IdentityKey::from_bytes(key).filter(|key| key.type_code() == *kind);
        let is_address = address_keys(emails).iter().any(|own| own.as_bytes() == *key);
        let is_identifier = || {
            let name = DomainName::parse(domain);
            found.as_ref().zip(name.ok()).is_some_and(|(key, name)| {
                pids_of_uid(&name, [app, ""].into_iter(), key).any(|made| made == *pid)
            })
        };
        if found.is_none() || !(is_address || is_identifier()) {
            broken("an identity leads to it that it does not have");
        }
        is_address
    }
}

/// The index has every address of the app profiles of a domain, of which there are `addresses`.
fn app_identities(findings: &mut Findings, domain: &str, addresses: u64, indexed: u64) {
    if addresses != indexed {
        findings.fault(format!(
            "domain {domain}: its app profiles have {addresses} addresses, but the index by which \
             they are found has {indexed}"
        ));
    }
}

/// The identities in the fields of a core profile; none if they do not parse.
fn identities_of(fields: &[u8]) -> Vec<IdentityKey> {
    if parses(fields) { identity_keys(fields) } else { Vec::new() }
}

/// Whether the fields are the members of a JSON object.
fn parses(fields: &[u8]) -> bool {
    json::parse(&[b"{", fields, b"}"].concat()).is_ok()
}
