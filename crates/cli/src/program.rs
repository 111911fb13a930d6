//! The command line as a whole: its commands, and which function runs each. A new command is a
//! variant of [`Command`] and a line in [`run`]. The flags of the server have an environment name,
//! `CASELOAD_` and the flag in capitals, as have those of other commands that say where the server
//! or its store is; a test holds all commands to that.

use clap::{Parser, Subcommand};

use crate::args::LogArgs;
use crate::commands::{
    admin, backup, bulk, check, console, copy, demo, distribute, domain, health, issues, key,
    openapi, profiles, serve, status,
};
use crate::failure::{Done, Failure};
use crate::logging;
use crate::printer::Printer;

/// A self-hosted server for support-desk data: bulk actions on end-user profiles, and issues.
///
/// Data goes to standard output, messages go to standard error. Exit status: 0 done, 1 done and
/// some entries failed or a check found faults, 2 a mistake in the command, a file or a request, 3
/// an error of the server, the network or the store, 4 not allowed, 130 interrupted. A flag can
/// also be set by the environment variable that its help names, if it names one.
#[derive(Debug, Parser)]
#[command(name = "caseload", version, max_term_width = 100)]
pub(crate) struct Program {
    #[command(flatten)]
    pub(crate) log: LogArgs,
    #[command(subcommand)]
    pub(crate) command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Import and export sample data, then run a server to try
    Demo(demo::DemoArgs),
    /// Run the server
    Serve(serve::ServeArgs),
    /// Create, list and delete domains
    #[command(subcommand)]
    Domain(domain::DomainCommand),
    /// Create, list, replace and revoke API keys
    #[command(subcommand)]
    Key(key::KeyCommand),
    /// Create and list apps
    #[command(subcommand)]
    App(admin::AppCommand),
    /// Create and list agents
    #[command(subcommand)]
    Agent(admin::AgentCommand),
    /// Print a link that opens the console of a running server, once and within 60 seconds
    Console(console::ConsoleArgs),
    /// Ask whether a server and its store are up: exit status 0 if they are, 3 if not
    Health(health::HealthArgs),
    /// Show the servers, the domains, the unfinished tasks and the disk of a store
    Status(status::StatusArgs),
    /// Copy the store to a file, even while a server runs, and check the copy
    Backup(backup::BackupArgs),
    /// Verify that the stored data is consistent
    Check(check::CheckArgs),
    /// Distribute a PostgreSQL store over the nodes of a Citus cluster
    Distribute(distribute::DistributeArgs),
    /// Copy the whole store to another location or another kind of store, and check the copy
    Copy(copy::CopyArgs),
    /// Print the description of the API, openapi.json
    Openapi,
    /// Submit bulk action tasks, follow them and fetch their results
    #[command(subcommand)]
    Bulk(bulk::BulkCommand),
    /// Import, export and find profiles
    #[command(subcommand)]
    Profiles(profiles::ProfilesCommand),
    /// List, get, import and export issues
    #[command(subcommand)]
    Issues(issues::IssuesCommand),
}

/// Runs one command to its end.
pub(crate) fn run(program: Program, printer: &mut Printer) -> Result<Done, Failure> {
    logging::start(&program.log.log, program.log.log_format)?;
    match program.command {
        Command::Demo(args) => demo::run(&args, printer),
        Command::Serve(args) => serve::run(&args),
        Command::Domain(command) => domain::run(command, printer),
        Command::Key(command) => key::run(command, printer),
        Command::App(command) => admin::run_app(command, printer),
        Command::Agent(command) => admin::run_agent(command, printer),
        Command::Console(args) => console::run(&args, printer),
        Command::Health(args) => health::run(&args, printer),
        Command::Status(args) => status::run(&args, printer),
        Command::Backup(args) => backup::run(&args, printer),
        Command::Check(args) => check::run(&args, printer),
        Command::Distribute(args) => distribute::run(&args, printer),
        Command::Copy(args) => copy::run(&args, printer),
        Command::Openapi => openapi::run(printer),
        Command::Bulk(command) => bulk::run(command, printer),
        Command::Profiles(command) => profiles::run(command, printer),
        Command::Issues(command) => issues::run(command, printer),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    /// The flags that have a variable in whichever command takes them: of the log, of the
    /// connection and of stores.
    const OF_MANY_COMMANDS: [&str; 9] =
        ["api-key", "domain", "from", "listen", "log", "log-format", "store", "to", "url"];

    fn check_flags(command: &clap::Command, path: &str) {
        for flag in command.get_arguments().filter(|arg| !arg.is_positional()) {
            let long = flag.get_long().unwrap_or_default();
            if matches!(long, "help" | "version") {
                continue;
            }
            let has_variable = path == "caseload serve" || OF_MANY_COMMANDS.contains(&long);
            let name = || format!("CASELOAD_{}", long.to_uppercase().replace('-', "_"));
            let expected = has_variable.then(name);
            let env = flag.get_env().and_then(|name| name.to_str());
            assert_eq!(env, expected.as_deref(), "{path} --{long}");
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
    fn flags_of_the_server_the_connection_and_the_store_have_their_variables_and_no_others_do() {
        check_flags(&Program::command(), "caseload");
    }
}
