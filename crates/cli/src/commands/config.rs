//! `caseload config`: prints a configuration file with the settings of the server, the connection
//! and the log. A default is a commented line. A setting in force has its origin after it. A secret
//! is never shown, so its line is a comment, too. The file can be saved and given to `--config`.

use std::ffi::OsStr;
use std::fmt::Write as _;

use clap::parser::ValueSource;
use clap::{Arg, ArgMatches, Args, Command, FromArgMatches};

use super::serve::ServeSettings;
use crate::args::ServerArgs;
use crate::config_file::{CONFIG, ConfigFile, is_number, without_secret};
use crate::failure::{Done, Failure};
use crate::printer::Printer;

/// The longest line of a comment.
const LINE_CHARS_MAX: usize = 96;

const HEADER: &str = "\
# Settings of caseload, for `caseload --config FILE` or CASELOAD_CONFIG. Each has the name of its
# flag. A flag wins over its environment variable, and the variable over this file. Lines that begin
# with #NAME = are defaults. Paths are relative to the folder in which the program starts.
";

/// The flags of `serve` and of the connection, of which none is required.
#[derive(Debug)]
pub(crate) struct ConfigArgs(ArgMatches);

impl FromArgMatches for ConfigArgs {
    fn from_arg_matches(matches: &ArgMatches) -> Result<Self, clap::Error> {
        Ok(Self(matches.clone()))
    }

    fn update_from_arg_matches(&mut self, matches: &ArgMatches) -> Result<(), clap::Error> {
        self.0 = matches.clone();
        Ok(())
    }
}

impl Args for ConfigArgs {
    fn augment_args(command: Command) -> Command {
        let command = ServerArgs::augment_args(ServeSettings::augment_args(command));
        command.mut_args(|flag| flag.required(false))
    }

    fn augment_args_for_update(command: Command) -> Command {
        Self::augment_args(command)
    }
}

pub(crate) fn run(
    args: &ConfigArgs,
    file: Option<&ConfigFile>,
    program: &Command,
    printer: &mut Printer,
) -> Result<Done, Failure> {
    let own = program.find_subcommand("config").into_iter().flat_map(Command::get_arguments);
    let settings = own.chain(program.get_arguments()).filter(|flag| flag.get_env().is_some());
    let mut text = HEADER.to_owned();
    for flag in settings.filter(|flag| flag.get_long() != Some(CONFIG)) {
        text.push('\n');
        write_setting(&mut text, flag, &args.0, file);
    }
    printer.data(text.as_bytes())?;
    printer.flush()?;
    Ok(Done::Good)
}

/// Writes the help of a setting and its line.
fn write_setting(text: &mut String, flag: &Arg, given: &ArgMatches, file: Option<&ConfigFile>) {
    let takes_value = flag.get_action().takes_values();
    write_comment(text, &flag.get_help().map(ToString::to_string).unwrap_or_default());
    let words = flag.get_possible_values();
    if takes_value && !words.is_empty() {
        let words: Vec<&str> = words.iter().map(clap::builder::PossibleValue::get_name).collect();
        write_comment(text, &format!("One of: {}", words.join(", ")));
    }
    let name = flag.get_long().unwrap_or_default();
    let id = flag.get_id().as_str();
    let Some(raw) = given.get_raw(id) else {
        let form = flag.get_value_names().and_then(|names| names.first()).map_or("VALUE", |n| n);
        let form = if is_number(flag) { form.to_owned() } else { toml(flag, &[form]) };
        let _ = writeln!(text, "#{name} = {form}  # not set");
        return;
    };
    let values: Vec<_> = raw.map(OsStr::to_string_lossy).collect();
    let shown: Vec<_> = values.iter().map(|value| without_secret(flag, value)).collect();
    let value = if takes_value { toml(flag, &shown) } else { given.get_flag(id).to_string() };
    let origin = match (given.value_source(id), file) {
        (Some(ValueSource::CommandLine), _) => "from the flag".to_owned(),
        (Some(ValueSource::EnvVariable), _) => "from the environment".to_owned(),
        (_, Some(file)) if file.has(flag) => format!("from {}", file.path.display()),
        _ => {
            let _ = writeln!(text, "#{name} = {value}");
            return;
        }
    };
    let origin: String = origin.chars().filter(|c| !c.is_control()).collect();
    let _ = if shown == values {
        writeln!(text, "{name} = {value}  # {origin}")
    } else {
        writeln!(text, "#{name} = {value}  # {origin}; the secret is not shown")
    };
}

/// The values of a flag in TOML.
fn toml(flag: &Arg, values: &[impl AsRef<str>]) -> String {
    let one = |value: &str| match value.parse::<u64>() {
        Ok(number) if is_number(flag) => number.to_string(),
        _ => quoted(value),
    };
    let texts: Vec<_> = values.iter().map(|value| one(value.as_ref())).collect();
    let is_list = matches!(flag.get_action(), clap::ArgAction::Append);
    if is_list { format!("[{}]", texts.join(", ")) } else { texts.concat() }
}

/// A text of TOML. It has the escapes of JSON and forbids one character more.
fn quoted(text: &str) -> String {
    serde_json::Value::from(text).to_string().replace('\u{7f}', "\\u007f")
}

/// Writes words as lines of a comment.
fn write_comment(text: &mut String, words: &str) {
    let mut line = "#".to_owned();
    for word in words.split_whitespace() {
        if line.chars().count() + 1 + word.chars().count() > LINE_CHARS_MAX {
            let _ = writeln!(text, "{line}");
            "#".clone_into(&mut line);
        }
        line = line + " " + word;
    }
    let _ = writeln!(text, "{line}");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn texts_are_quoted_as_toml() {
        for (text, written) in
            [("a\"b\\c", r#""a\"b\\c""#), ("\n\t\u{1}\u{7f}é", r#""\n\t\u0001\u007fé""#)]
        {
            assert_eq!(quoted(text), written);
            let line = format!("key = {written}");
            let table = toml::de::DeTable::parse(&line).ok();
            let read = table.as_ref().and_then(|table| table.get_ref().get("key"));
            assert_eq!(read.and_then(|value| value.get_ref().as_str()), Some(text));
        }
    }
}
