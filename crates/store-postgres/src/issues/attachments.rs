//! Files attached to messages, in pieces of one megabyte, so no file is ever whole in memory. A
//! file is staged piece by piece while it arrives. The command that adds its message claims it in
//! the same transaction. Unclaimed files are removed after an hour. Invariant: a claimed file has
//! an issue, and pieces from 0 on without a gap that add up to its size.

use caseload_model::ids::DomainId;
use caseload_model::issue::write::Attachment;
use caseload_model::time::UnixMillis;

use super::super::domains;
use super::super::engine::Client;
use super::super::rows::text;
use caseload_store::{StageAttachment, StoreError};

/// How long a staged file waits for its message, in milliseconds.
const STAGED_MS_MAX: i64 = 3_600_000;
/// Files that one step of a purge removes: about 100 MiB at most.
const PURGED_FILES: i64 = 4;

pub(super) async fn stage(client: &Client, command: &StageAttachment) -> Result<(), StoreError> {
    let StageAttachment { domain, id, number, bytes, now } = command;
    domains::demand(client, *domain).await?;
    if *number == 0 {
        client
            .execute(
                "INSERT INTO attachments
                 (domain_id, id, file_name, content_type, size, created_at)
                 VALUES ($1, $2, '', '', 0, $3)",
                &[&domain.0, &id.as_bytes(), &now.0],
            )
            .await?;
    }
    let grown = client
        .execute(
            "UPDATE attachments SET size = size + $3
             WHERE domain_id = $1 AND id = $2 AND issue_id IS NULL",
            &[&domain.0, &id.as_bytes(), &(bytes.len() as i64)],
        )
        .await?;
    if grown == 0 {
        return Err(StoreError::AttachmentLost);
    }
    client
        .execute(
            "INSERT INTO attachment_pieces (domain_id, attachment_id, number, bytes)
             VALUES ($1, $2, $3, $4)",
            &[&domain.0, &id.as_bytes(), &(*number as i32), bytes],
        )
        .await?;
    Ok(())
}

/// Attaches staged files to an issue.
pub(super) async fn claim(
    client: &Client,
    domain: DomainId,
    issue_id: u64,
    files: &[Attachment],
) -> Result<(), StoreError> {
    for file in files {
        let claimed = client
            .execute(
                "UPDATE attachments SET issue_id = $3, file_name = $4, content_type = $5
                 WHERE domain_id = $1 AND id = $2 AND issue_id IS NULL AND size = $6",
                &[
                    &domain.0,
                    &file.id.as_bytes(),
                    &(issue_id as i64),
                    &file.file_name.as_bytes(),
                    &file.content_type.as_bytes(),
                    &(file.size as i64),
                ],
            )
            .await?;
        if claimed == 0 {
            return Err(StoreError::AttachmentLost);
        }
    }
    Ok(())
}

/// Removes these files if they are only staged.
pub(super) async fn discard(
    client: &Client,
    domain: DomainId,
    ids: &[String],
) -> Result<(), StoreError> {
    for id in ids {
        let gone = client
            .execute(
                "DELETE FROM attachments
                 WHERE domain_id = $1 AND id = $2 AND issue_id IS NULL",
                &[&domain.0, &id.as_bytes()],
            )
            .await?;
        if gone > 0 {
            client
                .execute(
                    "DELETE FROM attachment_pieces WHERE domain_id = $1 AND attachment_id = $2",
                    &[&domain.0, &id.as_bytes()],
                )
                .await?;
        }
    }
    Ok(())
}

/// Removes some of a domain's unclaimed staged files. Returns whether there were any.
pub(super) async fn purge(
    client: &Client,
    domain: DomainId,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let stale = client
        .rows(
            "SELECT id FROM attachments WHERE domain_id = $1 AND issue_id IS NULL
             AND created_at <= $2 LIMIT $3 FOR UPDATE SKIP LOCKED",
            &[&domain.0, &(now.0 - STAGED_MS_MAX), &PURGED_FILES],
        )
        .await?;
    let ids = stale.iter().map(|row| text(row, 0)).collect::<Result<Vec<_>, _>>()?;
    discard(client, domain, &ids).await?;
    Ok(!ids.is_empty())
}

/// A file of a message.
pub(super) async fn get(
    client: &Client,
    domain: DomainId,
    id: &str,
) -> Result<Option<Attachment>, StoreError> {
    let found = client
        .row_opt(
            "SELECT id, file_name, content_type, size FROM attachments
             WHERE domain_id = $1 AND id = $2 AND issue_id IS NOT NULL",
            &[&domain.0, &id.as_bytes()],
        )
        .await?;
    let Some(row) = found else { return Ok(None) };
    Ok(Some(Attachment {
        id: text(&row, 0)?,
        file_name: text(&row, 1)?,
        content_type: text(&row, 2)?,
        size: row.get::<_, i64>(3).unsigned_abs(),
    }))
}

/// A piece of a file.
pub(super) async fn piece(
    client: &Client,
    domain: DomainId,
    id: &str,
    number: u32,
) -> Result<Option<Vec<u8>>, StoreError> {
    let found = client
        .row_opt(
            "SELECT bytes FROM attachment_pieces
             WHERE domain_id = $1 AND attachment_id = $2 AND number = $3",
            &[&domain.0, &id.as_bytes(), &(number as i32)],
        )
        .await?;
    Ok(found.map(|row| row.get(0)))
}
