//! Tests of the engine with a table of their own: group commit, faults of one command and of a
//! whole group, deadlines, and the limit of the log.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::sync_channel;
use std::time::{Duration, Instant};

use caseload_model::ids::DomainId;
use futures_util::FutureExt;
use futures_util::future::join_all;
use parking_lot::Mutex;
use rusqlite::Connection;
use tokio::sync::oneshot;

use super::queue::Queue;
use super::{Engine, Gauges, Member, Weight, WriteContext};
use crate::Fault;
use caseload_store::fair_slots::NO_DOMAIN;
use caseload_store::{OpenMode, StoreError};

/// How long anything may take on a loaded machine.
const PATIENCE: Duration = Duration::from_mins(1);

fn engine() -> (Engine, tempfile::TempDir) {
    let folder = tempfile::tempdir().unwrap();
    let prepare = |conn: &Connection| {
        conn.execute_batch("CREATE TABLE t (n INTEGER PRIMARY KEY, bytes BLOB)")?;
        Ok(())
    };
    let path = folder.path().join("caseload.db");
    (Engine::open(&path, OpenMode::Server, prepare, None).unwrap(), folder)
}

async fn add(engine: &Engine, n: i64) -> Result<(), Fault> {
    engine
        .write(move |conn, _| {
            conn.execute("INSERT INTO t (n) VALUES (?1)", [n])?;
            Ok(())
        })
        .await
}

async fn numbers(engine: &Engine) -> Vec<i64> {
    let read = |conn: &Connection| {
        let mut statement = conn.prepare("SELECT n FROM t ORDER BY n")?;
        let rows = statement.query_map([], |row| row.get(0))?;
        Ok(rows.collect::<Result<_, _>>()?)
    };
    engine.read(read).await.unwrap()
}

