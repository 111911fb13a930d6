//! Reads attachments for the check. An attachment belongs to an existing issue, its pieces are
//! numbered from 0 without a gap and add up to its size, and every piece belongs to an attachment.
//! A message may name a file that is not stored, because imported messages name files that are
//! elsewhere.

use rusqlite::Connection;

use super::Findings;
use crate::Fault;
use caseload_store::check::tables as rules;

/// Attachments and their pieces.
pub(super) fn files(conn: &Connection, findings: &mut Findings) -> Result<(), Fault> {
    let mut statement = conn.prepare(
        "SELECT d.name, a.id, a.issue_id IS NULL OR i.id IS NOT NULL,
         a.size = (SELECT coalesce(sum(length(p.bytes)), 0) FROM attachment_pieces p
                   WHERE p.domain_id = a.domain_id AND p.attachment_id = a.id),
         (SELECT count(*) = max(p.number) + 1 FROM attachment_pieces p
          WHERE p.domain_id = a.domain_id AND p.attachment_id = a.id)
         FROM attachments a JOIN domains d ON d.id = a.domain_id
         LEFT JOIN issues i ON i.domain_id = a.domain_id AND i.id = a.issue_id",
    )?;
    let mut rows = statement.query([])?;
    let mut count = 0;
    while let Some(row) = rows.next()? {
        count += 1;
        let (name, id): (String, String) = (row.get(0)?, row.get(1)?);
        let holds = [row.get(2)?, row.get(3)?, row.get::<_, Option<bool>>(4)? == Some(true)];
        rules::attachment(findings, &name, &id, holds);
    }
    let strays: i64 = conn.query_row(
        "SELECT count(*) FROM attachment_pieces p JOIN domains d ON d.id = p.domain_id
         WHERE NOT EXISTS (SELECT 1 FROM attachments a
                           WHERE a.domain_id = p.domain_id AND a.id = p.attachment_id)",
        [],
        |row| row.get(0),
    )?;
    if strays > 0 {
        findings.fault(format!("{strays} pieces belong to no attachment"));
    }
    findings.verified("attachments", count);
    Ok(())
}
