//! `cargo xtask limits`: compares the figures in the pages with the constants in the code that
//! they come from (`figures`), by the sentences in `table`.

mod constants;
mod figures;
mod table;

use std::path::Path;

use anyhow::{Context as _, Result, ensure};

use crate::source;
use constants::Constant;

/// Prints the figures in the pages that disagree with the code.
pub(crate) fn run(root: &Path) -> Result<()> {
    let problems = problems(root, constants::collect(&source::load_all(root)?))?;
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
    fn the_figures_in_the_pages_are_those_of_the_code() {
        let root = crate::repository_root();
        let constants = constants::collect(&source::load_all(root).unwrap());
        let problems = problems(root, constants).unwrap();
        assert!(problems.is_empty(), "{}", problems.join("\n"));
    }
}
