//! Lists of 100 issues from PostgreSQL, over HTTP with total and envelope, in turns with the bare
//! query for the fragments of the same rows over as many connections. The bare query uses the index
//! with the filter and the order, joins the fragments, reads and discards them; it counts nothing
//! and writes no JSON.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use caseload_client::Client;

use super::database::{connect, domain_id, fresh};
use super::imports::settled;
use super::report::{ListRow, Report};
use crate::figures::{median, real};
use crate::issues::cases::{list, none, range, span, state};
use crate::issues::fill::fill;
use crate::issues::wire::{Target, drive};
use bench::server::Store;

/// Time for each side in a round.
const TURN: Duration = Duration::from_millis(1500);
const CONNECTIONS: [usize; 2] = [1, 8];
const PAGE: i64 = 100;
const FRAGMENTS: &str = "b.head, b.messages, b.meta, b.custom_fields, b.feedback, b.queue, \
     b.private_notes, b.predict_labels, b.sentiment_analysis, b.smart_intents";

/// A filter: its name, its parameters in request number `n`, and its condition in the bare query.
struct Filter {
    name: &'static str,
    parameters: fn(usize) -> String,
    condition: &'static str,
    /// Whether the condition has the number of a state, and whether it has a span, as parameters.
    by_state: bool,
    by_span: bool,
}

const FILTERS: [Filter; 4] = [
    Filter { name: "no filter", parameters: none, condition: "", by_state: false, by_span: false },
    Filter {
        name: "state",
        parameters: state,
        condition: "AND state = $2",
        by_state: true,
        by_span: false,
    },
    Filter {
        name: "range",
        parameters: range,
        condition: "AND created_at BETWEEN $2 AND $3",
        by_state: false,
        by_span: true,
    },
    Filter {
        name: "state + range",
        parameters: |n| state(n) + &range(n),
        condition: "AND state = $2 AND created_at BETWEEN $3 AND $4",
        by_state: true,
        by_span: true,
    },
];

pub(super) async fn measure(rounds: usize, issues: usize, report: &mut Report) -> Result<()> {
    let (database, client) = fresh().await?;
    let store = Store::in_database(database.url());
    let key = store.domain("bench")?;
    let server = store.serve()?;
    let filled = fill(&Client::new(&server.url, "bench", &key)?, issues).await?;
    settled(&client).await?;
    client.batch_execute("VACUUM ANALYZE").await?;
    let domain = domain_id(&client, "bench").await?;
    // The model numbers the states; the stored heads show which number each state has.
    let states = states(&client, domain).await?;
    let target = Target { address: server.url.trim_start_matches("http://").to_owned(), key };
    let mut rows = Vec::new();
    for filter in &FILTERS {
        let path = list(filter.parameters, format!("page-size={PAGE}"));
        for connections in CONNECTIONS {
            let (mut served, mut bare) = (Vec::new(), Vec::new());
            for _ in 0..rounds {
                served.push(drive(&target, &path, connections, TURN).await?.per_second);
                bare.push(bare_rate(database.url(), domain, filter, &states, connections).await?);
            }
            let ratio = median(served.iter().zip(&bare).map(|(ours, bare)| ours / bare).collect());
            rows.push(ListRow {
                name: filter.name,
                connections,
                served: median(served),
                bare: median(bare),
                ratio,
            });
        }
    }
    report.lists(issues, real(issues) / filled.seconds, &rows);
    server.kill()
}

/// The numbers of the measured states, in order.
async fn states(client: &tokio_postgres::Client, domain: i64) -> Result<Arc<Vec<i16>>> {
    let mut numbers = Vec::new();
    for (name, _) in crate::issues::data::STATES {
        let head = format!("%\"state\":\"{name}\"%");
        let found = client
            .query_one(
                "SELECT i.state FROM issues i JOIN issue_bodies b
                 ON b.domain_id = i.domain_id AND b.row = i.row
                 WHERE i.domain_id = $1 AND convert_from(b.head, 'UTF8') LIKE $2 LIMIT 1",
                &[&domain, &head],
            )
            .await?;
        numbers.push(found.get(0));
    }
    Ok(Arc::new(numbers))
}

/// Bare queries per second.
async fn bare_rate(
    url: &str,
    domain: i64,
    filter: &Filter,
    states: &Arc<Vec<i16>>,
    connections: usize,
) -> Result<f64> {
    let query = format!(
        "SELECT {FRAGMENTS} FROM (SELECT row FROM issues WHERE domain_id = $1 {}
         ORDER BY created_at DESC LIMIT {PAGE}) i
         JOIN issue_bodies b ON b.domain_id = $1 AND b.row = i.row",
        filter.condition
    );
    let (by_state, by_span) = (filter.by_state, filter.by_span);
    let mut ready = Vec::new();
    for _ in 0..connections {
        let client = connect(url).await?;
        client.batch_execute("SET plan_cache_mode = force_generic_plan; SET jit = off").await?;
        let statement = client.prepare(&query).await?;
        ready.push((client, statement));
    }
    let begun = Instant::now();
    let mut running = Vec::new();
    for (lane, (client, statement)) in ready.into_iter().enumerate() {
        let states = Arc::clone(states);
        running.push(tokio::spawn(async move {
            let (mut n, mut done) = (lane, 0);
            while begun.elapsed() < TURN {
                let (state, (since, until)) = (states[n % states.len()], span(n));
                n += connections;
                let mut values: Vec<&(dyn tokio_postgres::types::ToSql + Sync)> = vec![&domain];
                if by_state {
                    values.push(&state);
                }
                if by_span {
                    values.extend([&since as &(dyn tokio_postgres::types::ToSql + Sync), &until]);
                }
                let rows = client.query(&statement, &values).await?;
                ensure!(rows.len() == PAGE as usize, "a page of {}", rows.len());
                done += 1;
            }
            anyhow::Ok(done)
        }));
    }
    let mut done = 0;
    for running in running {
        done += running.await??;
    }
    Ok(real(done) / begun.elapsed().as_secs_f64())
}
