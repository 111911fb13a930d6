//! Rows as they are stored, on each backend. 160 flips of single bits are spread over the columns
//! of the tables whose rows have checksums, or that the check compares with others: it finds each
//! flip, or the column is in a list with the reason why a wrong bit in it does no harm. Reads
//! refuse damaged rows. And the bytes that a domain is said to store are those of its rows.
#![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

#[expect(dead_code, reason = "these tests open stores by themselves")]
#[path = "replicas/database.rs"]
mod database;
#[path = "stored/deletions.rs"]
mod deletions;
#[path = "stored/erasures.rs"]
mod erasures;
#[expect(dead_code, clippy::unused_async, reason = "the suite has more than the data of a store")]
mod suite;

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use caseload_location::{StoreLocation, open};
use caseload_model::ids::{CoreProfileId, DomainId};
use caseload_model::issue_query::IssueView;
use caseload_model::task::Action;
use caseload_store::{GetIssue, OpenMode, RecordKind, Store, StoreError};
use database::Database;
use rusqlite::types::Value;
use rusqlite::{Connection, params_from_iter};
use suite::filled::fill;
use suite::support::{claim_at, later, next_block, task_of};
use tokio_postgres::Client;

/// Flips on each backend.
const FLIPS: usize = 160;

/// Columns in which a wrong bit does no harm, with the reason. Each name is a table and a column,
/// or a table and `*`.
const HARMLESS: &[(&str, &str, &str)] = &[
    ("probe", "*", "written to see whether the store can be written"),
    ("caseload_migrations", "*", "opening a store compares it with the program"),
    ("uploads", "touched_at", "an upload that ends early is sent again"),
    ("task_queue", "queued", "marking a queued task again changes nothing"),
    ("task_queue", "lease_server", "a lease ends by itself"),
    ("task_queue", "lease_epoch", "a chunk under another epoch is refused and repeated"),
    ("task_queue", "lease_until", "a lease that is too long ends with its server"),
    ("task_queue", "not_before", "the pause before the next attempt"),
    ("app_profiles", "seq", "a row number that nothing refers to"),
    ("payload_blocks", "seq", "a row number that nothing refers to"),
    ("record_blocks", "seq", "a row number that nothing refers to"),
    ("attachment_pieces", "seq", "a row number that nothing refers to"),
    ("issue_count_deltas", "seq", "a number that only makes keys differ"),
    ("issue_set_deltas", "seq", "the order of deltas of one row, which is the same for most"),
    ("issue_text_marks", "*", "a wider mark is only read; the check finds a narrower one"),
    ("issue_values", "part", "a number that only makes keys differ"),
];

/// Tables whose rows have no checksum, because they are not served as they are stored. The check
/// compares some of their columns with other rows; the data checksums of PostgreSQL cover their
/// pages.
const WITHOUT_CHECKSUM: [&str; 13] = [
    "agents",
    "apps",
    "attachments",
    "domain_clocks",
    "domains",
    "imports",
    "keys",
    "queues",
    "sessions",
    "tasks",
    "views",
    "webhook_deliveries",
    "webhooks",
];

/// Whether the check finds each flip in the column.
fn is_covered(table: &str, column: &str) -> bool {
    !WITHOUT_CHECKSUM.contains(&table)
        && !HARMLESS.iter().any(|(of, name, _)| *of == table && (*name == column || *name == "*"))
}

/// A small generator of numbers, the same in each run.
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, end: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        ((self.0 >> 33) % end.max(1) as u64) as usize
    }
}

fn sqlite(folder: &Path) -> StoreLocation {
    StoreLocation::Sqlite(folder.join("caseload.db"))
}

/// Makes a store with rows in every table, without a server.
async fn filled_sqlite() -> (Arc<dyn Store>, Connection, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let store: Arc<dyn Store> = open(&sqlite(folder.path()), OpenMode::Server).await.unwrap();
    fill(&store).await;
    store.close().await.unwrap();
    let store: Arc<dyn Store> = open(&sqlite(folder.path()), OpenMode::Admin).await.unwrap();
    let raw = Connection::open(folder.path().join("caseload.db")).unwrap();
    raw.busy_timeout(Duration::from_secs(30)).unwrap();
    raw.execute_batch("PRAGMA foreign_keys = OFF; PRAGMA ignore_check_constraints = ON").unwrap();
    (store, raw, folder)
}

