//! `caseload person export`: the copy of a person's data. The dry run of an erasure finds the
//! person, so the copy has the records that an erasure takes: core and app profiles, the issues
//! that the person is the author of, the entries and records of tasks, and the changes of all
//! these. It has no bytes of attachments, which may be larger than memory, but their URLs.
//! Invariant: the document is complete, or the command fails.

use caseload_client::{
    Client, ClientError, HistoryPage, INCLUDES_ALL, Params, PersonPart, ProfileKind,
};
use clap::Args;
use serde_json::{Value, json};

use super::document::Document;
use crate::args::{PersonArgs, ServerArgs};
use crate::clock::now;
use crate::commands::output::FileArg;
use crate::commands::wire::line_of;
use crate::failure::{Done, Failure};
use crate::printer::{Printer, counted};

/// Records that one request asks for.
const IDS_AT_ONCE: usize = 100;

#[derive(Debug, Args)]
pub(crate) struct ExportArgs {
    #[command(flatten)]
    person: PersonArgs,
    #[command(flatten)]
    file: FileArg,
    #[command(flatten)]
    server: ServerArgs,
}

pub(crate) async fn run(args: ExportArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let client = args.server.client()?;
    args.file.redirect(printer)?;
    let fields = args.person.fields();
    let first = client.person(fields.clone(), "*").await?;
    let said = export(&client, &fields, first, printer).await?;
    printer.complete(said)?;
    Ok(Done::Good)
}

/// Writes the document; the answer is a message about its end.
async fn export(
    client: &Client,
    fields: &Params,
    first: PersonPart,
    printer: &mut Printer,
) -> Result<String, Failure> {
    let person = json!({
        "core_profile_ids": first.core_profile_ids,
        "pids": first.pids,
        "issue_ids": first.issue_ids,
    });
    let head = [
        ("exported_at", json!(now().0)),
        ("domain", json!(client.domain().as_str())),
        ("person", person),
    ];
    let mut document = Document::begin(printer, &head)?;
    let core = ("core_profiles", "ids", "app_profiles", &first.core_profile_ids[..]);
    let core_profiles = profiles(client, ProfileKind::Core, core, &mut document).await?;
    let app = ("app_profiles", "pids", "core_profile", &first.pids[..]);
    let app_profiles = profiles(client, ProfileKind::App, app, &mut document).await?;
    let issues = issues(client, &first.issue_ids, &mut document).await?;
    let PersonPart { core_profile_ids, pids, issue_ids, .. } = &first;
    let ids = (core_profile_ids.clone(), pids.clone(), issue_ids.clone());
    let tasks = tasks(client, fields, first, &mut document).await?;
    let changes = changes(client, &ids, &mut document).await?;
    document.end()?;
    let counts = [
        counted(core_profiles, "core profile", "core profiles"),
        counted(app_profiles, "app profile", "app profiles"),
        counted(issues, "issue", "issues"),
        counted(tasks, "task", "tasks"),
    ];
    Ok(format!("exported {} and {}", counts.join(", "), counted(changes, "change", "changes")))
}

/// Writes the profiles of one kind.
async fn profiles(
    client: &Client,
    kind: ProfileKind,
    (name, filter, includes, ids): (&str, &str, &str, &[String]),
    document: &mut Document<'_>,
) -> Result<u64, Failure> {
    document.list(name)?;
    for ids in ids.chunks(IDS_AT_ONCE) {
        let mut params = Params::default();
        params.push(filter, json!(ids).to_string());
        params.push("includes", includes);
        let mut walk = client.walk_profiles(kind, params);
        while let Some(profiles) = walk.next().await? {
            profiles.iter().try_for_each(|profile| item(document, profile))?;
        }
    }
    document.end_list()
}

/// Writes the issues, and after them the list of their files.
async fn issues(client: &Client, ids: &[u64], document: &mut Document<'_>) -> Result<u64, Failure> {
    let mut files = Vec::new();
    document.list("issues")?;
    for ids in ids.chunks(IDS_AT_ONCE) {
        let mut params = Params::default();
        params.push("ids", json!(ids).to_string());
        params.push("includes", INCLUDES_ALL);
        let mut stream = client.stream_issues(params);
        while let Some(issue) = stream.next().await? {
            document.item(&issue)?;
            let issue: Value = serde_json::from_slice(&issue)
                .map_err(|error| Failure::server(format!("an issue is not readable: {error}")))?;
            files.extend(files_of(&issue));
        }
    }
    let issues = document.end_list()?;
    document.list("attachments")?;
    for file in files {
        document.item(file.to_string().as_bytes())?;
    }
    document.end_list()?;
    Ok(issues)
}

/// The files of an issue, each with the ids of the issue and of the message.
fn files_of(issue: &Value) -> impl Iterator<Item = Value> {
    let messages = issue["messages"].as_array().into_iter().flatten();
    messages.flat_map(|message| {
        let files = message["attachments"].as_array().into_iter().flatten();
        files.map(|file| {
            let mut file = file.clone();
            file["issue_id"] = issue["id"].clone();
            file["message_id"] = message["id"].clone();
            file
        })
    })
}

/// Writes what tasks hold.
async fn tasks(
    client: &Client,
    fields: &Params,
    mut part: PersonPart,
    document: &mut Document<'_>,
) -> Result<u64, Failure> {
    document.list("tasks")?;
    loop {
        part.tasks.iter().try_for_each(|task| item(document, task))?;
        let Some(next) = part.next_tasks else { return document.end_list() };
        part = client.person(fields.clone(), &next).await?;
    }
}

/// Writes the changes: of each core profile and each issue, newest first, and then of the app
/// profiles, which have no history of their own, from the log.
async fn changes(
    client: &Client,
    (core_profile_ids, pids, issue_ids): &(Vec<String>, Vec<String>, Vec<u64>),
    document: &mut Document<'_>,
) -> Result<u64, Failure> {
    document.list("changes")?;
    for id in core_profile_ids {
        let id: u64 = id.parse().map_err(|_| Failure::server(format!("{id:?} is not an id")))?;
        let page = async |cursor: String| client.core_profile_history(id, &cursor).await;
        history(page, document).await?;
    }
    for id in issue_ids {
        let page = async |cursor: String| client.issue_history(*id, &cursor).await;
        history(page, document).await?;
    }
    for pids in pids.chunks(IDS_AT_ONCE) {
        let mut cursor = "*".to_owned();
        loop {
            let mut params = Params::default();
            params.push("resources", "app_profile");
            params.push("ids", json!(pids).to_string());
            params.push("page-size", "1000");
            params.push("cursor", cursor.clone());
            let page = client.changes(&params).await?;
            page.changes.iter().try_for_each(|change| item(document, change))?;
            if page.changes.is_empty() && page.next_cursor == cursor {
                break;
            }
            cursor = page.next_cursor;
        }
    }
    document.end_list()
}

/// Writes the history of one record.
async fn history(
    page: impl AsyncFn(String) -> Result<HistoryPage, ClientError>,
    document: &mut Document<'_>,
) -> Result<(), Failure> {
    let mut cursor = Some("*".to_owned());
    while let Some(before) = cursor {
        let HistoryPage { changes, next_cursor } = page(before).await?;
        changes.iter().try_for_each(|change| item(document, change))?;
        cursor = next_cursor;
    }
    Ok(())
}

/// Adds a record of the server.
fn item(document: &mut Document<'_>, record: &serde_json::value::RawValue) -> Result<(), Failure> {
    document.item(line_of(record).trim_ascii_end())
}
