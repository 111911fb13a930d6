//! Files attached to messages, in pieces of one megabyte, so no file is ever whole in memory. A
//! file is staged piece by piece while it arrives. The command that adds its message claims it in
//! the same transaction. Unclaimed files are removed after an hour, by the purge. Invariant: a
//! claimed file has an issue, and pieces from 0 on without a gap that add up to its size.

use caseload_model::issue::write::Attachment;

use crate::checksum::{ATTACHMENT_PIECES, sealed};
use crate::idempotency::CommandStore;
use crate::{ATTACHMENT_PIECE_BYTES, StageAttachment, StoreError, values};

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
    let insert = format!(
        "INSERT INTO attachment_pieces ({}) VALUES (?1, ?2, ?3, ?4, ?5)",
        ATTACHMENT_PIECES.select()
    );
    store.change(&insert, &sealed(values![domain, id, number, bytes]))?;
    store.store_bytes(bytes.len() as i64)
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
                    WHERE domain_id = ?1 AND id = ?2 AND issue_id IS NULL RETURNING size";
        if let Some(size) = store.find(file, values![store.domain(), id], |row| row.get(0))? {
            let size: i64 = size;
            store.store_bytes(-size)?;
            let pieces =
                "DELETE FROM attachment_pieces WHERE domain_id = ?1 AND attachment_id = ?2";
            store.change(pieces, values![store.domain(), id])?;
        }
    }
    Ok(())
}

/// Removes the files of issues that are deleted, except for those that `keeps` selects.
pub fn remove_with_issues(
    store: &impl CommandStore,
    issues: &[i64],
    keeps: impl Fn(&str) -> bool,
) -> Result<(), StoreError> {
    let mut files: Vec<(String, i64)> = store.list(
        "SELECT id, size FROM attachments WHERE domain_id = ?1 AND issue_id = ANY (?2)",
        values![store.domain(), issues],
        |row| Ok((row.get(0)?, row.get(1)?)),
    )?;
    files.retain(|(id, _)| !keeps(id));
    if files.is_empty() {
        return Ok(());
    }
    let ids: Vec<&str> = files.iter().map(|(id, _)| id.as_str()).collect();
    for delete in [
        "DELETE FROM attachment_pieces WHERE domain_id = ?1 AND attachment_id = ANY (?2)",
        "DELETE FROM attachments WHERE domain_id = ?1 AND id = ANY (?2)",
    ] {
        store.change(delete, values![store.domain(), ids])?;
    }
    store.store_bytes(-files.iter().map(|(_, size)| size).sum::<i64>())
}

/// A file of a message.
pub fn get(store: &impl CommandStore, id: &str) -> Result<Option<Attachment>, StoreError> {
    let select = "SELECT file_name, content_type, size FROM attachments
                  WHERE domain_id = ?1 AND id = ?2 AND issue_id IS NOT NULL";
    store.find(select, values![store.domain(), id], |row| {
        let (file_name, content_type) = (row.get(0)?, row.get(1)?);
        Ok(Attachment { id: id.to_owned(), file_name, content_type, size: row.get(2)? })
    })
}

/// The issue of a file.
pub(crate) fn issue_of(store: &impl CommandStore, id: &str) -> Result<Option<u64>, StoreError> {
    let select = "SELECT issue_id FROM attachments
                  WHERE domain_id = ?1 AND id = ?2 AND issue_id IS NOT NULL";
    store.find(select, values![store.domain(), id], |row| row.get(0))
}

/// A piece of a file; `None` if the file has no such piece, or was deleted. A piece that is missing
/// from a file that is there is damage.
pub fn piece(
    store: &impl CommandStore,
    id: &str,
    number: u32,
) -> Result<Option<Vec<u8>>, StoreError> {
    let select = format!(
        "SELECT {} FROM attachment_pieces
         WHERE domain_id = ?1 AND attachment_id = ?2 AND number = ?3",
        ATTACHMENT_PIECES.select()
    );
    let piece = store.find(&select, values![store.domain(), id, number], |row| {
        ATTACHMENT_PIECES.require(row)?;
        row.get(3)
    })?;
    let before = u64::from(number) * ATTACHMENT_PIECE_BYTES as u64;
    if piece.is_none() && get(store, id)?.is_some_and(|file| file.size > before) {
        return Err(StoreError::Corrupt(format!("attachment {id} has a gap at piece {number}")));
    }
    Ok(piece)
}
