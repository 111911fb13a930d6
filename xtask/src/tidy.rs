//! `cargo xtask tidy`: the rules of this repository that a compiler does not check.
//! Sizes, module headers, words, attributes, prose, circles of files, and which crate imports
//! which. A finding has a place, the fault and the right form; one run prints all
//! findings. The same check is a test of this crate, so that the tests fail on an untidy tree.

mod finding;
mod graph;
mod imports;
mod pages;
mod paths;
mod prose;
mod shape;
mod text;
mod words;

use std::path::Path;

use anyhow::{Result, bail};

use crate::source::{self, Source};
use finding::Finding;
pub(crate) use shape::function_name;
use text::{Page, Text};

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

/// `cargo xtask prose [PATH…]`: prints each habit of prose in the files below the paths, and how
/// many there are of each.
pub(crate) fn run_prose(root: &Path, paths: &[String]) -> Result<()> {
    let sources = source::load_all(root)?;
    let pages = text::load_pages(root)?;
    let mut texts = texts(&sources, &pages);
    texts.retain(|text| paths.is_empty() || paths.iter().any(|path| text.path.starts_with(path)));
    for text in &texts {
        for hit in prose::hits(text) {
            println!("{}:{}: `{}` in \"{}\"", text.path, hit.line, hit.habit, hit.excerpt);
        }
    }
    for (habit, count) in prose::totals(&texts) {
        println!("{count:5} {habit}");
    }
    Ok(())
}

/// `cargo xtask circles`: prints the circles of files in each crate.
pub(crate) fn run_circles(root: &Path) -> Result<()> {
    print!("{}", graph::report(&source::load_all(root)?));
    Ok(())
}

fn check(root: &Path) -> Result<(Vec<Source>, Vec<Finding>)> {
    let sources = source::load_all(root)?;
    let pages = text::load_pages(root)?;
    let mut findings = imports::crates(root)?;
    for source in &sources {
        findings.extend(shape::check(source));
        findings.extend(words::check(source));
        findings.extend(imports::paths(source));
    }
    let exists = |path: &str| root.join(path).exists();
    findings.extend(pages.iter().flat_map(|page| pages::check(page, &pages, exists)));
    findings.extend(shape::check_tree(&sources));
    findings.extend(graph::check(&sources));
    findings.extend(prose::check(&texts(&sources, &pages)));
    findings.sort();
    Ok((sources, findings))
}

/// All prose of the repository.
fn texts(sources: &[Source], pages: &[Page]) -> Vec<Text> {
    let of_sources = sources.iter().map(text::of_source);
    of_sources.chain(pages.iter().map(text::of_page)).collect()
}

#[cfg(test)]
mod graph_tests;
#[cfg(test)]
mod prose_tests;
#[cfg(test)]
mod tests;
