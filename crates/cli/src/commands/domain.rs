//! `caseload domain`: the tenants of a store, with the name and the address under which their desk
//! writes. Deleting a domain removes everything in it, so it needs the additional flag `--yes`.

use caseload_model::ids::DomainName;
use caseload_model::issue::write::{DESK_TEXT_CHARS_MAX, Desk};
use caseload_store::{CreateDomain, Domain};
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
    /// Change the name or the address of a domain's desk
    Edit(EditArgs),
    /// Delete a domain with everything in it
    Delete(DeleteArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CreateArgs {
    /// Name of the domain: a-z, 0-9 and hyphens
    #[arg(value_parser = parse_domain)]
    name: DomainName,
    #[command(flatten)]
    desk: DeskArgs,
    #[command(flatten)]
    store: StoreArgs,
}

#[derive(Debug, Args)]
pub(crate) struct EditArgs {
    /// Name of the domain
    #[arg(value_parser = parse_domain)]
    name: DomainName,
    #[command(flatten)]
    desk: DeskArgs,
    #[command(flatten)]
    store: StoreArgs,
}

/// How messages and notes are signed that no agent writes.
#[derive(Debug, Args)]
pub(crate) struct DeskArgs {
    /// Name under which messages and notes without an agent are written; `Desk` until it is set
    #[arg(long, env = "CASELOAD_DESK_NAME", value_name = "TEXT", value_parser = parse_desk_name)]
    desk_name: Option<String>,
    /// Address of messages without that of an agent; `desk@NAME.invalid` until it is set, and again
    /// if the given text is empty
    #[arg(
        long,
        env = "CASELOAD_DESK_EMAIL",
        value_name = "ADDRESS",
        value_parser = parse_desk_email
    )]
    desk_email: Option<String>,
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
        DomainCommand::Edit(args) => edit(&args),
        DomainCommand::Delete(args) => delete(&args),
    }
}

impl DeskArgs {
    /// The desk with the given changes; `None` if there are none.
    fn changed(&self, mut desk: Desk) -> Option<Desk> {
        if self.desk_name.is_none() && self.desk_email.is_none() {
            return None;
        }
        if let Some(name) = &self.desk_name {
            desk.name.clone_from(name);
        }
        if let Some(email) = &self.desk_email {
            desk.email = Some(email.clone()).filter(|email| !email.is_empty());
        }
        Some(desk)
    }
}

fn parse_desk_name(text: &str) -> Result<String, String> {
    let chars = text.chars().count();
    if text.trim().is_empty() || chars > DESK_TEXT_CHARS_MAX || text.chars().any(char::is_control) {
        return Err(format!(
            "a name has 1 to {DESK_TEXT_CHARS_MAX} characters, one of them not blank, and no line \
             breaks"
        ));
    }
    Ok(text.to_owned())
}

fn parse_desk_email(text: &str) -> Result<String, String> {
    let is_plain = |c: char| !c.is_whitespace() && !c.is_control();
    let has_room = text.chars().count() <= DESK_TEXT_CHARS_MAX;
    if text.is_empty() || text.contains('@') && has_room && text.chars().all(is_plain) {
        return Ok(text.to_owned());
    }
    Err(format!(
        "{text:?} is not an e-mail address of at most {DESK_TEXT_CHARS_MAX} characters; an empty \
         text sets the default again"
    ))
}

fn create(args: CreateArgs) -> Result<Done, Failure> {
    let random = u64::from_le_bytes(random_bytes()?);
    let command = CreateDomain { name: args.name, now: now(), random };
    let domain = with_new_store(&args.store.store, async |store| {
        let domain = store.create_domain(command).await?;
        if let Some(desk) = args.desk.changed(domain.desk.clone()) {
            store.set_desk(domain.id, desk).await?;
        }
        Ok(domain)
    })?;
    tracing::info!(domain = domain.name.as_str(), "a domain was created");
    note(format_args!("created domain {}", domain.name));
    Ok(Done::Good)
}

fn edit(args: &EditArgs) -> Result<Done, Failure> {
    if args.desk.changed(Desk::default()).is_none() {
        let failure = Failure::usage("there is nothing to change".to_owned());
        return Err(failure.with_hint("give --desk-name, --desk-email or both"));
    }
    let name = &args.name;
    let desk = with_store(&args.store.store, async |store| {
        let domain = domain_named(store.as_ref(), name).await?;
        let desk = args.desk.changed(domain.desk).unwrap_or_default();
        store.set_desk(domain.id, desk.clone()).await?;
        Ok(desk)
    })?;
    tracing::info!(domain = name.as_str(), "the desk of a domain was changed");
    note(format_args!("the desk of domain {name} is {:?} <{}>", desk.name, desk.address(name)));
    Ok(Done::Good)
}

fn list(args: &DomainListArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let domains = with_store(&args.store.store, async |store| Ok(store.domains().await?))?;
    if args.list.json {
        for Domain { name, created_at, desk, .. } in domains {
            let address = desk.address(&name);
            printer.line(json!({
                "name": name.as_str(), "created_at": created_at.0, "desk_name": desk.name,
                "desk_email": address,
            }))?;
        }
        return Ok(Done::Good);
    }
    let row = |domain: &Domain| {
        let Domain { name, created_at, desk, .. } = domain;
        let address = desk.address(name);
        vec![name.as_str().to_owned(), readable(*created_at), desk.name.clone(), address]
    };
    let rows: Vec<_> = domains.iter().map(row).collect();
    printer.table(&["NAME", "CREATED", "DESK", "DESK EMAIL"], &rows)?;
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
