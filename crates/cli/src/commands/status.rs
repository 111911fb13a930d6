//! `caseload status`: a store at a glance: its servers, domains, unfinished tasks and disk. It
//! reads the store and needs no server. The figures are those of `/metrics`; `domain list --usage`
//! has those of each domain.

use caseload_store::StoreMetrics;
use clap::Args;
use serde_json::json;

use super::session::with_store;
use crate::args::{ListArgs, StoreArgs};
use crate::failure::{Done, Failure};
use crate::printer::{Printer, grouped};

#[derive(Debug, Args)]
pub(crate) struct StatusArgs {
    #[command(flatten)]
    list: ListArgs,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(args: &StatusArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let location = &args.store.store;
    let read = with_store(location, async |store| {
        Ok((store.domains().await?.len() as u64, store.metrics().await?))
    })?;
    let json = |(domains, figures): &(u64, StoreMetrics)| {
        json!({
            "store": location.to_string(), "servers": figures.servers, "domains": domains,
            "tasks_waiting": figures.tasks_waiting, "tasks_running": figures.tasks_running,
            "tasks_delayed": figures.tasks_delayed,
            "bytes": figures.database_bytes + figures.log_bytes,
            "free_bytes": figures.disk_free_bytes,
        })
    };
    let row = |(domains, figures): &(u64, StoreMetrics)| {
        vec![
            figures.servers.to_string(),
            grouped(*domains),
            grouped(figures.tasks_waiting),
            grouped(figures.tasks_running),
            grouped(figures.tasks_delayed),
            grouped(figures.database_bytes + figures.log_bytes),
            figures.disk_free_bytes.map_or_else(|| "-".to_owned(), grouped),
            location.to_string(),
        ]
    };
    let header =
        ["SERVERS", "DOMAINS", "WAITING", "RUNNING", "DELAYED", "BYTES", "FREE BYTES", "STORE"];
    printer.list(args.list.json, &[read], json, (&header, row))?;
    Ok(Done::Good)
}
