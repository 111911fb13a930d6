//! Whole-server measurements: the released binary, started as a process with an empty store,
//! against a limit measured in the same run, in turns. Absolute numbers of a shared machine mean
//! little; the ratios in one table do. Run with
//! `cargo build --release -p caseload && cargo run --release -p load -- import [ROUNDS]`.
//!
//! `load memory` prints the peak of the server's memory while ten tasks are uploaded, ten result
//! files are downloaded and tasks run.
//!
//! `load crash [KILLS] [SEED]` measures nothing: it kills the server at random moments (200 unless
//! told) while tasks of every kind run in two domains, starts it again on the same store, and holds
//! what it finds against the laws of tasks, of idempotency and of the stored data. It exits with an
//! error, and keeps the store, at the first that is broken. It runs in either profile; the seed is
//! printed.

mod crash;
mod import;
mod memory;
mod profiles;
mod random;
mod raw;
mod server;

use anyhow::{Result, bail};

#[tokio::main]
async fn main() -> Result<()> {
    let args: Vec<String> = std::env::args().skip(1).collect();
    match args.first().map(String::as_str) {
        Some("import") => {
            let rounds = args.get(1).map_or(Ok(5), |text| text.parse())?;
            import::measure(rounds).await
        }
        Some("memory") => memory::measure().await,
        Some("crash") => {
            let kills = args.get(1).map_or(Ok(200), |text| text.parse())?;
            let seed = args.get(2).map(|text| text.parse()).transpose()?;
            crash::run(kills, seed).await
        }
        _ => bail!("usage: load import [ROUNDS] | load memory | load crash [KILLS] [SEED]"),
    }
}

/// The middle value.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
