//! `caseload key`: the API keys of a domain. A new key's text goes to standard output and is not
//! stored; later commands name the key by its id.

use caseload_model::ids::DomainName;
use caseload_model::key::Access;
use caseload_model::time::UnixMillis;
use caseload_store::{AdminOrigin, CreateKey, Domain, Key, RotateKey, Store};
use clap::builder::PossibleValuesParser;
use clap::{Args, Subcommand};
use serde_json::json;

use super::admin::AdminListArgs;
use super::session::{domain_named, origin, with_store};
use crate::args::DomainArgs;
use crate::clock::{now, parse_span, readable};
use crate::failure::{Done, Failure};
use crate::printer::{Printer, note};
use crate::secret::{hash_of_key, new_key, random_bytes};

#[derive(Debug, Subcommand)]
pub(crate) enum KeyCommand {
    /// Create a key and print it; it cannot be shown again
    Create(CreateArgs),
    /// List the keys of a domain, revoked ones included
    List(AdminListArgs),
    /// Print a new key with the name, the access and the expiry of another, which then ends
    Rotate(RotateArgs),
    /// Revoke a key; a running server rejects it within 5 seconds
    Revoke(RevokeArgs),
}

#[derive(Debug, Args)]
pub(crate) struct CreateArgs {
    #[command(flatten)]
    domain: DomainArgs,
    /// Access of the key: write includes read, admin includes write and manages keys, apps, agents,
    /// queues and settings over HTTP
    #[arg(long, default_value = "write",
          value_parser = PossibleValuesParser::new(["read", "write", "admin"]))]
    access: String,
    /// Name of the key in lists
    #[arg(long, default_value = "")]
    name: String,
    /// Time until the key expires, such as 12h, 90d, 8w or 1y; without it, the key does not expire
    #[arg(long, value_name = "SPAN", value_parser = parse_span)]
    expires: Option<i64>,
}

#[derive(Debug, Args)]
pub(crate) struct RotateArgs {
    /// Id of the key to replace, from `caseload key list`
    id: String,
    /// Time that the replaced key still works, such as 10m, 12h or 7d; without it, running servers
    /// reject it within 5 seconds
    #[arg(long, value_name = "SPAN", value_parser = parse_span)]
    grace: Option<i64>,
    #[command(flatten)]
    domain: DomainArgs,
}

#[derive(Debug, Args)]
pub(crate) struct RevokeArgs {
    /// Id of the key, from `caseload key list`
    id: String,
    #[command(flatten)]
    domain: DomainArgs,
}

pub(crate) fn run(command: KeyCommand, printer: &mut Printer) -> Result<Done, Failure> {
    match command {
        KeyCommand::Create(args) => create(&args, printer),
        KeyCommand::List(args) => list(&args, printer),
        KeyCommand::Rotate(args) => rotate(&args, printer),
        KeyCommand::Revoke(args) => revoke(&args),
    }
}

/// Creates a key in a domain; returns its id and its text.
pub(crate) async fn make_key(
    store: &dyn Store,
    domain: &Domain,
    access: Access,
    name: &str,
    span_ms: Option<i64>,
    origin: AdminOrigin,
) -> Result<(String, String), Failure> {
    let (id, text) = (new_id()?, new_key()?);
    let at = origin.now;
    let command = CreateKey {
        domain: domain.id,
        id: id.clone(),
        hash: hash_of_key(&text),
        name: name.to_owned(),
        access,
        origin,
        expires_at: span_ms.map(|span| UnixMillis(at.0 + span)),
    };
    store.create_key(command).await?;
    tracing::info!(
        domain = domain.name.as_str(),
        key = id,
        access = access.as_str(),
        "a key was created"
    );
    Ok((id, text))
}

fn new_id() -> Result<String, Failure> {
    Ok(format!("key-{}", hex::encode(random_bytes::<6>()?)))
}

fn create(args: &CreateArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let name = &args.domain.domain;
    let access = Access::parse(&args.access).unwrap_or(Access::Write);
    let (id, text) = with_store(&args.domain.store.store, async |store| {
        let domain = domain_named(store.as_ref(), name).await?;
        make_key(store.as_ref(), &domain, access, &args.name, args.expires, origin("key create"))
            .await
    })?;
    note(format_args!(
        "created key {id} of domain {name}, access {}; it is shown only this once",
        access.as_str()
    ));
    printer.line(text)?;
    Ok(Done::Good)
}

