//! The limits of imports: what PostgreSQL alone needs for the very rows that a served import
//! left, read back and added again to the same tables and indexes under a domain that no server
//! knows, in one transaction with one durable commit. Rows are ready before the clock starts; no
//! task, payload or record is kept, and nothing is looked up.

use std::time::Instant;

use anyhow::{Result, ensure};
use tokio_postgres::Client;

use super::database::{Rows, connect};

/// A domain that no server knows.
const NOBODYS: i64 = -1;
/// The first half of the name of the lock under which a server folds deltas.
const FOLD_LOCK: i32 = 0x6361_7365;
/// What issues are found by, as an import leaves it.
const FOUND_BY: [&str; 3] = ["issue_count_deltas", "issue_set_deltas", "issue_values"];

/// The profiles of a domain, batch after batch.
pub(super) struct RawProfiles {
    client: Client,
    domain: i64,
    last: i64,
}

impl RawProfiles {
    pub(super) async fn new(url: &str, domain: i64) -> Result<Self> {
        Ok(Self { client: connect(url).await?, domain, last: 0 })
    }

    /// Milliseconds for what the domain has more than at the last call: identities in the order of
    /// their index by one statement, profiles by copy.
    pub(super) async fn add_again(&mut self) -> Result<f64> {
        let (client, domain, last) = (&self.client, self.domain, self.last);
        let newer = format!("id > {last}");
        let profiles = Rows::read(client, "core_profiles", (domain, NOBODYS), &newer).await?;
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
        let inserted = client.query(&insert, &[&NOBODYS, &keys, &owners]).await?.len();
        profiles.write(client).await?;
        client.batch_execute("COMMIT").await?;
        let took = millis(begun);
        ensure!(inserted == keys.len() && inserted > 0, "the rows were there before");
        self.last = owners.into_iter().max().unwrap_or(last);
        Ok(took)
    }
}

/// The issues of a domain, batch after batch.
pub(super) struct RawIssues {
    client: Client,
    domain: i64,
    last_row: i64,
    last_change: i64,
    /// What an import of the same size adds for its issues to be found by.
    found_by: Vec<Rows>,
}

impl RawIssues {
    pub(super) async fn new(url: &str, domain: i64, found_by: Vec<Rows>) -> Result<Self> {
        Ok(Self { client: connect(url).await?, domain, last_row: 0, last_change: 0, found_by })
    }

    /// Milliseconds for what the domain has more than at the last call: issues, their fragments,
    /// their authors and what they are found by, by copy; without the last, and with it.
    pub(super) async fn add_again(&mut self) -> Result<(f64, f64)> {
        let (client, domains) = (&self.client, (self.domain, NOBODYS));
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
        for rows in &self.found_by {
            rows.write(client).await?;
        }
        let found_by = millis(begun) - before_them;
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
        // The same rows come again.
        for table in FOUND_BY {
            client.execute(&format!("DELETE FROM {table} WHERE domain_id = -1"), &[]).await?;
        }
        Ok((with - found_by, with))
    }
}

/// What the issues of an import into `domain`, which has none yet, are found by: no server may fold
/// the deltas meanwhile.
pub(super) async fn found_by(
    client: &Client,
    domain: i64,
    import: impl Future<Output = Result<()>>,
) -> Result<Vec<Rows>> {
    client.query("SELECT pg_advisory_lock($1, $2)", &[&FOLD_LOCK, &(domain as i32)]).await?;
    import.await?;
    let mut found_by = Vec::new();
    for table in FOUND_BY {
        found_by.push(Rows::read(client, table, (domain, NOBODYS), "true").await?);
    }
    ensure!(found_by.iter().all(|rows| rows.bytes() > 1000), "no deltas were left");
    client.query("SELECT pg_advisory_unlock($1, $2)", &[&FOLD_LOCK, &(domain as i32)]).await?;
    Ok(found_by)
}

fn millis(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1e3
}