/// A column of a table, with its place in the primary key.
#[derive(Debug, Clone)]
struct Column {
    table: String,
    name: String,
    kind: String,
}

fn columns_of(raw: &Connection) -> Vec<Column> {
    let sql = "SELECT m.name, c.name, c.type FROM sqlite_schema m
               JOIN pragma_table_info(m.name) c
               WHERE m.type = 'table' AND m.name NOT GLOB 'sqlite_*' ORDER BY 1, c.cid";
    let mut found = raw.prepare(sql).unwrap();
    let columns = found.query_map([], |row| {
        Ok(Column { table: row.get(0)?, name: row.get(1)?, kind: row.get(2)? })
    });
    columns.unwrap().map(Result::unwrap).collect()
}

/// The value with one wrong bit; `None` if it has no bits.
fn flipped(value: &Value, numbers: &mut Numbers) -> Option<Value> {
    let flip = |bytes: &[u8], numbers: &mut Numbers| {
        let mut bytes = bytes.to_vec();
        let bit = numbers.below(bytes.len() * 8);
        *bytes.get_mut(bit / 8)? ^= 1 << (bit % 8);
        Some(bytes)
    };
    match value {
        Value::Integer(number) => Some(Value::Integer(number ^ (1 << numbers.below(63)))),
        Value::Blob(bytes) => flip(bytes, numbers).map(Value::Blob),
        // A text may become one that is not UTF-8: it is written as bytes and cast.
        Value::Text(text) => flip(text.as_bytes(), numbers).map(Value::Blob),
        Value::Null | Value::Real(_) => None,
    }
}

/// One wrong bit in a row of a SQLite store.
struct Flip<'r> {
    raw: &'r Connection,
    column: Column,
    names: Vec<String>,
    before: Vec<Value>,
    after: Vec<Value>,
}

impl<'r> Flip<'r> {
    fn of(raw: &'r Connection, column: &Column, numbers: &mut Numbers) -> Option<Self> {
        let table = &column.table;
        let rows: i64 =
            raw.query_row(&format!("SELECT count(*) FROM {table}"), [], |row| row.get(0)).unwrap();
        if rows == 0 {
            return None;
        }
        let mut select = raw.prepare(&format!("SELECT * FROM {table} LIMIT 1 OFFSET ?1")).unwrap();
        let names: Vec<String> = select.column_names().map(str::to_owned).collect();
        let width = names.len();
        let before: Vec<Value> = select
            .query_row([numbers.below(rows as usize) as i64], |row| {
                (0..width).map(|at| row.get(at)).collect()
            })
            .unwrap();
        let at = names.iter().position(|name| *name == column.name).unwrap();
        let mut after = before.clone();
        after[at] = flipped(&before[at], numbers)?;
        Some(Self { raw, column: column.clone(), names, before, after })
    }

