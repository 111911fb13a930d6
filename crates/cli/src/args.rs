//! The command line: which commands there are, and the groups of flags that several of them share.
//! Flags win over the environment, the environment over the defaults. Every flag has an environment
//! name, `CASELOAD_` and the flag in capitals; a test holds all commands to that.

use caseload_client::Client;
use caseload_location::StoreLocation;
use caseload_model::ids::DomainName;
use clap::builder::FalseyValueParser;
use clap::{Args, Parser, Subcommand};

use crate::commands::{admin, backup, bulk, check, copy, demo, domain, issues, key, serve};
use crate::failure::Failure;
use crate::store::{STORE_HELP, parse_store};

/// A self-hosted server for support-desk data: bulk actions on end-user profiles, and issues.
///
/// Standard output carries data, standard error what is for people. Exit status: 0 all good,
/// 1 some entries failed, 2 usage, 3 server, network or store. Each flag can also be given in the
/// environment, under the name shown with it.
#[derive(Debug, Parser)]
#[command(name = "caseload", version, max_term_width = 100)]
pub(crate) struct Program {
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Show the product at work: sample data, a real import and export, a server to try
    Demo(demo::DemoArgs),
    /// Run the server
    Serve(serve::ServeArgs),
    /// Create, list and delete domains
    #[command(subcommand)]
    Domain(domain::DomainCommand),
    /// Create, list and revoke API keys
    #[command(subcommand)]
    Key(key::KeyCommand),
    /// Create and list apps
    #[command(subcommand)]
    App(admin::AppCommand),
    /// Create and list agents
    #[command(subcommand)]
    Agent(admin::AgentCommand),
    /// Copy the store to a file, while a server runs or not, and check the copy
    Backup(backup::BackupArgs),
    /// Verify the laws of the stored data
    Check(check::CheckArgs),
    /// Copy the whole store to another place or another kind of store, and check it there
    Copy(copy::CopyArgs),
    /// Print the description of the API, as openapi.json has it
    Openapi,
    /// Submit bulk action tasks and fetch what became of them
    #[command(subcommand)]
    Bulk(bulk::BulkCommand),
    /// List, get, import and export issues
    #[command(subcommand)]
    Issues(issues::IssuesCommand),
}

/// Which store a command works on.
#[derive(Debug, Args)]
pub(crate) struct StoreArgs {
    #[arg(
        long,
        env = "CASELOAD_STORE",
        help = STORE_HELP,
        hide_env_values = true,
        value_name = "STORE",
        default_value = "sqlite:caseload-data/caseload.db",
        value_parser = parse_store
    )]
    pub(crate) store: StoreLocation,
}

/// Which domain of the store a command works on.
#[derive(Debug, Args)]
pub(crate) struct DomainArgs {
    /// The domain
    #[arg(long, env = "CASELOAD_DOMAIN", value_name = "NAME", value_parser = parse_domain)]
    pub(crate) domain: DomainName,
    #[command(flatten)]
    pub(crate) store: StoreArgs,
}

/// How a list is printed.
#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Print JSON, one map per line; else a table on a terminal and lines with tabs elsewhere
    #[arg(long, env = "CASELOAD_JSON", value_parser = FalseyValueParser::new())]
    pub(crate) json: bool,
}

/// Which server a command calls.
#[derive(Debug, Args)]
pub(crate) struct ServerArgs {
    /// Address of the server
    #[arg(long, env = "CASELOAD_URL", default_value = "http://127.0.0.1:8080")]
    url: String,
    /// The domain
    #[arg(long, env = "CASELOAD_DOMAIN", value_name = "NAME")]
    domain: String,
    /// The API key
    #[arg(long, env = "CASELOAD_API_KEY", value_name = "KEY", hide_env_values = true)]
    api_key: String,
}

impl ServerArgs {
    pub(crate) fn client(&self) -> Result<Client, Failure> {
        Ok(Client::new(&self.url, &self.domain, &self.api_key)?)
    }
}

pub(crate) fn parse_domain(text: &str) -> Result<DomainName, String> {
    DomainName::parse(text).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    fn check_flags(command: &clap::Command, path: &str) {
        for flag in command.get_arguments().filter(|arg| !arg.is_positional()) {
            let id = flag.get_id().as_str();
            if matches!(id, "help" | "version") {
                continue;
            }
            let long = flag.get_long().unwrap_or_default();
            let expected = format!("CASELOAD_{}", long.to_uppercase().replace('-', "_"));
            let env = flag.get_env().and_then(|name| name.to_str()).unwrap_or_default();
            assert_eq!(env, expected, "{path} --{long}");
        }
        for inner in command.get_subcommands() {
            check_flags(inner, &format!("{path} {}", inner.get_name()));
        }
    }

    #[test]
    fn the_command_line_is_consistent() {
        Program::command().debug_assert();
    }

    #[test]
    fn every_flag_has_its_environment_name() {
        check_flags(&Program::command(), "caseload");
    }
}
