//! Removing what has expired, in small steps, domain by domain: some blocks of a completed task or
//! of an upload that nobody goes on with, or some idempotency keys. The rows of tasks stay. Blocks
//! go some time after their task's `expires_at`, so that a download that began before it is not cut
//! short. Servers pass over what another one removes.

use caseload_model::ids::DomainId;
use caseload_model::time::UnixMillis;

use super::super::engine::Client;
use super::super::idempotency;
use super::stage;
use caseload_store::StoreError;

/// Milliseconds that a download may go on after its records have expired.
const GRACE_MS: i64 = 3_600_000;
/// Blocks that one step removes of payload and of records.
const STEP_BLOCKS: i64 = 1;
/// Idempotency keys that one step removes.
const STEP_KEYS: i64 = 200;

/// One step; false where nothing was left to do.
pub(crate) async fn purge(client: &Client, now: UnixMillis) -> Result<bool, StoreError> {
    for row in client.rows("SELECT id FROM domains ORDER BY id", &[]).await? {
        let domain = DomainId(row.get(0));
        let removed = purge_task(client, domain, now).await?
            || stage::purge(client, domain, now).await?
            || idempotency::purge(client, domain, now, STEP_KEYS).await? > 0;
        if removed {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Some blocks of an expired task, or with none left the note that it has none.
async fn purge_task(
    client: &Client,
    domain: DomainId,
    now: UnixMillis,
) -> Result<bool, StoreError> {
    let expired = client
        .row_opt(
            "SELECT id FROM tasks WHERE domain_id = $1 AND status = 4 AND purge < 2
             AND expires_at <= $2 ORDER BY expires_at LIMIT 1 FOR UPDATE SKIP LOCKED",
            &[&domain.0, &now.0.saturating_sub(GRACE_MS)],
        )
        .await?;
    let Some(row) = expired else { return Ok(false) };
    let id: &[u8] = row.get(0);
    let records = client
        .execute(
            "DELETE FROM record_blocks WHERE domain_id = $1 AND task_id = $2
             AND (kind, first_index) IN (SELECT kind, first_index FROM record_blocks
             WHERE domain_id = $1 AND task_id = $2 LIMIT $3)",
            &[&domain.0, &id, &STEP_BLOCKS],
        )
        .await?;
    let payload = client
        .execute(
            "DELETE FROM payload_blocks WHERE domain_id = $1 AND task_id = $2
             AND last_index IN (SELECT last_index FROM payload_blocks
             WHERE domain_id = $1 AND task_id = $2 LIMIT $3)",
            &[&domain.0, &id, &STEP_BLOCKS],
        )
        .await?;
    let state: i16 = if records + payload > 0 { 1 } else { 2 };
    let note = "UPDATE tasks SET purge = $3 WHERE domain_id = $1 AND id = $2";
    client.execute(note, &[&domain.0, &id, &state]).await?;
    Ok(true)
}
