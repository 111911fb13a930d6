//! Imports of 10,000 issues against raw insertion of the same rows, into stores that have the
//! issues of the rounds before. The server is timed from the first byte of the request to
//! `completed`. The limit is bare SQLite statements for the same rows and indexes in one
//! transaction, each line parsed once: with counters and sets and, as a stricter limit, without
//! them.

use std::path::Path;
use std::time::Instant;

use anyhow::Result;
use caseload_client::Client;
use caseload_model::task::Action;
use rusqlite::{Connection, Statement};

use super::data;
use super::index::{IndexEntries, IndexWrites};
use crate::bulk::jobs::run;
use crate::figures::median;
use bench::server::Store;

/// Issues of one task.
const ENTRIES: usize = 10_000;
/// The number of issues that the generator spreads over its time span.
pub(crate) const OF: usize = 200_000;

/// Measures in turns; each round adds to the stores of the round before, on both sides.
#[expect(clippy::print_stdout, reason = "the table is the program's output")]
pub(crate) async fn import(rounds: usize) -> Result<()> {
    let store = Store::new()?;
    let key = store.domain("bench")?;
    let server = store.serve()?;
    let client = Client::new(&server.url, "bench", &key)?;
    let folder = tempfile::tempdir()?;
    let mut raw = open(&folder.path().join("raw.db"))?;
    let mut bare = open(&folder.path().join("bare.db"))?;
    println!("round  accepted ms  completed ms  raw ms  ratio  without counters and sets  ratio");
    let (mut ours, mut raws, mut bares) = (Vec::new(), Vec::new(), Vec::new());
    for round in 0..rounds {
        let mut lines = String::new();
        (round * ENTRIES..(round + 1) * ENTRIES).for_each(|n| data::line(n, OF, &mut lines));
        let (served, _) = run(&client, Action::ImportIssues, lines.clone().into_bytes()).await?;
        let (accepted, served) = (served.accepted, served.completed);
        let whole = insert(&mut raw, &lines, true)?;
        let part = insert(&mut bare, &lines, false)?;
        println!(
            "{round:>5}  {accepted:>11.1}  {served:>12.1}  {whole:>6.1}  {:>5.2}  {part:>25.1}  \
             {:>5.2}",
            whole / served,
            part / served
        );
        ours.push(served);
        raws.push(whole);
        bares.push(part);
    }
    let (ours, raws, bares) = (median(ours), median(raws), median(bares));
    println!(
        "median {ours:>25.1}  {raws:>6.1}  {:>5.2}  {bares:>25.1}  {:>5.2}",
        raws / ours,
        bares / ours
    );
    server.kill()
}

/// Opens a database with the tables and indexes of issues and app profiles, with the settings of
/// the server.
fn open(path: &Path) -> Result<Connection> {
    let db = Connection::open(path)?;
    db.execute_batch(
        "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
         PRAGMA wal_autocheckpoint = 10000; PRAGMA cache_size = -65536;",
    )?;
    db.execute_batch(include_str!("../../../crates/store-sqlite/migrations/V1__schema.sql"))?;
    Ok(db)
}

