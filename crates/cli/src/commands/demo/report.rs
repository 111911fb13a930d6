//! The output of the demo: its store and server, one aligned line per step, and commands to copy.
//! The commands are complete, with address, key and ids, and a test runs every one of them. No line
//! is wider than a terminal of 80 columns.

use std::time::Duration;

use caseload_client::Client;
use caseload_location::StoreLocation;

use crate::failure::Failure;
use crate::printer::Printer;

/// A finished step.
#[derive(Debug)]
pub(crate) struct Step {
    pub(crate) name: &'static str,
    pub(crate) result: String,
    pub(crate) took: Duration,
    pub(crate) rate: String,
}

impl Step {
    pub(crate) fn print(self, printer: &mut Printer) -> Result<(), Failure> {
        let Self { name, result, took, rate } = self;
        let line = format!("  {name:<17} {result:<39} {:>8} {rate:>10}", time(took));
        printer.line(line.trim_end())
    }
}

/// The widest line that is shorter than any usual terminal.
const COLUMNS_MAX: usize = 79;

/// Prints a text below a step, in lines that fit a terminal.
pub(crate) fn indented(printer: &mut Printer, text: &str) -> Result<(), Failure> {
    let mut line = String::from("   ");
    for word in text.split(' ') {
        if line.chars().count() + 1 + word.chars().count() > COLUMNS_MAX {
            printer.line(&line)?;
            line = String::from("     ");
        }
        line.push(' ');
        line.push_str(word);
    }
    printer.line(line)
}

/// Prints the store, the domain and the server.
pub(crate) fn opening(
    printer: &mut Printer,
    store: &StoreLocation,
    url: &str,
    taken: Option<&str>,
) -> Result<(), Failure> {
    let location = match store {
        StoreLocation::Sqlite(path) => path.display().to_string(),
        StoreLocation::Postgres(address) => address.to_string(),
    };
    printer.line("Caseload demo")?;
    printer.line("")?;
    printer.line(format_args!("  store    {location}"))?;
    printer.line("  domain   acme")?;
    match taken {
        None => printer.line(format_args!("  server   {url}"))?,
        Some(wanted) => printer.line(format_args!("  server   {url} ({wanted} is in use)"))?,
    }
    printer.line("")
}

/// Prints commands to copy, which name the import with faults, or a note if the server does not
/// stay. They are the last lines, so that
/// the key is still on the screen.
pub(crate) fn by_hand(
    printer: &mut Printer,
    client: &Client,
    key: &str,
    faulty: &str,
    serving: bool,
) -> Result<(), Failure> {
    printer.line("")?;
    if !serving {
        return printer.line("Without --exit the server stays, with commands to try on it.");
    }
    printer.line("To try it, copy these lines into another terminal:")?;
    printer.line("")?;
    for line in commands(client, key, faulty) {
        printer.line(format_args!("  {line}"))?;
    }
    printer.line("")
}

/// Lines for a shell. None is too wide for a terminal of 80 columns, and no answer is longer than a
/// few screens.
fn commands(client: &Client, key: &str, faulty: &str) -> Vec<String> {
    let domain = client.domain();
    let bulk = format!("$URL/v2/{domain}/identity/bulk_actions");
    let issues = format!("$URL/v1/{domain}/issues");
    let curl = r#"curl -u "$KEY:""#;
    vec![
        format!("URL={}", client.url()),
        format!("KEY={key}"),
        format!("TASK={}", faulty),
        "# the faulty import: its record and its errors".to_owned(),
        format!("{curl} {bulk}/$TASK"),
        format!("{curl} {bulk}/$TASK/errors"),
        "# a new import".to_owned(),
        format!(r"{curl} {bulk} \"),
        r"  -d action=create_core_profiles --data-urlencode \".to_owned(),
        r#"  'payload=[{"identities":[{"email":"ada@example.net"}],"age":36}]'"#.to_owned(),
        "# issues: two new ones, the first page of a walk, one by its id".to_owned(),
        format!(r#"{curl} "{issues}?state=new&page-size=2""#),
        format!(r#"{curl} "{issues}?cursor=&page-size=2""#),
        format!("{curl} {issues}/1"),
    ]
}

/// `0.7 ms`, `640 ms` or `1.25 s`.
fn time(took: Duration) -> String {
    match took.as_micros() {
        micros @ 0..10_000 => format!("{}.{} ms", micros / 1000, micros % 1000 / 100),
        micros @ 10_000..1_000_000 => format!("{} ms", micros / 1000),
        _ => format!("{:.2} s", took.as_secs_f64()),
    }
}
