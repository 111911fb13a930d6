//! Files attached to messages, in pieces of one megabyte, so no file is ever whole in memory. A
//! file is staged piece by piece while it arrives. The command that adds its message claims it in
//! the same transaction. Unclaimed files are removed after an hour, by the purge. Invariant: a
//! claimed file has an issue, and pieces from 0 on without a gap that add up to its size.

use caseload_model::issue::write::Attachment;

use crate::idempotency::CommandStore;
use crate::{StageAttachment, StoreError, values};

/// Adds the next piece of a file.
pub fn stage(store: &impl CommandStore, command: &StageAttachment) -> Result<(), StoreError> {
    let StageAttachment { domain, key, id, number, bytes, now } = command;
    store.require_caller(key.as_deref(), *now)?;
    if *number == 0 {
        store.change(
            "INSERT INTO attachments (domain_id, id, file_name, content_type, size, created_at)
             VALUES (?1, ?2, '', '', 0, ?3)",
            values![domain, id, now],
        )?;
    }
    let grown = store.change(
        "UPDATE attachments SET size = size + ?3
         WHERE domain_id = ?1 AND id = ?2 AND issue_id IS NULL",
        values![domain, id, bytes.len() as u64],
    )?;
    if grown == 0 {
        return Err(StoreError::AttachmentLost);
    }
    store.change(
        "INSERT INTO attachment_pieces (domain_id, attachment_id, number, bytes)
         VALUES (?1, ?2, ?3, ?4)",
        values![domain, id, number, bytes],
    )?;
    Ok(())
}

/// Attaches staged files to an issue.
pub fn claim(
    store: &impl CommandStore,
    issue_id: u64,
    files: &[Attachment],
) -> Result<(), StoreError> {
    for Attachment { id, file_name, content_type, size } in files {
        let claimed = store.change(
            "UPDATE attachments SET issue_id = ?3, file_name = ?4, content_type = ?5
             WHERE domain_id = ?1 AND id = ?2 AND issue_id IS NULL AND size = ?6",
            values![store.domain(), id, issue_id, file_name, content_type, size],
        )?;
        if claimed == 0 {
            return Err(StoreError::AttachmentLost);
        }
    }
    Ok(())
}

/// Removes these files if they are only staged.
pub fn discard(store: &impl CommandStore, ids: &[String]) -> Result<(), StoreError> {
    for id in ids {
        let file = "DELETE FROM attachments
                    WHERE domain_id = ?1 AND id = ?2 AND issue_id IS NULL";
        if store.change(file, values![store.domain(), id])? > 0 {
            let pieces =
                "DELETE FROM attachment_pieces WHERE domain_id = ?1 AND attachment_id = ?2";
            store.change(pieces, values![store.domain(), id])?;
        }
    }
    Ok(())
}

/// A file of a message.
pub fn get(store: &impl CommandStore, id: &str) -> Result<Option<Attachment>, StoreError> {
    store.find(
        "SELECT id, file_name, content_type, size FROM attachments
         WHERE domain_id = ?1 AND id = ?2 AND issue_id IS NOT NULL",
        values![store.domain(), id],
        |row| {
            let (id, file_name, content_type) = (row.get(0)?, row.get(1)?, row.get(2)?);
            Ok(Attachment { id, file_name, content_type, size: row.get(3)? })
        },
    )
}

/// A piece of a file.
pub fn piece(
    store: &impl CommandStore,
    id: &str,
    number: u32,
) -> Result<Option<Vec<u8>>, StoreError> {
    store.find(
        "SELECT bytes FROM attachment_pieces
         WHERE domain_id = ?1 AND attachment_id = ?2 AND number = ?3",
        values![store.domain(), id, number],
        |row| row.get(0),
    )
}
