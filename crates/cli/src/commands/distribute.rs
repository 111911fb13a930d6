//! `caseload distribute`: distributes a store over the nodes of a Citus cluster, so that the data
//! of each domain is on one of its workers. The place of each table goes to standard output. When
//! it runs again, it changes nothing that is in its place already.

use caseload_location::{Distribution, TablePlacement, distribute};
use clap::Args;

use crate::args::StoreArgs;
use crate::failure::{Done, Failure};
use crate::printer::{Printer, counted, note};
use crate::server::on_threads;

#[derive(Debug, Args)]
pub(crate) struct DistributeArgs {
    #[command(flatten)]
    store: StoreArgs,
    /// Only show the places of the tables, and change nothing
    #[arg(long)]
    dry_run: bool,
}

pub(crate) fn run(args: &DistributeArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let DistributeArgs { store, dry_run } = args;
    let found = on_threads(async { Ok(distribute(&store.store, *dry_run).await?) })?;
    let Distribution { extension, workers, tables } = found;
    let row = |table: &TablePlacement| {
        let TablePlacement { table, before, wanted } = table;
        vec![(*table).to_owned(), before.to_string(), wanted.to_string()]
    };
    let rows: Vec<_> = tables.iter().map(row).collect();
    let place = if *dry_run { "PLACE" } else { "IS NOW" };
    printer.table(&["TABLE", "WAS", place], &rows)?;
    let placed = tables.iter().filter(|table| table.before != table.wanted).count() as u64;
    let on = counted(workers.len() as u64, "worker", "workers");
    let doing = if *dry_run { "to place" } else { "placed" };
    note(format_args!(
        "{} {doing}; Citus {extension} with {on}",
        counted(placed, "table", "tables")
    ));
    for (worker, shards) in workers {
        let parts = counted(shards, "shard", "shards");
        note(format_args!("{worker}: {parts} of each table that is distributed by domain"));
    }
    Ok(Done::Good)
}
