//! The character between two cells: named by a first line `sep=;`, or found from the first rows.

use super::record::Record;
use super::rows::Rows;

/// The characters that are looked for; of equally likely ones the first.
const DELIMITERS: [u8; 4] = [b',', b';', b'\t', b'|'];
/// Rows that are compared with the header.
const ROWS_MAX: usize = 20;

/// The delimiter of a first line such as `sep=;`, and the length of that line with its end.
pub(super) fn named(text: &str) -> Option<(u8, usize)> {
    let line_end = text.find(['\n', '\r']).unwrap_or(text.len());
    let (line, rest) = text.split_at(line_end);
    let bare = line.strip_prefix('"').and_then(|line| line.strip_suffix('"')).unwrap_or(line);
    let (name, delimiter) = bare.split_at_checked("sep=".len())?;
    let &[delimiter] = delimiter.as_bytes() else { return None };
    let is_named = name.eq_ignore_ascii_case("sep=") && delimiter.is_ascii() && delimiter != b'"';
    let end = if rest.starts_with("\r\n") { 2 } else { rest.len().min(1) };
    is_named.then_some((delimiter, line_end + end))
}

/// The delimiter that the first rows show: the one that cuts the header into many cells, and the
/// rows after it into as many.
pub(super) fn found(sample: &str) -> u8 {
    let mut best = (DELIMITERS[0], 0);
    for delimiter in DELIMITERS {
        let likely = likelihood(delimiter, sample);
        if likely > best.1 {
            best = (delimiter, likely);
        }
    }
    best.0
}

/// Cells of the header beyond the first, times the share of rows with as many cells.
fn likelihood(delimiter: u8, sample: &str) -> usize {
    let mut counts: Vec<usize> = Vec::new();
    let mut each = |record: Record<'_>| {
        if let Record::Row(row) = record
            && counts.len() <= ROWS_MAX
        {
            counts.push(row.cells());
        }
    };
    let mut rows = Rows::new(delimiter, 1);
    rows.feed(sample, &mut each);
    // The last row is perhaps cut, so it says nothing if there are others.
    rows.finish(&mut each);
    if counts.len() > 2 && counts.len() <= ROWS_MAX && !sample.ends_with(['\n', '\r']) {
        counts.pop();
    }
    let Some((&header, rows)) = counts.split_first() else { return 0 };
    let alike = rows.iter().filter(|cells| **cells == header).count();
    (header - 1) * 1_000 * (alike + 1) / (rows.len() + 1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_delimiter_is_the_one_that_cuts_the_rows_alike() {
        for (text, delimiter) in [
            ("email,first_name", b','),
            ("email;first_name", b';'),
            ("email\tfirst_name\n", b'\t'),
            ("email|first_name|age\na@b|x,y|7\n", b'|'),
            ("\"a,b\";\"c,d\"", b';'),
            ("email;first,name", b','),
            ("email;first,name\na@b;Ann\n", b';'),
            ("email;tags (a, b, c)\na@b;x\nc@d;y\n", b';'),
            ("name;price\r\"1,5\";2,5\r", b';'),
            ("email", b','),
            ("", b','),
        ] {
            assert_eq!(found(text), delimiter, "{text}");
        }
    }

    #[test]
    fn a_first_line_can_name_the_delimiter() {
        for (text, expected) in [
            ("sep=;\r\na;b", Some((b';', 7))),
            ("SEP=,\na", Some((b',', 6))),
            ("\"sep=|\"\ra", Some((b'|', 8))),
            ("sep=\t", Some((b'\t', 5))),
            ("sep=\n", None),
            ("sep=;;\n", None),
            ("sep=\"\n", None),
            ("séparateur;b\n", None),
        ] {
            assert_eq!(named(text), expected, "{text:?}");
        }
    }
}
