//! Records as rows of a table (RFC 4180). Texts are written as they are, numbers by their digits,
//! and nested values as JSON text. A missing value is an empty cell, and an empty text is `""`. No
//! value is changed, not even one that a spreadsheet would read as a formula: docs/api.md, "CSV",
//! explains how to open such files. Only a text like `="a"`, which imports read as `a`, is written
//! in that form once more, and for a spreadsheet a long number, which it would round.
//!
//! The writer steps over records by grammar alone. Records may nest deeper than entries, and their
//! content was checked before it was stored.

use std::borrow::Cow;

use caseload_model::json::{self, DEPTH_MAX, Json};
use caseload_model::profile::{as_formula, written_cell};

/// How many levels a record may nest: those of an entry and of the record around it.
const RECORD_DEPTH_MAX: usize = DEPTH_MAX + 10;

/// A record that the store cannot have written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct DamagedRecord;

/// The readers that a table is written for.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub(crate) enum Style {
    #[default]
    Plain,
    /// For readers that know UTF-8 by a byte order mark.
    Bom,
    /// With a byte order mark, and with ids and long numbers as texts.
    Spreadsheet,
}

/// A spreadsheet shows a number of more digits as 1.8E+14.
const SPREADSHEET_DIGITS_MAX: usize = 11;

pub(crate) type Members<'a> = Vec<(&'a [u8], &'a [u8])>;

/// Appends the names of columns as the first row, at the beginning of a table.
pub(crate) fn write_header<'n>(
    names: impl IntoIterator<Item = &'n str>,
    style: Style,
    out: &mut Vec<u8>,
) {
    if style != Style::Plain {
        out.extend_from_slice("\u{feff}".as_bytes());
    }
    for (n, name) in names.into_iter().enumerate() {
        if n > 0 {
            out.push(b',');
        }
        write_cell(name.as_bytes(), Style::Plain, out);
    }
    out.extend_from_slice(b"\r\n");
}

/// A table of records, one per line of `lines`.
pub(crate) fn table(
    columns: &[&str],
    lines: &[u8],
    style: Style,
) -> Result<Vec<u8>, DamagedRecord> {
    let mut out = Vec::new();
    write_header(columns.iter().copied(), style, &mut out);
    for line in lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty()) {
        write_record(line, columns.iter().copied(), style, &mut out)?;
    }
    Ok(out)
}

/// Appends a record as a row. A column is the path of a member, with dots between its steps.
fn write_record<'n>(
    record: &[u8],
    columns: impl IntoIterator<Item = &'n str>,
    style: Style,
    out: &mut Vec<u8>,
) -> Result<(), DamagedRecord> {
    let members = members(record)?;
    let cells = columns.into_iter().map(|column| at_path(&members, column));
    let cells: Vec<_> = cells.collect::<Result<_, _>>()?;
    write_row(cells.into_iter().map(|cell| cell.map(text_of)), style, out);
    Ok(())
}

/// The value at a path; `None` if it is missing or null. A key may contain dots.
pub(crate) fn at_path<'a>(
    members: &Members<'a>,
    path: &str,
) -> Result<Option<&'a [u8]>, DamagedRecord> {
    for (key, value) in members {
        let key = unescaped(key);
        let Some(rest) = path.as_bytes().strip_prefix(&*key) else { continue };
        match rest {
            [] => return Ok((*value != b"null").then_some(*value)),
            [b'.', inner @ ..] if value.first() == Some(&b'{') => {
                // The rest of a text after a dot is a text.
                let inner = &path[path.len() - inner.len()..];
                let found = at_path(&self::members(value)?, inner)?;
                if found.is_some() {
                    return Ok(found);
                }
            }
            _ => {}
        }
    }
    Ok(None)
}

/// A key without its escapes.
fn unescaped(key: &[u8]) -> Cow<'_, [u8]> {
    if !key.contains(&b'\\') {
        return Cow::Borrowed(key);
    }
    let quoted = [b"\"", key, b"\""].concat();
    Cow::Owned(text_of(&quoted).into_owned())
}

