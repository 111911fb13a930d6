//! The limits: the disk and SQLite alone with the same entries. Creations parse and check each line
//! into typed fields, as any import must; updates merge into the stored document; gets copy stored
//! documents. Each runs in one thread, in one transaction per 10,000 entries, with the durability
//! and page size of the server. None of them stores a payload, a task, or the results and errors of
//! creations and updates. A database with indexes also has an entry for each value and time by
//! which the server finds a profile; only creations and upserts have them.

use std::collections::{BTreeSet, HashMap};
use std::fs::File;
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use anyhow::{Context as _, Result, ensure};
use rusqlite::{Connection, OptionalExtension as _};
use serde_json::Value;
use tempfile::TempDir;

const INSERT: &str = "INSERT INTO profile (id, body, created, updated) VALUES (?1, ?2, ?3, ?3)";
/// Names the time, which only a database with indexes stores.
const UPDATE: &str = "UPDATE profile SET body = ?2 WHERE id = ?1 AND ?3 > 0";
const UPDATE_INDEXED: &str = "UPDATE profile SET body = ?2, updated = ?3 WHERE id = ?1";

/// The members of a line that an import must read.
#[derive(serde::Deserialize)]
struct Line {
    identities: Vec<HashMap<String, String>>,
    age: u32,
    preferred_language: String,
}

#[derive(serde::Deserialize)]
struct Named<'a> {
    #[serde(rename = "core-profile-id")]
    id: &'a str,
}

/// A database with documents and an index of unique identities.
pub(crate) struct Raw {
    dir: TempDir,
    db: Connection,
    next_id: i64,
    /// Whether values and times have entries.
    indexed: bool,
    /// The time of the next transaction.
    time: i64,
}

impl Raw {
    pub(crate) fn new() -> Result<Self> {
        let dir = tempfile::tempdir()?;
        let db = Connection::open(dir.path().join("raw.db"))?;
        db.execute_batch(
            "PRAGMA page_size=8192; PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL;
             PRAGMA wal_autocheckpoint=0; PRAGMA cache_size=-65536;
             CREATE TABLE profile (id INTEGER PRIMARY KEY, body BLOB NOT NULL, created INTEGER,
                 updated INTEGER);
             CREATE TABLE found_by (kind TEXT, value TEXT, profile INTEGER,
                 PRIMARY KEY (kind, value, profile)) WITHOUT ROWID;
             CREATE TABLE identity (kind TEXT, value TEXT, profile INTEGER,
                 PRIMARY KEY (kind, value)) WITHOUT ROWID;
             CREATE TABLE result (id INTEGER PRIMARY KEY, body BLOB NOT NULL);",
        )?;
        Ok(Self { dir, db, next_id: 0, indexed: false, time: 1 })
    }

    /// The same with entries for values and times.
    pub(crate) fn indexed() -> Result<Self> {
        let raw = Self::new()?;
        raw.db.execute_batch(
            "CREATE INDEX by_creation ON profile (created, id);
             CREATE INDEX by_update ON profile (updated, id);",
        )?;
        Ok(Self { indexed: true, ..raw })
    }

    /// The number of profiles; their ids are the numbers below it.
    pub(crate) const fn profiles(&self) -> u64 {
        self.next_id.unsigned_abs()
    }

    /// Milliseconds for one transaction that inserts every line.
    pub(crate) fn create(&mut self, lines: &[u8]) -> Result<f64> {
        let begun = Instant::now();
        let tx = self.db.transaction()?;
        {
            let mut profile = tx.prepare_cached(INSERT)?;
            let mut identity = tx.prepare_cached("INSERT INTO identity VALUES (?1, ?2, ?3)")?;
            for line in entries(lines) {
                let parsed = checked(line)?;
                profile.execute((self.next_id, line, self.time))?;
                if self.indexed {
                    let document = serde_json::from_slice(line)?;
                    index(&tx, self.next_id, &Value::Null, &document)?;
                }
                for map in &parsed.identities {
                    for (kind, value) in map.iter().filter(|(kind, _)| *kind != "verified") {
                        identity.execute((kind, value, self.next_id))?;
                    }
                }
                self.next_id += 1;
            }
        }
        tx.commit()?;
        self.time += 1;
        self.settled(begun)
    }

