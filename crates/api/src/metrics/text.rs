//! The text format 0.0.4 of Prometheus, as far as the metrics of this server need it.

use std::fmt::Write as _;

use caseload_store::{DURATION_BOUNDS_SECONDS, DurationCounts};

/// The text, written line by line. Labels are words of the program and need no escapes.
#[derive(Default)]
pub(super) struct MetricsText(pub(super) String);

impl MetricsText {
    pub(super) fn head(&mut self, name: &str, kind: &str, help: &str) {
        // Writing to memory cannot fail.
        let _ = writeln!(self.0, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    pub(super) fn histogram(&mut self, name: &str, labels: &str, times: &DurationCounts) {
        let comma = if labels.is_empty() { "" } else { "," };
        let bucket = format!("{name}_bucket");
        for (count, bound) in times.within.iter().zip(DURATION_BOUNDS_SECONDS) {
            self.line(&bucket, &format!("{labels}{comma}le=\"{bound}\""), count);
        }
        self.line(&bucket, &format!("{labels}{comma}le=\"+Inf\""), times.count);
        self.line(&format!("{name}_sum"), labels, times.total.as_secs_f64());
        self.line(&format!("{name}_count"), labels, times.count);
    }

    pub(super) fn line(&mut self, name: &str, labels: &str, value: impl std::fmt::Display) {
        let _ = match labels {
            "" => writeln!(self.0, "{name} {value}"),
            labels => writeln!(self.0, "{name}{{{labels}}} {value}"),
        };
    }
}
