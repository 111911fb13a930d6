//! A database that accepts statements and does not answer. Every read and write ends in time, no
//! write is reported as done, and the connection is not used again.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use futures_util::future::try_join;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;

/// A proxy between an engine and the database that can fall silent and recover.
struct Wire {
    engine: Arc<Engine>,
    silent: Arc<AtomicBool>,
}

/// How long the engine waits for a silent database; far shorter than the timeouts of the database.
const BOUND: Duration = Duration::from_millis(400);
/// A limit that even a slow machine does not reach.
const PATIENCE: Duration = Duration::from_mins(1);

impl Wire {
    async fn new() -> Self {
        Self::with(Nodes::One).await
    }

    async fn with(nodes: Nodes) -> Self {
        let url = std::env::var("TEST_DATABASE_URL").expect("the address of a database");
        let (user, rest) = url.split_once('@').unwrap();
        let (host, name) = rest.split_once('/').unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let near = listener.local_addr().unwrap();
        let (silent, host) = (Arc::new(AtomicBool::new(false)), host.to_owned());
        let is_silent = Arc::clone(&silent);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&host).await.unwrap();
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                for (mut from, mut to) in [(from_client, to_server), (from_server, to_client)] {
                    let is_silent = Arc::clone(&is_silent);
                    tokio::spawn(async move {
                        let mut buffer = vec![0; 1 << 16];
                        // A connection that fell silent once stays silent.
                        let mut lost = false;
                        while let Ok(length @ 1..) = from.read(&mut buffer).await {
                            lost |= is_silent.load(Ordering::SeqCst);
                            if !lost && to.write_all(&buffer[..length]).await.is_err() {
                                break;
                            }
                        }
                    });
                }
            }
        });
        let url = format!("{user}@{near}/{name}?sslmode=disable");
        let address = PostgresAddress::parse(&url).unwrap();
        let engine =
            Engine::of(address.connector().unwrap(), Database { pooled: false, nodes }).unwrap();
        Self { engine: Arc::new(engine), silent }
    }

    /// From now on the engine gives up after [`BOUND`]. A slow machine may reach that even if the
    /// database answers, so only commands that must fail run like this.
    fn hurry(&self) {
        *self.engine.bounds.lock() = Bounds::short(BOUND);
    }

    fn fall_silent(&self) {
        self.hurry();
        self.silent.store(true, Ordering::SeqCst);
    }

    /// Ends the silence and the hurry. New connections must work.
    async fn assert_recovers(&self) {
        *self.engine.bounds.lock() = Bounds::default();
        self.silent.store(false, Ordering::SeqCst);
        let one = self.engine.write((), |client, ()| {
            Box::pin(async { Ok(client.row("SELECT 1", &[]).await?.get::<_, i32>(0)) })
        });
        assert_eq!(one.await.unwrap(), 1);
    }
}

fn assert_unreachable<T>(answer: Result<T, StoreError>) {
    let Err(StoreError::Unreachable(why)) = answer else {
        panic!("the answer is not `Unreachable`")
    };
    assert!(why.contains("within"), "{why}");
}