    /// Milliseconds for one transaction that merges every line into the document that it names.
    pub(crate) fn update(&mut self, lines: &[u8]) -> Result<f64> {
        let begun = Instant::now();
        let tx = self.db.transaction()?;
        {
            let mut select = tx.prepare_cached("SELECT body FROM profile WHERE id = ?1")?;
            let mut update = tx.prepare_cached(UPDATE)?;
            for line in entries(lines) {
                let mut patch: serde_json::Map<String, Value> = serde_json::from_slice(line)?;
                let id = patch.shift_remove("core-profile-id").context("an update without id")?;
                let id: i64 = id.as_str().context("an id that is not text")?.parse()?;
                let body: Vec<u8> = select.query_row([id], |row| row.get(0))?;
                let mut document: Value = serde_json::from_slice(&body)?;
                merge(&mut document, Value::Object(patch));
                update.execute((id, serde_json::to_vec(&document)?, self.time))?;
            }
        }
        tx.commit()?;
        self.settled(begun)
    }

    /// Milliseconds for one transaction that merges every line into the document that has one of
    /// its identities, or inserts it. The lines of one person have the same identities.
    pub(crate) fn upsert(&mut self, lines: &[u8]) -> Result<f64> {
        let begun = Instant::now();
        let tx = self.db.transaction()?;
        {
            let mut find =
                tx.prepare_cached("SELECT profile FROM identity WHERE kind = ?1 AND value = ?2")?;
            let mut select = tx.prepare_cached("SELECT body FROM profile WHERE id = ?1")?;
            let update = if self.indexed { UPDATE_INDEXED } else { UPDATE };
            let mut update = tx.prepare_cached(update)?;
            let mut profile = tx.prepare_cached(INSERT)?;
            let mut identity = tx.prepare_cached("INSERT INTO identity VALUES (?1, ?2, ?3)")?;
            for line in entries(lines) {
                let parsed = checked(line)?;
                let maps = parsed.identities.iter().flatten();
                let named: Vec<_> = maps.filter(|(kind, _)| *kind != "verified").collect();
                let mut owners = Vec::new();
                for (kind, value) in &named {
                    let owner: Option<i64> =
                        find.query_row((kind, value), |row| row.get(0)).optional()?;
                    owners.extend(owner);
                }
                if let Some(owner) = owners.first() {
                    let body: Vec<u8> = select.query_row([owner], |row| row.get(0))?;
                    let before: Value = serde_json::from_slice(&body)?;
                    let mut document = before.clone();
                    merge(&mut document, serde_json::from_slice(line)?);
                    update.execute((owner, serde_json::to_vec(&document)?, self.time))?;
                    if self.indexed {
                        index(&tx, *owner, &before, &document)?;
                    }
                    continue;
                }
                profile.execute((self.next_id, line, self.time))?;
                if self.indexed {
                    let document = serde_json::from_slice(line)?;
                    index(&tx, self.next_id, &Value::Null, &document)?;
                }
                for (kind, value) in named {
                    identity.execute((kind, value, self.next_id))?;
                }
                self.next_id += 1;
            }
        }
        tx.commit()?;
        self.time += 1;
        self.settled(begun)
    }

    /// Milliseconds for one transaction that stores the named documents as blocks of lines,
    /// compressed as the server does it, or plain.
    pub(crate) fn get(&mut self, lines: &[u8], packed: bool) -> Result<f64> {
        /// Bytes of one block.
        const BLOCK: usize = 1 << 20;
        let begun = Instant::now();
        let tx = self.db.transaction()?;
        {
            let mut select = tx.prepare_cached("SELECT body FROM profile WHERE id = ?1")?;
            let mut keep = tx.prepare_cached("INSERT INTO result (body) VALUES (?1)")?;
            let mut open = Vec::with_capacity(BLOCK + (BLOCK >> 4));
            for line in entries(lines) {
                let named: Named<'_> = serde_json::from_slice(line)?;
                let id: i64 = named.id.parse()?;
                select.query_row([id], |row| {
                    open.extend_from_slice(row.get_ref(0)?.as_blob()?);
                    open.push(b'\n');
                    Ok(())
                })?;
                if open.len() >= BLOCK {
                    keep.execute([block(&open, packed)?])?;
                    open.clear();
                }
            }
            keep.execute([block(&open, packed)?])?;
        }
        tx.commit()?;
        self.settled(begun)
    }

    /// Milliseconds since `begun`. Then runs a checkpoint, which is not timed: the log would grow
    /// without bound.
    fn settled(&self, begun: Instant) -> Result<f64> {
        let took = millis(begun);
        self.db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
        Ok(took)
    }

