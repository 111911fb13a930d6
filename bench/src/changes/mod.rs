//! The log of changes on SQLite, after tasks of profile creations: how fast the whole log is read,
//! how soon a follower and a webhook have a change, and what waiting followers cost the server.
//! Each figure has a fixed limit next to it. Whether the log is right is not measured here.

mod arrivals;
mod log;
mod waiting;

use anyhow::Result;
use caseload_client::Client;
use caseload_model::task::Action;

use crate::bulk::jobs::run;
use crate::figures::{Limit, median, print_head, print_line, print_waits};
use crate::issues::wire::Target;
use crate::profiles;
use arrivals::Arrivals;
use bench::server::Server;

/// Entries of one task: the most that a request may have.
const ENTRIES: usize = 10_000;
/// Issues that are created one after another while someone waits for their changes.
const FOLLOWED: usize = 200;
const DELIVERED: usize = 100;

/// The receiver and the followers are on this machine, and all use one key.
const ARGUMENTS: [&str; 3] = ["--webhook-allow-private", "--domain-connections", "3000"];

pub(crate) async fn measure(tasks: usize, rounds: usize) -> Result<()> {
    let server = Server::start_with("admin", &ARGUMENTS)?;
    let client = Client::new(&server.url, "bench", &server.key)?;
    let target = Target::of(&server);
    print_head();

    let mut fills = Vec::new();
    for n in 0..tasks {
        let lines = profiles::lines_from(n * ENTRIES, ENTRIES);
        fills.push(run(&client, Action::CreateCoreProfiles, lines).await?.0.completed);
    }
    if !fills.is_empty() {
        print_line("10,000 profile creations, median", median(fills), "ms", Limit::None);
    }

    let mut rates = Vec::new();
    for _ in 0..rounds {
        rates.push(log::read(&target, tasks * ENTRIES).await?);
    }
    if !rates.is_empty() {
        let limit = Limit::AtLeast(500_000.0);
        print_line("reading the log, median", median(rates), "changes/s", limit);
    }

    let waits = Arrivals::of_stream(&target).await?.time(&target, FOLLOWED).await?;
    print_waits("from 201 to the event", waits, [Limit::AtMost(20.0), Limit::None]);

    let (arrivals, url) = Arrivals::of_receiver().await?;
    let fields = serde_json::json!({"url": url, "resources": ["issue"]});
    let webhook = client.create_webhook(&fields).await?;
    let waits = arrivals.time(&target, DELIVERED).await?;
    print_waits("from 201 to the delivery", waits, [Limit::AtMost(100.0), Limit::None]);
    client.delete_webhook(webhook["id"].as_str().unwrap_or_default()).await?;

    waiting::measure(&target, server.pid()).await?;
    server.stop()
}
