//! The issue API at scale.

mod data;
mod fill;

use std::path::Path;

use anyhow::Result;
use caseload_client::Client;

use crate::server::Store;

/// Fills a store at `folder` and leaves it there.
#[expect(clippy::print_stdout, reason = "the figures are the output")]
pub(crate) async fn make(folder: &Path, count: usize) -> Result<()> {
    let store = Store::at(folder)?;
    let key = store.domain("load")?;
    let server = store.serve()?;
    let client = Client::new(&server.url, "load", &key)?;
    let filled = fill::fill(&client, count).await?;
    println!(
        "{count} issues, {} bytes of JSON, {:.1} s, {:.0} issues/s; tenths: {:?}",
        filled.json_bytes,
        filled.seconds,
        count as f64 / filled.seconds,
        filled.rates.iter().map(|rate| rate.round()).collect::<Vec<_>>()
    );
    std::fs::write(folder.join("key"), key)?;
    std::fs::write(folder.join("json-bytes"), filled.json_bytes.to_string())?;
    server.kill()
}