/// Milliseconds for the rows of `lines`: issues, fragments, sparse terms, authors and, if
/// `indexed`, counters and sets.
fn insert(db: &mut Connection, lines: &str, indexed: bool) -> Result<f64> {
    let begun = Instant::now();
    let mut index = IndexWrites::default();
    let tx = db.transaction()?;
    {
        let mut issue = tx.prepare(
            "INSERT INTO issues (domain_id, id, created_at, updated_at, changed_at, state,
             redacted, rating, original_created_at, app_id, platform_type, queue_id, hs_user_id,
             assignee_id, language, issue_mode, author_email)
             VALUES (1, ?1, ?2, ?3, ?4, ?5, 0, ?6, NULL, ?7, ?8, ?9, ?10, ?11, ?12, NULL, ?13)",
        )?;
        let mut body = tx.prepare(
            "INSERT INTO issue_bodies
             (row, head, messages, meta, custom_fields, feedback, queue, checksums)
             VALUES (?1, ?2, ?3, x'7b7d', ?4, NULL, ?5, zeroblob(40))",
        )?;
        let mut value = tx.prepare(
            "INSERT INTO issue_values (domain_id, kind, block, value, rows)
             VALUES (1, ?1, ?2, ?3, ?4)
             ON CONFLICT (domain_id, kind, block, value)
             DO UPDATE SET rows = CAST(rows || excluded.rows AS BLOB)",
        )?;
        let mut profile = tx.prepare(
            "INSERT INTO app_profiles (domain_id, pid, app_id, name, emails, created_at, updated_at,
             fields, checksum, fields_checksum) VALUES (1, ?1, ?2, ?3, ?4, 0, 0, x'', 0, 0)
             ON CONFLICT DO NOTHING",
        )?;
        for line in lines.lines() {
            let parsed: Line<'_> = serde_json::from_str(line)?;
            let (state, user) = (&parsed.state_data, parsed.hs_user_id);
            issue.execute(rusqlite::params![
                parsed.id,
                parsed.created_at,
                parsed.updated_at,
                state.changed_at,
                state.state.len() as i64,
                parsed.feedback_rating,
                parsed.app_id,
                parsed.platform_type,
                parsed.queue.map(|queue| queue.get().len().to_string()),
                user,
                parsed.assignee_id,
                parsed.language,
                parsed.author_email,
            ])?;
            let row = tx.last_insert_rowid();
            let messages = parsed.messages.get();
            let head = &line[..line.len() - messages.len()];
            body.execute(rusqlite::params![
                row,
                head.as_bytes(),
                messages.as_bytes(),
                parsed.custom_fields.get().as_bytes(),
                parsed.queue.map(|queue| queue.get().as_bytes()),
            ])?;
            parsed.write_sparse(&mut value, row)?;
            profile.execute(rusqlite::params![user, parsed.app_id, parsed.author_name, b"[]"])?;
            if indexed {
                parsed.index_entries(|entries| index.add(row, entries));
            }
        }
    }
    index.write(&tx)?;
    tx.commit()?;
    Ok(begun.elapsed().as_secs_f64() * 1e3)
}

#[derive(serde::Deserialize)]
struct Line<'l> {
    id: i64,
    #[serde(borrow)]
    tags: Vec<&'l str>,
    created_at: i64,
    updated_at: i64,
    #[serde(borrow)]
    state_data: State<'l>,
    feedback_rating: Option<u8>,
    app_id: &'l str,
    platform_type: &'l str,
    hs_user_id: &'l str,
    author_name: &'l str,
    author_email: &'l str,
    assignee_id: Option<&'l str>,
    language: &'l str,
    #[serde(borrow)]
    queue: Option<&'l serde_json::value::RawValue>,
    #[serde(borrow)]
    custom_fields: &'l serde_json::value::RawValue,
    #[serde(borrow)]
    messages: &'l serde_json::value::RawValue,
}

impl Line<'_> {
    /// Writes the terms that few issues share.
    fn write_sparse(&self, insert: &mut Statement<'_>, row: i64) -> Result<()> {
        let (user, block, place) = (self.hs_user_id, row >> 16, (row as u16).to_le_bytes());
        let number = (self.created_at % 1009).to_be_bytes();
        for (kind, bytes) in [
            (18, &user.as_bytes()[user.len() - 21..]),
            (19, self.author_email.as_bytes()),
            (20, &number[..]),
        ] {
            insert.execute(rusqlite::params![kind, block, bytes, place])?;
        }
        Ok(())
    }

    /// Passes the index entries of the issue to `add`.
    fn index_entries(&self, add: impl FnOnce(&IndexEntries<'_>)) {
        let rating = self.feedback_rating.map(|rating| rating.to_string());
        let fields: Fields<'_> = serde_json::from_str(self.custom_fields.get()).unwrap_or_default();
        let queue =
            self.queue.and_then(|queue| serde_json::from_str::<Named<'_>>(queue.get()).ok());
        let mut values = vec![
            (1, ""),
            (2, self.state_data.state),
            (3, self.app_id),
            (5, self.language),
            (7, self.platform_type),
            (8, self.assignee_id.unwrap_or_default()),
            (16, fields.plan.map_or("", |plan| plan.value)),
            (17, "tags"),
        ];
        values.extend(self.tags.iter().map(|tag| (4, *tag)));
        values.extend(rating.as_deref().map(|rating| (6, rating)));
        values.extend(queue.map(|queue| (9, queue.id)));
        add(&IndexEntries {
            values: &values,
            state: self.state_data.state,
            created_at: self.created_at,
            updated_at: self.updated_at,
            changed_at: self.state_data.changed_at,
        });
    }
}

#[derive(serde::Deserialize)]
struct Named<'l> {
    id: &'l str,
}

#[derive(Default, serde::Deserialize)]
struct Fields<'l> {
    #[serde(borrow)]
    plan: Option<Choice<'l>>,
}

#[derive(serde::Deserialize)]
struct Choice<'l> {
    value: &'l str,
}

#[derive(serde::Deserialize)]
struct State<'l> {
    state: &'l str,
    changed_at: i64,
}
