//! `caseload app` and `caseload agent`: the apps that issues come from, and the agents who answer
//! them. The new record's id goes to standard output.

use caseload_model::ids::timed_id;
use caseload_model::spelling::trimmed;
use caseload_store::{Agent, App, CreateAgent, CreateApp};
use clap::{Args, Subcommand};
use serde_json::json;

use super::session::{domain_named, origin, with_store};
use crate::args::{DomainArgs, ListArgs};
use crate::clock::readable;
use crate::failure::{Done, Failure};
use crate::printer::{Printer, note};
use crate::secret::random_bytes;

#[derive(Debug, Subcommand)]
pub(crate) enum AppCommand {
    /// Create an app and print its id
    Create(AppCreateArgs),
    /// List the apps of a domain
    List(AdminListArgs),
}

#[derive(Debug, Subcommand)]
pub(crate) enum AgentCommand {
    /// Create an agent and print its id
    Create(AgentCreateArgs),
    /// List the agents of a domain
    List(AdminListArgs),
}

#[derive(Debug, Args)]
pub(crate) struct AppCreateArgs {
    /// Title of the app
    title: String,
    #[command(flatten)]
    domain: DomainArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AgentCreateArgs {
    /// Name of the agent
    name: String,
    /// E-mail address of the agent
    email: String,
    #[command(flatten)]
    domain: DomainArgs,
}

#[derive(Debug, Args)]
pub(crate) struct AdminListArgs {
    #[command(flatten)]
    pub(super) domain: DomainArgs,
    #[command(flatten)]
    pub(super) list: ListArgs,
}

pub(crate) fn run_app(command: AppCommand, printer: &mut Printer) -> Result<Done, Failure> {
    match command {
        AppCommand::Create(args) => create_app(args, printer),
        AppCommand::List(args) => list_apps(&args, printer),
    }
}

pub(crate) fn run_agent(command: AgentCommand, printer: &mut Printer) -> Result<Done, Failure> {
    match command {
        AgentCommand::Create(args) => create_agent(args, printer),
        AgentCommand::List(args) => list_agents(&args, printer),
    }
}

fn create_app(args: AppCreateArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let name = args.domain.domain;
    let (origin, random) = (origin("app create"), u64::from_le_bytes(random_bytes()?));
    let app = with_store(&args.domain.store.store, async |store| {
        let domain = domain_named(store.as_ref(), &name).await?;
        let id = timed_id(&name, "app", origin.now, random);
        let command = CreateApp { domain: domain.id, id, title: args.title, origin };
        Ok(store.create_app(command).await?)
    })?;
    tracing::info!(domain = name.as_str(), app = app.id, "an app was created");
    note(format_args!(
        "created app {:?} of domain {name}, publish id {}",
        app.title, app.publish_id
    ));
    printer.line(app.id)?;
    Ok(Done::Good)
}

fn list_apps(args: &AdminListArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let apps = with_store(&args.domain.store.store, async |store| {
        let domain = domain_named(store.as_ref(), &args.domain.domain).await?;
        Ok(store.apps(domain.id).await?)
    })?;
    let json = |app: &App| {
        json!({
            "id": app.id, "publish_id": app.publish_id, "title": app.title,
            "created_at": app.created_at.0,
        })
    };
    let row = |app: &App| {
        let App { id, publish_id, title, created_at } = app.clone();
        vec![id, publish_id, readable(created_at), title]
    };
    printer.list(args.list.json, &apps, json, (&["ID", "PUBLISH ID", "CREATED", "TITLE"], row))?;
    Ok(Done::Good)
}

fn create_agent(args: AgentCreateArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let name = args.domain.domain.clone();
    let location = args.domain.store.store.clone();
    if !args.email.contains('@') {
        return Err(Failure::usage(format!("{:?} is not an e-mail address", args.email)));
    }
    let (origin, random) = (origin("agent create"), u64::from_le_bytes(random_bytes()?));
    let agent = with_store(&location, async |store| {
        let domain = domain_named(store.as_ref(), &name).await?;
        let id = timed_id(&name, "profile", origin.now, random);
        let AgentCreateArgs { name, email, .. } = args;
        let email = trimmed(&email).to_owned();
        let command = CreateAgent { domain: domain.id, id, name, email, origin };
        Ok(store.create_agent(command).await?)
    })?;
    tracing::info!(domain = name.as_str(), agent = agent.id, "an agent was created");
    note(format_args!("created agent {:?} of domain {name}", agent.name));
    printer.line(agent.id)?;
    Ok(Done::Good)
}

fn list_agents(args: &AdminListArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let agents = with_store(&args.domain.store.store, async |store| {
        let domain = domain_named(store.as_ref(), &args.domain.domain).await?;
        Ok(store.agents(domain.id).await?)
    })?;
    let json = |agent: &Agent| {
        json!({
            "id": agent.id, "name": agent.name, "email": agent.email,
            "created_at": agent.created_at.0,
        })
    };
    let row = |agent: &Agent| {
        let Agent { id, name, email, created_at } = agent.clone();
        vec![id, email, readable(created_at), name]
    };
    printer.list(args.list.json, &agents, json, (&["ID", "EMAIL", "CREATED", "NAME"], row))?;
    Ok(Done::Good)
}
