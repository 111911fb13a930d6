//! `caseload issues search`: the issues in which a text occurs, newest first, one per row.

use caseload_client::Params;
use clap::Args;
use serde_json::Value;

use crate::args::ServerArgs;
use crate::commands::wire::FilterArgs;
use crate::failure::{Done, Failure};
use crate::printer::{Printer, counted, note, page_of};

#[derive(Debug, Args)]
pub(crate) struct SearchArgs {
    /// The text: a literal part of a title, message, private note or feedback comment, without
    /// regard to case. Several words are one text, with a blank between them
    #[arg(required = true, value_name = "WORDS")]
    words: Vec<String>,
    /// Which page to print [default: 1]
    #[arg(long, value_name = "NUMBER")]
    page: Option<u32>,
    /// Issues on a page, 1 to 1000 [default: 100]
    #[arg(long, value_name = "NUMBER")]
    page_size: Option<u32>,
    #[command(flatten)]
    filters: FilterArgs,
    #[command(flatten)]
    server: ServerArgs,
}

pub(crate) async fn run(args: SearchArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let client = args.server.client()?;
    let mut params = Params::default();
    params.extend(args.filters.params);
    params.push("text", args.words.join(" "));
    params.push("excludes", "messages");
    params.push("timestamp-format", "iso-8601");
    params.push_given("page", args.page.map(|page| page.to_string()));
    params.push_given("page-size", args.page_size.map(|size| size.to_string()));
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
    let all = counted(page.total_hits, "issue", "issues");
    note(page_of((page.page, page.total_pages), &all));
    Ok(Done::Good)
}
