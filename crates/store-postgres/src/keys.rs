//! API keys, stored under the hash of their text. Revoked and expired keys stay listed; the caller
//! decides with `KeyGrant::works_at` whether a key still works. A key is looked up before its
//! domain is known, so that a distributed database has this small table on every node.

use caseload_model::ids::DomainId;
use caseload_model::key::Access;
use caseload_model::time::UnixMillis;
use tokio_postgres::Row;

use super::engine::Client;
use super::{domains, rows};
use caseload_store::admin::already_exists;
use caseload_store::{CreateKey, Key, KeyGrant, StoreError};

const COLUMNS: &str =
    "k.id, k.name, k.write_access, k.created_at, k.last_used_at, k.expires_at, k.revoked_at";
/// The number of columns in [`COLUMNS`], and thus the index of the next selected column.
const COLUMNS_COUNT: usize = 7;

pub(super) async fn create(client: &Client, command: &CreateKey) -> Result<(), StoreError> {
    domains::demand(client, command.domain).await?;
    let added = client
        .execute(
            "INSERT INTO keys (domain_id, id, hash, name, write_access, created_at, expires_at)
             VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT DO NOTHING",
            &[
                &command.domain.0,
                &command.id.as_bytes(),
                &command.hash.as_slice(),
                &command.name.as_bytes(),
                &(command.access == Access::Write),
                &command.now.0,
                &command.expires_at.map(|at| at.0),
            ],
        )
        .await?;
    if added == 0 {
        return Err(already_exists("key", &command.id));
    }
    Ok(())
}

pub(super) async fn of_domain(client: &Client, domain: DomainId) -> Result<Vec<Key>, StoreError> {
    let select =
        format!("SELECT {COLUMNS} FROM keys k WHERE k.domain_id = $1 ORDER BY created_at, id");
    client.rows(&select, &[&domain.0]).await?.iter().map(key).collect()
}

/// Returns false if the domain has no such key. A second revocation does not change the time.
pub(super) async fn revoke(
    client: &Client,
    domain: DomainId,
    id: &str,
    at: UnixMillis,
) -> Result<bool, StoreError> {
    let changed = client.execute(
        "UPDATE keys SET revoked_at = coalesce(revoked_at, $3) WHERE domain_id = $1 AND id = $2",
        &[&domain.0, &id.as_bytes(), &at.0],
    ).await?;
    Ok(changed > 0)
}

pub(super) async fn by_hash(
    client: &Client,
    hash: &[u8; 32],
) -> Result<Option<KeyGrant>, StoreError> {
    let select = format!(
        "SELECT {COLUMNS}, d.id, d.name FROM keys k JOIN domains d ON d.id = k.domain_id
         WHERE k.hash = $1"
    );
    let Some(row) = client.row_opt(&select, &[&hash.as_slice()]).await? else { return Ok(None) };
    Ok(Some(KeyGrant {
        domain: DomainId(row.get(COLUMNS_COUNT)),
        domain_name: rows::domain_name(&row, COLUMNS_COUNT + 1)?,
        key: key(&row)?,
    }))
}

pub(super) async fn touch(
    client: &Client,
    domain: DomainId,
    id: &str,
    at: UnixMillis,
) -> Result<(), StoreError> {
    client
        .execute(
            "UPDATE keys SET last_used_at = greatest(coalesce(last_used_at, $3), $3)
             WHERE domain_id = $1 AND id = $2",
            &[&domain.0, &id.as_bytes(), &at.0],
        )
        .await?;
    Ok(())
}

fn key(row: &Row) -> Result<Key, StoreError> {
    Ok(Key {
        id: rows::text(row, 0)?,
        name: rows::text(row, 1)?,
        access: if row.get(2) { Access::Write } else { Access::Read },
        created_at: rows::instant(row, 3),
        last_used_at: rows::optional_instant(row, 4),
        expires_at: rows::optional_instant(row, 5),
        revoked_at: rows::optional_instant(row, 6),
    })
}
