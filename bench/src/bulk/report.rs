//! The tables as markdown. Times are medians over the rounds, ratios are medians of the ratios of
//! single rounds: product and limit take turns, so a busy machine slows both.

use std::fmt::Write as _;

use super::sizes::GETS;
use super::waits::Waits;

/// One line of the table: milliseconds of the product and of its limit, and their ratio.
pub(super) struct Row {
    pub(super) store: String,
    pub(super) what: String,
    pub(super) served: f64,
    pub(super) limit: f64,
    /// The limit's time divided by the product's time: 1 is as fast as the limit.
    pub(super) ratio: f64,
}

pub(super) struct Report {
    rounds: usize,
    rows: Vec<Row>,
    disk: Vec<(String, (f64, f64))>,
    waits: Option<Waits>,
    shared: Option<(u64, u64)>,
}

impl Report {
    pub(super) const fn new(rounds: usize) -> Self {
        Self { rounds, rows: Vec::new(), disk: Vec::new(), waits: None, shared: None }
    }

    pub(super) fn add(&mut self, rows: Vec<Row>) {
        self.rows.extend(rows);
    }

    /// Bytes on disk per byte sent: of the product and of the raw database.
    pub(super) fn disk(&mut self, what: &str, ratios: (f64, f64)) {
        self.disk.push((what.to_owned(), ratios));
    }

    pub(super) fn wait(&mut self, waits: Waits) {
        self.waits = Some(waits);
    }

    pub(super) const fn shared(&mut self, counts: (u64, u64)) {
        self.shared = Some(counts);
    }

    pub(super) fn markdown(&self) -> String {
        let mut out = String::new();
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        let _ = writeln!(
            out,
            "10,000 entries a task, {} rounds, medians; client, server and limit share {cores} \
             cores. Four clients are four domains, each with a task of its own; their limit is the \
             same work by one thread, one transaction a task. Ratio: time of the limit by time of \
             the product, 1 is as fast. Limits: `bench/src/raw.rs`. A round from an empty store \
             has a server and a database of its own, and {GETS} gets of the same profiles in turns \
             with their limit; the limit's process is the same in all rounds.\n",
            self.rounds
        );
        out.push_str(
            "| store | POST to completed | ms | limit ms | ratio |\n|---|---|---|---|---|\n",
        );
        for row in &self.rows {
            let Row { store, what, served, limit, ratio } = row;
            let _ = writeln!(out, "| {store} | {what} | {served:.1} | {limit:.1} | {ratio:.2} |");
        }
        out.push_str("\n| disk after a checkpoint | bytes / byte sent | raw |\n|---|---|---|\n");
        for (what, (ours, raw)) in &self.disk {
            let _ = writeln!(out, "| {what} | {ours:.2} | {raw:.2} |");
        }
        if let Some(waits) = &self.waits {
            out.push_str(
                "\n| a small durable write of another domain, POST to 201 | n | p50 ms | p99 ms | \
                 max ms |\n|---|---|---|---|---|\n",
            );
            for (what, sorted) in [
                ("nothing else runs", &waits.alone),
                ("tasks of 10,000 run", &waits.contended),
                ("a plain append of 4 KiB and fsync at the same time", &waits.plain),
            ] {
                let at = |percent: usize| sorted[(sorted.len() - 1) * percent / 100];
                let (p50, p99, max) = (at(50), at(99), at(100));
                let n = sorted.len();
                let _ = writeln!(out, "| {what} | {n} | {p50:.1} | {p99:.1} | {max:.1} |");
            }
            let _ = writeln!(
                out,
                "\nWhile tasks ran, the server made {} small writes, its own included; {} of them \
                 were durable within 50 ms of being queued.",
                waits.served, waits.served_in_time
            );
        }
        if let Some((accepts, commits)) = self.shared {
            let _ = writeln!(
                out,
                "\n{accepts} acceptances by 32 clients at once took {commits} commits, those of \
                 claiming and running the tasks included."
            );
        }
        out
    }
}