fn list(args: &AdminListArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let keys = with_store(&args.domain.store.store, async |store| {
        let domain = domain_named(store.as_ref(), &args.domain.domain).await?;
        Ok(store.keys(domain.id).await?)
    })?;
    let at = now();
    let json = |key: &Key| {
        json!({
            "id": key.id, "name": key.name, "access": key.access.as_str(),
            "state": state(key, at), "created_at": key.created_at.0,
            "last_used_at": key.last_used_at.map(|at| at.0),
            "expires_at": key.expires_at.map(|at| at.0),
            "revoked_at": key.revoked_at.map(|at| at.0),
        })
    };
    let time = |at: Option<UnixMillis>| at.map_or_else(|| "-".to_owned(), readable);
    let row = |key: &Key| {
        vec![
            key.id.clone(),
            key.access.as_str().to_owned(),
            state(key, at).to_owned(),
            readable(key.created_at),
            time(key.last_used_at),
            time(key.expires_at),
            key.name.clone(),
        ]
    };
    let header = ["ID", "ACCESS", "STATE", "CREATED", "LAST USED", "EXPIRES", "NAME"];
    printer.list(args.list.json, &keys, json, (&header, row))?;
    Ok(Done::Good)
}

fn state(key: &Key, at: UnixMillis) -> &'static str {
    if key.revoked_at.is_some() {
        "revoked"
    } else if key.expires_at.is_some_and(|end| end <= at) {
        "expired"
    } else {
        "active"
    }
}

fn revoke(args: &RevokeArgs) -> Result<Done, Failure> {
    let name = &args.domain.domain;
    let found = with_store(&args.domain.store.store, async |store| {
        let domain = domain_named(store.as_ref(), name).await?;
        Ok(store.revoke_key(domain.id, &args.id, origin("key revoke")).await?)
    })?;
    if !found {
        return Err(no_key(name, &args.id));
    }
    tracing::warn!(domain = name.as_str(), key = args.id, "a key was revoked");
    note(format_args!("revoked key {} of domain {name}", args.id));
    Ok(Done::Good)
}

fn no_key(domain: &DomainName, id: &str) -> Failure {
    Failure::usage(format!("domain {domain} has no key {id:?}"))
        .with_hint(format!("`caseload key list --domain {domain}` shows the ids"))
}

/// The key is printed first, and then replaces the old one in one transaction. If the command ends
/// in between, the old key works and the printed one does not. In the other order, the key in use
/// could have ended for one that was never shown.
fn rotate(args: &RotateArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let name = &args.domain.domain;
    let (id, new_id, text) = (&args.id, new_id()?, new_key()?);
    let (old, at) = with_store(&args.domain.store.store, async |store| {
        let domain = domain_named(store.as_ref(), name).await?;
        let found = store.keys(domain.id).await?.into_iter().find(|key| key.id == *id);
        let (old, at) = (found.ok_or_else(|| no_key(name, id))?, now());
        if state(&old, at) != "active" {
            return Err(Failure::usage(format!("key {id} is {}", state(&old, at)))
                .with_hint("`caseload key create` makes a key"));
        }
        // Without a reader, the key is not replaced, which is a failure.
        printer.line(&text).map_err(|failure| Failure { quiet: false, ..failure })?;
        let command = RotateKey {
            domain: domain.id,
            id: id.clone(),
            new_id: new_id.clone(),
            new_hash: hash_of_key(&text),
            origin: AdminOrigin { now: at, ..origin("key rotate") },
            old_expires_at: args.grace.map(|span| UnixMillis(at.0 + span)),
        };
        store.rotate_key(command).await.map_err(|error| {
            Failure::from(error).with_hint(format!(
                "the printed key works only if `caseload key list --domain {name}` shows {new_id}"
            ))
        })?;
        Ok((old, at))
    })?;
    let domain = name.as_str();
    tracing::warn!(domain, key = new_id, replaces = id, "a key was replaced");
    let ends = args.grace.map(|span| UnixMillis(at.0 + span)).into_iter().chain(old.expires_at);
    note(format_args!(
        "created key {new_id} of domain {name}, access {}, expires {}; it is shown only this once",
        old.access.as_str(),
        old.expires_at.map_or_else(|| "never".to_owned(), readable),
    ));
    match ends.min().filter(|_| args.grace.is_some()) {
        Some(end) => note(format_args!("key {id} works until {}", readable(end))),
        None => note(format_args!("revoked key {id}")),
    }
    Ok(Done::Good)
}
