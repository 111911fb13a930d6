//! Rules between tables: every domain has its first records, and every record belongs to a domain,
//! a task or an attachment that exists.

use super::domains::Domains;
use super::{CheckedStore, Findings};
use crate::{StoreError, values};

/// Every record belongs to a domain that exists or is being removed, and every domain has a clock,
/// a default app and the name of its desk.
pub fn domains<S: CheckedStore>(store: &S, findings: &mut Findings) -> Result<(), StoreError> {
    for table in store.list(S::DOMAIN_TABLES, &[], |row| row.get::<String>(0))? {
        let strays = format!(
            "SELECT count(*) FROM {table} WHERE domain_id NOT IN
             (SELECT id FROM domains UNION ALL SELECT removed_id FROM domain_removals)"
        );
        let strays = store.find(&strays, &[], |row| row.get(0))?;
        without_domain(findings, &table, strays.unwrap_or_default());
    }
    let select = "SELECT id, name, default_app_id, desk_name FROM domains ORDER BY id";
    let domains = store.list(select, &[], |row| {
        Ok((row.get::<i64>(0)?, row.get::<String>(1)?, row.get::<String>(2)?, row.get(3)?))
    })?;
    for (id, name, app, desk) in &domains {
        let desk: &String = desk;
        let clock = "SELECT 1 FROM domain_clocks WHERE domain_id = ?1";
        let clock = store.find(clock, values![id], |_| Ok(()))?;
        let found = "SELECT 1 FROM apps WHERE domain_id = ?1 AND id = ?2";
        let found = store.find(found, values![id, app], |_| Ok(()))?;
        domain(findings, name, [clock.is_some(), found.is_some(), !desk.is_empty()]);
    }
    findings.verified("domains", domains.len() as u64);
    Ok(())
}

/// Attachments and their pieces: an attachment belongs to an existing issue, its pieces are
/// numbered from 0 without a gap and add up to its size, and every piece belongs to an attachment.
/// A message may name a file that is not stored, because imported messages name files that are
/// elsewhere.
pub fn attachments<S: CheckedStore>(store: &S, findings: &mut Findings) -> Result<(), StoreError> {
    let domains = Domains::read(store)?;
    let mut count = 0;
    for scope in domains.scopes(store) {
        let d = scope.domain_of("t");
        let pieces = format!(
            "FROM attachment_pieces p
             WHERE p.domain_id = t.domain_id AND p.domain_id = {d} AND p.attachment_id = t.id"
        );
        let files = format!(
            "SELECT t.domain_id, t.id, t.issue_id IS NULL OR i.id IS NOT NULL,
             t.size = (SELECT coalesce(sum(length(p.bytes)), 0) {pieces}),
             (SELECT count(*) = max(p.number) + 1 {pieces})
             FROM attachments t LEFT JOIN issues i ON i.domain_id = {d} AND i.id = t.issue_id
             WHERE t.domain_id = {d}"
        );
        scope.each(&files, |row| {
            let Some(name) = domains.name_in(row, 0)? else { return Ok(()) };
            count += 1;
            let has_no_gap = row.get::<Option<bool>>(4)? == Some(true);
            let holds = [row.get(2)?, row.get(3)?, has_no_gap];
            attachment(findings, name, &row.get::<String>(1)?, holds);
            Ok(())
        })?;
        let strays = format!(
            "SELECT t.domain_id, count(*) FROM attachment_pieces t WHERE t.domain_id = {d}
             AND NOT EXISTS (SELECT 1 FROM attachments a
                 WHERE a.domain_id = {d} AND a.id = t.attachment_id) GROUP BY t.domain_id"
        );
        scope.counts(&domains, &strays, |name, strays| {
            findings.fault(format!("domain {name}: {strays} pieces belong to no attachment"));
        })?;
    }
    findings.verified("attachments", count);
    Ok(())
}

/// The grams of the text index are those of the stored issues.
pub fn text_index<S: CheckedStore>(store: &S, findings: &mut Findings) -> Result<(), StoreError> {
    let mut settled = 0;
    for domain in Domains::read(store)?.iter() {
        settled += store.check_text_index(domain, findings)?;
    }
    findings.verified("issues in the text index", settled);
    Ok(())
}

/// A domain has a clock, a default app, and a desk with a name.
fn domain(
    findings: &mut Findings,
    name: &str,
    [has_clock, has_default_app, has_desk_name]: [bool; 3],
) {
    for (exists, what) in
        [(has_clock, "clock"), (has_default_app, "default app"), (has_desk_name, "desk name")]
    {
        if !exists {
            findings.fault(format!("domain {name} has no {what}"));
        }
    }
}

/// No record of `table` lacks its domain.
fn without_domain(findings: &mut Findings, table: &str, count: i64) {
    if count > 0 {
        findings.fault(format!("{count} records of {table} belong to no domain"));
    }
}

/// No block of `table` lacks its task.
pub(super) fn without_task(findings: &mut Findings, table: &str, count: i64) {
    if count > 0 {
        findings.fault(format!("{count} blocks of {table} belong to no task"));
    }
}

/// An import has a task, and the imports that retry or run it are its children.
pub(super) fn import(
    findings: &mut Findings,
    domain: &str,
    id: &str,
    [has_task, retry_agrees]: [bool; 2],
) {
    for (holds, rule) in [
        (has_task, "it has no task"),
        (retry_agrees, "the import that retries or runs it is not its child"),
    ] {
        if !holds {
            findings.fault(format!("domain {domain}, import {id}: {rule}"));
        }
    }
}

/// No upload has the id of an accepted task.
pub(super) fn accepted_uploads(findings: &mut Findings, count: i64) {
    if count > 0 {
        findings.fault(format!("{count} uploads are accepted tasks at the same time"));
    }
}

/// An attachment belongs to an issue that exists, and its pieces are complete: they add up to its
/// size and are numbered from 0 without a gap.
fn attachment(
    findings: &mut Findings,
    domain: &str,
    id: &str,
    [has_issue, has_size, has_no_gap]: [bool; 3],
) {
    for (holds, rule) in [
        (has_issue, "its issue is not there"),
        (has_size, "its bytes are not its size"),
        (has_no_gap, "it has a gap"),
    ] {
        if !holds {
            findings.fault(format!("domain {domain}, attachment {id}: {rule}"));
        }
    }
}
