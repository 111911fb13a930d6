//! `caseload issues search`: the issues in which a text occurs, newest first, one per row.

use caseload_client::Params;
use clap::Args;
use serde_json::Value;

use crate::args::ServerArgs;
use crate::commands::wire::parse_param;
use crate::failure::{Done, Failure};
use crate::printer::{Printer, counted, note};

#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// The text: a literal part of a title, message, private note or feedback comment, without
    /// regard to case. Several words are one text, with a blank between them
    #[arg(required = true, value_name = "WORDS")]
    words: Vec<String>,
    /// Page number, from 1
    #[arg(long, env = "CASELOAD_PAGE")]
    page: Option<u32>,
    /// Issues on a page, 1 to 1000
    #[arg(long, env = "CASELOAD_PAGE_SIZE")]
    page_size: Option<u32>,
    /// A filter of the API; can be repeated
    #[arg(long = "param", env = "CASELOAD_PARAM", value_name = "NAME=VALUE",
          value_parser = parse_param)]
    params: Vec<(String, String)>,
    #[command(flatten)]
    server: ServerArgs,
}

pub(crate) async fn run(args: SearchArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let client = args.server.client()?;
    let mut params = Params::default();
    for (name, value) in args.params {
        params.push(name, value);
    }
    params.push("text", args.words.join(" "));
    params.push("excludes", "messages");
    params.push("timestamp-format", "iso-8601");
    for (name, value) in [("page", args.page), ("page-size", args.page_size)] {
        if let Some(value) = value {
            params.push(name, value.to_string());
        }
    }
    let page = client.issues(&params).await?;
    let mut rows = Vec::new();
    for issue in &page.issues {
        let issue: Value = serde_json::from_str(issue.get())
            .map_err(|error| Failure::server(format!("an issue is not readable: {error}")))?;
        let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let shown =
            [&issue["id"], &issue["created_at"], &issue["state_data"]["state"], &issue["title"]];
        rows.push(shown.map(text).to_vec());
    }
    printer.table(&["ID", "CREATED", "STATE", "TITLE"], &rows)?;
    note(format_args!(
        "page {} of {}, {} in all",
        page.page,
        page.total_pages,
        counted(page.total_hits, "issue", "issues")
    ));
    Ok(Done::Good)
}
