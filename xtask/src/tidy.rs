//! `cargo xtask tidy`: what the house asks of every source file and no compiler checks.
//! Sizes, module headers, words, attributes, and who may import whom. A finding says where, what
//! is wrong and what would be right; all findings come at once. The same check runs as a test of
//! this crate, so that an untidy tree fails wherever the tests run.

mod imports;
mod scrub;
mod shape;
mod source;
mod words;

use std::fmt;
use std::path::Path;

use anyhow::{Result, bail};

use source::Source;

/// One thing to put right.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Finding {
    /// Relative to the repository.
    path: String,
    /// Counted from 1; 0 is the whole file.
    line: usize,
    message: String,
}

impl Finding {
    fn new(source: &Source, line: usize, message: impl Into<String>) -> Self {
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

/// Checks the repository at `root`, prints every finding, and fails if there is one.
pub(crate) fn run(root: &Path) -> Result<()> {
    let (sources, findings) = check(root)?;
    for finding in &findings {
        println!("{finding}");
    }
    println!("tidy: {}", shape::summary(&sources));
    match findings.len() {
        0 => Ok(()),
        1 => bail!("tidy found 1 thing to put right"),
        count => bail!("tidy found {count} things to put right"),
    }
}

fn check(root: &Path) -> Result<(Vec<Source>, Vec<Finding>)> {
    let sources = source::load_all(root)?;
    let mut findings = imports::crates(root)?;
    for source in &sources {
        findings.extend(shape::check(source));
        findings.extend(words::check(source));
        findings.extend(imports::paths(source));
    }
    findings.extend(shape::check_spread(&sources));
    findings.sort();
    Ok((sources, findings))
}

#[cfg(test)]
mod tests;
