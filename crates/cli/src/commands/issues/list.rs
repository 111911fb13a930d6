//! `caseload issues list`: prints one page from a server, or all matches as a table, or explains
//! how a store finds a page. The parameters are those of the API in each case.

use std::borrow::Cow;
use std::time::Duration;

use caseload_client::Params;
use caseload_model::ids::DomainName;
use caseload_model::issue_query::parse_list;
use caseload_store::ListIssues;
use clap::Args;
use percent_encoding::percent_decode_str;

use crate::args::{StoreArgs, TrustArg, parse_domain};
use crate::commands::output::{Form, OutputArgs, copy_table};
use crate::commands::session::{block_on, domain_named, with_store};
use crate::commands::wire::{line_of, parse_param};
use crate::failure::{Done, Failure};
use crate::printer::{Printer, counted, grouped, page_of};

/// Time limit for an explanation.
const EXPLANATION_TIME: Duration = Duration::from_mins(1);

/// The group of flags that name a server, and a store in its place.
const SERVER: &str = "Server";

#[derive(Debug, Args)]
pub(crate) struct ListArgs {
    /// Only issues in this state: new, new-for-agent, agent-replied, waiting-for-agent,
    /// pending-reassignment, resolved or rejected
    #[arg(long, value_name = "STATE")]
    state: Option<String>,
    /// Which page to print [default: 1]
    #[arg(long, value_name = "NUMBER")]
    page: Option<u32>,
    /// Issues on a page, 1 to 1000 [default: 100]
    #[arg(long, value_name = "NUMBER")]
    page_size: Option<u32>,
    /// A parameter of the API: a filter, such as created-since=2026-01-31, or the order, such as
    /// sort-by=update-time. May be repeated; an issue must pass all filters. docs/reference.md has
    /// all parameters
    #[arg(long = "param", value_name = "NAME=VALUE",
          value_parser = parse_param)]
    params: Vec<(String, String)>,
    /// The same as many --param, in the form of a URL: NAME=VALUE&NAME=VALUE
    #[arg(long, value_name = "QUERY", value_parser = parse_query)]
    query: Option<QueryPairs>,
    /// Do not list: print how the store finds the page, step by step, to see why a list is slow.
    /// Opens --store itself; needs no server and no key
    #[arg(long)]
    explain: bool,
    #[command(flatten)]
    output: OutputArgs,
    /// Address of the server
    #[arg(long, env = "CASELOAD_URL", default_value = "http://127.0.0.1:8080",
          help_heading = SERVER)]
    url: String,
    /// Name of the domain
    #[arg(long, env = "CASELOAD_DOMAIN", value_name = "NAME", value_parser = parse_domain,
          help_heading = SERVER)]
    domain: DomainName,
    /// API key
    #[arg(long, env = "CASELOAD_API_KEY", value_name = "KEY", hide_env_values = true,
          help_heading = SERVER)]
    api_key: Option<String>,
    #[command(flatten, next_help_heading = SERVER)]
    trust: TrustArg,
    #[command(flatten, next_help_heading = SERVER)]
    store: StoreArgs,
}

/// Decoded parameters of a query string.
#[derive(Debug, Clone)]
struct QueryPairs(Vec<(String, String)>);

pub(crate) fn run(args: ListArgs, printer: &mut Printer) -> Result<Done, Failure> {
    args.output.file.redirect(printer)?;
    if args.explain { explain(&args, printer) } else { block_on(list(args, printer)) }
}

impl ListArgs {
    /// The parameters from all flags that set them.
    fn pairs(&self) -> Vec<(String, String)> {
        let mut pairs = self.params.clone();
        pairs.extend(self.query.iter().flat_map(|query| query.0.clone()));
        let own = [
            ("state", self.state.clone()),
            ("page", self.page.map(|page| page.to_string())),
            ("page-size", self.page_size.map(|size| size.to_string())),
        ];
        for (name, value) in own {
            pairs.extend(value.map(|value| (name.to_owned(), value)));
        }
        pairs
    }
}

async fn list(args: ListArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let api_key = args.api_key.as_deref().ok_or_else(|| {
        Failure::usage("a key is required: give --api-key KEY, or --explain, which needs none")
    })?;
    let client = args.trust.client(&args.url, args.domain.as_str(), api_key)?;
    let mut params = Params::default();
    params.extend(args.pairs());
    let form = args.output.form()?;
    if form == Form::Csv {
        args.output.extend(&mut params);
        copy_table(client.issue_table(params).await?, printer).await?;
        printer.complete("wrote a table of issues")?;
        return Ok(Done::Good);
    }
    let page = client.issues(&params).await?;
    for issue in &page.issues {
        printer.data(&line_of(issue))?;
    }
    let all = counted(page.total_hits, "issue", "issues");
    printer.complete(page_of((page.page, page.total_pages), &all))?;
    Ok(Done::Good)
}

fn explain(args: &ListArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let request = parse_list(&args.pairs()).map_err(|faults| {
        let faults: Vec<String> =
            faults.iter().map(|fault| format!("{}: {}", fault.parameter, fault.detail)).collect();
        Failure::usage(faults.join("\n"))
    })?;
    if request.cursor.is_some() {
        return Err(Failure::usage("--explain works for numbered pages; remove the cursor"));
    }
    let steps = with_store(&args.store.store, async |store| {
        let domain = domain_named(&*store, &args.domain).await?.id;
        let (query, view, paging) = (request.query, request.view, request.paging);
        let request = ListIssues {
            domain,
            query,
            view,
            paging,
            bytes_max: usize::MAX,
            budget: EXPLANATION_TIME.into(),
        };
        Ok(store.explain_issues(request).await?)
    })?;
    let rows: Vec<_> = steps
        .into_iter()
        .map(|step| {
            vec![step.step.to_owned(), step.issues.map(grouped).unwrap_or_default(), step.how]
        })
        .collect();
    printer.table(&["STEP", "ISSUES", "WHAT IS READ"], &rows)?;
    Ok(Done::Good)
}

fn parse_query(text: &str) -> Result<QueryPairs, String> {
    let decode = |text: &str| {
        let spaced = text.replace('+', " ");
        let decoded = percent_decode_str(&spaced).decode_utf8();
        decoded.map(Cow::into_owned).map_err(|_| format!("{text} is not UTF-8"))
    };
    let pairs = text.trim_start_matches('?').split('&').filter(|pair| !pair.is_empty());
    let pairs = pairs.map(|pair| {
        let (name, value) = pair.split_once('=').ok_or("write NAME=VALUE&NAME=VALUE")?;
        Ok((decode(name)?, decode(value)?))
    });
    pairs.collect::<Result<_, String>>().map(QueryPairs)
}
