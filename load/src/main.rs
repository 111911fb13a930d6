//! Whole-server measurements: the released binary, started as a process with an empty store,
//! against a limit measured in the same run, in turns. Absolute numbers of a shared machine mean
//! little; the ratios in one table do. Run with
//! `cargo build --release -p caseload && cargo run --release -p load -- import [ROUNDS]`.
//!
//! `load issues-store FOLDER N` makes a store of N generated issues, `load issues FOLDER` measures
//! reading it, `load issues-import [ROUNDS]` the import of issues beside raw insertion.
//!
//! `load bulk [ROUNDS] [--write] [--profiles N] [--date D] [--commit C]` prints the whole table of
//! bulk actions; `--write` keeps it in `load/results`.
//!
//! `load postgres [ROUNDS] [--issues N] [--only PART] [--write]` measures imports, servers, lists
//! and claims on a PostgreSQL that it starts itself.
//!
//! `load memory` prints the peak of the server's memory while ten tasks are uploaded, ten result
//! files are downloaded and tasks run.
//!
//! `load crash [KILLS] [SEED]` measures nothing: it kills the server at random moments (200 unless
//! told) while tasks of every kind run in two domains, starts it again on the same store, and holds
//! what it finds against the laws of tasks, of idempotency and of the stored data. It exits with an
//! error, and keeps the store, at the first that is broken. It runs in either profile; the seed is
//! printed.
//!
//! `load replicas [ROUNDS] [SEED]` does the same to several servers over one PostgreSQL (50 rounds
//! unless told): servers are killed and frozen, the database is restarted, connections are cut,
//! one server's network is blocked, and the session of a running chunk is ended. It takes the
//! database of `TEST_DATABASE_URL`, or one of its own from `scripts/with-postgres`.

mod bulk;
mod crash;
mod import;
mod issues;
mod laws;
mod memory;
mod postgres;
mod profiles;
mod random;
mod raw;
mod replicas;
mod server;

use anyhow::{Result, bail};

const USAGE: &str = "usage: load import [ROUNDS] | load bulk [ROUNDS] [--write] | load memory | \
    load crash [KILLS] [SEED] | load replicas [ROUNDS] [SEED] | \
    load issues-store FOLDER N | load issues FOLDER [PART OF A NAME] | \
    load issues-import [ROUNDS] | \
    load postgres [ROUNDS] [--issues N] [--only imports|servers|lists|claims] [--write]";

#[tokio::main]
async fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("import") => {
            let rounds = args.get(1).map_or(Ok(5), |text| text.parse())?;
            import::measure(rounds).await
        }
        Some("bulk") => bulk::measure(bulk::Options::parse(&args[1..])?).await,
        Some("postgres") => postgres::measure(&args[1..]).await,
        Some("memory") => memory::measure().await,
        Some("crash") => {
            let kills = args.get(1).map_or(Ok(200), |text| text.parse())?;
            let seed = args.get(2).map(|text| text.parse()).transpose()?;
            crash::run(kills, seed).await
        }
        Some("replicas") => {
            let rounds = args.get(1).map_or(Ok(50), |text| text.parse())?;
            let seed = args.get(2).map(|text| text.parse()).transpose()?;
            replicas::run(rounds, seed).await
        }
        Some("issues-store") => {
            let (Some(folder), Some(count)) = (args.get(1), args.get(2)) else { bail!(USAGE) };
            issues::make(folder.as_ref(), count.parse()?).await
        }
        Some("issues") => {
            let Some(folder) = args.get(1) else { bail!(USAGE) };
            let only = args.get(2).map_or("", String::as_str);
            issues::measure(folder.as_ref(), only).await
        }
        Some("issues-import") => {
            let rounds = args.get(1).map_or(Ok(10), |text| text.parse())?;
            issues::import(rounds).await
        }
        _ => bail!(USAGE),
    }
}

/// The middle value.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A count as a figure to divide.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
fn real(count: usize) -> f64 {
    count as f64
}
