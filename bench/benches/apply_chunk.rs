//! The cost of a chunk of 10,000 profile creations, compared with a plain insertion of the same
//! rows into the same tables and indexes in one transaction. Both sides get prepared entries,
//! because parsing and validation are measured elsewhere. Rounds of both alternate, and the result
//! is the ratio of their medians; figures of different runs are not comparable. If
//! `TEST_DATABASE_URL` names an empty database, PostgreSQL is measured too: the plain insertion
//! then uses `unnest` for identities and a binary COPY for profiles.
#![expect(clippy::unwrap_used, reason = "a measurement stops at the first surprise")]
#![expect(clippy::print_stdout, reason = "the figures are the output")]

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use caseload_location::{StoreLocation, open};
use caseload_model::ids::DomainName;
use caseload_model::payload::{Block, Entry};
use caseload_model::profile::{NewCoreProfile, Placeholders, prepare_creates};
use caseload_model::record::PreparedEntry;
use caseload_model::task::{Action, TaskOrigin};
use caseload_model::time::{Clock, UnixMillis};
use caseload_store::{
    ApplyChunk, ChunkEntries, ChunkWork, ClaimTasks, CreateDomain, CreateTask, OpenMode, QueueTurn,
    Store, pack_block,
};
use rusqlite::{Connection, params};
use tokio_postgres::NoTls;
use tokio_postgres::binary_copy::BinaryCopyInWriter;
use tokio_postgres::types::Type;

const ENTRIES: u32 = 10_000;
const ROUNDS: u32 = 7;
const NOW: UnixMillis = UnixMillis(1_700_000_000_000);

fn main() {
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let (mut raw, mut store) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let block = payload(round);
        let prepared = prepare_creates(&block, &Placeholders::default());
        assert!(prepared.iter().all(|entry| entry.item.is_ok()), "the payload is sound");
        let folder = tempfile::tempdir_in(".").unwrap();
        raw.push(raw_insertion(&folder.path().join("raw.db"), &prepared));
        let location = StoreLocation::Sqlite(folder.path().join("caseload.db"));
        let opened = runtime.block_on(open(&location, OpenMode::Server)).unwrap();
        store.push(runtime.block_on(applied(opened.clone(), round, block, prepared)));
        runtime.block_on(opened.close()).unwrap();
    }
    report("SQLite", raw, store);
    if let Ok(url) = std::env::var("TEST_DATABASE_URL") {
        runtime.block_on(postgres(&url));
    }
}

fn report(backend: &str, raw: Vec<Duration>, store: Vec<Duration>) {
    let (raw, store) = (median(raw), median(store));
    let rate = |time: Duration| f64::from(ENTRIES) / time.as_secs_f64();
    println!("{backend}");
    println!("  raw insertion  {raw:>10.1?}  {:>8.0} profiles/s", rate(raw));
    println!("  apply_chunk    {store:>10.1?}  {:>8.0} profiles/s", rate(store));
    println!("  ratio          {:.2} of the raw rate", raw.as_secs_f64() / store.as_secs_f64());
}

async fn postgres(url: &str) {
    let opened = open(&url.parse().unwrap(), OpenMode::Server).await.unwrap();
    let (mut raw, mut store) = (Vec::new(), Vec::new());
    for round in 0..ROUNDS {
        let block = payload(round);
        let prepared = prepare_creates(&block, &Placeholders::default());
        // A domain id that the store does not use, so that the rows do not collide with its own.
        raw.push(raw_copy(url, -1 - i64::from(round), &prepared).await);
        store.push(applied(opened.clone(), round, block, prepared).await);
    }
    report("PostgreSQL", raw, store);
}

/// Inserts the same rows with one durable commit, identities in the order of their index.
async fn raw_copy(url: &str, domain: i64, prepared: &[PreparedEntry<NewCoreProfile>]) -> Duration {
    let (mut client, connection) = tokio_postgres::connect(url, NoTls).await.unwrap();
    tokio::spawn(connection);
    let insert = client
        .prepare(
            "INSERT INTO identities (domain_id, key, core_profile_id)
             SELECT $1, i.key, i.id FROM unnest($2::bytea[], $3::bigint[]) AS i (key, id)
             ON CONFLICT DO NOTHING RETURNING core_profile_id",
        )
        .await
        .unwrap();
    let copy = client
        .prepare(
            "COPY core_profiles (domain_id, id, created_at, updated_at, fields)
             FROM STDIN (FORMAT binary)",
        )
        .await
        .unwrap();
    let begun = Instant::now();
    let tx = client.transaction().await.unwrap();
    let mut keys: Vec<(&[u8], i64)> = Vec::new();
    for (n, entry) in prepared.iter().enumerate() {
        let new = entry.item.as_ref().unwrap();
        keys.extend(new.identities.iter().map(|key| (key.as_bytes(), n as i64)));
    }
    keys.sort_unstable();
    let (keys, ids): (Vec<&[u8]>, Vec<i64>) = keys.into_iter().unzip();
    tx.query(&insert, &[&domain, &keys, &ids]).await.unwrap();
    let types = [Type::INT8, Type::INT8, Type::INT8, Type::INT8, Type::BYTEA];
    let sink = tx.copy_in(&copy).await.unwrap();
    let mut writer = std::pin::pin!(BinaryCopyInWriter::new(sink, &types));
    for (n, entry) in prepared.iter().enumerate() {
        let new = entry.item.as_ref().unwrap();
        let (id, now) = (n as i64, NOW.0);
        writer.as_mut().write(&[&domain, &id, &now, &now, &new.fields]).await.unwrap();
    }
    writer.finish().await.unwrap();
    tx.commit().await.unwrap();
    begun.elapsed()
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times[times.len() / 2]
}

