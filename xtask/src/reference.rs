//! `cargo xtask reference`: the calls, records and codes of the API, from `openapi.json`.
//! It writes `docs/reference.md`. A test compares that page with the description; a fact that the
//! page lacks is added to the description, next to its handler.

mod page;
mod types;

use std::path::Path;

use anyhow::{Context as _, Result};
use serde_json::Value;

/// The description of the API, relative to the repository.
const DESCRIPTION: &str = "openapi.json";
/// The generated page, relative to the repository.
const PAGE: &str = "docs/reference.md";

/// Writes the page.
pub(crate) fn run(root: &Path) -> Result<()> {
    let page = render(root)?;
    std::fs::write(root.join(PAGE), &page).with_context(|| format!("cannot write {PAGE}"))?;
    println!("{PAGE}: {} lines", page.lines().count());
    Ok(())
}

fn render(root: &Path) -> Result<String> {
    let text = std::fs::read_to_string(root.join(DESCRIPTION))
        .with_context(|| format!("cannot read {DESCRIPTION}"))?;
    let document: Value =
        serde_json::from_str(&text).with_context(|| format!("cannot parse {DESCRIPTION}"))?;
    Ok(page::render(&document))
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]

    use super::*;

    #[test]
    fn the_reference_is_up_to_date() {
        let root = crate::repository_root();
        let page = std::fs::read_to_string(root.join(PAGE)).unwrap();
        assert!(page == render(root).unwrap(), "{PAGE} is out of date: cargo xtask reference");
    }
}
