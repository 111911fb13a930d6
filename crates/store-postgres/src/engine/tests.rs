//! A database that takes statements and does not answer: no read and no write waits for it without
//! an end, a write is never said to be done, and the connection is used for nothing more.

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use futures_util::FutureExt as _;
use futures_util::future::try_join;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};

use super::*;

/// Between an engine and the database: from a moment on nothing gets through, until another one.
struct Wire {
    engine: Arc<Engine>,
    silent: Arc<AtomicBool>,
}

/// Far below what the database would do by itself.
const BOUND: Duration = Duration::from_millis(400);
/// No machine is that slow.
const PATIENCE: Duration = Duration::from_secs(20);

impl Wire {
    async fn new() -> Self {
        let url = std::env::var("TEST_DATABASE_URL").expect("the address of a database");
        let (user, rest) = url.split_once('@').unwrap();
        let (host, name) = rest.split_once('/').unwrap();
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let near = listener.local_addr().unwrap();
        let (silent, host) = (Arc::new(AtomicBool::new(false)), host.to_owned());
        let told = Arc::clone(&silent);
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                let server = TcpStream::connect(&host).await.unwrap();
                let (from_client, to_client) = client.into_split();
                let (from_server, to_server) = server.into_split();
                for (mut from, mut to) in [(from_client, to_server), (from_server, to_client)] {
                    let told = Arc::clone(&told);
                    tokio::spawn(async move {
                        let mut buffer = vec![0; 1 << 16];
                        // What falls silent once is of no use afterwards.
                        let mut lost = false;
                        while let Ok(length @ 1..) = from.read(&mut buffer).await {
                            lost |= told.load(Ordering::SeqCst);
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
        let engine = Engine::of(address.connector().unwrap(), false).unwrap();
        *engine.bounds.lock().unwrap() = Bounds::short(BOUND);
        Self { engine: Arc::new(engine), silent }
    }

    fn fall_silent(&self) {
        self.silent.store(true, Ordering::SeqCst);
    }

    /// Statements get through again, on connections that are new.
    async fn assert_it_goes_on(&self) {
        self.silent.store(false, Ordering::SeqCst);
        let one = self.engine.write((), |client, ()| {
            Box::pin(async { Ok(client.row("SELECT 1", &[]).await?.get::<_, i32>(0)) })
        });
        assert_eq!(one.await.unwrap(), 1);
    }
}

fn assert_unreachable<T>(answer: Result<T, StoreError>) {
    let Err(StoreError::Unreachable(why)) = answer else { panic!("it is not told as it is") };
    assert!(why.contains("within"), "{why}");
}

async fn in_time<T>(answer: impl Future<Output = T>) -> T {
    tokio::time::timeout(PATIENCE, answer).await.expect("it is not waited for without an end")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn writes_to_a_silent_database_have_an_end() {
    let wire = Wire::new().await;
    wire.assert_it_goes_on().await;
    // In the middle of the work, which never ends.
    wire.fall_silent();
    let silent = wire.engine.write((), |client, ()| Box::pin(client.batch("SELECT 1")));
    assert_unreachable(in_time(silent).await);
    wire.assert_it_goes_on().await;
    let change = wire.engine.change({
        let silent = Arc::clone(&wire.silent);
        move |ask| {
            ask.wait(ask.client().batch("SELECT 1"))?;
            silent.store(true, Ordering::SeqCst);
            ask.wait(ask.client().batch("SELECT 1"))
        }
    });
    assert_unreachable(in_time(change).await);
    wire.assert_it_goes_on().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_commit_that_is_not_answered_is_no_success() {
    let wire = Wire::new().await;
    let write = wire.engine.write(Arc::clone(&wire.silent), |client, silent| {
        Box::pin(async {
            client.batch("SELECT 1").await?;
            silent.store(true, Ordering::SeqCst);
            Ok(())
        })
    });
    assert_unreachable(in_time(write).await);
    wire.assert_it_goes_on().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_task_reads_from_a_silent_database_has_an_end() {
    let wire = Wire::new().await;
    wire.assert_it_goes_on().await;
    wire.fall_silent();
    let read = wire.engine.read_at_leisure((), |client, ()| Box::pin(client.batch("SELECT 1")));
    assert_unreachable(in_time(read).await);
    wire.assert_it_goes_on().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn reads_of_a_silent_database_end_at_their_deadline() {
    let wire = Wire::new().await;
    let read = wire.engine.ask(BOUND, false, {
        let silent = Arc::clone(&wire.silent);
        move |ask, _| {
            ask.wait(ask.client().batch("SELECT 1"))?;
            silent.store(true, Ordering::SeqCst);
            ask.wait(ask.client().batch("SELECT 1"))
        }
    });
    let answer = in_time(read).await;
    assert!(matches!(answer, Err(StoreError::DeadlinePassed)), "{answer:?}");
    wire.assert_it_goes_on().await;
    wire.fall_silent();
    let read = wire.engine.read(Some(BOUND), (), |client, ()| Box::pin(client.batch("SELECT 1")));
    let answer = in_time(read).await;
    assert!(matches!(answer, Err(StoreError::DeadlinePassed)), "{answer:?}");
    wire.assert_it_goes_on().await;
    wire.assert_it_goes_on().await;
    wire.fall_silent();
    let read = wire.engine.read_in_session(Some(BOUND), async |session: &Session| {
        session.whole(session.client().batch("SELECT 1")).await
    });
    let answer = in_time(read).await;
    assert!(matches!(answer, Err(StoreError::DeadlinePassed)), "{answer:?}");
    wire.assert_it_goes_on().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_read_in_one_flight_leaves_no_transaction_open() {
    let wire = Wire::new().await;
    for (statement, fails) in [("SELECT 1 / $1::int", false), ("SELECT 1 / ($1::int - 1)", true)] {
        let read = wire.engine.read_in_session(Some(PATIENCE), async |session: &Session| {
            let select = session.prepare(statement).await?;
            let isolation = session.prepare("SHOW transaction_isolation").await?;
            let both = try_join(
                session.client().prepared_row(&isolation, &[]),
                session.client().prepared_row(&select, &[&1]),
            );
            let (isolation, _) = session.whole(both).await?;
            Ok(isolation.get::<_, String>(0))
        });
        let answer = read.await;
        if fails {
            answer.unwrap_err();
        } else {
            assert_eq!(answer.unwrap(), "repeatable read");
        }
        // A write on the same connection could not begin.
        wire.assert_it_goes_on().await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_write_that_ends_with_a_copy_under_way_leaves_nothing() {
    const ROWS: i64 = 300_000;
    let wire = Wire::new().await;
    let table = "CREATE TABLE IF NOT EXISTS copied_beside (domain_id BIGINT NOT NULL)";
    wire.engine.write((), |client, ()| Box::pin(client.batch(table))).await.unwrap();
    // How the work ends, and whether it waits for the copy.
    let cases =
        [(false, Ok(())), (false, Err(StoreError::LeaseLost)), (true, Ok(())), (false, Ok(()))];
    let mut kept = 0;
    for (waits, outcome) in cases {
        let is_good = waits && outcome.is_ok();
        let mut context = Some(outcome);
        let write = wire.engine.write_once(&mut context, |client, outcome| {
            Box::pin(async move {
                let copy = client.prepare_copy("copied_beside (domain_id)").await?;
                let mut rows = CopyRows::new();
                for _ in 0..ROWS {
                    rows.row(1).add(1_i64);
                }
                let mut copying = std::pin::pin!(client.copy_beside([(copy, rows)]));
                assert!(copying.as_mut().now_or_never().is_none(), "it takes longer than that");
                if waits {
                    copying.await?;
                }
                outcome.take().unwrap()
            })
        });
        assert_eq!(in_time(write).await.is_ok(), is_good);
        kept += if is_good { ROWS } else { 0 };
        let count = wire.engine.write((), |client, ()| {
            Box::pin(async {
                let count = "SELECT count(*) FROM copied_beside WHERE domain_id = $1";
                Ok(client.row(count, &[&1_i64]).await?.get::<_, i64>(0))
            })
        });
        assert_eq!(count.await.unwrap(), kept);
    }
    let drop = "DROP TABLE copied_beside";
    wire.engine.write((), |client, ()| Box::pin(client.batch(drop))).await.unwrap();
}
