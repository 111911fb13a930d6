//! Error records as callers select and count them, and the warnings of results. A record is a line
//! that the store wrote; this module steps over it by grammar and changes none of its values.

use std::borrow::Cow;

use caseload_model::issue_query::ErrorFilter;
use caseload_model::json::{self, Json};
use caseload_store::RecordKind;

use crate::http::csv::{DamagedRecord, elements, find, members};

/// The members that repeat the entry.
const ENTRY: [&[u8]; 2] = [b"entry", b"raw"];

/// The lists of records that are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Findings {
    Errors,
    /// Those of results.
    Warnings,
}

impl Findings {
    /// The records that have them.
    pub(super) const fn kind(self) -> RecordKind {
        match self {
            Self::Errors => RecordKind::Errors,
            Self::Warnings => RecordKind::Results,
        }
    }

    /// Those of a record.
    pub(super) fn in_record(self, record: &[u8]) -> Result<Vec<Finding<'_>>, DamagedRecord> {
        let members = members(record)?;
        let list = match self {
            Self::Errors => find(&members, "errors").ok_or(DamagedRecord)?,
            Self::Warnings => find(&members, "warnings").unwrap_or(b"[]"),
        };
        elements(list)?.into_iter().map(finding).collect()
    }
}

/// One fault or warning of a record; the values are JSON.
pub(super) struct Finding<'r> {
    pub(super) code: Cow<'r, str>,
    pub(super) pointer: Option<Cow<'r, str>>,
    pub(super) detail: &'r [u8],
    pub(super) value: Option<&'r [u8]>,
}

fn finding(text: &[u8]) -> Result<Finding<'_>, DamagedRecord> {
    let members = members(text)?;
    Ok(Finding {
        code: string(find(&members, "code").ok_or(DamagedRecord)?)?,
        pointer: find(&members, "pointer").map(string).transpose()?,
        detail: find(&members, "detail").ok_or(DamagedRecord)?,
        value: find(&members, "value"),
    })
}

fn string(value: &[u8]) -> Result<Cow<'_, str>, DamagedRecord> {
    match json::parse(value) {
        Ok(Json::String(text)) => Ok(text),
        _ => Err(DamagedRecord),
    }
}

/// The index of a record and the details of its faults as one text.
pub(super) fn in_words(record: &[u8]) -> Result<(u32, String), DamagedRecord> {
    let faults = Findings::Errors.in_record(record)?;
    let details = faults.iter().map(|fault| string(fault.detail)).collect::<Result<Vec<_>, _>>()?;
    Ok((index_of(record)?, details.join("; ")))
}

/// Whether the filter selects the record.
pub(super) fn is_selected(filter: &ErrorFilter, record: &[u8]) -> Result<bool, DamagedRecord> {
    if filter.is_empty() {
        return Ok(true);
    }
    let faults = Findings::Errors.in_record(record)?;
    Ok(faults.iter().any(|fault| filter.takes(&fault.code, fault.pointer.as_deref())))
}

/// Appends the record, without its entry if that is to be left out.
pub(super) fn write(
    record: &[u8],
    without_entry: bool,
    out: &mut Vec<u8>,
) -> Result<(), DamagedRecord> {
    if !without_entry {
        out.extend_from_slice(record);
        return Ok(());
    }
    out.push(b'{');
    let begin = out.len();
    for (key, value) in members(record)?.into_iter().filter(|(key, _)| !ENTRY.contains(key)) {
        if out.len() > begin {
            out.push(b',');
        }
        out.push(b'"');
        out.extend_from_slice(key);
        out.extend_from_slice(b"\":");
        out.extend_from_slice(value);
    }
    out.push(b'}');
    Ok(())
}

/// The index of the entry of a record, which is its first member.
pub(super) fn index_of(record: &[u8]) -> Result<u32, DamagedRecord> {
    let digits = record.strip_prefix(b"{\"index\":").ok_or(DamagedRecord)?;
    let end = digits.iter().position(|byte| !byte.is_ascii_digit()).ok_or(DamagedRecord)?;
    let digits = std::str::from_utf8(&digits[..end]).map_err(|_| DamagedRecord)?;
    digits.parse().map_err(|_| DamagedRecord)
}

/// The records of a block.
pub(super) fn records(lines: &[u8]) -> impl Iterator<Item = &[u8]> {
    lines.split(|byte| *byte == b'\n').filter(|line| !line.is_empty())
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use super::*;

    const RECORD: &[u8] = concat!(
        r#"{"index":7,"line":9,"pid":"p","errors":[{"code":"too_long","pointer":"/a\"b","#,
        r#""detail":"d","value":[1,{"x":2}]},{"code":"invalid_json","detail":"e"}],"#,
        r#""entry":{"entry":"{","raw":1}}"#
    )
    .as_bytes();

    #[test]
    fn a_record_is_read_by_its_grammar() {
        assert_eq!(index_of(RECORD).unwrap(), 7);
        let faults = Findings::Errors.in_record(RECORD).unwrap();
        assert_eq!(faults[0].pointer.as_deref(), Some("/a\"b"));
        assert_eq!(faults[0].value, Some(&br#"[1,{"x":2}]"#[..]));
        assert_eq!((&*faults[1].code, faults[1].pointer.is_none()), ("invalid_json", true));
        assert!(index_of(b"{\"line\":1}").is_err());
    }

    #[test]
    fn a_record_is_shown_with_or_without_its_entry() {
        let shown = |without| {
            let mut out = Vec::new();
            write(RECORD, without, &mut out).unwrap();
            out
        };
        assert_eq!(shown(false), RECORD);
        let short = String::from_utf8(shown(true)).unwrap();
        assert!(
            short.starts_with("{\"index\":7,\"line\":9,\"pid\":\"p\",\"errors\":[{"),
            "{short}"
        );
        assert!(short.ends_with("\"detail\":\"e\"}]}"), "{short}");
    }
}
