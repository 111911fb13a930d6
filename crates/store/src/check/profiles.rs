//! Laws of profiles: what is stored parses, and identities and core profiles match both ways.

use caseload_model::ids::CoreProfileId;
use caseload_model::json;
use caseload_model::profile::{IdentityKey, identity_keys};

use super::Findings;

/// Fields parse, and each identity in them is registered and leads to the profile; `owner` tells
/// where it leads. How many identities were looked at.
pub fn core<E>(
    findings: &mut Findings,
    domain: &str,
    id: CoreProfileId,
    beyond_clock: bool,
    fields: &[u8],
    mut owner: impl FnMut(&IdentityKey) -> Result<Option<CoreProfileId>, E>,
) -> Result<u64, E> {
    let mut broken = |law: &str| {
        findings.fault(format!("domain {domain}, core profile {id}: {law}"));
    };
    if beyond_clock {
        broken("its id is beyond the domain's clock");
    }
    if !parses(fields) {
        broken("its fields are no JSON");
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

/// The profile of a registered identity is there and has it: `fields` are that profile's. Together
/// with the way from the profiles to the identities, equal numbers say the same for all of them.
pub fn identity(
    findings: &mut Findings,
    domain: &str,
    id: CoreProfileId,
    key: &[u8],
    fields: Option<&[u8]>,
) {
    let law = match fields {
        None => "an identity leads to it, but it is not there",
        // Unreadable fields are named by the check of core profiles.
        Some(fields) if !parses(fields) => return,
        Some(fields) if identity_keys(fields).iter().all(|own| own.as_bytes() != key) => {
            "an identity leads to it that it does not have"
        }
        Some(_) => return,
    };
    findings.fault(format!("domain {domain}, core profile {id}: {law}"));
}

/// Fields and addresses parse, and the app is there.
pub fn app(
    findings: &mut Findings,
    domain: &str,
    pid: &str,
    fields: &[u8],
    emails: &[u8],
    app_is_there: bool,
) {
    let mut broken = |law: &str| {
        findings.fault(format!("domain {domain}, app profile {pid}: {law}"));
    };
    if !parses(fields) {
        broken("its fields are no JSON");
    }
    if !matches!(json::parse(emails), Ok(json::Json::Array(_))) {
        broken("its addresses are no JSON array");
    }
    if !app_is_there {
        broken("its app is not there");
    }
}

/// The identities that the fields of a core profile name; none where they cannot be read.
pub fn named(fields: &[u8]) -> Vec<IdentityKey> {
    if parses(fields) { identity_keys(fields) } else { Vec::new() }
}

/// Whether a fields text is JSON between braces.
fn parses(fields: &[u8]) -> bool {
    let mut text = Vec::with_capacity(fields.len() + 2);
    text.push(b'{');
    text.extend_from_slice(fields);
    text.push(b'}');
    json::parse(&text).is_ok()
}
