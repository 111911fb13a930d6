//! `caseload domain`: the tenants of a store. Deleting a domain removes everything in it, so it
//! needs the additional flag `--yes`.

use caseload_model::ids::DomainName;
use caseload_store::CreateDomain;
use clap::builder::FalseyValueParser;
use clap::{Args, Subcommand};
use serde_json::json;

use super::session::{domain_named, with_new_store, with_store};
use crate::args::{ListArgs, StoreArgs, parse_domain};
use crate::clock::{now, readable};
use crate::failure::{Done, Failure};
use crate::printer::{Printer, note};
use crate::secret::random_bytes;

#[derive(Debug, Subcommand)]
pub(crate) enum DomainCommand {
    /// Create a domain with its default app
    Create(CreateArgs),
    /// List all domains
    List(DomainListArgs),
    /// Delete a domain with everything in it
    Delete(DeleteArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CreateArgs {
    /// Name of the domain: a-z, 0-9 and hyphens
    #[arg(value_parser = parse_domain)]
    name: DomainName,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DomainListArgs {
    #[command(flatten)]
    list: ListArgs,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DeleteArgs {
    /// Name of the domain
    #[arg(value_parser = parse_domain)]
    name: DomainName,
    /// Confirm the deletion of its keys, profiles, issues and tasks
    #[arg(long, env = "CASELOAD_YES", value_parser = FalseyValueParser::new())]
    yes: bool,
    #[command(flatten)]
    store: StoreArgs,
}

pub(crate) fn run(command: DomainCommand, printer: &mut Printer) -> Result<Done, Failure> {
    match command {
        DomainCommand::Create(args) => create(args),
        DomainCommand::List(args) => list(&args, printer),
        DomainCommand::Delete(args) => delete(&args),
    }
}

fn create(args: CreateArgs) -> Result<Done, Failure> {
    let random = u64::from_le_bytes(random_bytes()?);
    let command = CreateDomain { name: args.name, now: now(), random };
    let domain =
        with_new_store(&args.store.store, async |store| Ok(store.create_domain(command).await?))?;
    tracing::info!(domain = domain.name.as_str(), "a domain was created");
    note(format_args!("created domain {}", domain.name));
    Ok(Done::Good)
}

fn list(args: &DomainListArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let domains = with_store(&args.store.store, async |store| Ok(store.domains().await?))?;
    if args.list.json {
        for domain in domains {
            let record = json!({"name": domain.name.as_str(), "created_at": domain.created_at.0});
            printer.line(record)?;
        }
        return Ok(Done::Good);
    }
    let row = |domain: &caseload_store::Domain| {
        vec![domain.name.as_str().to_owned(), readable(domain.created_at)]
    };
    printer.table(&["NAME", "CREATED"], &domains.iter().map(row).collect::<Vec<_>>())?;
    Ok(Done::Good)
}

fn delete(args: &DeleteArgs) -> Result<Done, Failure> {
    let name = &args.name;
    if !args.yes {
        return Err(Failure::usage(format!(
            "deleting {name} removes its keys, profiles, issues and tasks for good"
        ))
        .with_hint("add --yes to delete it"));
    }
    with_store(&args.store.store, async |store| {
        let domain = domain_named(store.as_ref(), name).await?;
        Ok(store.delete_domain(domain.id).await?)
    })?;
    tracing::info!(domain = name.as_str(), "a domain was deleted");
    note(format_args!("deleted domain {name}"));
    Ok(Done::Good)
}