    /// Writes the row `to` in place of `from`; false if another row is in the way.
    fn write(&self, from: &[Value], to: &[Value]) -> bool {
        let Column { table, name, kind } = &self.column;
        let at = self.names.iter().position(|other| other == name).unwrap();
        let cast = if kind == "TEXT" { "CAST(?1 AS TEXT)" } else { "?1" };
        let same = |name: &String| {
            let at = self.names.iter().position(|other| other == name).unwrap();
            format!("CAST({name} AS BLOB) IS CAST(?{} AS BLOB)", at + 2)
        };
        let whole: Vec<String> = self.names.iter().map(same).collect();
        let sql = format!("UPDATE {table} SET {name} = {cast} WHERE {}", whole.join(" AND "));
        let values = std::iter::once(&to[at]).chain(from);
        match self.raw.execute(&sql, params_from_iter(values)) {
            Ok(rows) => {
                assert_eq!(rows, 1, "{table}.{name}");
                true
            }
            Err(_) => false,
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn flipped_bits_of_what_a_sqlite_store_serves_are_found() {
    let (store, raw, _folder) = filled_sqlite().await;
    let columns = columns_of(&raw);
    let mut numbers = Numbers(7);
    let (mut flips, mut missed) = (0, Vec::new());
    for column in columns.iter().cycle().take(columns.len() * 20) {
        if flips == FLIPS {
            break;
        }
        let Some(flip) = Flip::of(&raw, column, &mut numbers) else { continue };
        if !is_covered(&column.table, &column.name) {
            continue;
        }
        if !flip.write(&flip.before, &flip.after) {
            continue;
        }
        flips += 1;
        let report = store.check().await;
        if report.as_ref().is_ok_and(|report| report.faults.is_empty()) {
            missed.push((column.table.clone(), column.name.clone(), format!("{:?}", flip.before)));
        }
        assert!(flip.write(&flip.after, &flip.before), "{column:?}");
    }
    assert_eq!(flips, FLIPS);
    assert_eq!(missed, Vec::new(), "the check found no fault");
    assert_eq!(store.check().await.unwrap().faults, Vec::<String>::new());
    store.close().await.unwrap();
}

/// The columns of a database.
async fn columns_there(raw: &Client) -> Vec<Column> {
    let sql = "SELECT c.relname::text, a.attname::text, format_type(a.atttypid, NULL)
         FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid
         WHERE c.relnamespace = 'public'::regnamespace AND c.relkind = 'r'
         AND a.attnum > 0 AND NOT a.attisdropped AND a.attidentity = '' ORDER BY 1, a.attnum";
    let rows = raw.query(sql, &[]).await.unwrap();
    rows.iter()
        .map(|row| Column { table: row.get(0), name: row.get(1), kind: row.get(2) })
        .collect()
}

/// An expression that flips a bit of a column, and flips it back.
fn flip_there(column: &Column, bytes: usize, numbers: &mut Numbers) -> Option<String> {
    let name = format!("\"{}\"", column.name);
    Some(match column.kind.as_str() {
        "bytea" | "text" if bytes == 0 => return None,
        "bytea" => {
            let bit = numbers.below(bytes * 8);
            format!("set_bit({name}, {bit}, 1 - get_bit({name}, {bit}))")
        }
        "bigint" => format!("{name} # (1::bigint << {})", numbers.below(63)),
        "integer" => format!("{name} # (1 << {})", numbers.below(31)),
        "smallint" => format!("({name}::int # (1 << {}))::smallint", numbers.below(15)),
        "boolean" => format!("NOT {name}"),
        // The lowest bit of a character: the others would not always give one.
        "text" => {
            let at = numbers.below(bytes) + 1;
            format!(
                "overlay({name} placing chr(ascii(substr({name}, {at}, 1)) # 1) from {at} for 1)"
            )
        }
        other => panic!("{column:?} has the type {other}"),
    })
}

#[tokio::test(flavor = "multi_thread")]
async fn flipped_bits_of_what_a_postgresql_store_serves_are_found() {
    let database = Database::new();
    let store = database.server();
    fill(&store).await;
    let raw = database.client().await;
    let columns = columns_there(&raw).await;
    let mut numbers = Numbers(11);
    let (mut flips, mut missed) = (0, Vec::new());
    for column in columns.iter().cycle().take(columns.len() * 20) {
        if flips == FLIPS {
            break;
        }
        let Column { table, name, .. } = column;
        if !is_covered(table, name) {
            continue;
        }
        let sql = format!(
            "SELECT ctid::text, length(\"{name}\"::text)::bigint,
             octet_length(\"{name}\"::text) / 2 - 1
             FROM {table} WHERE \"{name}\" IS NOT NULL
             ORDER BY md5(ctid::text || '{flips}') LIMIT 1"
        );
        let Some(row) = raw.query_opt(&sql, &[]).await.unwrap() else { continue };
        let (row, chars, hex): (String, i64, i32) = (row.get(0), row.get(1), row.get(2));
        // The text of bytes is hexadecimal, two digits a byte.
        let bytes = if column.kind == "bytea" { i64::from(hex) } else { chars };
        let Some(flip) = flip_there(column, bytes.max(0) as usize, &mut numbers) else { continue };
        let update = |row: &str| {
            format!(
                "UPDATE {table} SET \"{name}\" = {flip} WHERE ctid = '{row}' RETURNING ctid::text"
            )
        };
        // Another row, or a constraint, may be in the way.
        let Ok(there) = raw.query_one(&update(&row), &[]).await else { continue };
        flips += 1;
        let report = store.check().await;
        if report.as_ref().is_ok_and(|report| report.faults.is_empty()) {
            missed.push((table.clone(), name.clone(), flip.clone()));
        }
        raw.query_one(&update(there.get(0)), &[]).await.unwrap();
    }
    assert_eq!(flips, FLIPS);
    assert_eq!(missed, Vec::new(), "the check found no fault");
    assert_eq!(store.check().await.unwrap().faults, Vec::<String>::new());
    store.close().await.unwrap();
}

/// Whether a read of this table refuses its damage.
async fn refuses(store: &Arc<dyn Store>, domain: DomainId, table: &str) -> bool {
    let view = IssueView::FULL;
    let budget = Duration::from_mins(1);
    let outcome = match table {
        "issue_bodies" => {
            let get = GetIssue { domain, id: 1, view, budget: budget.into() };
            store.issue(get).await.map(drop)
        }
        "record_blocks" => {
            store.record_block(domain, "create", RecordKind::Results, 0).await.map(drop)
        }
        "payload_blocks" => store.payload_block(domain, "waiting", 0).await.map(drop),
        "attachment_pieces" => store.attachment_piece(domain, "file", 0).await.map(drop),
        _ => store.stored_answer(domain, "key").await.map(drop),
    };
    matches!(outcome, Err(StoreError::Corrupt(_)))
}

/// Tables, and a column of each in which all rows are damaged.
const DAMAGES: [(&str, &str); 5] = [
    ("issue_bodies", "messages"),
    ("record_blocks", "bytes"),
    ("payload_blocks", "bytes"),
    ("attachment_pieces", "bytes"),
    ("idempotency_keys", "answer"),
];

#[tokio::test(flavor = "multi_thread")]
async fn reads_of_a_damaged_sqlite_store_refuse_it_and_readiness_says_so() {
    let (store, raw, _folder) = filled_sqlite().await;
    let domain = store.domains().await.unwrap().remove(0).id;
    store.ready().await.unwrap();
    for (table, column) in DAMAGES {
        assert!(!refuses(&store, domain, table).await, "{table} is sound");
        let change = format!("CAST(substr({column}, 1, length({column}) - 1) || x'ff' AS BLOB)");
        raw.execute(&format!("UPDATE {table} SET {column} = {change}"), []).unwrap();
        assert!(refuses(&store, domain, table).await, "{table} is damaged");
    }
    assert!(matches!(store.ready().await, Err(StoreError::Corrupt(_))));
    store.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn reads_of_a_damaged_postgresql_store_refuse_it_and_readiness_says_so() {
    let database = Database::new();
    let store = database.server();
    fill(&store).await;
    let raw = database.client().await;
    let domain = store.domains().await.unwrap().remove(0).id;
    store.ready().await.unwrap();
    for (table, column) in DAMAGES {
        assert!(!refuses(&store, domain, table).await, "{table} is sound");
        let last = format!("length({column}) - 1");
        let change = format!("set_byte({column}, {last}, get_byte({column}, {last}) # 1)");
        raw.batch_execute(&format!("UPDATE {table} SET {column} = {change}")).await.unwrap();
        assert!(refuses(&store, domain, table).await, "{table} is damaged");
    }
    assert!(matches!(store.ready().await, Err(StoreError::Corrupt(_))));
    store.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_file_without_one_of_its_pieces_is_damaged_and_readiness_says_so() {
    let (store, raw, _folder) = filled_sqlite().await;
    let domain = store.domains().await.unwrap().remove(0).id;
    raw.execute("DELETE FROM attachment_pieces WHERE number = 0", []).unwrap();
    assert!(refuses(&store, domain, "attachment_pieces").await);
    assert!(matches!(store.ready().await, Err(StoreError::Corrupt(_))));
    store.close().await.unwrap();
}

#[tokio::test(flavor = "multi_thread")]
async fn a_damaged_profile_is_neither_read_nor_changed() {
    let (store, raw, _folder) = filled_sqlite().await;
    let acme = store.domains().await.unwrap().remove(0);
    let sql = "SELECT id FROM core_profiles WHERE domain_id = ?1";
    let id: i64 = raw.query_row(sql, [acme.id.0], |row| row.get(0)).unwrap();
    raw.execute("UPDATE core_profiles SET updated_at = updated_at + 1", []).unwrap();
    // The waiting and the half-done tasks come first.
    raw.execute("DELETE FROM tasks WHERE status < 4", []).unwrap();
    raw.execute("DELETE FROM payload_blocks", []).unwrap();
    let id = CoreProfileId(id.unsigned_abs());
    for (n, action) in [Action::GetCoreProfiles, Action::UpdateCoreProfiles].into_iter().enumerate()
    {
        let entry = serde_json::json!({"core-profile-id": id.to_string(), "age": 7}).to_string();
        let entry = match action {
            Action::GetCoreProfiles => {
                serde_json::json!({"core-profile-id": id.to_string()}).to_string()
            }
            _ => entry,
        };
        let task = task_of(&acme, &format!("damaged-{n}"), action, &[entry], 10);
        store.create_task(task).await.unwrap();
        let claimed = claim_at(&store, "server", later(60_000), 1).await.remove(0);
        let block = next_block(&store, &claimed, 0).await;
        let chunk = suite::support::chunk(&claimed, block, later(60_000));
        let applied = store.apply_chunk(chunk).await;
        assert!(matches!(applied, Err(StoreError::Corrupt(_))), "{action:?}: {applied:?}");
        raw.execute("DELETE FROM tasks WHERE status < 4", []).unwrap();
    }
    store.close().await.unwrap();
}

/// The lengths of all rows of a domain, in SQL that both databases read.
const LENGTHS: &str = "SELECT sum(bytes) FROM (
    SELECT length(head) + length(messages) + length(meta) + length(custom_fields)
        + coalesce(length(feedback), 0) + coalesce(length(queue), 0)
        + coalesce(length(private_notes), 0) + coalesce(length(predict_labels), 0)
        + coalesce(length(sentiment_analysis), 0) + coalesce(length(smart_intents), 0) AS bytes
        FROM issue_bodies b WHERE OF_BODY
    UNION ALL SELECT length(fields) FROM core_profiles WHERE domain_id = DOMAIN
    UNION ALL SELECT length(fields) FROM app_profiles WHERE domain_id = DOMAIN
    UNION ALL SELECT length(bytes) FROM payload_blocks WHERE domain_id = DOMAIN
    UNION ALL SELECT octet_length(file) FROM imports WHERE domain_id = DOMAIN
    UNION ALL SELECT length(bytes) FROM record_blocks WHERE domain_id = DOMAIN
    UNION ALL SELECT length(bytes) FROM attachment_pieces WHERE domain_id = DOMAIN) AS stored";

fn lengths(domain: DomainId, of_body: &str) -> String {
    let sql = LENGTHS.replace("OF_BODY", of_body);
    sql.replace("DOMAIN", &domain.0.to_string())
}

#[tokio::test(flavor = "multi_thread")]
async fn the_bytes_of_a_domain_are_the_lengths_of_its_rows() {
    let (store, raw, _folder) = filled_sqlite().await;
    let of_body = "b.row IN (SELECT row FROM issues WHERE domain_id = DOMAIN)";
    for domain in store.domains().await.unwrap() {
        let sql = lengths(domain.id, of_body);
        let expected: i64 = raw.query_row(&sql, [], |row| row.get(0)).unwrap();
        assert!(expected > 0);
        assert_eq!(store.usage(domain.id).await.unwrap().bytes as i64, expected);
    }
    store.close().await.unwrap();

    let database = Database::new();
    let store = database.server();
    fill(&store).await;
    let raw = database.client().await;
    for domain in store.domains().await.unwrap() {
        let sql = lengths(domain.id, "b.domain_id = DOMAIN");
        let sql = format!("SELECT ({sql})::bigint");
        let expected: i64 = raw.query_one(&sql, &[]).await.unwrap().get(0);
        assert_eq!(store.usage(domain.id).await.unwrap().bytes as i64, expected);
    }
    store.close().await.unwrap();
}
