//! `caseload changes`: prints the log of changes, oldest first, and goes on with --follow. A line
//! for people has the time, who did it, the action, the record, and its fields with their old and
//! new values.

use std::time::Duration;

use caseload_client::{ChangePage, Client, ClientError, Params};
use caseload_model::time::UnixMillis;
use clap::Args;
use serde_json::{Map, Value};

use super::wire::line_of;
use crate::args::ServerArgs;
use crate::clock::{now, parse_span, readable};
use crate::failure::{Done, Failure};
use crate::printer::{Printer, note};

/// How long the server holds an answer back without a change.
const WAIT_SECONDS: &str = "20";
/// The first and the longest pause before a server that does not answer is asked again.
const PAUSE: Duration = Duration::from_millis(250);
const PAUSE_MAX: Duration = Duration::from_secs(5);
/// The most characters of a value in a line for people.
const VALUE_CHARS: usize = 60;

#[derive(Debug, Args)]
pub(crate) struct ChangesArgs {
    /// Go on with changes as they are committed, until Ctrl-C. Without --since or --cursor, only
    /// those from now on
    #[arg(long)]
    follow: bool,
    /// Only the changes of this time before now, such as 10m, 2h or 30d
    #[arg(long, value_name = "SPAN", value_parser = parse_span, conflicts_with = "cursor")]
    since: Option<i64>,
    /// Only the changes after this position
    #[arg(long, value_name = "POSITION")]
    cursor: Option<String>,
    /// Only changes of this kind of record, such as issue, task or key. May be repeated
    #[arg(long = "resource", value_name = "KIND")]
    resources: Vec<String>,
    /// Only changes of this kind, such as created, updated or deleted. May be repeated
    #[arg(long = "action", value_name = "ACTION")]
    actions: Vec<String>,
    /// Print each change as JSON, one a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerArgs,
}

pub(crate) async fn run(args: ChangesArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let client = args.server.client()?;
    let mut filters = Params::default();
    for (name, words) in [("resources", &args.resources), ("actions", &args.actions)] {
        if !words.is_empty() {
            filters.push(name, words.join(","));
        }
    }
    filters.push("page-size", "1000");
    let mut place = match (args.cursor, args.since) {
        (Some(cursor), _) => ("cursor", cursor),
        (None, Some(span)) => ("since", (now().0 - span).to_string()),
        (None, None) if args.follow => ("cursor", "latest".to_owned()),
        (None, None) => ("cursor", "*".to_owned()),
    };
    let mut is_first = true;
    loop {
        let mut params = filters.clone();
        params.push(place.0, place.1.clone());
        if args.follow && !is_first {
            params.push("wait", WAIT_SECONDS);
        }
        let page = match client.changes(&params).await {
            Ok(page) => page,
            // Nothing is printed twice: the position is known.
            Err(error) if args.follow && !is_first && error.is_passing() => {
                again(&client, &params, error).await?
            }
            Err(error) => return Err(error.into()),
        };
        is_first = false;
        print(&page, args.json, printer)?;
        let is_end = page.changes.is_empty() && place.1 == page.next_cursor;
        if is_end && !args.follow {
            return Ok(Done::Good);
        }
        place = ("cursor", page.next_cursor);
    }
}

/// Asks until the server answers again.
async fn again(
    client: &Client,
    params: &Params,
    mut error: ClientError,
) -> Result<ChangePage, Failure> {
    note(format_args!("{error}; trying again until the server answers"));
    let mut pause = PAUSE;
    while error.is_passing() {
        tokio::time::sleep(pause).await;
        pause = (pause * 2).min(PAUSE_MAX);
        match client.changes(params).await {
            Ok(page) => return Ok(page),
            Err(other) => error = other,
        }
    }
    Err(error.into())
}

fn print(page: &ChangePage, as_json: bool, printer: &mut Printer) -> Result<(), Failure> {
    let mut rows = Vec::new();
    for change in &page.changes {
        if as_json {
            printer.data(&line_of(change))?;
            continue;
        }
        let change: Value = serde_json::from_str(change.get())
            .map_err(|error| Failure::server(format!("a change is not readable: {error}")))?;
        rows.push(row(&change));
    }
    printer.rows(&rows)
}

fn row(change: &Value) -> Vec<String> {
    let text = |name: &str| change[name].as_str().unwrap_or_default();
    let at = readable(UnixMillis(change["at"].as_i64().unwrap_or_default()));
    let record = format!("{} {}", text("resource"), text("id"));
    vec![at, author(&change["by"]), text("action").to_owned(), record, fields(change)]
}

fn author(by: &Value) -> String {
    let text = |name: &str| by[name].as_str().filter(|text| !text.is_empty());
    if let Some(task) = text("task_id") {
        return format!("task {task}");
    }
    // A key may have no name.
    let names = ["key_name", "key_id", "command"];
    names.into_iter().find_map(text).unwrap_or("-").to_owned()
}

/// The fields that changed, with the values that the log has.
fn fields(change: &Value) -> String {
    let none = Map::new();
    let values = change["changes"].as_object().unwrap_or(&none);
    let names = change["fields"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let field = |name: &str| match values.get(name) {
        Some(value) => format!("{name}: {} -> {}", shown(&value["from"]), shown(&value["to"])),
        None => name.to_owned(),
    };
    names.map(field).collect::<Vec<_>>().join(", ")
}

/// A value in a few characters.
fn shown(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if text.chars().count() <= VALUE_CHARS {
        return text;
    }
    text.chars().take(VALUE_CHARS).chain(['…']).collect()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_names_the_author_and_the_changed_fields() {
        let change = json!({
            "position": "7", "at": 1_499_889_810_397_i64, "resource": "issue", "id": "12",
            "action": "updated", "fields": ["state", "assignee_id", "meta"],
            "by": {"key_id": "k", "key_name": "desk"},
            "changes": {
                "state": {"from": "new", "to": "resolved"},
                "assignee_id": {"from": null, "to": "x".repeat(70)},
            },
        });
        let long = format!("{}…", "x".repeat(60));
        let fields = format!("state: new -> resolved, assignee_id: null -> {long}, meta");
        let wanted = ["2017-07-12 20:03:30 UTC", "desk", "updated", "issue 12", &fields];
        assert_eq!(row(&change), wanted);
        let of_task = json!({"by": {"task_id": "t", "index": 3}});
        assert_eq!(author(&of_task["by"]), "task t");
        assert_eq!(author(&json!({"command": "caseload key create"})), "caseload key create");
        assert_eq!(author(&json!({"key_id": "key-1", "key_name": ""})), "key-1");
        assert_eq!(author(&Value::Null), "-");
    }
}
