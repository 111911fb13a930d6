//! The limits of imports: the time that PostgreSQL alone needs for the same rows. It reads back the
//! rows of a served import and inserts them again into the same tables and indexes, under a domain
//! that no server knows, in one durable transaction. The rows are ready before the clock starts;
//! there is no task, payload or record, and no lookup.

use std::time::Instant;

use anyhow::{Result, ensure};
use tokio_postgres::Client;

use super::database::{Rows, connect};

/// A domain that no server knows.
const UNKNOWN_DOMAIN: i64 = -1;
/// The first half of the key of the compaction lock.
const COMPACTION_LOCK: i32 = 0x6361_7365;
/// The tables of counters and sets, as an import leaves them.
const INDEX_TABLES: [&str; 3] = ["issue_count_deltas", "issue_set_deltas", "issue_values"];

/// The profiles of a domain, one batch after the other.
pub(super) struct RawProfiles {
    client: Client,
    domain: i64,
    last: i64,
}

impl RawProfiles {
    pub(super) async fn new(url: &str, domain: i64) -> Result<Self> {
        Ok(Self { client: connect(url).await?, domain, last: 0 })
    }

    /// Milliseconds for the rows that the domain has gained since the last call: identities by one
    /// statement in the order of their index, profiles by copy.
    pub(super) async fn add_again(&mut self) -> Result<f64> {
        let (client, domain, last) = (&self.client, self.domain, self.last);
        let newer = format!("id > {last}");
        let profiles =
            Rows::read(client, "core_profiles", (domain, UNKNOWN_DOMAIN), &newer).await?;
        let identities = client
            .query(
                "SELECT key, core_profile_id FROM identities
                 WHERE domain_id = $1 AND core_profile_id > $2 ORDER BY key",
                &[&domain, &last],
            )
            .await?;
        let keys: Vec<&[u8]> = identities.iter().map(|row| row.get(0)).collect();
        let owners: Vec<i64> = identities.iter().map(|row| row.get(1)).collect();
        let insert = client
            .prepare(
                "INSERT INTO identities (domain_id, key, core_profile_id)
                 SELECT $1, i.key, i.id FROM unnest($2::bytea[], $3::bigint[]) AS i (key, id)
                 ON CONFLICT DO NOTHING RETURNING core_profile_id",
            )
            .await?;
        let begun = Instant::now();
        client.batch_execute("BEGIN").await?;
        let inserted = client.query(&insert, &[&UNKNOWN_DOMAIN, &keys, &owners]).await?.len();
        profiles.write(client).await?;
        client.batch_execute("COMMIT").await?;
        let took = millis(begun);
        ensure!(inserted == keys.len() && inserted > 0, "the rows were there before");
        self.last = owners.into_iter().max().unwrap_or(last);
        Ok(took)
    }
}

/// The issues of a domain, one batch after the other.
pub(super) struct RawIssues {
    client: Client,
    domain: i64,
    last_row: i64,
    last_change: i64,
    /// The counters and sets that an import of the same size adds.
    index_rows: Vec<Rows>,
}

impl RawIssues {
    pub(super) async fn new(url: &str, domain: i64, index_rows: Vec<Rows>) -> Result<Self> {
        Ok(Self { client: connect(url).await?, domain, last_row: 0, last_change: 0, index_rows })
    }

    /// Milliseconds for the rows that the domain has gained since the last call, all by copy:
    /// issues, fragments and authors alone, and with counters and sets.
    pub(super) async fn add_again(&mut self) -> Result<(f64, f64)> {
        let (client, domains) = (&self.client, (self.domain, UNKNOWN_DOMAIN));
        let newer = format!("row > {}", self.last_row);
        let changed = format!("created_at > {}", self.last_change);
        let rows = [
            Rows::read(client, "issues", domains, &newer).await?,
            Rows::read(client, "issue_bodies", domains, &newer).await?,
            Rows::read(client, "app_profiles", domains, &changed).await?,
        ];
        let begun = Instant::now();
        client.batch_execute("BEGIN").await?;
        for rows in &rows {
            rows.write(client).await?;
        }
        let before_them = millis(begun);
        for rows in &self.index_rows {
            rows.write(client).await?;
        }
        let index_rows = millis(begun) - before_them;
        client.batch_execute("COMMIT").await?;
        let with = millis(begun);
        let last = client
            .query_one(
                "SELECT (SELECT max(row) FROM issues WHERE domain_id = $1),
                 (SELECT max(created_at) FROM app_profiles WHERE domain_id = $1)",
                &[&self.domain],
            )
            .await?;
        (self.last_row, self.last_change) = (last.get(0), last.get(1));
        // The next round inserts the same rows.
        for table in INDEX_TABLES {
            client.execute(&format!("DELETE FROM {table} WHERE domain_id = -1"), &[]).await?;
        }
        Ok((with - index_rows, with))
    }
}

/// The counters and sets of an import into `domain`, which is empty. A lock prevents their
/// compaction during the import.
pub(super) async fn index_rows(
    client: &Client,
    domain: i64,
    import: impl Future<Output = Result<()>>,
) -> Result<Vec<Rows>> {
    client.query("SELECT pg_advisory_lock($1, $2)", &[&COMPACTION_LOCK, &(domain as i32)]).await?;
    import.await?;
    let mut index_rows = Vec::new();
    for table in INDEX_TABLES {
        index_rows.push(Rows::read(client, table, (domain, UNKNOWN_DOMAIN), "true").await?);
    }
    ensure!(index_rows.iter().all(|rows| rows.bytes() > 1000), "no deltas were left");
    client
        .query("SELECT pg_advisory_unlock($1, $2)", &[&COMPACTION_LOCK, &(domain as i32)])
        .await?;
    Ok(index_rows)
}

fn millis(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1e3
}
