//! `caseload domain`: the tenants of a store, with the name and the address under which their desk
//! writes, their quotas and their placeholders. Deleting a domain removes everything in it, so it
//! needs the additional flag `--yes`.

use caseload_model::ids::DomainName;
use caseload_model::issue::write::{DESK_TEXT_CHARS_MAX, Desk};
use caseload_model::spelling::trimmed;
use caseload_store::{CreateDomain, Domain, DomainLimits, DomainUsage, OpenMode};
use clap::{Args, Subcommand};
use serde_json::json;

use super::session::{domain_named, origin, with_store, with_store_in};
use crate::args::{ListArgs, StoreArgs, parse_domain};
use crate::clock::readable;
use crate::failure::{Done, Failure};
use crate::printer::{Printer, note};
use crate::secret::random_bytes;

#[derive(Debug, Subcommand)]
pub(crate) enum DomainCommand {
    /// Create a domain with its default app
    Create(CreateArgs),
    /// List all domains
    List(DomainListArgs),
    /// Change the desk, the quotas or the placeholders of a domain
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
    limits: LimitsArgs,
    /// Words that are nobody's identity, separated by commas, in place of the usual ones such as
    /// `n/a`: a word that ends in `@` means all addresses that begin with it, and `0` for any
    /// number of zeros. An empty text sets the usual ones again
    #[arg(
        long,
        value_name = "WORDS",
        value_parser = parse_placeholders
    )]
    placeholders: Option<String>,
    #[command(flatten)]
    store: StoreArgs,
}

/// The quotas of a domain.
#[derive(Debug, Args)]
pub(crate) struct LimitsArgs {
    /// Bytes that the domain may store in issues, profiles, payloads, records and files; `none`
    /// removes the limit
    #[arg(long, value_name = "BYTES", value_parser = parse_quota)]
    quota_bytes: Option<Quota>,
    /// Unfinished tasks that the domain may have; `none` removes the limit
    #[arg(long, value_name = "NUMBER", value_parser = parse_number)]
    quota_tasks: Option<Quota>,
    /// Requests that all keys of the domain may make in 60 s at each server, below the limit of
    /// each key; `none` removes the limit
    #[arg(
        long,
        value_name = "NUMBER",
        value_parser = parse_number
    )]
    rate_limit: Option<Quota>,
}

/// A limit, or none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Quota(Option<u64>);

/// How messages and notes are signed that no agent writes.
#[derive(Debug, Args)]
pub(crate) struct DeskArgs {
    /// Name under which messages and notes without an agent are written; `Desk` until it is set
    #[arg(long, value_name = "TEXT", value_parser = parse_desk_name)]
    desk_name: Option<String>,
    /// Address of messages without that of an agent; `desk@NAME.invalid` until it is set, and again
    /// if the given text is empty
    #[arg(
        long,
        value_name = "ADDRESS",
        value_parser = parse_desk_email
    )]
    desk_email: Option<String>,
}

