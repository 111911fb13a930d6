//! Whole-server measurements: the released binary, started as a process with an empty store,
//! against a limit measured in the same run, in turns. Absolute numbers of a shared machine mean
//! little; the ratios in one table do. Run with
//! `cargo build --release -p caseload && cargo run --release -p load -- import [ROUNDS]`.

mod import;
mod profiles;
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
        _ => bail!("usage: load import [ROUNDS]"),
    }
}

/// The middle value.
fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}
