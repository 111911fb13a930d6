//! Reads profiles and identities for the check. The rules that they have to obey are in
//! [`caseload_store::check::profiles`].

use std::collections::BTreeMap;

use caseload_model::ids::CoreProfileId;
use rusqlite::{Connection, OptionalExtension, params};

use super::Findings;
use crate::Fault;
use crate::tx::Tx;
use caseload_store::check::profiles as rules;
use caseload_store::profile_sets::{SetRow, SetSums, StoredProfile};
use caseload_store::sql::Sql as _;

fn profile_id(id: i64) -> CoreProfileId {
    CoreProfileId(id.unsigned_abs())
}

/// Each core profile, and the owners of its identities.
pub(super) fn core(conn: &Connection, findings: &mut Findings) -> Result<(), Fault> {
    let mut owner = conn.prepare_cached(
        "SELECT core_profile_id FROM identities WHERE domain_id = ?1 AND key = ?2",
    )?;
    let mut statement = conn.prepare(
        "SELECT p.domain_id, d.name, coalesce(p.moved_id, p.seq), p.fields,
         coalesce(p.moved_id, p.seq) > c.last_core_profile_id
         FROM core_profiles p JOIN domains d ON d.id = p.domain_id
         JOIN domain_clocks c ON c.domain_id = d.id",
    )?;
    let mut rows = statement.query([])?;
    let (mut count, mut keys_count) = (0, 0);
    while let Some(row) = rows.next()? {
        count += 1;
        let (domain, name, id): (i64, String, i64) = (row.get(0)?, row.get(1)?, row.get(2)?);
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
        "SELECT d.name, i.core_profile_id, i.key, coalesce(p.fields, m.fields) FROM identities i
         JOIN domains d ON d.id = i.domain_id
         LEFT JOIN core_profiles p ON p.seq = i.core_profile_id AND p.domain_id = i.domain_id
             AND p.moved_id IS NULL
         LEFT JOIN core_profiles m ON m.domain_id = i.domain_id
             AND m.moved_id = i.core_profile_id",
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

/// The sets of core profiles.
pub(super) fn sets(conn: &Connection, findings: &mut Findings) -> Result<(), Fault> {
    let tx = Tx(conn);
    let names = tx.list("SELECT id, name FROM domains", &[], |row| {
        Ok((row.get::<i64>(0)?, row.get::<String>(1)?))
    })?;
    let mut sums: BTreeMap<i64, (String, SetSums)> =
        names.into_iter().map(|(id, name)| (id, (name, SetSums::default()))).collect();
    tx.each(
        "SELECT domain_id, coalesce(moved_id, seq), created_at, updated_at, fields
         FROM core_profiles",
        &[],
        &mut |row| {
            if let Some((_, sums)) = sums.get_mut(&row.get(0)?) {
                sums.add_profile(&StoredProfile::read_at(row, 1)?);
            }
            Ok(())
        },
    )?;
    tx.each(
        "SELECT domain_id, kind, value, first_id, n, ids FROM profile_sets
         ORDER BY domain_id, kind, value, first_id",
        &[],
        &mut |row| {
            if let Some((name, sums)) = sums.get_mut(&row.get(0)?) {
                sums.add_row(findings, name, &SetRow::read_at(row, 1)?);
            }
            Ok(())
        },
    )?;
    let count = sums.values().map(|(name, sums)| sums.compare(findings, name)).sum();
    findings.verified("sets of profiles", count);
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
