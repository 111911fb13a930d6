//! The command line as a whole: its commands, and which function runs each. A new command is a
//! variant of [`Command`] and a line in [`run`]. The flags of the server have an environment name,
//! `CASELOAD_` and the flag in capitals, as have those of other commands that say where the server
//! or its store is; a test holds all commands to that. These flags are the keys of a configuration
//! file, too.

use std::convert::Infallible;
use std::path::PathBuf;

use clap::{CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::args::{ConfigArg, LogArgs};
use crate::commands::session::block_on;
use crate::commands::{
    admin, backup, bulk, changes, check, config, console, copy, demo, distribute, domain, erase,
    health, issues, key, manual, openapi, person, profiles, serve, status, upgrade, webhook,
};
use crate::config_file::{CONFIG, ConfigFile};
use crate::environment;
use crate::failure::{Done, Failure};
use crate::guide::guided;
use crate::logging;
use crate::printer::Printer;

/// A self-hosted server for support-desk data: bulk actions on end-user profiles, and issues.
///
/// Data goes to standard output, messages go to standard error. Exit status: 0 done, 1 done and
/// some entries failed or a check found faults, 2 a mistake in the command, a file or a request, 3
/// an error of the server, the network or the store, 4 not allowed, 130 interrupted. A flag can
/// also be set by the environment variable that its help names, if it names one, and under its own
/// name in the file of --config.
#[derive(Debug, Parser)]
#[command(name = "caseload", version, max_term_width = 100)]
pub(crate) struct Program {
    #[command(flatten)]
    config: ConfigArg,
    #[command(flatten)]
    log: LogArgs,
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
pub(crate) enum Command {
    /// Try the product: run a server with sample data, in a store of its own
    Demo(demo::DemoArgs),
    /// Run the server until Ctrl-C or SIGTERM
    Serve(serve::ServeArgs),
    /// Print the settings as a configuration file, with the origin of each that is in force
    Config(config::ConfigArgs),
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
    /// Say whether this program can open a store, and whether its start would upgrade it
    Upgrade(upgrade::UpgradeArgs),
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
    /// Print completions for a shell
    Completions(manual::CompletionsArgs),
    /// Print the manual page, or write one for each command
    Man(manual::ManArgs),
    /// Submit bulk action tasks, follow them and fetch their results
    #[command(subcommand)]
    Bulk(bulk::BulkCommand),
    /// Import, export and find profiles
    #[command(subcommand)]
    Profiles(profiles::ProfilesCommand),
    /// List, get, import and export issues
    #[command(subcommand)]
    Issues(issues::IssuesCommand),
    /// Print who changed what, oldest first, and follow it
    Changes(Box<changes::ChangesArgs>),
    /// Create, list and change webhooks, which get the changes of a domain
    #[command(subcommand)]
    Webhook(webhook::WebhookCommand),
    /// Erase a person from profiles, issues and tasks
    Erase(Box<erase::EraseArgs>),
    /// Give a person a copy of their data
    #[command(subcommand)]
    Person(person::PersonCommand),
}

impl Program {
    /// All commands, with the guides in their help.
    pub(crate) fn definition() -> clap::Command {
        guided(Self::command(), "")
    }
}

/// Reads the command line, the environment and the configuration file. Help is the same with
/// any file. The process may start again before it reads the file, which may be a pipe.
pub(crate) fn parse(
    exit: impl Fn(clap::Error) -> Infallible,
) -> Result<(Program, Option<ConfigFile>), Failure> {
    let mut program = Program::definition();
    // Without the file, a flag that is required may be missing.
    let found = program.clone().ignore_errors(true).try_get_matches();
    let serve = found.as_ref().ok().and_then(|found| found.subcommand_matches("serve"));
    // A test server has to be ready at once. A line with a fault has no defaults.
    if serve.and_then(|serve| serve.get_one("ephemeral")) != Some(&true) {
        environment::start_again_without_strays(serve.is_some());
    }
    let found = found.unwrap_or_else(|help| match exit(help) {});
    let path = found.get_one::<PathBuf>(CONFIG);
    let file = path.map(|path| ConfigFile::read(path, &program)).transpose()?;
    if let Some(file) = &file {
        program = file.apply(program);
    }
    let parsed = program.try_get_matches_from_mut(std::env::args_os());
    let parsed = parsed.and_then(|matches| Program::from_arg_matches(&matches));
    Ok((parsed.unwrap_or_else(|error| match exit(error.format(&mut program)) {}), file))
}

/// Runs one command to its end.
pub(crate) fn run(
    program: Program,
    file: Option<&ConfigFile>,
    printer: &mut Printer,
) -> Result<Done, Failure> {
    logging::start(program.log.log, program.log.log_format)?;
    if matches!(program.command, Command::Serve(_) | Command::Config(_)) {
        environment::warn_of_unknown(&Program::command());
    }
    match program.command {
        Command::Demo(args) => demo::run(&args, printer),
        Command::Serve(args) => serve::run(&args, printer),
        Command::Config(args) => config::run(&args, file, &Program::command(), printer),
        Command::Domain(command) => domain::run(command, printer),
        Command::Key(command) => key::run(command, printer),
        Command::App(command) => admin::run_app(command, printer),
        Command::Agent(command) => admin::run_agent(command, printer),
        Command::Console(args) => console::run(&args, printer),
        Command::Health(args) => health::run(&args, printer),
        Command::Status(args) => status::run(&args, printer),
        Command::Upgrade(args) => upgrade::run(&args, printer),
        Command::Backup(args) => backup::run(&args, printer),
        Command::Check(args) => check::run(&args, printer),
        Command::Distribute(args) => distribute::run(&args, printer),
        Command::Copy(args) => copy::run(&args, printer),
        Command::Openapi => openapi::run(printer),
        Command::Completions(args) => manual::completions(&args, Program::definition(), printer),
        Command::Man(args) => manual::man(&args, Program::definition(), printer),
        Command::Bulk(command) => bulk::run(command, printer),
        Command::Profiles(command) => profiles::run(command, printer),
        Command::Issues(command) => issues::run(command, printer),
        Command::Changes(args) => block_on(changes::run(*args, printer)),
        Command::Webhook(command) => block_on(webhook::run(command, printer)),
        Command::Erase(args) => block_on(erase::run(*args, printer)),
        Command::Person(command) => person::run(command, printer),
    }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test may stop at the first surprise")]
mod tests {
    use std::collections::BTreeSet;

    use clap_complete::Shell;

    use super::*;
    use crate::guide::{examples, guided_paths};

    /// The flags that have a variable in whichever command takes them: of the log, of the
    /// connection and of stores. Those of test servers have none.
    const OF_MANY_COMMANDS: [&str; 12] = [
        "api-key",
        "config",
        "domain",
        "from",
        "insecure-http",
        "listen",
        "log",
        "log-format",
        "store",
        "tls-ca",
        "to",
        "url",
    ];

    fn check_flags(command: &clap::Command, path: &str) {
        for flag in command.get_arguments().filter(|arg| !arg.is_positional()) {
            let long = flag.get_long().unwrap_or_default();
            if matches!(long, "help" | "version") {
                continue;
            }
            let of_tests = flag.get_help_heading() == Some("Test server");
            let has_variable = !of_tests
                && (matches!(path, "caseload serve" | "caseload config")
                    || OF_MANY_COMMANDS.contains(&long));
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
        Program::definition().debug_assert();
    }

    #[test]
    fn flags_of_the_server_the_connection_and_the_store_have_their_variables_and_no_others_do() {
        check_flags(&Program::definition(), "caseload");
    }

    #[test]
    fn each_flag_with_a_variable_is_a_key_of_a_configuration_file_and_no_other_name_is() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("caseload.toml");
        let program = Program::command();
        let (mut keys, mut all) = (BTreeSet::new(), BTreeSet::new());
        each(&program, &[], &mut |command, _| {
            for flag in command.get_arguments().filter(|flag| flag.get_long().is_some()) {
                let names = if flag.get_env().is_some() { &mut keys } else { &mut all };
                names.extend(flag.get_long().map(str::to_owned));
            }
        });
        assert!(keys.remove(CONFIG));
        all.insert(CONFIG.to_owned());
        for name in keys.union(&all) {
            // No flag takes a table: a key is refused for its value, and another name for itself.
            std::fs::write(&path, format!("{name} = {{}}")).unwrap();
            let refused = ConfigFile::read(&path, &program).unwrap_err().message;
            assert_eq!(refused.contains(": write "), keys.contains(name), "{name}: {refused}");
        }
    }

    /// Calls `check` with each command and its path, such as `["key", "rotate"]`.
    fn each(
        command: &clap::Command,
        path: &[&str],
        check: &mut dyn FnMut(&clap::Command, &[&str]),
    ) {
        check(command, path);
        for inner in command.get_subcommands() {
            each(inner, &[path, &[inner.get_name()]].concat(), check);
        }
    }

    fn flags(command: &clap::Command) -> Vec<String> {
        let longs = command.get_arguments().filter_map(|flag| flag.get_long());
        longs.map(str::to_owned).collect()
    }

    #[test]
    fn each_command_and_flag_is_in_the_completions_of_each_shell() {
        let script = |shell| {
            let mut text = Vec::new();
            clap_complete::generate(shell, &mut Program::definition(), "caseload", &mut text);
            String::from_utf8(text).unwrap()
        };
        let (bash, zsh, fish) = (script(Shell::Bash), script(Shell::Zsh), script(Shell::Fish));
        each(&Program::definition(), &[], &mut |command, path| {
            let case = [&["caseload"], path].concat().join("__subcmd__");
            let in_bash = case.replace('-', "__subcmd__");
            assert!(bash.contains(&format!("{in_bash})")), "bash: {path:?}");
            assert!(zsh.contains(&format!("_{case}_commands()")), "zsh: {path:?}");
            let Some(name) = path.last() else { return };
            assert!(fish.contains(&format!(" -a \"{name}\" ")), "fish: {path:?}");
            for flag in flags(command) {
                assert!(bash.contains(&format!(" --{flag} ")), "bash: {path:?} {flag}");
                let ends = ['=', '['].map(|end| format!("--{flag}{end}"));
                assert!(ends.iter().any(|end| zsh.contains(end)), "zsh: {path:?} {flag}");
                assert!(fish.contains(&format!(" -l {flag} ")), "fish: {path:?} {flag}");
            }
        });
    }

    #[test]
    fn each_command_has_its_page_with_its_flags() {
        let folder = tempfile::tempdir().unwrap();
        clap_mangen::generate_to(Program::definition(), folder.path()).unwrap();
        let mut pages = 0;
        each(&Program::definition(), &[], &mut |command, path| {
            let name = [&["caseload"], path].concat().join("-");
            let page = std::fs::read_to_string(folder.path().join(format!("{name}.1"))).unwrap();
            for flag in flags(command) {
                let written = format!("\\-\\-{}", flag.replace('-', "\\-"));
                assert!(page.contains(&written), "{name}: {flag}");
            }
            for inner in command.get_subcommands() {
                let mention = format!("{name}-{}(1)", inner.get_name()).replace('-', "\\-");
                assert!(page.contains(&mention), "{name}: {mention}");
            }
            pages += 1;
        });
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), pages);
    }

    /// Parses a line, with the flags that the environment usually supplies if they are missing.
    fn parse(words: &[String]) -> Result<clap::ArgMatches, clap::Error> {
        let parsed = Program::definition().try_get_matches_from(words);
        parsed.or_else(|error| match error.kind() {
            clap::error::ErrorKind::MissingRequiredArgument => {
                let set = ["--domain", "acme", "--api-key", "k"].map(str::to_owned);
                Program::definition().try_get_matches_from([words, &set].concat())
            }
            _ => Err(error),
        })
    }

    #[test]
    fn each_command_has_examples_of_its_own_and_each_is_a_command_line() {
        let mut seen = std::collections::HashMap::new();
        each(&Program::definition(), &[], &mut |command, path| {
            let help = command.get_after_help().map(ToString::to_string).unwrap_or_default();
            let lines: Vec<_> = examples(&help).collect();
            assert!((1..=3).contains(&lines.len()), "{path:?}: {help}");
            let comments = help.lines().filter(|line| line.starts_with("  # ")).count();
            assert_eq!(comments, lines.len(), "{path:?}: {help}");
            assert!(help.lines().all(|line| line.chars().count() <= 94), "{path:?}: {help}");
            let own = command.get_about().map(ToString::to_string).into_iter();
            for text in
                own.chain(help.lines().skip_while(|l| !l.starts_with("  #")).map(String::from))
            {
                if let Some(other) = seen.insert(text.clone(), path.join(" ")) {
                    panic!("{other:?} and {path:?} both say {text:?}");
                }
            }
            for line in lines {
                let line = line.split(['|', '>']).next().unwrap_or_default();
                let words = shlex::split(line).unwrap();
                let is_own = words[1..].iter().zip(path).all(|(word, name)| word == name);
                assert!(is_own, "{path:?}: {line}");
                match parse(&words) {
                    Err(error) if error.use_stderr() => panic!("{path:?}: {line}: {error}"),
                    Ok(_) | Err(_) => {}
                }
            }
        });
    }

    #[test]
    fn no_guide_is_for_a_command_that_is_not_there() {
        let mut known = std::collections::HashSet::new();
        each(&Program::definition(), &[], &mut |_, path| {
            known.insert(path.join(" "));
        });
        let named: Vec<_> = guided_paths().collect();
        assert_eq!(named.len(), known.len(), "{named:?}");
        assert!(named.iter().all(|path| known.contains(*path)), "{named:?}");
    }

    #[test]
    fn the_flag_for_a_file_in_place_of_standard_output_is_the_same_everywhere() {
        let mut texts = std::collections::HashSet::new();
        let mut commands = Vec::new();
        each(&Program::definition(), &[], &mut |command, path| {
            for flag in command.get_arguments() {
                assert_eq!(flag.get_short() == Some('o'), flag.get_id() == "output", "{path:?}");
                if flag.get_short() == Some('o') {
                    let help = flag.get_help().map(ToString::to_string);
                    texts.insert(format!("{:?} {help:?}", flag.get_value_names()));
                    commands.push(path.join(" "));
                }
            }
        });
        assert_eq!(texts.len(), 1, "{texts:?}");
        commands.sort();
        assert_eq!(
            commands,
            [
                "bulk errors",
                "bulk payload",
                "bulk rejects",
                "bulk results",
                "issues export",
                "issues list",
                "person export",
                "profiles export",
            ]
        );
    }

    #[test]
    fn the_flags_of_the_server_are_in_groups() {
        let definition = Program::definition();
        let serve = definition.find_subcommand("serve").unwrap();
        for flag in serve.get_arguments() {
            assert!(flag.get_help_heading().is_some(), "{flag}");
        }
    }
}
