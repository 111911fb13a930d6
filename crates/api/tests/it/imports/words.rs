//! The words of headers in docs/api.md are those that imports know.

use caseload_model::profile::header_words;
use caseload_model::task::Family;

const GUIDE: &str = include_str!("../../../../../docs/api.md");

/// The rows of the table with this heading.
fn rows_of(records: &str) -> Vec<&str> {
    let heading = format!("|{records}|words|");
    let rows = GUIDE.lines().skip_while(|line| *line != heading).skip(2);
    rows.take_while(|line| line.starts_with('|')).collect()
}

#[test]
fn the_guide_lists_the_words_of_headers() {
    for (family, records) in [(Family::Identity, "people"), (Family::Issues, "issues")] {
        let known = header_words(family)
            .map(|(field, words)| format!("|`{field}`|{}|", words.join(", ")))
            .collect::<Vec<_>>();
        assert_eq!(rows_of(records), known, "the words of {records} in docs/api.md");
    }
}
