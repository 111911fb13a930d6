//! The figures as markdown tables. Times and rates are medians over the rounds, ratios are medians
//! of the ratios of single rounds: product and limit take turns, so a busy machine slows both.

use std::fmt::Write as _;

use caseload_model::task::Action;

use crate::bulk::jobs::TaskTimes;
use crate::figures::median;

/// Processor time divided by wall time: cores in use.
#[derive(Clone, Copy)]
pub(super) struct Shares {
    pub(super) servers: f64,
    pub(super) database: f64,
}

pub(super) struct ListRow {
    pub(super) name: &'static str,
    pub(super) connections: usize,
    pub(super) served: f64,
    pub(super) bare: f64,
    pub(super) ratio: f64,
}

pub(super) struct ClaimRow {
    pub(super) claimers: usize,
    pub(super) served: f64,
    pub(super) bare: f64,
}

/// The report as far as it is written.
#[derive(Default)]
pub(super) struct Report {
    pub(super) text: String,
}

/// A turn: the times of the served import, and two limits in milliseconds.
type ImportTurn = (TaskTimes, f64, f64);

impl Report {
    pub(super) fn imports(&mut self, profiles: &[ImportTurn], issues: &[ImportTurn]) {
        self.text.push_str(
            "## Imports\n\n10,000 entries, from the POST to `completed` (with \
             `?wait=`); ratio: the limit's time divided by that, 1 is as fast.\n\n\
             | import | accepted ms | completed ms | limit | limit ms | ratio |\n\
             |---|---|---|---|---|---|\n",
        );
        for (what, turns, limits) in [
            ("profiles", profiles, ["COPY + unnest", "the same, each line parsed once"]),
            ("issues", issues, ["COPY of issues and authors", "the same with counters and sets"]),
        ] {
            for (n, limit) in limits.into_iter().enumerate() {
                let of = |turn: &ImportTurn| if n == 0 { turn.1 } else { turn.2 };
                let _ = writeln!(
                    self.text,
                    "| {what} | {:.0} | {:.0} | {limit} | {:.0} | {:.2} |",
                    median(turns.iter().map(|turn| turn.0.accepted).collect()),
                    median(turns.iter().map(|turn| turn.0.completed).collect()),
                    median(turns.iter().map(of).collect()),
                    median(turns.iter().map(|turn| of(turn) / turn.0.completed).collect()),
                );
            }
        }
        self.text.push('\n');
    }

    /// Turns of one server with one domain, one server with two domains, and two of both.
    pub(super) fn servers(&mut self, action: Action, turns: &[Vec<(f64, Shares)>]) {
        let _ = writeln!(
            self.text,
            "## Servers: {}\n\n| servers | domains | entries/s | by one server | cores: servers | \
             cores: database |\n|---|---|---|---|---|---|",
            action.as_str()
        );
        for (n, (servers, domains)) in [(1, 1), (1, 2), (2, 2)].into_iter().enumerate() {
            let of = |what: fn(&(f64, Shares)) -> f64| {
                median(turns.iter().map(|turn| what(&turn[n])).collect())
            };
            let _ = writeln!(
                self.text,
                "| {servers} | {domains} | {:.0} | {:.2} | {:.2} | {:.2} |",
                of(|turn| turn.0),
                median(turns.iter().map(|turn| turn[n].0 / turn[0].0).collect()),
                of(|turn| turn.1.servers),
                of(|turn| turn.1.database),
            );
        }
        self.text.push('\n');
    }

    pub(super) fn lists(&mut self, issues: usize, filled: f64, rows: &[ListRow]) {
        let _ = writeln!(
            self.text,
            "## Lists of 100, {issues} issues ({filled:.0}/s while they were imported)\n\n\
             | list | connections | lists/s | bare queries/s | ratio |\n|---|---|---|---|---|"
        );
        for ListRow { name, connections, served, bare, ratio } in rows {
            let _ = writeln!(
                self.text,
                "| {name} | {connections} | {served:.0} | {bare:.0} | {ratio:.2} |"
            );
        }
        self.text.push('\n');
    }

    pub(super) fn claims(&mut self, tasks: usize, domains: usize, rows: &[ClaimRow], whole: f64) {
        let _ = writeln!(
            self.text,
            "## Claims\n\n{tasks} tasks of one entry wait in {domains} domains; each claim leases \
             one.\n\n| servers at once | claims/s | bare commits/s | ratio |\n|---|---|---|---|"
        );
        for ClaimRow { claimers, served, bare } in rows {
            let ratio = served / bare;
            let _ = writeln!(self.text, "| {claimers} | {served:.0} | {bare:.0} | {ratio:.2} |");
        }
        let _ = writeln!(
            self.text,
            "\nOne whole server, from the first POST of {tasks} such tasks by 16 clients until all \
             have completed: {whole:.0} tasks/s.\n"
        );
    }
}
