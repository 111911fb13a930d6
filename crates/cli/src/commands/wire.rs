//! The line of a record, and the parameters of the API that a command passes on.

use clap::Args;
use serde_json::value::RawValue;

/// The filters of a list.
#[derive(Debug, Args)]
pub(crate) struct FilterArgs {
    /// Only those that pass this filter of the API, such as created-since=2026-01-31. Each further
    /// --param narrows them more. docs/reference.md has all filters
    #[arg(long = "param", value_name = "NAME=VALUE",
          value_parser = parse_param)]
    pub(crate) params: Vec<(String, String)>,
}

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