/// Profiles of about 600 bytes with two identities each, spread over the index.
fn payload(round: u32) -> Block {
    let mut block = Block::default();
    for n in 0..ENTRIES {
        let spread = (u64::from(round * ENTRIES + n) + 1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let start = block.bytes.len();
        let line = format!(
            "{{\"identities\":[{{\"uid\":\"u-{spread:016x}\"}},\
             {{\"email\":\"user{spread:x}@example.org\",\"verified\":\"true\"}}],\
             \"names\":{{\"first_name\":\"Ada\",\"last_name\":\"Lovelace\"}},\
             \"tags\":[\"newsletter\",\"beta\"],\"custom_fields\":{{\"note\":\"{}\"}},\
             \"last_country\":\"DE\",\"age\":{},\"lifetime_value\":1023.990}}",
            "a word and another ".repeat(15),
            18 + spread % 60,
        );
        block.bytes.extend_from_slice(line.as_bytes());
        let range = start..block.bytes.len();
        block.entries.push(Entry { index: n, line: n + 1, range, oversize: None, of_row: false });
    }
    block
}

/// Inserts the same rows and indexes with one durable commit, and reads nothing.
fn raw_insertion(path: &Path, prepared: &[PreparedEntry<NewCoreProfile>]) -> Duration {
    let mut conn = Connection::open(path).unwrap();
    conn.execute_batch(
        "PRAGMA page_size = 8192; PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL;
         PRAGMA wal_autocheckpoint = 0; PRAGMA cache_size = -65536;
         CREATE TABLE core_profiles (seq INTEGER PRIMARY KEY, domain_id INTEGER NOT NULL,
             id INTEGER NOT NULL, created_at INTEGER NOT NULL, updated_at INTEGER NOT NULL,
             fields BLOB NOT NULL, UNIQUE (domain_id, id)) STRICT;
         CREATE TABLE identities (domain_id INTEGER NOT NULL, key BLOB NOT NULL,
             core_profile_id INTEGER NOT NULL, PRIMARY KEY (domain_id, key))
             STRICT, WITHOUT ROWID;",
    )
    .unwrap();
    let begun = Instant::now();
    let tx = conn.transaction().unwrap();
    {
        let mut profile = tx
            .prepare(
                "INSERT INTO core_profiles (domain_id, id, created_at, updated_at, fields)
                 VALUES (1, ?1, ?2, ?2, ?3)",
            )
            .unwrap();
        let mut identity = tx.prepare("INSERT INTO identities VALUES (1, ?1, ?2)").unwrap();
        for (n, entry) in prepared.iter().enumerate() {
            let new = entry.item.as_ref().unwrap();
            profile.execute(params![n as i64, NOW.0, new.fields]).unwrap();
            for key in &new.identities {
                identity.execute(params![key.as_bytes(), n as i64]).unwrap();
            }
        }
    }
    tx.commit().unwrap();
    begun.elapsed()
}

/// The duration of one `apply_chunk`, from the command to its durable answer.
async fn applied(
    store: Arc<dyn Store>,
    round: u32,
    block: Block,
    prepared: Vec<PreparedEntry<NewCoreProfile>>,
) -> Duration {
    let name = DomainName::parse(&format!("acme-{round}")).unwrap();
    let domain =
        store.create_domain(CreateDomain { name, origin: NOW.into(), random: 0 }).await.unwrap();
    let task = CreateTask {
        key: None,
        request_id: None,
        domain: domain.id,
        id: "t".to_owned(),
        action: Action::CreateCoreProfiles,
        dry_run: false,
        upsert: false,
        total: ENTRIES,
        staged: 0,
        blocks: vec![pack_block(&block).unwrap()],
        now: NOW,
        expires_at: NOW,
        parent_id: None,
        runs_parent: false,
        origin: TaskOrigin::default(),
        import_id: None,
        idempotency: None,
        unfinished_max: 1,
    };
    store.create_task(task).await.unwrap();
    let (server, lease_until) = ("s".to_owned(), UnixMillis(NOW.0 + 1000));
    let claim = ClaimTasks {
        server,
        now: NOW,
        lease_until,
        tasks_max: 1,
        reachable_since: UnixMillis(i64::MIN),
        turn: QueueTurn::default(),
    };
    let claimed = store.claim_tasks(claim).await.unwrap().remove(0);
    let command = ApplyChunk {
        domain: domain.id,
        domain_name: domain.name,
        task_id: "t".to_owned(),
        action: Action::CreateCoreProfiles,
        dry_run: false,
        upsert: false,
        import_id: None,
        lease_epoch: claimed.lease_epoch,
        entries: ChunkEntries {
            block: Arc::new(block),
            work: Arc::new(ChunkWork::CreateCoreProfiles(prepared)),
            from: 0,
        },
        following: None,
        clock: Clock::stopped(NOW),
    };
    let begun = Instant::now();
    let applied = store.apply_chunk(command).await.unwrap();
    let elapsed = begun.elapsed();
    assert_eq!((applied.done as u32, applied.task.counts.succeeded), (ENTRIES, ENTRIES));
    elapsed
}
