//! The end of the help of each command, after its options: notes and examples. They are text, in
//! `guide.txt`; the manual pages have them, too. A section begins with `=` and the path of its
//! command. Tests hold that each command has an example, that each example is a valid command
//! line, and, against a server, that it works.

use clap::Command;

const GUIDE: &str = include_str!("guide.txt");

/// The command with the guides of itself and of the commands in it.
pub(crate) fn guided(command: Command, path: &str) -> Command {
    let has_key = command.get_arguments().any(|arg| arg.get_id() == "api_key");
    let guide = guide(path, has_key && path != "config");
    let names: Vec<_> =
        command.get_subcommands().map(|inner| inner.get_name().to_owned()).collect();
    names.into_iter().fold(command.after_help(guide), |command, name| {
        let inner = format!("{path} {name}");
        command.mut_subcommand(name, |command| guided(command, inner.trim_start()))
    })
}

/// The sections of the text: the path of a command, and its guide.
fn sections() -> impl Iterator<Item = (&'static str, &'static str)> {
    let sections = GUIDE.split("\n=").filter_map(|section| section.split_once('\n'));
    sections.map(|(path, text)| (path.trim_start_matches('=').trim(), text.trim_end()))
}

/// The notes of a command, and its examples under a heading.
fn guide(path: &str, is_client: bool) -> String {
    let heading = if is_client {
        "Examples, with CASELOAD_URL, CASELOAD_DOMAIN and CASELOAD_API_KEY set:"
    } else {
        "Examples:"
    };
    let text = sections().find(|(name, _)| *name == path).map_or("", |(_, text)| text);
    match text.split_once("  #") {
        Some((notes, examples)) => format!("{notes}{heading}\n  #{examples}"),
        None => text.to_owned(),
    }
}

/// The command lines in a help text.
#[cfg(test)]
pub(crate) fn examples(help: &str) -> impl Iterator<Item = &str> {
    help.lines().filter_map(|line| line.strip_prefix("  ")).filter(|l| l.starts_with("caseload "))
}

/// The paths that have a section.
#[cfg(test)]
pub(crate) fn guided_paths() -> impl Iterator<Item = &'static str> {
    sections().map(|(path, _)| path)
}
