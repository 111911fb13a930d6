//! The forms in which records leave the program and parameters enter it.

use serde_json::value::RawValue;

/// A record as a line. A line break in JSON can only be between tokens, and there a space means
/// the same. Caseload servers do not send any.
pub(crate) fn line_of(record: &RawValue) -> Vec<u8> {
    let breaks = |byte: u8| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte };
    record.get().bytes().map(breaks).chain([b'\n']).collect()
}

/// Parses `NAME=VALUE`, a parameter of the API.
pub(crate) fn parse_param(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}
