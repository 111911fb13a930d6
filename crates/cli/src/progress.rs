//! Progress of a long operation: a bar if standard error is a terminal, otherwise a line every few
//! seconds. Messages go above the bar. Invariant: there is one bar at a time.

use std::fmt;
use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};

use crate::printer::{grouped, note, set_bar};

/// Time between two lines without a bar.
const LINE_EVERY: Duration = Duration::from_secs(5);

/// The unit of the progress.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Unit {
    Count,
    Bytes,
}

/// The progress of an operation of known or unknown length.
#[derive(Debug)]
pub(crate) struct Progress {
    bar: Option<ProgressBar>,
    what: String,
    total: Option<u64>,
    unit: Unit,
    started: Instant,
    last_line: Instant,
    /// Number of entries that failed.
    failed: u64,
}

impl Progress {
    pub(crate) fn new(what: &str, total: Option<u64>, unit: Unit) -> Self {
        let bar = io::stderr().is_terminal().then(|| {
            let bar = match total {
                Some(total) => ProgressBar::new(total),
                None => ProgressBar::new_spinner(),
            };
            bar.set_draw_target(ProgressDrawTarget::stderr_with_hz(10));
            bar.set_style(style(total.is_some(), unit));
            bar.set_message(what.to_owned());
            bar.enable_steady_tick(Duration::from_millis(200));
            set_bar(Some(bar.clone()));
            bar
        });
        let now = Instant::now();
        Self { bar, what: what.to_owned(), total, unit, started: now, last_line: now, failed: 0 }
    }

    /// Sets the number of entries that failed so far.
    pub(crate) fn failed(&mut self, failed: u64) {
        if let Some(bar) = self.bar.as_ref().filter(|_| failed != self.failed) {
            bar.set_message(format!("{}, {} failed", self.what, grouped(failed)));
        }
        self.failed = failed;
    }

    /// Sets the amount of work done so far.
    pub(crate) fn reached(&mut self, position: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(position);
        } else if self.last_line.elapsed() >= LINE_EVERY {
            self.last_line = Instant::now();
            note(self.plain(position, self.started.elapsed()));
        }
    }

    /// Removes the bar. Dropping the progress does the same.
    pub(crate) fn finish(self) {
        drop(self);
    }

    fn plain(&self, position: u64, elapsed: Duration) -> String {
        let mut parts = Vec::new();
        if let Some(total) = self.total {
            parts.push(format!("{} %", position * 100 / total.max(1)));
        }
        match (self.total, self.unit) {
            (Some(total), Unit::Count) => {
                parts.push(format!("{} of {}", grouped(position), grouped(total)));
            }
            (None, Unit::Count) => parts.push(grouped(position)),
            (Some(_), Unit::Bytes) => {}
            (None, Unit::Bytes) => parts.push(format!("{} MiB", position >> 20)),
        }
        let milliseconds = u64::try_from(elapsed.as_millis()).unwrap_or(u64::MAX);
        if position > 0 && milliseconds > 0 {
            let rate = position.saturating_mul(1_000) / milliseconds;
            parts.push(match self.unit {
                Unit::Count => format!("{} a second", grouped(rate)),
                Unit::Bytes => format!("{} KiB a second", grouped(rate >> 10)),
            });
            if let Some(total) = self.total.filter(|total| *total >= position) {
                let left = (total - position).saturating_mul(milliseconds) / position;
                parts.push(format!("{} s left", grouped(left.div_ceil(1_000))));
            }
        }
        if self.failed > 0 {
            parts.push(format!("{} failed", grouped(self.failed)));
        }
        format!("{}: {}", self.what, parts.join(", "))
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some(bar) = self.bar.take() {
            set_bar(None);
            bar.finish_and_clear();
        }
    }
}

fn style(bounded: bool, unit: Unit) -> ProgressStyle {
    let template = match (bounded, unit) {
        (true, Unit::Count) => {
            "{msg}  [{bar:30}] {percent} %  {human_pos}/{human_len}  {rate}  {eta} left"
        }
        (true, Unit::Bytes) => {
            "{msg}  [{bar:30}] {percent} %  {bytes}/{total_bytes}  {bytes_per_sec}  {eta} left"
        }
        (false, Unit::Count) => "{msg}  {spinner} {human_pos}  {rate}  {elapsed}",
        (false, Unit::Bytes) => "{msg}  {spinner} {bytes}  {bytes_per_sec}  {elapsed}",
    };
    ProgressStyle::with_template(template).map_or_else(
        |_| ProgressStyle::default_bar(),
        |style| style.progress_chars("=> ").with_key("rate", rate),
    )
}

/// The number a second, without the decimals that the library shows.
fn rate(state: &ProgressState, text: &mut dyn fmt::Write) {
    let _ = write!(text, "{}/s", grouped(state.per_sec().round() as u64));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_without_a_bar_show_the_progress() {
        for (total, unit, position, failed, line) in [
            (
                Some(10_000),
                Unit::Count,
                2_500,
                3,
                "import: 25 %, 2,500 of 10,000, 1,250 a second, 6 s left, 3 failed",
            ),
            (
                Some(200 << 20),
                Unit::Bytes,
                50 << 20,
                0,
                "import: 25 %, 25,600 KiB a second, 6 s left",
            ),
            (Some(0), Unit::Bytes, 0, 0, "import: 0 %"),
            (None, Unit::Bytes, 5 << 20, 0, "import: 5 MiB, 2,560 KiB a second"),
            (None, Unit::Count, 1_200, 1, "import: 1,200, 600 a second, 1 failed"),
        ] {
            let mut progress = Progress::new("import", total, unit);
            progress.failed(failed);
            assert_eq!(progress.plain(position, Duration::from_secs(2)), line);
        }
    }
}
