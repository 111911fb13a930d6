//! Checks of attachments: a file of a message has its issue, and pieces from 0 on without a gap
//! that add up to its size; no piece is without a file. Whether a message's record leads to a file
//! is no law: an import keeps records of files that are elsewhere.

use rusqlite::Connection;

use super::Findings;
use crate::Fault;

/// Files and their pieces.
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
        for (place, law) in
            [(2, "its issue is not there"), (3, "its bytes are not its size"), (4, "it has a gap")]
        {
            if !row.get::<_, Option<bool>>(place)?.unwrap_or_default() {
                findings.fault(format!("domain {name}, attachment {id}: {law}"));
            }
        }
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
