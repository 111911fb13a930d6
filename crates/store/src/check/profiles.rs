//! Rules of profiles: stored fields parse, and identities and core profiles refer to each other.

use caseload_model::ids::{CoreProfileId, DomainName};
use caseload_model::json;
use caseload_model::profile::{IdentityKey, identity_keys};
use caseload_model::profile_query::{address_keys, pids_of_uid};

use super::Findings;

/// The fields parse, and each identity in them is registered for the profile; `owner` looks up an
/// identity. Returns the number of identities.
pub fn core<E>(
    findings: &mut Findings,
    domain: &str,
    id: CoreProfileId,
    beyond_clock: bool,
    fields: &[u8],
    mut owner: impl FnMut(&IdentityKey) -> Result<Option<CoreProfileId>, E>,
) -> Result<u64, E> {
    let mut broken = |rule: &str| {
        findings.fault(format!("domain {domain}, core profile {id}: {rule}"));
    };
    if beyond_clock {
        broken("its id is beyond the domain's clock");
    }
    if !parses(fields) {
        broken("its fields are not JSON");
        return Ok(0);
    }
    let keys = identity_keys(fields);
    if keys.is_empty() {
        broken("it has no identity");
    }
    for key in &keys {
        match owner(key)? {
            Some(found) if found == id => {}
            Some(other) => {
                broken(&format!("one of its identities belongs to core profile {other}"));
            }
            None => broken("one of its identities is not registered"),
        }
    }
    Ok(keys.len() as u64)
}

/// The rows of a domain have the order of ids; `last` is the profile in the row before.
pub fn order(
    findings: &mut Findings,
    domain: &str,
    last: Option<CoreProfileId>,
    id: CoreProfileId,
) {
    if last.is_some_and(|last| last >= id) {
        findings.fault(format!("domain {domain}, core profile {id}: its row is out of order"));
    }
}

/// The profile of a registered identity exists and has the identity; `fields` are those of the
/// profile.
pub fn identity(
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
pub fn app(
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
pub struct AppIdentity<'r> {
    pub domain: &'r str,
    pub pid: &'r str,
    pub key: &'r [u8],
    pub kind: i64,
    /// The app and the addresses of the profile; `None` if it is not there.
    pub profile: Option<(&'r str, &'r [u8])>,
}

impl AppIdentity<'_> {
    /// The profile exists and has the identity. Returns whether it is one of its addresses.
    pub fn check(&self, findings: &mut Findings) -> bool {
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
pub fn app_identities(findings: &mut Findings, domain: &str, addresses: u64, indexed: u64) {
    if addresses != indexed {
        findings.fault(format!(
            "domain {domain}: its app profiles have {addresses} addresses, but the index by which \
             they are found has {indexed}"
        ));
    }
}

/// The identities in the fields of a core profile; none if they do not parse.
pub fn identities_of(fields: &[u8]) -> Vec<IdentityKey> {
    if parses(fields) { identity_keys(fields) } else { Vec::new() }
}

/// Whether the fields are the members of a JSON object.
fn parses(fields: &[u8]) -> bool {
    let mut text = Vec::with_capacity(fields.len() + 2);
    text.push(b'{');
    text.extend_from_slice(fields);
    text.push(b'}');
    json::parse(&text).is_ok()
}
