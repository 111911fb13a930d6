//! One finding of tidy: a place, the fault there and the right form.
//! Findings are ordered by path and line, so that the output of a run is stable.

use std::fmt;

use crate::source::Source;

/// One thing to put right.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Finding {
    /// Relative to the repository.
    pub(super) path: String,
    /// Counted from 1; 0 is the whole file.
    pub(super) line: usize,
    pub(super) message: String,
}

impl Finding {
    pub(super) fn new(source: &Source, line: usize, message: impl Into<String>) -> Self {
        Self { path: source.path.clone(), line, message: message.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.path, self.message),
            line => write!(f, "{}:{line}: {}", self.path, self.message),
        }
    }
}
