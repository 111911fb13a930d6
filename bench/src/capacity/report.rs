//! The figures of all layouts as markdown tables: medians over the rounds.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use bench::relay::Passed;

use crate::figures::{median, real};

/// The cost of one call or step.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Row {
    /// Calls per second of all connections.
    pub(super) rate: f64,
    /// Processor seconds of the server; of the database or coordinator, and of the workers.
    pub(super) server: f64,
    pub(super) database: [f64; 2],
    /// Bytes on the disks of the database.
    pub(super) disk: f64,
}

/// Bytes and round trips of one call: between server and database, and inside the database.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Traffic {
    pub(super) bytes: [f64; 2],
    pub(super) trips: [f64; 2],
}

impl Traffic {
    /// What passed between two moments, for each of so many calls.
    pub(super) fn of(before: [Passed; 2], after: [Passed; 2], calls: f64) -> Self {
        let each = |part: usize, get: fn(Passed) -> u64| {
            real((get(after[part]) - get(before[part])) as usize) / calls
        };
        Self {
            bytes: [0, 1].map(|part| each(part, |passed| passed.bytes)),
            trips: [0, 1].map(|part| each(part, |passed| passed.trips)),
        }
    }
}

#[derive(Default)]
pub(super) struct Report {
    /// The order of the lines: layout and name.
    order: Vec<(String, String)>,
    rows: BTreeMap<(String, String), (Vec<Row>, Vec<Traffic>)>,
}

impl Report {
    pub(super) fn add(&mut self, layout: &str, name: &str, row: Row) {
        self.line(layout, name).0.push(row);
    }

    pub(super) fn add_traffic(&mut self, layout: &str, name: &str, traffic: Traffic) {
        self.line(layout, name).1.push(traffic);
    }

    fn line(&mut self, layout: &str, name: &str) -> &mut (Vec<Row>, Vec<Traffic>) {
        let key = (layout.to_owned(), name.to_owned());
        if !self.order.contains(&key) {
            self.order.push(key.clone());
        }
        self.rows.entry(key).or_default()
    }

    pub(super) fn text(&self) -> String {
        let head = "| call | database | a second | server µs | coordinator µs | workers µs | KB \
             | trips | KB inside | trips inside | KB on disk |";
        let mut text = format!("{head}\n{}|\n", "|---".repeat(11));
        for key in &self.order {
            let Some((rows, traffic)) = self.rows.get(key) else { continue };
            let of = |get: fn(&Row) -> f64| median(rows.iter().map(get).collect());
            let passed = |get: fn(&Traffic) -> f64| {
                let values: Vec<f64> = traffic.iter().map(get).collect();
                if values.is_empty() { "–".to_owned() } else { format!("{:.2}", median(values)) }
            };
            let _ = writeln!(
                text,
                "| {} | {} | {:.0} | {:.0} | {:.0} | {:.0} | {} | {} | {} | {} | {:.2} |",
                key.1,
                key.0,
                of(|row| row.rate),
                of(|row| row.server * 1e6),
                of(|row| row.database[0] * 1e6),
                of(|row| row.database[1] * 1e6),
                passed(|traffic| traffic.bytes[0] / 1e3),
                passed(|traffic| traffic.trips[0]),
                passed(|traffic| traffic.bytes[1] / 1e3),
                passed(|traffic| traffic.trips[1]),
                of(|row| row.disk / 1e3),
            );
        }
        text
    }
}
