//! The cost of each call on PostgreSQL and on a cluster: processor time of the server, of the
//! coordinator and of the workers, bytes and round trips. The capacity of a cluster of any size
//! follows from these. All parts share this machine, so the rates say little; the times do not
//! depend on the number of machines. The database's commits are not durable.

mod calls;
mod layout;
mod report;
mod steps;

use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use bench::server::Store;

use crate::figures::real;
use crate::postgres::database::seconds_of;
use calls::{Amount, CALLS, Call, Served};
use layout::Layout;
use report::{Report, Row, Traffic};

/// The time of each call.
const TURN: Duration = Duration::from_secs(3);
/// Calls whose bytes are counted.
const COUNTED: usize = 100;

/// Measures in so many rounds; on a cluster, too, if the extension is installed.
#[expect(clippy::print_stdout, reason = "the tables are the program's output")]
pub(crate) async fn measure(rounds: usize) -> Result<()> {
    if std::env::var_os("TEST_DATABASE_URL").is_none() {
        return with_cluster(rounds);
    }
    let workers = caseload_teststore::nodes::ports().len();
    let mut report = Report::default();
    for round in 1..=rounds {
        for used in 0..=workers {
            let layout = Layout::new(used).await?;
            of_calls(&layout, &mut report).await?;
            steps::measure(&layout, &mut report).await?;
            println!("round {round}: {} is done", layout.name);
        }
    }
    println!("\n{}", report.text());
    Ok(())
}

/// Runs this program under a temporary cluster.
fn with_cluster(rounds: usize) -> Result<()> {
    let script = concat!(env!("CARGO_MANIFEST_DIR"), "/../scripts/with-postgres");
    let mut command = Command::new(script);
    command.arg("--distributed").arg(std::env::current_exe()?);
    let status = command.args(["capacity", &rounds.to_string()]).status()?;
    ensure!(status.success(), "the measurement failed: {status}");
    Ok(())
}

async fn of_calls(layout: &Layout, report: &mut Report) -> Result<()> {
    let server = layout.store.serve()?;
    let served = Served::new(&server.url, &layout.domains, 0);
    for call in CALLS {
        // Connections and statements are new to the server.
        let few = if call == Call::ImportIssues { 1 } else { COUNTED };
        call.make(&served, Amount::Few(few)).await?;
        layout.quiet().await?;
        let (used, before) = (seconds_of(server.pid())?, layout.seconds().await?);
        let disk = layout.disk().await?;
        let begun = Instant::now();
        let made = call.make(&served, Amount::For(TURN)).await.context(call.name())?;
        let took = begun.elapsed().as_secs_f64();
        let (after, each) = (layout.seconds().await?, 1.0 / real(made));
        let row = Row {
            rate: real(made) / took,
            server: (seconds_of(server.pid())? - used) * each,
            database: [0, 1].map(|part| (after[part] - before[part]) * each),
            disk: (layout.disk().await? - disk) * each,
        };
        report.add(&layout.name, call.name(), row);
    }
    let next = served.next.get();
    server.kill()?;
    // Once more through the relays, for the bytes.
    layout.quiet().await?;
    layout.use_relays().await?;
    let url = layout.url_by_relay()?;
    let server = Store::in_database(&url).serve()?;
    let served = Served::new(&server.url, &layout.domains, next);
    for call in CALLS {
        call.make(&served, Amount::Few(COUNTED)).await?;
        let amount = if matches!(call, Call::ImportIssues | Call::CreateProfiles) {
            Amount::Few(calls::ISSUES)
        } else {
            Amount::Few(COUNTED)
        };
        let before = layout.passed();
        let made = call.make(&served, amount).await?;
        let traffic = Traffic::of(before, layout.passed(), real(made));
        report.add_traffic(&layout.name, call.name(), traffic);
    }
    server.kill()
}
