//! The forms in which issues leave the program and parameters enter it.

use serde_json::value::RawValue;

/// An issue as a line. A line break in JSON can only be between tokens, where a space means the
/// same. Caseload servers do not send any.
pub(super) fn line_of(issue: &RawValue) -> Vec<u8> {
    let breaks = |byte: u8| if matches!(byte, b'\n' | b'\r') { b' ' } else { byte };
    issue.get().bytes().map(breaks).chain([b'\n']).collect()
}

/// Parses `NAME=VALUE`, a parameter of the API.
pub(super) fn parse_param(text: &str) -> Result<(String, String), String> {
    let (name, value) = text.split_once('=').ok_or("write NAME=VALUE")?;
    Ok((name.to_owned(), value.to_owned()))
}