#[derive(Debug, Args)]
pub(crate) struct DomainListArgs {
    /// Show the usage and the quotas of each domain
    #[arg(long)]
    usage: bool,
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
    #[arg(long)]
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

impl LimitsArgs {
    /// The limits with the given changes; `None` if there are none.
    fn changed(&self, mut limits: DomainLimits) -> Option<DomainLimits> {
        let Self { quota_bytes, quota_tasks, rate_limit } = self;
        quota_bytes.or(*quota_tasks).or(*rate_limit)?;
        let number = |quota: Quota| quota.0.and_then(|number| u32::try_from(number).ok());
        if let Some(quota) = quota_bytes {
            limits.quota_bytes = quota.0;
        }
        if let Some(quota) = quota_tasks {
            limits.quota_tasks = number(*quota);
        }
        if let Some(quota) = rate_limit {
            limits.rate_limit = number(*quota);
        }
        Some(limits)
    }
}

fn parse_quota(text: &str) -> Result<Quota, String> {
    quota(text, i64::MAX.unsigned_abs())
}

fn parse_number(text: &str) -> Result<Quota, String> {
    quota(text, 1_000_000_000)
}

fn quota(text: &str, most: u64) -> Result<Quota, String> {
    if text == "none" {
        return Ok(Quota(None));
    }
    let number = text.parse().ok().filter(|number| (1..=most).contains(number));
    let wrong = || format!("write a whole number from 1 to {most}, or none");
    number.map(|number| Quota(Some(number))).ok_or_else(wrong)
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
    let text = trimmed(text);
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

fn parse_placeholders(text: &str) -> Result<String, String> {
    /// Far more than any list needs; each word costs a comparison for every identity.
    const CHARS_MAX: usize = 1000;
    if text.chars().count() > CHARS_MAX || text.chars().any(char::is_control) {
        return Err(format!("a list of words has at most {CHARS_MAX} characters in one line"));
    }
    Ok(text.to_owned())
}

fn create(args: CreateArgs) -> Result<Done, Failure> {
    let random = u64::from_le_bytes(random_bytes()?);
    let command = CreateDomain { name: args.name, origin: origin("domain create"), random };
    let domain = with_store_in(&args.store.store, OpenMode::Create, async |store| {
        let domain = store.create_domain(command).await?;
        if let Some(desk) = args.desk.changed(domain.desk.clone()) {
            store.set_desk(domain.id, desk, origin("domain create")).await?;
        }
        Ok(domain)
    })?;
    tracing::info!(domain = domain.name.as_str(), "a domain was created");
    note(format_args!("created domain {}", domain.name));
    Ok(Done::Good)
}

fn edit(args: &EditArgs) -> Result<Done, Failure> {
    let new_desk = args.desk.changed(Desk::default());
    let new_limits = args.limits.changed(DomainLimits::default());
    if new_desk.is_none() && new_limits.is_none() && args.placeholders.is_none() {
        let failure = Failure::usage("there is nothing to change".to_owned());
        return Err(failure.with_hint(
            "give --desk-name, --desk-email, --quota-bytes, --quota-tasks, --rate-limit or \
             --placeholders",
        ));
    }
    let placeholders = args.placeholders.clone().map(|list| Some(list).filter(|l| !l.is_empty()));
    let (name, by) = (&args.name, origin("domain edit"));
    let (desk, limits) = with_store(&args.store.store, async |store| {
        let domain = domain_named(store.as_ref(), name).await?;
        let desk = args.desk.changed(domain.desk);
        if let Some(desk) = &desk {
            store.set_desk(domain.id, desk.clone(), by.clone()).await?;
        }
        let limits = args.limits.changed(domain.limits);
        if let Some(limits) = limits {
            store.set_limits(domain.id, limits, by.clone()).await?;
        }
        if let Some(list) = &placeholders {
            store.set_placeholders(domain.id, list.clone(), by).await?;
        }
        Ok((desk, limits))
    })?;
    if let Some(desk) = desk {
        tracing::info!(domain = name.as_str(), "the desk of a domain was changed");
        let address = desk.address(name);
        note(format_args!("the desk of domain {name} is {:?} <{address}>", desk.name));
    }
    if let Some(limits) = limits {
        tracing::info!(domain = name.as_str(), "the limits of a domain were changed");
        let DomainLimits { quota_bytes, quota_tasks, rate_limit } = limits;
        note(format_args!(
            "domain {name} may store {} bytes, have {} unfinished tasks and make {} requests in \
             60 s",
            limit(quota_bytes, "any number of"),
            limit(quota_tasks.map(u64::from), "any number of"),
            limit(rate_limit.map(u64::from), "any number of"),
        ));
    }
    if let Some(list) = placeholders {
        tracing::info!(domain = name.as_str(), "the placeholders of a domain were changed");
        match list {
            Some(list) => note(format_args!("the placeholders of domain {name} are {list}")),
            None => note(format_args!("domain {name} has the usual placeholders")),
        }
    }
    Ok(Done::Good)
}

fn limit(limit: Option<u64>, none: &str) -> String {
    limit.map_or_else(|| none.to_owned(), |limit| limit.to_string())
}

fn list(args: &DomainListArgs, printer: &mut Printer) -> Result<Done, Failure> {
    if args.usage {
        return list_usage(args, printer);
    }
    let domains = with_store(&args.store.store, async |store| Ok(store.domains().await?))?;
    let json = |Domain { name, created_at, desk, placeholders, .. }: &Domain| {
        json!({
            "name": name.as_str(), "created_at": created_at.0, "desk_name": desk.name,
            "desk_email": desk.address(name), "placeholders": placeholders,
        })
    };
    let row = |Domain { name, created_at, desk, .. }: &Domain| {
        let address = desk.address(name);
        vec![name.as_str().to_owned(), readable(*created_at), desk.name.clone(), address]
    };
    let header = ["NAME", "CREATED", "DESK", "DESK EMAIL"];
    printer.list(args.list.json, &domains, json, (&header, row))?;
    Ok(Done::Good)
}

/// The domains with their usage and their quotas.
fn list_usage(args: &DomainListArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let domains = with_store(&args.store.store, async |store| {
        let mut found = Vec::new();
        for domain in store.domains().await? {
            let usage = store.usage(domain.id).await?;
            found.push((domain, usage));
        }
        Ok(found)
    })?;
    let json = |(Domain { name, limits, .. }, usage): &(Domain, DomainUsage)| {
        json!({
            "name": name.as_str(),
            "bytes": usage.bytes, "quota_bytes": limits.quota_bytes,
            "tasks": usage.tasks, "delayed": usage.delayed,
            "quota_tasks": limits.quota_tasks,
            "rate_limit": limits.rate_limit,
        })
    };
    let row = |(Domain { name, limits, .. }, usage): &(Domain, DomainUsage)| {
        vec![
            name.as_str().to_owned(),
            usage.bytes.to_string(),
            limit(limits.quota_bytes, "none"),
            usage.tasks.to_string(),
            usage.delayed.to_string(),
            limit(limits.quota_tasks.map(u64::from), "none"),
            limit(limits.rate_limit.map(u64::from), "none"),
        ]
    };
    let header = ["NAME", "BYTES", "QUOTA BYTES", "TASKS", "DELAYED", "QUOTA TASKS", "RATE LIMIT"];
    printer.list(args.list.json, &domains, json, (&header, row))?;
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
