//! The file of `--config`: TOML, whose keys are the long names of the flags that have a variable.
//! One file serves every command. Its values become the defaults of the flags, so a flag and its
//! variable win over it. Each value is judged by the parser of its flag, and all faults of a file
//! are reported at once. No message has a secret.

use std::any::TypeId;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::error::Error as _;
use std::fs::File;
use std::io::Read as _;
use std::ops::Range;
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};

use caseload_location::StoreLocation;
use caseload_model::spelling::nearest_word;
use clap::error::{ContextKind, ContextValue};
use clap::{Arg, ArgAction, Command};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

use crate::failure::Failure;
use crate::printer::note;

/// The longest file, far more than all settings need.
const FILE_BYTES_MAX: u64 = 1 << 20;
/// How much of a faulty value is quoted.
const QUOTED_CHARS_MAX: usize = 60;
/// The permission of everyone to read a file.
const READ_BY_OTHERS: u32 = 0o004;
/// The setting that a file cannot have: another file.
pub(crate) const CONFIG: &str = "config";

/// A file that was read: the values of each of its settings.
#[derive(Debug)]
pub(crate) struct ConfigFile {
    pub(crate) path: PathBuf,
    settings: BTreeMap<String, Vec<String>>,
}

impl ConfigFile {
    /// Reads a file with settings for the commands of `program`.
    pub(crate) fn read(path: &Path, program: &Command) -> Result<Self, Failure> {
        let text = text_of(path)?;
        let (table, errors) = DeTable::parse_recoverable(&text);
        let mut faults: Vec<(Range<usize>, String)> = errors
            .iter()
            .map(|error| (error.span().unwrap_or_default(), error.message().to_owned()))
            .collect();
        let mut settings = BTreeMap::new();
        let mut has_secret = false;
        // After a fault of the form, the rest is perhaps read as something else.
        let entries = if faults.is_empty() { table.into_inner() } else { DeTable::new() };
        for (key, value) in entries {
            match values_of(&key, &value, &text, program) {
                Ok((flag, values)) => {
                    has_secret |= values.iter().any(|value| without_secret(flag, value) != *value);
                    settings.insert(key.into_inner().into_owned(), values);
                }
                Err(fault) => faults.push(fault),
            }
        }
        if !faults.is_empty() {
            return Err(failure(path, &text, faults));
        }
        if has_secret {
            warn_of_readers(path, "the password or key in the configuration file");
        }
        Ok(Self { path: path.to_owned(), settings })
    }

    pub(crate) fn has(&self, flag: &Arg) -> bool {
        self.values(flag).is_some()
    }

    fn values(&self, flag: &Arg) -> Option<&Vec<String>> {
        let long = flag.get_long().filter(|_| flag.get_env().is_some())?;
        self.settings.get(long)
    }

    /// The command, its settings with the values of the file as their defaults.
    pub(crate) fn apply(&self, command: Command) -> Command {
        let with_value = |flag: Arg| match self.values(&flag) {
            Some(values) => flag.required(false).default_values(values),
            None => flag,
        };
        command.mut_args(with_value).mut_subcommands(|inner| self.apply(inner))
    }
}

/// Warns if every user of the machine can read a secret.
pub(crate) fn warn_of_readers(path: &Path, secret: &str) {
    let mode = path.metadata().map_or(0, |metadata| metadata.permissions().mode());
    if mode & READ_BY_OTHERS != 0 {
        let path = path.display();
        note(format_args!(
            "warning: every user of this machine can read {secret}; chmod o-r {path}"
        ));
    }
}

/// A value as it may be shown.
pub(crate) fn without_secret<'v>(flag: &Arg, value: &'v str) -> Cow<'v, str> {
    if !flag.is_hide_env_values_set() {
        return value.into();
    }
    if flag.get_value_parser().type_id() != TypeId::of::<StoreLocation>() {
        return "***".into();
    }
    let (address, parameters) = value.split_once('?').unwrap_or((value, ""));
    let shown = StoreLocation::shown(value);
    if shown == address && !parameters.contains("password") { value.into() } else { shown.into() }
}

fn text_of(path: &Path) -> Result<String, Failure> {
    let mut bytes = Vec::new();
    File::open(path)
        .and_then(|file| file.take(FILE_BYTES_MAX + 1).read_to_end(&mut bytes))
        .map_err(|error| Failure::file("read the configuration file", path, &error))?;
    if bytes.len() as u64 > FILE_BYTES_MAX {
        let path = path.display();
        return Err(Failure::usage(format!("{path} is longer than a configuration file: 1 MiB")));
    }
    String::from_utf8(bytes).map_err(|error| {
        let at = error.utf8_error().valid_up_to();
        let text = String::from_utf8_lossy(error.as_bytes());
        failure(path, &text, vec![(at..at, "a byte that is not UTF-8".to_owned())])
    })
}

/// All faults of a file, in its order.
fn failure(path: &Path, text: &str, mut faults: Vec<(Range<usize>, String)>) -> Failure {
    faults.sort_by_key(|(at, _)| at.start);
    let path = path.display();
    let lines: Vec<String> = faults
        .iter()
        .map(|(at, fault)| {
            let before = text.get(..at.start).unwrap_or(text);
            let line = before.matches('\n').count() + 1;
            let column = before.rsplit('\n').next().unwrap_or_default().chars().count() + 1;
            format!("{path}, line {line}, column {column}: {fault}")
        })
        .collect();
    Failure::usage(lines.join("\n"))
        .with_hint("`caseload config` prints a file with every setting and its default")
}

