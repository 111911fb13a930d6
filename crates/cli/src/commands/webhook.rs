//! `caseload webhook`: creates, lists and changes the webhooks of a domain on a running server. The
//! key needs the access `admin`. A new secret is printed once.

use caseload_model::time::UnixMillis;
use clap::{Args, Subcommand};
use serde_json::{Map, Value, json};

use crate::args::ServerArgs;
use crate::clock::readable;
use crate::failure::{Done, Failure};
use crate::printer::{Printer, note};

#[derive(Debug, Subcommand)]
pub(crate) enum WebhookCommand {
    /// Create a webhook and print its id and its secret, which is shown only once
    Create(CreateArgs),
    /// List the webhooks
    List(ListArgs),
    /// Print a webhook as JSON
    Get(OneArgs),
    /// Change a webhook; settings that are not given stay
    Edit(EditArgs),
    /// Delete a webhook
    Delete(OneArgs),
    /// Give a webhook a new secret and print it; the old one signs too, for 24 hours
    RotateSecret(OneArgs),
    /// Ask for one delivery without changes
    Test(OneArgs),
    /// Deliver from a position of the log on
    Replay(ReplayArgs),
    /// List the last deliveries of a webhook, newest first
    Deliveries(DeliveriesArgs),
}

/// The settings of a webhook.
#[derive(Debug, Args)]
pub(crate) struct SettingArgs {
    /// Only changes of this kind of record, such as issue, task or key. May be repeated; an empty
    /// text means all
    #[arg(long = "resource", value_name = "KIND")]
    resources: Vec<String>,
    /// Only changes of this kind, such as created or completed. May be repeated; an empty text
    /// means all
    #[arg(long = "action", value_name = "ACTION")]
    actions: Vec<String>,
    /// Whether changes of issues and profiles come with the record
    #[arg(long, value_name = "BOOL")]
    include_record: Option<bool>,
    /// Whether nothing is delivered
    #[arg(long, value_name = "BOOL")]
    paused: Option<bool>,
}

impl SettingArgs {
    fn fields(&self, url: Option<&String>) -> Value {
        let mut fields = Map::new();
        for (name, words) in [("resources", &self.resources), ("actions", &self.actions)] {
            if !words.is_empty() {
                let words: Vec<_> = words.iter().filter(|word| !word.is_empty()).collect();
                fields.insert(name.to_owned(), json!(words));
            }
        }
        for (name, value) in [("include_record", self.include_record), ("paused", self.paused)] {
            fields.extend(value.map(|value| (name.to_owned(), value.into())));
        }
        fields.extend(url.map(|url| ("url".to_owned(), url.clone().into())));
        fields.into()
    }
}

#[derive(Debug, Args)]
pub(crate) struct CreateArgs {
    /// The address that gets the changes
    #[arg(value_name = "RECEIVER")]
    receiver: String,
    #[command(flatten)]
    settings: SettingArgs,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct EditArgs {
    /// Id of the webhook
    id: String,
    /// The address that gets the changes
    #[arg(long, value_name = "URL")]
    receiver: Option<String>,
    #[command(flatten)]
    settings: SettingArgs,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct OneArgs {
    /// Id of the webhook
    id: String,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ReplayArgs {
    /// Id of the webhook
    id: String,
    /// Position of the last change that is not sent; * for all stored changes, latest for none
    #[arg(long, value_name = "POSITION")]
    cursor: String,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Print JSON, one record a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerArgs,
}

#[derive(Debug, Args)]
pub(crate) struct DeliveriesArgs {
    /// Id of the webhook
    id: String,
    /// Print JSON, one delivery a line
    #[arg(long)]
    json: bool,
    #[command(flatten)]
    server: ServerArgs,
}

pub(crate) async fn run(command: WebhookCommand, printer: &mut Printer) -> Result<Done, Failure> {
    match command {
        WebhookCommand::Create(args) => {
            let fields = args.settings.fields(Some(&args.receiver));
            let made = args.server.client()?.create_webhook(&fields).await?;
            printer.rows(&[vec![text(&made["id"]), text(&made["secret"])]])?;
        }
        WebhookCommand::List(args) => {
            let mut all = args.server.client()?.webhooks().await?;
            let header = ["ID", "STATE", "RECEIVER", "CURSOR", "REASON"];
            printer.list(
                args.json,
                &records(&mut all, "webhooks"),
                Value::clone,
                (&header[..], row),
            )?;
        }
        WebhookCommand::Get(args) => {
            printer.line(args.server.client()?.webhook(&args.id).await?)?;
        }
        WebhookCommand::Edit(args) => {
            let fields = args.settings.fields(args.receiver.as_ref());
            let edited = args.server.client()?.edit_webhook(&args.id, &fields).await?;
            printer.line(edited)?;
        }
        WebhookCommand::Delete(args) => {
            args.server.client()?.delete_webhook(&args.id).await?;
            note(format_args!("deleted the webhook {}", args.id));
        }
        WebhookCommand::RotateSecret(args) => {
            let webhook = args.server.client()?.rotate_webhook_secret(&args.id).await?;
            printer.line(text(&webhook["secret"]))?;
        }
        WebhookCommand::Test(args) => {
            args.server.client()?.test_webhook(&args.id).await?;
            note(format_args!("`caseload webhook deliveries {}` shows how it ends", args.id));
        }
        WebhookCommand::Replay(args) => {
            let replayed = args.server.client()?.replay_webhook(&args.id, &args.cursor).await?;
            printer.line(replayed)?;
        }
        WebhookCommand::Deliveries(args) => {
            let mut all = args.server.client()?.deliveries(&args.id).await?;
            let header = ["AT", "END", "MS", "CHANGES", "ANSWER"];
            let records = records(&mut all, "deliveries");
            printer.list(args.json, &records, Value::clone, (&header[..], delivery))?;
        }
    }
    Ok(Done::Good)
}

fn records(all: &mut Value, name: &str) -> Vec<Value> {
    all[name].as_array_mut().map(std::mem::take).unwrap_or_default()
}

/// A value as a cell: a text without its quotes, and nothing for null.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn row(webhook: &Value) -> Vec<String> {
    let state = if webhook["paused"] == true {
        "paused"
    } else if webhook["failures"] != 0 {
        "retrying"
    } else {
        "active"
    };
    let [id, url, cursor, reason] =
        ["id", "url", "cursor", "pause_reason"].map(|name| text(&webhook[name]));
    vec![id, state.to_owned(), url, cursor, reason]
}

fn delivery(delivery: &Value) -> Vec<String> {
    let at = readable(UnixMillis(delivery["at"].as_i64().unwrap_or_default()));
    let [status, ms, changes, answer, fault] =
        ["status", "duration_ms", "changes", "answer", "fault"].map(|name| text(&delivery[name]));
    let end = if status.is_empty() { "no answer".to_owned() } else { status };
    vec![at, end, ms, changes, answer + &fault]
}