pub(crate) fn find<'a>(members: &Members<'a>, name: &str) -> Option<&'a [u8]> {
    members.iter().find(|(key, _)| *key == name.as_bytes()).map(|(_, value)| *value)
}

/// Appends a row. Programs take an empty line for no row, so that a lone empty cell is
/// quoted.
pub(crate) fn write_row<'a>(
    cells: impl Iterator<Item = Option<Cow<'a, [u8]>>>,
    style: Style,
    out: &mut Vec<u8>,
) {
    let start = out.len();
    for (n, cell) in cells.enumerate() {
        if n > 0 {
            out.push(b',');
        }
        if let Some(text) = cell {
            write_cell(&text, style, out);
        }
    }
    if out.len() == start {
        out.extend_from_slice(b"\"\"");
    }
    out.extend_from_slice(b"\r\n");
}

/// The text of a JSON string, and the JSON text of everything else.
pub(crate) fn text_of(value: &[u8]) -> Cow<'_, [u8]> {
    if value.first() != Some(&b'"') {
        return Cow::Borrowed(value);
    }
    match json::parse(value) {
        Ok(Json::String(Cow::Borrowed(text))) => Cow::Borrowed(text.as_bytes()),
        Ok(Json::String(Cow::Owned(text))) => Cow::Owned(text.into_bytes()),
        _ => Cow::Borrowed(value),
    }
}

fn write_cell(text: &[u8], style: Style, out: &mut Vec<u8>) {
    let written = str::from_utf8(text).map(|text| {
        if style == Style::Spreadsheet && is_long_number(text) {
            return (Cow::Owned(as_formula(text)), true);
        }
        written_cell(text)
    });
    let (text, needs_quotes) =
        written.as_ref().map_or((text, false), |(text, quotes)| (text.as_bytes(), *quotes));
    let special = |byte: &u8| matches!(byte, b'"' | b',' | b'\r' | b'\n');
    if !(text.is_empty() || needs_quotes || text.iter().any(special)) {
        return out.extend_from_slice(text);
    }
    out.push(b'"');
    for (n, run) in text.split(|byte| *byte == b'"').enumerate() {
        if n > 0 {
            out.extend_from_slice(b"\"\"");
        }
        out.extend_from_slice(run);
    }
    out.push(b'"');
}

/// Whether a spreadsheet would take a text for a number and not show all of its digits.
fn is_long_number(text: &str) -> bool {
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    let digits = unsigned.bytes().filter(u8::is_ascii_digit).count();
    digits > SPREADSHEET_DIGITS_MAX
        && unsigned.bytes().all(|byte| byte.is_ascii_digit() || b".eE+-".contains(&byte))
}

/// The members of a map: keys without their quotes, values unchanged. Keys of records have no
/// escapes; a key with an escape would not be found.
pub(crate) fn members(map: &[u8]) -> Result<Members<'_>, DamagedRecord> {
    let mut rest = inside(map, b'{', b'}')?;
    let mut found = Vec::new();
    while !rest.is_empty() {
        let (key, after) = first_value(rest)?;
        let key = inside(key, b'"', b'"')?;
        let after = after.trim_ascii_start().strip_prefix(b":").ok_or(DamagedRecord)?;
        let (value, after) = first_value(after)?;
        found.push((key, value));
        rest = after_comma(after)?;
    }
    Ok(found)
}

pub(crate) fn elements(array: &[u8]) -> Result<Vec<&[u8]>, DamagedRecord> {
    let mut rest = inside(array, b'[', b']')?;
    let mut found = Vec::new();
    while !rest.is_empty() {
        let (value, after) = first_value(rest)?;
        found.push(value);
        rest = after_comma(after)?;
    }
    Ok(found)
}

fn inside(text: &[u8], open: u8, close: u8) -> Result<&[u8], DamagedRecord> {
    let text = text.trim_ascii().strip_prefix(&[open]).ok_or(DamagedRecord)?;
    Ok(text.strip_suffix(&[close]).ok_or(DamagedRecord)?.trim_ascii())
}

