//! The output of the demo: its store and server, one aligned line per step, and commands to copy.
//! The commands are complete, with address, key and ids, and a test runs every one of them.

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
        let line = format!("  {name:<18} {result:<44} {:>8} {rate:>10}", time(took));
        printer.line(line.trim_end())
    }
}

/// The task and the time that the commands to copy name.
#[derive(Debug)]
pub(crate) struct Examples {
    /// The task that imported profiles.
    pub(crate) task: String,
    /// An instant with some issues before it and some after it.
    pub(crate) instant: i64,
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

/// Prints commands to copy, or a note if the server does not stay.
pub(crate) fn by_hand(
    printer: &mut Printer,
    client: &Client,
    key: &str,
    examples: &Examples,
    serving: bool,
) -> Result<(), Failure> {
    printer.line("")?;
    if !serving {
        return printer.line("Without --exit the server stays, with commands to try on it.");
    }
    printer.line("To try it, copy any of these:")?;
    for (title, commands) in commands(client, key, examples) {
        printer.line(format_args!("\n  # {title}"))?;
        for command in commands {
            printer.line(format_args!("  {command}"))?;
        }
    }
    printer.line("")
}

fn commands(client: &Client, key: &str, examples: &Examples) -> Vec<(&'static str, Vec<String>)> {
    let bulk = format!("$URL/v2/{}/identity/bulk_actions", client.domain());
    let issues = format!("$URL/v1/{}/issues", client.domain());
    let Examples { task, instant } = examples;
    let curl = |rest: String| format!("curl -u \"$KEY:\" {rest}");
    vec![
        ("the address and the key", vec![format!("URL={}", client.url()), format!("KEY={key}")]),
        (
            "create a task: two new profiles, one of them with two faults",
            vec![curl(format!(
                "{bulk} -d action=create_core_profiles --data-urlencode \
                 'payload=[{{\"identities\":[{{\"email\":\"ada@example.net\"}}],\"names\":\
                 {{\"first_name\":\"Ada\"}}}},{{\"age\":\"30\"}}]'"
            ))],
        ),
        (
            "the import above: its status, results and errors",
            vec![
                curl(format!("{bulk}/{task}")),
                curl(format!("\"{bulk}/{task}/results?format=jsonl\"")),
                curl(format!("{bulk}/{task}/errors")),
            ],
        ),
        (
            "issues: a page of two states, those rated above 3, one by its id",
            vec![
                curl(format!("\"{issues}?state=new,new-for-agent&page-size=2\"")),
                curl(format!(
                    "-G {issues} -d page-size=2 --data-urlencode 'includes=[\"feedback\"]' \
                     --data-urlencode 'feedback-rating={{\"and\":[{{\"is_greater_than\":\"3\"}}]}}'"
                )),
                curl(format!("{issues}/1")),
            ],
        ),
        (
            "one step of the cursor procedure: the next one starts at the last issue's created_at",
            vec![curl(format!(
                "\"{issues}?created_since={instant}&created_until={}&sort-by=creation-time\
                 &sort-order=asc\"",
                instant + 7 * 86_400_000
            ))],
        ),
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
