//! The arithmetic of the tables: the median of a row of measurements, quantiles, and counts as
//! figures that can be divided; and the lines of a table of figures against fixed limits.

use std::time::Duration;

/// The limit of a figure.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Limit {
    AtLeast(f64),
    AtMost(f64),
    /// The figure explains others.
    None,
}

/// Prints the head of a table of figures against limits.
#[expect(clippy::print_stdout, reason = "the table is the program's output")]
pub(crate) fn print_head() {
    println!("| figure | measured | limit | met |");
    println!("|---|---|---|---|");
}

/// Prints a line of the table.
#[expect(clippy::print_stdout, reason = "the table is the program's output")]
pub(crate) fn print_line(name: &str, measured: f64, unit: &str, limit: Limit) {
    let digits = usize::from(measured < 1e3) * 2;
    let (limit, is_met) = match limit {
        Limit::AtLeast(limit) => (format!("≥ {limit} {unit}"), Some(measured >= limit)),
        Limit::AtMost(limit) => (format!("≤ {limit} {unit}"), Some(measured <= limit)),
        Limit::None => ("–".to_owned(), None),
    };
    let met = is_met.map_or("–", |is_met| if is_met { "yes" } else { "no" });
    println!("| {name} | {measured:.digits$} {unit} | {limit} | {met} |");
}

/// Prints the lines for p50 and p99 of some milliseconds.
pub(crate) fn print_waits(name: &str, mut millis: Vec<f64>, limits: [Limit; 2]) {
    millis.sort_by(f64::total_cmp);
    let count = millis.len();
    for (part, share, limit) in [("p50", 0.5, limits[0]), ("p99", 0.99, limits[1])] {
        let name = format!("{name}, {part} of {count}");
        print_line(&name, quantile(&millis, share), "ms", limit);
    }
}

pub(crate) fn millis(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

/// The value that this share of the ascending values does not exceed.
pub(crate) fn quantile(ascending: &[f64], share: f64) -> f64 {
    let last = ascending.len().saturating_sub(1);
    ascending.get((real(last) * share) as usize).copied().unwrap_or(f64::NAN)
}

/// The middle value.
pub(crate) fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

/// A count as a figure to divide.
#[expect(clippy::cast_precision_loss, reason = "counts are far below 2^52")]
pub(crate) fn real(count: usize) -> f64 {
    count as f64
}