fn first_value(text: &[u8]) -> Result<(&[u8], &[u8]), DamagedRecord> {
    let text = text.trim_ascii_start();
    let end = json::skip_value(text, RECORD_DEPTH_MAX).map_err(|_| DamagedRecord)?;
    Ok(text.split_at(end))
}

fn after_comma(text: &[u8]) -> Result<&[u8], DamagedRecord> {
    let text = text.trim_ascii_start();
    if text.is_empty() { Ok(text) } else { text.strip_prefix(b",").ok_or(DamagedRecord) }
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use super::*;

    fn row(record: &str, columns: &[&str]) -> String {
        let mut out = Vec::new();
        write_record(record.as_bytes(), columns.iter().copied(), Style::Plain, &mut out).unwrap();
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn a_spreadsheet_gets_long_numbers_as_texts() {
        let record = br#"{"id":"179571365487101","n":1700000000000,"s":12345678901,"t":"1, 2"}"#;
        let columns = ["id", "n", "s", "t"];
        let written = |style| String::from_utf8(table(&columns, record, style).unwrap()).unwrap();
        let plain = "id,n,s,t\r\n179571365487101,1700000000000,12345678901,\"1, 2\"\r\n";
        assert_eq!(written(Style::Plain), plain);
        assert_eq!(written(Style::Bom), format!("\u{feff}{plain}"));
        let formulas = "\u{feff}id,n,s,t\r\n\"=\"\"179571365487101\"\"\",\
                        \"=\"\"1700000000000\"\"\",12345678901,\"1, 2\"\r\n";
        assert_eq!(written(Style::Spreadsheet), formulas);
        for text in ["+49 30 1234567890", "2026-11-27T10:00:00", "1.5e3", "12345678901a", ""] {
            assert!(!is_long_number(text), "{text}");
        }
        assert!(is_long_number("+491701234567") && is_long_number("-1234567890.12"));
    }

    #[test]
    fn a_column_is_the_path_of_a_member() {
        let record =
            r#"{"a":{"b":{"c":"x, y"},"b.c.d":[1,"z"]},"n":null,"e":"","q\"k":{"v":1.50}}"#;
        for (column, cell) in [
            ("a.b.c", r#""x, y""#),
            ("a.b.c.d", r#""[1,""z""]""#),
            ("a.b", r#""{""c"":""x, y""}""#),
            ("q\"k.v", "1.50"),
            ("e", r#""""#),
            ("n", ""),
            ("a.x", ""),
            ("a.b.c.x", ""),
            ("b", ""),
        ] {
            assert_eq!(row(record, &[column, "n"]), format!("{cell},\r\n"), "{column}");
        }
    }

    #[test]
    fn a_row_with_one_empty_cell_is_not_an_empty_line() {
        assert_eq!(row("{}", &["a"]), "\"\"\r\n");
        assert_eq!(row(r#"{"a":null}"#, &["a"]), "\"\"\r\n");
    }

    #[test]
    fn a_text_that_an_import_would_change_is_protected() {
        for (text, cell) in [
            ("\\tx", "\"\tx\""),
            ("x\u{a0}", "\"x\u{a0}\""),
            ("#N/A", "\"#N/A\""),
            ("=\\\"x\\\"", "\"=\"\"=\"\"\"\"x\"\"\"\"\"\"\""),
            ("=1", "=1"),
        ] {
            assert_eq!(row(&format!("{{\"a\":\"{text}\"}}"), &["a", "n"]), format!("{cell},\r\n"));
        }
    }

    #[test]
    fn names_of_columns_are_quoted_if_needed() {
        let mut out = Vec::new();
        write_header(["id", "custom_fields.a,\"b\""], Style::Plain, &mut out);
        assert_eq!(String::from_utf8(out).unwrap(), "id,\"custom_fields.a,\"\"b\"\"\"\r\n");
    }
}
