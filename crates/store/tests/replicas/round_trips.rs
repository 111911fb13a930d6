//! Round trips of lists: a wire that delays every answer shows how often a list waits for the
//! database. A list from counters and one index is a single flight. A list from a set takes three:
//! the leaves of the set, the times of its issues, their fragments.

use std::sync::Arc;
use std::time::{Duration, Instant};

use caseload_model::issue_query::{IssueView, parse_list};
use caseload_model::task::Action;
use caseload_store::{CreateAgent, ListIssues};
use serde_json::json;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::sync::mpsc;
use tokio::time::sleep_until;
use tokio_postgres::Config;
use tokio_postgres::config::Host;

use super::Database;
use super::database::opened;
use crate::suite::support::{NOW, domain, run};

/// How long each answer of the database is on its way.
const DELAY: Duration = Duration::from_millis(80);
const TRIES: usize = 3;
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
    (r#"tags={"and":["a"]}&messages={"and":["refund"]}"#, 4),
    ("redacted=false", 4),
    ("redacted=false&created-since=5000&created-until=6000000", 5),
];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_list_takes_as_many_round_trips_as_its_plan_has_questions() {
    let database = Database::new();
    let near = database.server();
    let acme = domain(&near, "acme").await;
    let (id, name, email) = ("g".to_owned(), "Grace".to_owned(), "grace@example.org".to_owned());
    let agent = CreateAgent { domain: acme.id, id, name, email, now: NOW };
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

    let far = opened(&delayed(&database.url()).await);
    let mut counted = Vec::new();
    for (text, _) in LISTS {
        let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
        let pairs: Vec<_> = pairs.map(|(n, v)| (n.to_owned(), v.to_owned())).collect();
        let list = parse_list(&pairs).unwrap();
        let request = ListIssues {
            domain: acme.id,
            query: list.query,
            view: IssueView::default(),
            paging: list.paging,
            budget: Duration::from_secs(30),
        };
        // The first list prepares its statements.
        let page = far.list_issues(request.clone()).await.unwrap();
        assert!(page.count > 0, "{text} finds issues");
        let mut fastest = Duration::MAX;
        for _ in 0..TRIES {
            let begun = Instant::now();
            far.list_issues(request.clone()).await.unwrap();
            fastest = fastest.min(begun.elapsed());
        }
        counted.push((text, (fastest.as_millis() / DELAY.as_millis()) as u64));
    }
    assert_eq!(counted, LISTS);
}

/// The address of a wire to the database on which each answer takes its time.
async fn delayed(url: &str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let mut through = url::Url::parse(url).unwrap();
    through.set_host(Some("127.0.0.1")).unwrap();
    through.set_port(Some(listener.local_addr().unwrap().port())).unwrap();
    through.set_query(Some("sslmode=disable"));
    let target: Arc<Config> = Arc::new(url.parse().unwrap());
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            client.set_nodelay(true).unwrap();
            let target = Arc::clone(&target);
            tokio::spawn(async move {
                let port = target.get_ports().first().copied().unwrap_or(5432);
                match &target.get_hosts()[0] {
                    Host::Tcp(host) => {
                        let server = TcpStream::connect((host.as_str(), port)).await.unwrap();
                        server.set_nodelay(true).unwrap();
                        carry(client, server).await;
                    }
                    Host::Unix(folder) => {
                        let socket = folder.join(format!(".s.PGSQL.{port}"));
                        carry(client, UnixStream::connect(socket).await.unwrap()).await;
                    }
                }
            });
        }
    });
    through.into()
}

/// Carries questions at once and answers after [`DELAY`], however many are on their way.
async fn carry(client: TcpStream, server: impl AsyncRead + AsyncWrite) {
    let (mut from_client, mut to_client) = client.into_split();
    let (mut from_server, mut to_server) = tokio::io::split(server);
    let (answers, mut delayed) = mpsc::channel(1000);
    let questions = tokio::io::copy(&mut from_client, &mut to_server);
    let receive = async {
        let mut buffer = vec![0; 1 << 16];
        while let Ok(length @ 1..) = from_server.read(&mut buffer).await {
            let due = tokio::time::Instant::now() + DELAY;
            if answers.send((due, buffer[..length].to_vec())).await.is_err() {
                return;
            }
        }
    };
    let deliver = async {
        while let Some((due, bytes)) = delayed.recv().await {
            sleep_until(due).await;
            if to_client.write_all(&bytes).await.is_err() {
                return;
            }
        }
    };
    tokio::select! {
        _ = questions => {}
        () = receive => {}
        () = deliver => {}
    }
}
