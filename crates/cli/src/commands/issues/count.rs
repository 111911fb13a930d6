//! `caseload issues count`: the numbers of issues by one or two properties, as a table. On a
//! terminal each number has a bar.

use caseload_client::{IssueCounts, Params};
use clap::Args;
use serde_json::Value;

use crate::args::ServerArgs;
use crate::commands::wire::FilterArgs;
use crate::failure::{Done, Failure};
use crate::printer::{Printer, counted, grouped, note};

/// Characters of the longest bar.
const BAR_CHARS: u64 = 40;
/// Parts of a character, from an eighth to all of it.
const BLOCKS: [char; 8] = ['▏', '▎', '▍', '▌', '▋', '▊', '▉', '█'];

#[derive(Debug, Args)]
pub(crate) struct CountArgs {
    /// One or two properties, with a comma between them: state, app, queue, assignee, language,
    /// platform, tag, rating, mode, created-day, created-week, created-month, updated-day,
    /// changed-day
    #[arg(long, value_name = "PROPERTIES")]
    by: String,
    /// Time zone of days, weeks and months, such as Europe/Berlin; without it, UTC
    #[arg(long, value_name = "ZONE")]
    timezone: Option<String>,
    /// The most groups, 1 to 1000
    #[arg(long, value_name = "GROUPS")]
    limit: Option<u32>,
    #[command(flatten)]
    filters: FilterArgs,
    #[command(flatten)]
    server: ServerArgs,
}

pub(crate) async fn run(args: CountArgs, printer: &mut Printer) -> Result<Done, Failure> {
    let client = args.server.client()?;
    let mut params = Params::default();
    params.extend(args.filters.params);
    params.push("group-by", args.by);
    params.push_given("timezone", args.timezone);
    params.push_given("limit", args.limit.map(|n| n.to_string()));
    let counts = client.issue_counts(&params).await?;
    let (header, rows) = table(&counts, printer.is_for_terminal());
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    printer.table(&header, &rows)?;
    let all = counted(counts.total_hits, "issue", "issues");
    if counts.other == 0 {
        note(format_args!("{all} in all"));
    } else {
        note(format_args!("{all} in all, {} in groups beyond the limit", grouped(counts.other)));
    }
    Ok(Done::Good)
}

/// Header and rows: the values of each group, its number and, on a terminal, its bar.
fn table(counts: &IssueCounts, bars: bool) -> (Vec<String>, Vec<Vec<String>>) {
    let largest = counts.groups.iter().map(|group| group.count).max().unwrap_or(0);
    let names = counts.groups.first().map(|group| group.values.keys());
    let mut header: Vec<String> = names.into_iter().flatten().map(|n| n.to_uppercase()).collect();
    header.push("ISSUES".to_owned());
    if bars {
        header.push(String::new());
    }
    let rows = counts.groups.iter().map(|group| {
        let mut row: Vec<String> = group.values.values().map(text).collect();
        row.push(if bars { grouped(group.count) } else { group.count.to_string() });
        if bars {
            row.push(bar(group.count, largest));
        }
        row
    });
    (header, rows.collect())
}

fn text(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        Value::Null => "(none)".to_owned(),
        other => other.to_string(),
    }
}

/// A bar whose length has the ratio of a number to the largest one. None is empty.
fn bar(number: u64, largest: u64) -> String {
    let steps = BLOCKS.len() as u64;
    let all = u128::from(number) * u128::from(BAR_CHARS * steps) / u128::from(largest.max(1));
    let eighths = (all as usize).max(1);
    let mut bar = BLOCKS[BLOCKS.len() - 1].to_string().repeat(eighths / BLOCKS.len());
    if let Some(part) = (eighths % BLOCKS.len()).checked_sub(1) {
        bar.push(BLOCKS[part]);
    }
    bar
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use super::*;
    use crate::printer::aligned;

    fn counts() -> IssueCounts {
        serde_json::from_str(
            r#"{"total-hits":2504,"groups":[{"state":"new","created-week":"2026-W05","count":2000},
            {"state":"new","created-week":null,"count":503},
            {"state":"resolved","created-week":"2026-W06","count":1}],"other":0}"#,
        )
        .unwrap()
    }

    #[test]
    fn a_terminal_shows_bars_in_the_ratio_of_the_numbers() {
        let (header, rows) = table(&counts(), true);
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        let bars = ["█".repeat(40), "█".repeat(10), "▏".to_owned()];
        let expected = format!(
            "STATE     CREATED-WEEK  ISSUES\n\
             new       2026-W05      2,000   {}\n\
             new       (none)        503     {}\n\
             resolved  2026-W06      1       {}\n",
            bars[0], bars[1], bars[2]
        );
        assert_eq!(aligned(&header, &rows), expected);
        for (number, largest, expected) in
            [(1, 1, "█".repeat(40)), (0, 0, "▏".to_owned()), (u64::MAX, u64::MAX, "█".repeat(40))]
        {
            assert_eq!(bar(number, largest), expected);
        }
    }

    #[test]
    fn elsewhere_a_row_has_the_values_and_the_number() {
        let (_, rows) = table(&counts(), false);
        assert_eq!(rows[0], ["new", "2026-W05", "2000"]);
        assert!(rows.iter().all(|row| row.len() == 3));
    }
}
