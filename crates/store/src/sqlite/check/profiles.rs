//! Checks of profiles: what is stored parses, and identities and core profiles match both ways.

use caseload_model::ids::CoreProfileId;
use caseload_model::json;
use caseload_model::profile::identity_keys;
use rusqlite::{Connection, OptionalExtension, params};

use super::Findings;
use crate::StoreError;

/// Fields parse, and each identity in them is a row of its own that leads to the profile.
pub(super) fn core(conn: &Connection, findings: &mut Findings) -> Result<(), StoreError> {
    let mut owner = conn.prepare_cached(
        "SELECT core_profile_id FROM identities WHERE domain_id = ?1 AND key = ?2",
    )?;
    let mut statement = conn.prepare(
        "SELECT p.domain_id, d.name, p.id, p.fields, p.id > c.last_core_profile_id
         FROM core_profiles p JOIN domains d ON d.id = p.domain_id
         JOIN domain_clocks c ON c.domain_id = d.id",
    )?;
    let mut rows = statement.query([])?;
    let (mut count, mut keys_count) = (0, 0);
    while let Some(row) = rows.next()? {
        count += 1;
        let (domain, name, id): (i64, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        let mut broken = |law: &str| {
            let id = CoreProfileId(id.unsigned_abs());
            findings.fault(format!("domain {name}, core profile {id}: {law}"));
        };
        if row.get(4)? {
            broken("its id is beyond the domain's clock");
        }
        let fields: Vec<u8> = row.get(3)?;
        if !parses(&fields) {
            broken("its fields are no JSON");
            continue;
        }
        let keys = identity_keys(&fields);
        if keys.is_empty() {
            broken("it has no identity");
        }
        for key in &keys {
            keys_count += 1;
            let found: Option<i64> =
                owner.query_row(params![domain, key.as_bytes()], |row| row.get(0)).optional()?;
            match found {
                Some(found) if found == id => {}
                Some(other) => {
                    broken(&format!("one of its identities belongs to core profile {other}"));
                }
                None => broken("one of its identities is not registered"),
            }
        }
    }
    findings.verified("core profiles", count);
    findings.verified("identities of core profiles", keys_count);
    Ok(())
}

/// Each identity's profile is there and has it. Together with the way from the profiles to the
/// identities, equal numbers say the same for all of them.
pub(super) fn identities(conn: &Connection, findings: &mut Findings) -> Result<(), StoreError> {
    let mut statement = conn.prepare(
        "SELECT d.name, i.core_profile_id, i.key, p.fields FROM identities i
         JOIN domains d ON d.id = i.domain_id
         LEFT JOIN core_profiles p ON p.domain_id = i.domain_id AND p.id = i.core_profile_id",
    )?;
    let mut rows = statement.query([])?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        count += 1;
        let (name, id): (String, i64) = (row.get(0)?, row.get(1)?);
        let key: Vec<u8> = row.get(2)?;
        let fields: Option<Vec<u8>> = row.get(3)?;
        let law = match fields {
            None => "an identity leads to it, but it is not there",
            // Unreadable fields are named by the check of core profiles.
            Some(fields) if !parses(&fields) => continue,
            Some(fields) if identity_keys(&fields).iter().all(|own| own.as_bytes() != key) => {
                "an identity leads to it that it does not have"
            }
            Some(_) => continue,
        };
        findings.fault(format!("domain {name}, core profile {id}: {law}"));
    }
    findings.verified("identities", count);
    Ok(())
}

/// Fields and addresses parse, and the app is there.
pub(super) fn app(conn: &Connection, findings: &mut Findings) -> Result<(), StoreError> {
    let mut statement = conn.prepare(
        "SELECT d.name, p.pid, p.fields, p.emails, a.id IS NOT NULL FROM app_profiles p
         JOIN domains d ON d.id = p.domain_id
         LEFT JOIN apps a ON a.domain_id = p.domain_id AND a.id = p.app_id",
    )?;
    let mut rows = statement.query([])?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        count += 1;
        let (name, pid): (String, String) = (row.get(0)?, row.get(1)?);
        let mut broken = |law: &str| {
            findings.fault(format!("domain {name}, app profile {pid}: {law}"));
        };
        if !parses(&row.get::<_, Vec<u8>>(2)?) {
            broken("its fields are no JSON");
        }
        if !matches!(json::parse(&row.get::<_, Vec<u8>>(3)?), Ok(json::Json::Array(_))) {
            broken("its addresses are no JSON array");
        }
        if !row.get::<_, bool>(4)? {
            broken("its app is not there");
        }
    }
    findings.verified("app profiles", count);
    Ok(())
}

/// Whether a fields text is JSON between braces.
fn parses(fields: &[u8]) -> bool {
    let mut text = Vec::with_capacity(fields.len() + 2);
    text.push(b'{');
    text.extend_from_slice(fields);
    text.push(b'}');
    json::parse(&text).is_ok()
}