    /// The size of the database after a checkpoint.
    pub(crate) fn bytes(&self) -> Result<u64> {
        settled_bytes(&self.dir.path().join("raw.db"))
    }
}

/// Writes the entries by which a changed document is found.
fn index(tx: &Connection, id: i64, before: &Value, after: &Value) -> Result<()> {
    let [before, after] = [before, after].map(found_by);
    let mut remove =
        tx.prepare_cached("DELETE FROM found_by WHERE kind = ?1 AND value = ?2 AND profile = ?3")?;
    for (kind, value) in before.difference(&after) {
        remove.execute((kind, value, id))?;
    }
    let mut insert = tx.prepare_cached("INSERT INTO found_by VALUES (?1, ?2, ?3)")?;
    for (kind, value) in after.difference(&before) {
        insert.execute((kind, value, id))?;
    }
    Ok(())
}

/// The values by which a document is found.
fn found_by(document: &Value) -> BTreeSet<(&'static str, &str)> {
    let mut found = BTreeSet::new();
    for tag in document["tags"].as_array().into_iter().flatten() {
        found.insert(("tagged", ""));
        found.extend(tag.as_str().map(|tag| ("tag", tag)));
    }
    for kind in [
        "last_country",
        "preferred_language",
        "user_vip_segment",
        "user_persona",
        "user_support_status",
    ] {
        found.extend(document[kind].as_str().map(|value| (kind, value)));
    }
    found
}

fn block(lines: &[u8], packed: bool) -> Result<Vec<u8>> {
    if packed { Ok(zstd::bulk::compress(lines, 1)?) } else { Ok(lines.to_vec()) }
}

/// Applies a merge patch (RFC 7396).
fn merge(target: &mut Value, patch: Value) {
    let Value::Object(changes) = patch else {
        *target = patch;
        return;
    };
    if !target.is_object() {
        *target = Value::Object(serde_json::Map::new());
    }
    let Value::Object(members) = target else { return };
    for (key, change) in changes {
        if change.is_null() {
            members.shift_remove(&key);
        } else {
            merge(members.entry(key).or_insert(Value::Null), change);
        }
    }
}

/// Milliseconds for one sequential write and fsync, with the identities in a map in memory.
pub(crate) fn append_log(lines: &[u8]) -> Result<f64> {
    let dir = tempfile::tempdir()?;
    let mut file = File::create(dir.path().join("log"))?;
    let begun = Instant::now();
    let mut owners = HashMap::new();
    for (n, line) in entries(lines).enumerate() {
        for map in checked(line)?.identities {
            owners.extend(map.into_iter().map(|identity| (identity, n)));
        }
    }
    file.write_all(lines)?;
    file.sync_data()?;
    Ok(millis(begun))
}

/// Milliseconds to parse and check every line and for one fsync of a page: the minimum for the
/// durable acceptance of checked lines.
pub(crate) fn parse_and_sync(lines: &[u8]) -> Result<f64> {
    let dir = tempfile::tempdir()?;
    let mut file = File::create(dir.path().join("page"))?;
    let begun = Instant::now();
    for line in entries(lines) {
        checked(line)?;
    }
    file.write_all(&[1; 4096])?;
    file.sync_data()?;
    Ok(millis(begun))
}

/// Milliseconds to parse and check every line.
pub(crate) fn parse(lines: &[u8]) -> Result<f64> {
    let begun = Instant::now();
    for line in entries(lines) {
        checked(line)?;
    }
    Ok(millis(begun))
}

/// The size of a database file after a checkpoint.
pub(crate) fn settled_bytes(path: &Path) -> Result<u64> {
    let db = Connection::open(path)?;
    db.query_row("PRAGMA wal_checkpoint(TRUNCATE)", [], |_| Ok(()))?;
    Ok(std::fs::metadata(path)?.len())
}

fn checked(line: &[u8]) -> Result<Line> {
    let line: Line = serde_json::from_slice(line)?;
    ensure!(line.age <= 150 && line.preferred_language.len() == 2, "a faulty line");
    Ok(line)
}

fn entries(lines: &[u8]) -> impl Iterator<Item = &[u8]> {
    lines.split(|&byte| byte == b'\n').filter(|line| !line.is_empty())
}

fn millis(begun: Instant) -> f64 {
    begun.elapsed().as_secs_f64() * 1e3
}
