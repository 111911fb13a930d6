//! `cargo xtask limits`: the named limits of the product, from the constants in its code.
//! It writes `docs/limits.md`. Tests compare that page with the code, and the figures in the other
//! pages with the constants they come from (`figures`).

mod constants;
mod figures;
mod page;
mod table;

use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use crate::source;
use constants::Constant;

/// The generated page, relative to the repository.
const PAGE: &str = "docs/limits.md";

/// Writes the page of limits and compares the figures in the other pages with the code.
pub(crate) fn run(root: &Path) -> Result<()> {
    let constants = constants::collect(&source::load_all(root)?);
    std::fs::write(root.join(PAGE), page::render(&constants))
        .with_context(|| format!("cannot write {PAGE}"))?;
    println!("{PAGE}: {} limits", constants.iter().filter(|constant| constant.is_limit()).count());
    let problems = problems(root, constants)?;
    for problem in &problems {
        println!("{problem}");
    }
    ensure!(problems.is_empty(), "{} figures in the pages are wrong", problems.len());
    Ok(())
}

/// The figures in the pages that disagree with the code.
fn problems(root: &Path, constants: Vec<Constant>) -> Result<Vec<String>> {
    let read = |page| {
        let text = std::fs::read_to_string(root.join(page));
        Ok((page, text.with_context(|| format!("cannot read {page}"))?))
    };
    let pages = figures::PAGES.into_iter().map(read).collect::<Result<Vec<_>>>()?;
    let values = figures::Values::new(root, constants)?;
    Ok(figures::check(&pages, &values, table::FIGURES, table::OTHERS))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    #[test]
    fn the_page_of_limits_is_up_to_date() {
        let root = crate::repository_root();
        let constants = constants::collect(&source::load_all(root).unwrap());
        let page = std::fs::read_to_string(root.join(PAGE)).unwrap();
        assert!(page == page::render(&constants), "{PAGE} is out of date: cargo xtask limits");
    }

    #[test]
    fn the_figures_in_the_pages_are_those_of_the_code() {
        let root = crate::repository_root();
        let constants = constants::collect(&source::load_all(root).unwrap());
        let problems = problems(root, constants).unwrap();
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }
}