/// Blocks the writer until `count` commands wait, so that they form one group.
async fn gather(engine: &Engine, count: usize) {
    let (release, wait) = sync_channel::<()>(1);
    let held = engine.write(move |_, _| {
        let _ = wait.recv();
        Ok(())
    });
    let gathered = async {
        let begun = Instant::now();
        while engine.gauges.small_waiting.load(Ordering::Relaxed) < count {
            assert!(begun.elapsed() < PATIENCE, "fewer than {count} commands wait");
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        drop(release);
    };
    // The blocking command may share the fault of its group.
    let _ = tokio::join!(held, gathered);
}

#[tokio::test(flavor = "multi_thread")]
async fn waiting_writes_share_one_commit() {
    let (engine, _folder) = engine();
    let before = engine.commits();
    let adds = join_all((0..100).map(|n| add(&engine, n)));
    let ((), done) = tokio::join!(gather(&engine, 100), adds);
    assert!(done.iter().all(Result::is_ok));
    assert!(engine.commits() - before <= 5, "{} commits", engine.commits() - before);
    assert_eq!(numbers(&engine).await.len(), 100);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_command_that_fails_or_panics_is_rolled_back_alone() {
    let (engine, _folder) = engine();
    let failing = engine.write(|conn, _| {
        conn.execute("INSERT INTO t (n) VALUES (50)", [])?;
        Err::<(), _>(StoreError::NotFound { what: "something".to_owned() }.into())
    });
    let panicking = engine.write(|conn, _| -> Result<(), Fault> {
        conn.execute("INSERT INTO t (n) VALUES (51)", [])?;
        panic!("a planned failure");
    });
    let broken_rule = engine.write(|conn, _| {
        conn.execute("INSERT INTO t (n) VALUES (60)", [])?;
        conn.execute("INSERT INTO t (n) VALUES (60)", [])?;
        Ok(())
    });
    let adds = join_all((0..3).map(|n| add(&engine, n)));
    let ((), failed, panicked, broken, added) =
        tokio::join!(gather(&engine, 6), failing, panicking, broken_rule, adds);
    assert!(matches!(failed, Err(Fault(StoreError::NotFound { .. }))), "{failed:?}");
    assert!(matches!(panicked, Err(Fault(StoreError::Unavailable(_)))), "{panicked:?}");
    assert!(matches!(broken, Err(Fault(StoreError::ValuesRefused(_)))), "{broken:?}");
    assert!(added.iter().all(Result::is_ok));
    assert_eq!(numbers(&engine).await, [0, 1, 2]);
}

/// A command without effect.
struct Idle;

impl Member for Idle {
    fn run(&mut self, _: &Connection, _: &WriteContext<'_>) -> bool {
        true
    }

    fn fail(&mut self, _: &str) {}

    fn answer(self: Box<Self>) {}
}

#[tokio::test]
async fn small_writes_go_first_but_do_not_starve_long_ones() {
    use Weight::{Long, Small};
    for (waiting, groups) in [
        // After a group that began with a small command, a long one begins the next.
        (&[Long, Long, Small, Small][..], &[Small, Long, Small, Long][..]),
        (&[Small, Small, Long], &[Small, Long, Small]),
        (&[Long, Long], &[Long, Long]),
    ] {
        let queue = Queue::new(Arc::new(Gauges::default()));
        for weight in waiting {
            queue.push(NO_DOMAIN, Box::new(Idle), *weight).await.unwrap();
        }
        queue.close();
        let began: Vec<_> = std::iter::from_fn(|| queue.first()).map(|q| q.weight).collect();
        assert_eq!(began, groups, "{waiting:?}");
    }
}

#[tokio::test]
async fn small_writes_join_any_group_and_long_ones_only_long_groups() {
    use Weight::{Long, Small};
    for (began_with, joined) in [(Small, &[Small, Small][..]), (Long, &[Small, Small, Long])] {
        let queue = Queue::new(Arc::new(Gauges::default()));
        for weight in [Small, Long, Small] {
            queue.push(NO_DOMAIN, Box::new(Idle), weight).await.unwrap();
        }
        let group: Vec<_> =
            std::iter::from_fn(|| queue.next(began_with)).map(|q| q.weight).collect();
        assert_eq!(group, joined, "{began_with:?}");
    }
}

/// A command that notes the domain whose turn it is.
struct Turn(DomainId, Arc<Mutex<Vec<i64>>>);

impl Member for Turn {
    fn run(&mut self, _: &Connection, _: &WriteContext<'_>) -> bool {
        true
    }

    fn fail(&mut self, _: &str) {}

    fn answer(self: Box<Self>) {
        self.1.lock().push(self.0.0);
    }
}

#[tokio::test]
async fn domains_take_turns_at_writes() {
    for weight in [Weight::Small, Weight::Long] {
        let queue = Queue::new(Arc::new(Gauges::default()));
        let turns = Arc::default();
        for domain in [1; 200].into_iter().chain([2, 2, 3]).map(DomainId) {
            queue.push(domain, Box::new(Turn(domain, Arc::clone(&turns))), weight).await.unwrap();
        }
        queue.close();
        while let Some(next) = queue.first() {
            next.member.answer();
        }
        assert_eq!(turns.lock()[..7], [1, 2, 3, 1, 2, 1, 1], "{weight:?}");
        assert_eq!(turns.lock().len(), 203, "everyone is served in the end");
    }
}

#[test]
fn a_domain_with_very_many_writes_leaves_places_in_the_queue() {
    let queue = Queue::new(Arc::new(Gauges::default()));
    let push = |domain| Box::pin(queue.push(DomainId(domain), Box::new(Idle), Weight::Small));
    let mut loud: Vec<_> = (0..2000).map(|_| push(1)).collect();
    let places = loud.iter_mut().filter_map(FutureExt::now_or_never).count();
    assert!(places < 1024, "one domain has {places} places");
    assert!(push(2).now_or_never().is_some(), "another one waits for a place");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_lost_transaction_fails_its_whole_group_and_no_later_one() {
    let (engine, _folder) = engine();
    // SQLite itself rolls back like this when the disk fails during a write.
    let losing = engine.write(|conn, _| Ok(conn.execute_batch("ROLLBACK")?));
    let ((), first, lost, second) =
        tokio::join!(gather(&engine, 3), add(&engine, 1), losing, add(&engine, 2));
    assert!(lost.is_err(), "a commit that did not happen is not reported as one");
    let stored = numbers(&engine).await;
    for (n, answer) in [(1, first), (2, second)] {
        assert_eq!(answer.is_ok(), stored.contains(&n), "{n} was answered {answer:?}, {stored:?}");
    }
    add(&engine, 3).await.unwrap();
    assert!(numbers(&engine).await.contains(&3));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_full_disk_fails_the_write_and_the_store_recovers() {
    let (engine, _folder) = engine();
    add(&engine, 1).await.unwrap();
    let limit = |pages: u32| {
        engine.write(move |conn, _| {
            conn.query_row(&format!("PRAGMA max_page_count = {pages}"), [], |_| Ok(()))?;
            Ok(())
        })
    };
    limit(1).await.unwrap();
    let fill = || {
        engine.write(|conn, _| {
            conn.execute("INSERT INTO t (bytes) VALUES (zeroblob(1000000))", [])?;
            Ok(())
        })
    };
    let full = fill().await;
    assert!(matches!(full, Err(Fault(StoreError::NotWritten(_)))), "{full:?}");
    limit(1_000_000).await.unwrap();
    fill().await.unwrap();
    assert_eq!(numbers(&engine).await, [1, 2]);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_past_its_deadline_is_interrupted_and_its_connection_reused() {
    let (engine, _folder) = engine();
    let endless = |conn: &Connection| {
        let sql = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c)
                   SELECT count(*) FROM c";
        Ok(conn.query_row(sql, [], |row| row.get::<_, i64>(0))?)
    };
    for _ in 0..3 {
        let budget = Duration::from_millis(30).into();
        let read =
            engine.readers.read(NO_DOMAIN, Some(budget), false, move |conn, _| endless(conn));
        let late = tokio::time::timeout(PATIENCE, read).await.expect("the read is interrupted");
        assert!(matches!(late, Err(Fault(StoreError::DeadlinePassed))), "{late:?}");
        assert_eq!(numbers(&engine).await, Vec::<i64>::new());
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_read_cannot_write_and_sees_one_snapshot() {
    let (engine, _folder) = engine();
    let written = engine.read(|conn| Ok(conn.execute("INSERT INTO t (n) VALUES (1)", [])?)).await;
    assert!(written.is_err());
    let (step, wait) = sync_channel::<()>(0);
    let count = |conn: &Connection| conn.query_row("SELECT count(*) FROM t", [], |r| r.get(0));
    let reading = engine.read(move |conn| {
        let before: i64 = count(conn)?;
        for _ in 0..2 {
            let _ = wait.recv();
        }
        Ok((before, count(conn)?))
    });
    let writing = async {
        tokio::task::block_in_place(|| step.send(()).unwrap());
        add(&engine, 1).await.unwrap();
        drop(step);
    };
    let (seen, ()) = tokio::join!(reading, writing);
    assert_eq!(seen.unwrap(), (0, 0));
    assert_eq!(numbers(&engine).await, [1]);
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_is_moved_into_the_database_when_no_read_pins_it() {
    let (engine, folder) = engine();
    let log_bytes = || std::fs::metadata(folder.path().join("caseload.db-wal")).unwrap().len();
    let (done, wait) = sync_channel::<()>(1);
    let (pin, pinned) = oneshot::channel();
    let pinning = engine.readers.read(NO_DOMAIN, None, false, move |conn, _| {
        let count: i64 = conn.query_row("SELECT count(*) FROM t", [], |row| row.get(0))?;
        let _ = pin.send(());
        let _ = wait.recv();
        Ok(count)
    });
    let writing = async {
        pinned.await.unwrap();
        for _ in 0..20 {
            let add = engine.write(|conn, _| {
                conn.execute("INSERT INTO t (bytes) VALUES (zeroblob(4000000))", [])?;
                Ok(())
            });
            add.await.unwrap();
        }
        tokio::time::sleep(Duration::from_millis(1200)).await;
        let pinned = log_bytes();
        drop(done);
        pinned
    };
    let (_, pinned) = tokio::join!(pinning, writing);
    assert!(pinned > 64_000_000, "{pinned} bytes");
    let began = Instant::now();
    while log_bytes() > 0 {
        assert!(began.elapsed() < PATIENCE, "{} bytes are left", log_bytes());
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
    assert_eq!(numbers(&engine).await.len(), 20);
}

/// Writers without a pause between them do not prevent the restart of the log.
#[tokio::test(flavor = "multi_thread")]
async fn the_log_is_bounded_while_the_writer_is_always_busy() {
    const WRITES: i64 = 150;
    let (engine, folder) = engine();
    let log = folder.path().join("caseload.db-wal");
    let lines = (0..4).map(|line| {
        let (engine, log) = (&engine, &log);
        async move {
            let mut longest = 0;
            for _ in 0..WRITES {
                let replace = engine.write(move |conn, _| {
                    let sql =
                        "INSERT OR REPLACE INTO t (n, bytes) VALUES (?1, randomblob(1000000))";
                    conn.execute(sql, [line])?;
                    Ok(())
                });
                replace.await.unwrap();
                longest = longest.max(std::fs::metadata(log).unwrap().len());
            }
            longest
        }
    });
    let longest = join_all(lines).await.into_iter().max().unwrap();
    assert!(longest < 256 << 20, "{longest} bytes");
    assert_eq!(numbers(&engine).await, [0, 1, 2, 3]);
}

/// The log of a server that was killed may have pages with rows that an erasure has removed.
#[tokio::test]
async fn a_server_empties_the_log_of_one_that_was_killed() {
    let (engine, folder) = engine();
    add(&engine, 1).await.unwrap();
    let killed = tempfile::tempdir().unwrap();
    for name in ["caseload.db", "caseload.db-wal"] {
        std::fs::copy(folder.path().join(name), killed.path().join(name)).unwrap();
    }
    let log = killed.path().join("caseload.db-wal");
    assert!(log.metadata().unwrap().len() > 0, "the write is in the log");
    let path = killed.path().join("caseload.db");
    let next = Engine::open(&path, OpenMode::Server, |_| Ok(()), None).unwrap();
    assert_eq!(log.metadata().unwrap().len(), 0);
    assert_eq!(numbers(&next).await, [1]);
}
