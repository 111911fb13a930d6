//! Progress of a long operation: a bar if standard error is a terminal, otherwise a line every few
//! seconds. Messages go above the bar. Invariant: there is one bar at a time.

use std::io::{self, IsTerminal};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

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
    last_line: Instant,
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
        Self { bar, what: what.to_owned(), total, unit, last_line: Instant::now() }
    }

    /// Sets the amount of work done so far.
    pub(crate) fn reached(&mut self, position: u64) {
        if let Some(bar) = &self.bar {
            bar.set_position(position);
        } else if self.last_line.elapsed() >= LINE_EVERY {
            self.last_line = Instant::now();
            note(self.plain(position));
        }
    }

    /// Removes the bar. Dropping the progress does the same.
    pub(crate) fn finish(self) {
        drop(self);
    }

    fn plain(&self, position: u64) -> String {
        let what = &self.what;
        match (self.total, self.unit) {
            (Some(total), Unit::Bytes) => {
                format!("{what}: {} %", position * 100 / total.max(1))
            }
            (Some(total), Unit::Count) => {
                format!("{what}: {} of {}", grouped(position), grouped(total))
            }
            (None, Unit::Bytes) => format!("{what}: {} MiB", position >> 20),
            (None, Unit::Count) => format!("{what}: {}", grouped(position)),
        }
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
        (true, Unit::Count) => "{msg}  [{bar:30}] {human_pos}/{human_len}  {elapsed}",
        (true, Unit::Bytes) => "{msg}  [{bar:30}] {bytes}/{total_bytes}  {elapsed}",
        (false, Unit::Count) => "{msg}  {spinner} {human_pos}  {elapsed}",
        (false, Unit::Bytes) => "{msg}  {spinner} {bytes}  {elapsed}",
    };
    ProgressStyle::with_template(template)
        .map_or_else(|_| ProgressStyle::default_bar(), |style| style.progress_chars("=> "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_without_a_bar_show_the_progress() {
        for (total, unit, position, line) in [
            (Some(10_000), Unit::Count, 2_500, "import: 2,500 of 10,000"),
            (Some(200), Unit::Bytes, 50, "import: 25 %"),
            (Some(0), Unit::Bytes, 0, "import: 0 %"),
            (None, Unit::Bytes, 5 << 20, "import: 5 MiB"),
            (None, Unit::Count, 1_200, "import: 1,200"),
        ] {
            assert_eq!(Progress::new("import", total, unit).plain(position), line);
        }
    }
}
