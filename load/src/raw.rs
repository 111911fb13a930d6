//! The limits: what the disk and SQLite alone need for the same lines. Both parse and check each
//! line into typed fields, as any import must, and both end durable.

use std::collections::HashMap;
use std::fs::File;
use std::io::Write as _;
use std::time::Instant;

use anyhow::Result;
use rusqlite::Connection;

/// The parts of a line that an import must look at.
#[derive(serde::Deserialize)]
struct Line {
    identities: Vec<HashMap<String, String>>,
    age: u32,
    preferred_language: String,
}

/// Milliseconds for one transaction that inserts every line as a blob, with an index of unique
/// identities, at the server's durability and page size.
pub(crate) fn sqlite(lines: &[u8]) -> Result<f64> {
    let dir = tempfile::tempdir()?;
    let mut db = Connection::open(dir.path().join("raw.db"))?;
    db.execute_batch(
        "PRAGMA page_size=8192; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;
         PRAGMA wal_autocheckpoint=0;
         CREATE TABLE profile (id INTEGER PRIMARY KEY, body BLOB NOT NULL);
         CREATE TABLE identity (kind TEXT, value TEXT, profile INTEGER,
             PRIMARY KEY (kind, value)) WITHOUT ROWID;",
    )?;
    let begun = Instant::now();
    let tx = db.transaction()?;
    {
        let mut profile = tx.prepare("INSERT INTO profile (id, body) VALUES (?1, ?2)")?;
        let mut identity = tx.prepare("INSERT INTO identity VALUES (?1, ?2, ?3)")?;
        for (n, line) in lines.split(|&b| b == b'\n').filter(|l| !l.is_empty()).enumerate() {
            let parsed = checked(line)?;
            profile.execute((n as i64, line))?;
            for map in &parsed.identities {
                for (kind, value) in map.iter().filter(|(kind, _)| *kind != "verified") {
                    identity.execute((kind, value, n as i64))?;
                }
            }
        }
    }
    tx.commit()?;
    Ok(begun.elapsed().as_secs_f64() * 1e3)
}

/// Milliseconds for one sequential write and fsync, with the identities in a map in memory.
pub(crate) fn append_log(lines: &[u8]) -> Result<f64> {
    let dir = tempfile::tempdir()?;
    let mut file = File::create(dir.path().join("log"))?;
    let begun = Instant::now();
    let mut owners = HashMap::new();
    for (n, line) in lines.split(|&b| b == b'\n').filter(|l| !l.is_empty()).enumerate() {
        for map in checked(line)?.identities {
            owners.extend(map.into_iter().map(|identity| (identity, n)));
        }
    }
    file.write_all(lines)?;
    file.sync_data()?;
    Ok(begun.elapsed().as_secs_f64() * 1e3)
}

fn checked(line: &[u8]) -> Result<Line> {
    let line: Line = serde_json::from_slice(line)?;
    anyhow::ensure!(line.age <= 150 && line.preferred_language.len() == 2, "a faulty line");
    Ok(line)
}
