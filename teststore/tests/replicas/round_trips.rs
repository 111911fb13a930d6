//! Round trips of lists: a wire that delays every answer shows how often a list waits for the
//! database. A list from counters and one index is a single flight. A list from a set takes three:
//! the leaves of the set, the times of its issues, their fragments.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Duration;

use caseload_model::issue_query::{IssueView, parse_list};
use caseload_model::task::Action;
use caseload_store::{CreateAgent, ListIssues};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until};
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::Database;
use super::database::opened;
use crate::suite::support::{NOW, domain, run};

/// How long each answer of the database is on its way, try after try. A busy machine may take
/// longer to send questions that belong together, which are counted as several round trips then.
const DELAYS_MS: [u64; 8] = [100, 100, 200, 400, 800, 1600, 1600, 1600];
const ISSUES: i64 = 1100;
/// A list, and its round trips. A set of more issues than are sorted takes one more: the sets of
/// days, then the times of one day's issues.
const LISTS: [(&str, u64); 15] = [
    ("", 1),
    ("sort-by=update-time", 1),
    ("state=new&created-since=5000", 1),
    ("created-since=5000&created-until=6000000", 1),
    ("page=2&page-size=1000", 3),
    (r#"tags={"and":["a"]}"#, 3),
    (r#"tags={"and":["a"]}&state=new"#, 3),
    (r#"app-ids=["shop"]&state=new&created-since=5000"#, 5),
    (r#"author-emails={"or":["ada@example.org"]}"#, 3),
    (r#"ids=[20,40,60]&state=new&author-emails={"or":["ada@example.org"]}"#, 3),
    (r#"assignee-emails={"or":["grace@example.org"]}&tags={"and":["a"]}"#, 4),
    (r#"custom-fields={"number":{"and":{"n":{"is_greater_than":1080}}}}&redacted=false"#, 3),
    (r#"tags={"and":["a"]}&messages={"and":["refund"]}"#, 6),
    ("redacted=false", 4),
    ("redacted=false&created-since=5000&created-until=6000000", 5),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_takes_no_more_round_trips_than_its_plan_has_questions() {
    let database = Database::new();
    let near = database.server();
    let acme = domain(&near, "acme").await;
    let (id, name, email) = ("g".to_owned(), "Grace".to_owned(), "grace@example.org".to_owned());
    let agent = CreateAgent { domain: acme.id, id, name, email, origin: NOW.into() };
    near.create_agent(agent).await.unwrap();
    let entry = |n: i64| {
        let tag = if n % 10 == 0 { "a" } else { "b" };
        let author = if n % 20 == 0 { "ada@example.org" } else { "grace@example.org" };
        let messages = [json!({"body": "a refund", "created_at": n, "origin": "end-user"})];
        json!({
            "id": n, "created_at": n * 1000, "updated_at": n * 1000, "tags": [tag],
            "app_id": "shop", "author_email": author, "assignee_id": "g",
            "state_data": {"state": "new", "changed_at": n * 1000}, "messages": messages,
            "custom_fields": {"n": {"type": "number", "value": n}},
        })
    };
    let entries: Vec<String> = (1..=ISSUES).map(|n| entry(n).to_string()).collect();
    run(&near, &acme, "t", Action::ImportIssues, &entries).await;
    while near.purge_expired(NOW).await.unwrap() {}

    let trips = Arc::new(RoundTrips::default());
    let far = opened(&delayed(&database.url(), &trips).await);
    let mut over = Vec::new();
    for (text, trips_max) in LISTS {
        let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
        let pairs: Vec<_> = pairs.map(|(n, v)| (n.to_owned(), v.to_owned())).collect();
        let list = parse_list(&pairs).unwrap();
        let request = ListIssues {
            domain: acme.id,
            query: list.query,
            view: IssueView::default(),
            paging: list.paging,
            bytes_max: usize::MAX,
            budget: Duration::from_secs(30).into(),
        };
        // The first list prepares its statements.
        let page = far.list_issues(request.clone()).await.unwrap();
        assert!(page.count > 0, "{text} finds issues");
        let mut fewest = u64::MAX;
        for delay_ms in DELAYS_MS {
            // Answers to the list before are all delivered, or late.
            tokio::time::sleep(2 * trips.delay()).await;
            trips.delay_ms.store(delay_ms, Ordering::SeqCst);
            trips.begun.store(0, Ordering::SeqCst);
            trips.answered.store(true, Ordering::SeqCst);
            far.list_issues(request.clone()).await.unwrap();
            fewest = fewest.min(trips.begun.load(Ordering::SeqCst));
            if fewest <= trips_max {
                break;
            }
        }
        if fewest > trips_max {
            over.push((text, fewest, trips_max));
        }
    }
    trips.delay_ms.store(0, Ordering::SeqCst);
    assert_eq!(over, [], "lists with their round trips, and how many they may take");
}

/// Round trips on a wire. Questions that are sent before an answer arrives belong to one trip.
struct RoundTrips {
    begun: AtomicU64,
    answered: AtomicBool,
    delay_ms: AtomicU64,
}

impl Default for RoundTrips {
    fn default() -> Self {
        let delay_ms = AtomicU64::new(DELAYS_MS[0]);
        Self { begun: AtomicU64::new(0), answered: AtomicBool::new(true), delay_ms }
    }
}

impl RoundTrips {
    fn delay(&self) -> Duration {
        Duration::from_millis(self.delay_ms.load(Ordering::SeqCst))
    }

    fn ask(&self, question: &[u8]) {
        // The store does not wait for the end of a read.
        if question != b"Q\0\0\0\x0dROLLBACK\0" && self.answered.swap(false, Ordering::SeqCst) {
            self.begun.fetch_add(1, Ordering::SeqCst);
        }
    }
}

/// The address of a wire to the database on which each answer takes its time.
async fn delayed(url: &str, trips: &Arc<RoundTrips>) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut through = url::Url::parse(url).unwrap();
    through.set_host(Some("127.0.0.1")).unwrap();
    through.set_port(Some(listener.local_addr().unwrap().port())).unwrap();
    through.set_query(Some("sslmode=disable"));
    let target: Arc<Config> = Arc::new(url.parse().unwrap());
    let trips = Arc::clone(trips);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            client.set_nodelay(true).unwrap();
            let (target, trips) = (Arc::clone(&target), Arc::clone(&trips));
            tokio::spawn(async move {
                let port = target.get_ports().first().copied().unwrap_or(5432);
                match &target.get_hosts()[0] {
                    Host::Tcp(host) => {
                        let server = TcpStream::connect((host.as_str(), port)).await.unwrap();
                        server.set_nodelay(true).unwrap();
                        carry(client, server, &trips).await;
                    }
                    Host::Unix(folder) => {
                        let socket = folder.join(format!(".s.PGSQL.{port}"));
                        let server = UnixStream::connect(socket).await.unwrap();
                        carry(client, server, &trips).await;
                    }
                }
            });
        }
    });
    through.into()
}

/// Carries questions at once and answers after a delay, however many are on their way.
async fn carry(client: TcpStream, server: impl AsyncRead + AsyncWrite, trips: &RoundTrips) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = tokio::io::split(server);
    let (answers, mut delayed) = mpsc::channel(1000);
    let questions = async {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(length @ 1..) = from_client.read(&mut buffer).await {
            trips.ask(&buffer[..length]);
            if to_server.write_all(&buffer[..length]).await.is_err() {
                return;
            }
        }
    };
    let receive = async {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(length @ 1..) = from_server.read(&mut buffer).await {
            let due = Instant::now() + trips.delay();
            if answers.send((due, buffer[..length].to_vec())).await.is_err() {
                return;
            }
        }
    };
    let deliver = async {
        while let Some((due, bytes)) = delayed.recv().await {
            sleep_until(due).await;
            trips.answered.store(true, Ordering::SeqCst);
            if to_client.write_all(&bytes).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        () = questions => {}
        () = receive => {}
        () = deliver => {}
    }
}
