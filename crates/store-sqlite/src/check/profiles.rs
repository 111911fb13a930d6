//! Reads profiles and identities for the check. The rules that they have to obey are in
//! [`caseload_store::check::profiles`].

use std::collections::BTreeMap;

use caseload_model::ids::CoreProfileId;
use rusqlite::{Connection, OptionalExtension, params};

use super::Findings;
use crate::Fault;
use caseload_store::check::profiles as rules;

fn profile_id(id: i64) -> CoreProfileId {
    CoreProfileId(id.unsigned_abs())
}

/// Each core profile, and the owners of its identities.
pub(super) fn core(conn: &Connection, findings: &mut Findings) -> Result<(), Fault> {
    let mut owner = conn.prepare_cached(
        "SELECT core_profile_id FROM identities WHERE domain_id = ?1 AND key = ?2",
    )?;
    let mut statement = conn.prepare(
        "SELECT p.domain_id, d.name, p.id, p.fields, p.id > c.last_core_profile_id
         FROM core_profiles p JOIN domains d ON d.id = p.domain_id
         JOIN domain_clocks c ON c.domain_id = d.id ORDER BY p.row",
    )?;
    let mut rows = statement.query([])?;
    let (mut count, mut keys_count) = (0, 0);
    let mut last = BTreeMap::new();
    while let Some(row) = rows.next()? {
        count += 1;
        let (domain, name, id): (i64, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
        rules::order(findings, &name, last.insert(domain, id).map(profile_id), profile_id(id));
        let fields: Vec<u8> = row.get(3)?;
        let found = rules::core(findings, &name, profile_id(id), row.get(4)?, &fields, |key| {
            let owner = owner.query_row(params![domain, key.as_bytes()], |row| row.get(0));
            owner.optional().map(|owner| owner.map(profile_id))
        });
        keys_count += found?;
    }
    findings.verified("core profiles", count);
    findings.verified("identities of core profiles", keys_count);
    Ok(())
}

/// Each identity, and the profile that it belongs to.
pub(super) fn identities(conn: &Connection, findings: &mut Findings) -> Result<(), Fault> {
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
        let (key, fields): (Vec<u8>, Option<Vec<u8>>) = (row.get(2)?, row.get(3)?);
        rules::identity(findings, &name, profile_id(id), &key, fields.as_deref());
    }
    findings.verified("identities", count);
    Ok(())
}

/// Each app profile.
pub(super) fn app(conn: &Connection, findings: &mut Findings) -> Result<(), Fault> {
    let mut statement = conn.prepare(
        "SELECT d.name, p.pid, p.fields, p.emails, a.id IS NOT NULL FROM app_profiles p
         JOIN domains d ON d.id = p.domain_id
         LEFT JOIN apps a ON a.domain_id = p.domain_id AND a.id = p.app_id",
    )?;
    let mut rows = statement.query([])?;
    let mut count = 0;
    let mut addresses = BTreeMap::<String, [u64; 2]>::new();
    while let Some(row) = rows.next()? {
        count += 1;
        let (name, pid): (String, String) = (row.get(0)?, row.get(1)?);
        let (fields, emails): (Vec<u8>, Vec<u8>) = (row.get(2)?, row.get(3)?);
        let found = rules::app(findings, &name, &pid, &fields, &emails, row.get(4)?);
        addresses.entry(name).or_default()[0] += found;
    }
    findings.verified("app profiles", count);
    let count = app_identities(conn, findings, &mut addresses)?;
    for (domain, [addresses, indexed]) in addresses {
        rules::app_identities(findings, &domain, addresses, indexed);
    }
    findings.verified("identities of app profiles", count);
    Ok(())
}

/// Each identity by which an app profile is found; adds the addresses to those of the domains.
fn app_identities(
    conn: &Connection,
    findings: &mut Findings,
    addresses: &mut BTreeMap<String, [u64; 2]>,
) -> Result<u64, Fault> {
    let mut statement = conn.prepare(
        "SELECT d.name, i.pid, i.key, i.kind, p.app_id, p.emails FROM app_profile_identities i
         JOIN domains d ON d.id = i.domain_id
         LEFT JOIN app_profiles p ON p.domain_id = i.domain_id AND p.pid = i.pid",
    )?;
    let mut rows = statement.query([])?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        count += 1;
        let (domain, pid): (String, String) = (row.get(0)?, row.get(1)?);
        let (key, app): (Vec<u8>, Option<String>) = (row.get(2)?, row.get(4)?);
        let emails: Option<Vec<u8>> = row.get(5)?;
        let identity = rules::AppIdentity {
            domain: &domain,
            pid: &pid,
            key: &key,
            kind: row.get(3)?,
            profile: app.as_deref().zip(emails.as_deref()),
        };
        let is_address = identity.check(findings);
        addresses.entry(domain).or_default()[1] += u64::from(is_address);
    }
    Ok(count)
}