type Fault = (Range<usize>, String);

/// The flag that a key sets, and its values as they would be written on the command line.
fn values_of<'p>(
    key: &Spanned<Cow<'_, str>>,
    value: &Spanned<DeValue<'_>>,
    text: &str,
    program: &'p Command,
) -> Result<(&'p Arg, Vec<String>), Fault> {
    let name = key.get_ref();
    let flags = flags_with(program, |_, long| long == name);
    let settings: Vec<&Arg> = flags.iter().copied().filter(|flag| is_setting(flag)).collect();
    let Some(first) = settings.first() else {
        return Err((key.span(), unknown(name, &flags, program)));
    };
    let wrong = |rule: &str| {
        let quoted = text.get(value.span()).unwrap_or_default().lines().next().unwrap_or_default();
        let quoted: String = quoted.chars().take(QUOTED_CHARS_MAX).collect();
        let quoted = without_secret(first, &quoted).into_owned();
        (value.span(), format!("{name} = {quoted}: {rule}"))
    };
    let values = written(first, value.get_ref()).map_err(wrong)?;
    let takes_value = first.get_action().takes_values();
    for given in values.iter().filter(|_| takes_value) {
        // Two commands may have stricter and laxer forms of the same flag.
        settings.iter().try_for_each(|flag| judge(flag, given)).map_err(|rule| {
            let shown = without_secret(first, given);
            let shown = if is_number(first) { shown.into_owned() } else { format!("{shown:?}") };
            (value.span(), format!("{name} = {shown}: {rule}"))
        })?;
    }
    Ok((first, values))
}

/// Whether a file can set the flag.
fn is_setting(flag: &Arg) -> bool {
    flag.get_env().is_some() && flag.get_long() != Some(CONFIG)
}

/// The flags of all commands that `is_wanted` accepts with their long names.
fn flags_with(command: &Command, is_wanted: impl Fn(&Arg, &str) -> bool + Copy) -> Vec<&Arg> {
    let own = command.get_arguments();
    let own = own.filter(|flag| flag.get_long().is_some_and(|long| is_wanted(flag, long)));
    let inner = command.get_subcommands().flat_map(|inner| flags_with(inner, is_wanted));
    own.chain(inner).collect()
}

/// Why a key is none.
fn unknown(name: &str, flags: &[&Arg], program: &Command) -> String {
    if name == CONFIG {
        return "config: a configuration file cannot name another one".to_owned();
    }
    if !flags.is_empty() {
        return format!(
            "{name}: --{name} is a flag of single commands, not a setting; give it to the command"
        );
    }
    let known = flags_with(program, |flag, _| is_setting(flag));
    let meant = nearest_word(name, known.into_iter().filter_map(Arg::get_long));
    let meant = meant.map(|meant| format!("; did you mean {meant}?")).unwrap_or_default();
    format!("{name}: no command has this setting{meant}")
}

/// The values as they would be written on the command line, or the form that they should have.
fn written(flag: &Arg, value: &DeValue<'_>) -> Result<Vec<String>, &'static str> {
    let is_list = matches!(flag.get_action(), ArgAction::Append);
    let is_switch = matches!(flag.get_action(), ArgAction::SetTrue);
    let is_number = is_number(flag);
    match value {
        DeValue::Boolean(is_on) if is_switch => Ok(vec![is_on.to_string()]),
        DeValue::Integer(number) if is_number => {
            let digits = i128::from_str_radix(number.as_str(), number.radix());
            Ok(vec![
                digits.map_or_else(|_| number.as_str().to_owned(), |number| number.to_string()),
            ])
        }
        DeValue::String(text) if is_number && text.parse::<i128>().is_ok() => {
            Err("write the number without quotes")
        }
        DeValue::String(text) if !is_switch => Ok(vec![text.to_string()]),
        DeValue::Array(texts) if is_list => {
            let texts = texts.iter().map(|text| text.get_ref().as_str().map(str::to_owned));
            texts.collect::<Option<_>>().ok_or("write texts in quotes: [\"…\", \"…\"]")
        }
        _ if is_switch => Err("write true or false"),
        _ if is_number => Err("write a number"),
        _ if is_list => Err("write texts in quotes: [\"…\", \"…\"]"),
        _ => Err("write a text in quotes"),
    }
}

/// Whether the value of a flag is a number, perhaps with a unit.
pub(crate) fn is_number(flag: &Arg) -> bool {
    let of = flag.get_value_parser().type_id();
    of == TypeId::of::<u32>() || of == TypeId::of::<u64>() || of == TypeId::of::<usize>()
}

/// Whether the flag takes this value on the command line; if not, its rule.
fn judge(flag: &Arg, value: &str) -> Result<(), String> {
    let long = flag.get_long().unwrap_or_default();
    let alone = Command::new("caseload").no_binary_name(true).arg(flag.clone().required(false));
    let Err(error) = alone.try_get_matches_from([format!("--{long}={value}")]) else {
        return Ok(());
    };
    Err(match (error.source(), error.get(ContextKind::ValidValue)) {
        (Some(rule), _) => rule.to_string(),
        (None, Some(ContextValue::Strings(words))) if !words.is_empty() => {
            format!("write one of {}", words.join(", "))
        }
        _ => "it must not be empty".to_owned(),
    })
}