async fn in_time<T>(answer: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, answer).await.expect("the engine must not wait without a limit")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_domain_with_very_many_writes_leaves_connections_to_another_one() {
    let engine = Wire::new().await.engine;
    let (release, held) = std::sync::mpsc::sync_channel::<()>(1);
    let held = Arc::new(Mutex::new(held));
    let writes: Vec<_> = (0..3 * CONNECTIONS_MAX)
        .map(|_| {
            let (engine, held) = (Arc::clone(&engine), Arc::clone(&held));
            tokio::spawn(async move {
                let wait = move |_: &BlockingClient<'_>| {
                    let _ = held.lock().recv();
                    Ok(())
                };
                engine.write_blocking_in(DomainId(1), wait).await
            })
        })
        .collect();
    in_time(async {
        while engine.pool.status().size < CONNECTIONS_MAX / 4 {
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    })
    .await;
    in_time(engine.write_blocking_in(DomainId(2), |_| Ok(()))).await.unwrap();
    assert!(engine.pool.status().size <= CONNECTIONS_MAX / 4 + 1, "{:?}", engine.pool.status());
    drop(release);
    for write in writes {
        in_time(write).await.unwrap().unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_to_a_silent_database_end_in_time() {
    let wire = Wire::new().await;
    wire.assert_recovers().await;
    // The network falls silent during the work.
    wire.fall_silent();
    let silent = wire.engine.write((), |client, ()| Box::pin(client.batch("SELECT 1")));
    assert_unreachable(in_time(silent).await);
    wire.assert_recovers().await;
    wire.hurry();
    let change = wire.engine.write_blocking({
        let silent = Arc::clone(&wire.silent);
        move |db| {
            db.wait(db.client().batch("SELECT 1"))?;
            silent.store(true, Ordering::SeqCst);
            db.wait(db.client().batch("SELECT 1"))
        }
    });
    assert_unreachable(in_time(change).await);
    wire.assert_recovers().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_without_an_answer_is_not_a_success() {
    let wire = Wire::new().await;
    wire.hurry();
    let write = wire.engine.write(Arc::clone(&wire.silent), |client, silent| {
        Box::pin(async {
            client.batch("SELECT 1").await?;
            silent.store(true, Ordering::SeqCst);
            Ok(())
        })
    });
    assert_unreachable(in_time(write).await);
    wire.assert_recovers().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_with_the_warning_of_a_coordinator_is_not_a_success() {
    let (one, many) = (Wire::new().await, Wire::with(Nodes::Many).await);
    let write = |wire: &Wire, sql: String| {
        let engine = Arc::clone(&wire.engine);
        async move { engine.write(sql, |client, sql| Box::pin(client.batch(sql))).await }
    };
    let own = warning_at_commit("WARNING 'failed to commit transaction on 10.0.0.2:5432'");
    write(&one, own.clone()).await.unwrap();
    let warned = write(&many, own).await;
    assert!(matches!(warned, Err(StoreError::Unreachable(_))), "{warned:?}");

    // The warning of a node that answers is sent on with this detail.
    let sent_on = "WARNING 'could not start a worker' USING DETAIL = 'from 10.0.0.2:5432'";
    write(&many, warning_at_commit(sent_on)).await.unwrap();
    // A warning before the commit says nothing about it.
    write(&many, "DO $$ BEGIN RAISE WARNING 'early'; END $$".to_owned()).await.unwrap();
    many.assert_recovers().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fault_that_a_coordinator_passes_on_names_its_node_in_one_line() {
    let wire = Wire::new().await;
    let mut lost = wire.engine.lost_nodes();
    let refused = "connection to the remote node me@10.0.0.2:5432 failed with the following error:
         Connection refused";
    for (code, node, message) in [
        ("08006", Some("10.0.0.2:5432"), refused),
        ("57P03", None, "the database system is starting up"),
        ("XX000", None, "no connection"),
    ] {
        let raise = format!("DO $$ BEGIN RAISE '{message}' USING ERRCODE = '{code}'; END $$");
        let failed = wire.engine.write(raise, |client, sql| Box::pin(client.batch(sql))).await;
        let fault = failed.unwrap_err();
        let text = fault.outage().unwrap_or_else(|| panic!("no outage: {fault:?}"));
        assert!(!text.contains('\n') && text.ends_with(&format!(" ({code})")), "{text}");
        let named = match &fault {
            StoreError::NodeAway { node, .. } => Some(node.as_str()),
            _ => None,
        };
        assert_eq!(named, node, "{fault:?}");
        let noted = lost.has_changed().unwrap().then(|| lost.borrow_and_update().clone());
        assert_eq!(noted.as_ref().map(|lost| lost.node.as_str()), node);
    }
    wire.assert_recovers().await;
}

/// Statements of a transaction whose commit raises this.
fn warning_at_commit(raised: &str) -> String {
    const AT_COMMIT: &str = "
        CREATE TEMP TABLE warned (id int) ON COMMIT DROP;
        CREATE OR REPLACE FUNCTION pg_temp.warn() RETURNS trigger LANGUAGE plpgsql AS
            $$ BEGIN RAISE RAISED; RETURN NULL; END $$;
        CREATE CONSTRAINT TRIGGER warn AFTER INSERT ON warned DEFERRABLE INITIALLY DEFERRED
            FOR EACH ROW EXECUTE FUNCTION pg_temp.warn();
        INSERT INTO warned VALUES (1)";
    AT_COMMIT.replace("RAISED", raised)
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_of_a_task_from_a_silent_database_end_in_time() {
    let wire = Wire::new().await;
    wire.assert_recovers().await;
    wire.fall_silent();
    let read = wire
        .engine
        .read_blocking_at_leisure(NO_DOMAIN, |db| db.wait(db.client().batch("SELECT 1")));
    assert_unreachable(in_time(read).await);
    wire.assert_recovers().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_of_a_silent_database_end_at_their_deadline() {
    let wire = Wire::new().await;
    let read = wire.engine.read_blocking(NO_DOMAIN, BOUND.into(), false, {
        let silent = Arc::clone(&wire.silent);
        move |db, _| {
            db.wait(db.client().batch("SELECT 1"))?;
            silent.store(true, Ordering::SeqCst);
            db.wait(db.client().batch("SELECT 1"))
        }
    });
    let answer = in_time(read).await;
    assert!(matches!(answer, Err(StoreError::DeadlinePassed)), "{answer:?}");
    wire.assert_recovers().await;
    wire.fall_silent();
    let read =
        wire.engine.read(Some(BOUND.into()), (), |client, ()| Box::pin(client.batch("SELECT 1")));
    let answer = in_time(read).await;
    assert!(matches!(answer, Err(StoreError::DeadlinePassed)), "{answer:?}");
    wire.assert_recovers().await;
    wire.assert_recovers().await;
    wire.fall_silent();
    let read =
        wire.engine.read_in_session(NO_DOMAIN, Some(BOUND.into()), async |session: &Session| {
            session.in_one_flight(session.client().batch("SELECT 1")).await
        });
    let answer = in_time(read).await;
    assert!(matches!(answer, Err(StoreError::DeadlinePassed)), "{answer:?}");
    wire.assert_recovers().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_in_one_flight_leaves_no_transaction_open() {
    let wire = Wire::new().await;
    for (statement, fails) in [("SELECT 1 / $1::int", false), ("SELECT 1 / ($1::int - 1)", true)] {
        let read = wire.engine.read_in_session(
            NO_DOMAIN,
            Some(PATIENCE.into()),
            async |session: &Session| {
                let select = session.prepare(statement).await?;
                let isolation = session.prepare("SHOW transaction_isolation").await?;
                let both = try_join(
                    session.client().prepared_row(&isolation, &[]),
                    session.client().prepared_row(&select, &[&1]),
                );
                let (isolation, _) = session.in_one_flight(both).await?;
                Ok(isolation.get::<_, String>(0))
            },
        );
        let answer = read.await;
        if fails {
            answer.unwrap_err();
        } else {
            assert_eq!(answer.unwrap(), "repeatable read");
        }
        // If a transaction were still open, a write on the same connection could not begin.
        wire.assert_recovers().await;
    }
}

/// A lock that another session holds on the table of a copy, so that the copy waits.
struct Barrier(tokio_postgres::Client);

impl Barrier {
    async fn new(engine: &Engine) -> Self {
        let (client, connection) = engine.connector.connect().await.unwrap();
        tokio::spawn(connection);
        Self(client)
    }

    async fn close(&self) {
        let lock = "BEGIN; LOCK TABLE copied_in_background IN SHARE MODE";
        self.0.batch_execute(lock).await.unwrap();
    }

    async fn open(&self) {
        self.0.batch_execute("COMMIT").await.unwrap();
    }

    /// Returns once a copy waits for the lock.
    async fn is_reached(&self) {
        let waiting = "SELECT FROM pg_locks
             WHERE relation = 'copied_in_background'::regclass AND NOT granted";
        while self.0.query(waiting, &[]).await.unwrap().is_empty() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_ends_during_a_background_copy_is_rolled_back() {
    const ROWS: i64 = 3_000;
    let wire = Wire::new().await;
    let table = "CREATE TABLE IF NOT EXISTS copied_in_background (domain_id BIGINT NOT NULL)";
    wire.engine.write((), |client, ()| Box::pin(client.batch(table))).await.unwrap();
    let barrier = Barrier::new(&wire.engine).await;
    // Whether the work awaits the copy, and its result.
    let cases =
        [(false, Ok(())), (false, Err(StoreError::LeaseLost)), (true, Ok(())), (false, Ok(()))];
    let mut stored = 0;
    for (waits, outcome) in cases {
        let is_good = waits && outcome.is_ok();
        let mut context = (Some(outcome), &barrier);
        let write = wire.engine.write_once(&mut context, |client, (outcome, barrier)| {
            Box::pin(async move {
                let copy = client.prepare_copy("copied_in_background (domain_id)").await?;
                let mut rows = CopyRows::new();
                for _ in 0..ROWS {
                    rows.row(1).add(1_i64);
                }
                if waits {
                    client.copy_in_background([(copy, rows)]).await?;
                } else {
                    barrier.close().await;
                    let copying = client.copy_in_background([(copy, rows)]);
                    barrier.is_reached().await;
                    drop(copying);
                    barrier.open().await;
                }
                outcome.take().unwrap()
            })
        });
        assert_eq!(in_time(write).await.is_ok(), is_good);
        stored += if is_good { ROWS } else { 0 };
        let count = wire.engine.write((), |client, ()| {
            Box::pin(async {
                let count = "SELECT count(*) FROM copied_in_background WHERE domain_id = $1";
                Ok(client.row(count, &[&1_i64]).await?.get::<_, i64>(0))
            })
        });
        assert_eq!(count.await.unwrap(), stored);
    }
    let drop = "DROP TABLE copied_in_background";
    wire.engine.write((), |client, ()| Box::pin(client.batch(drop))).await.unwrap();
}
