//! The formats of records, and how a caller chooses one: by the parameter `format`, else by
//! `Accept`, else a JSON array.

use caseload_model::error_code::ErrorCode;
use http::{HeaderMap, header};

use crate::accept::{weight_of, weighted};
use crate::problem::Fault;

/// A format of records.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Format {
    Json,
    Jsonl,
    Csv,
}

impl Format {
    /// In the order of preference among equal weights.
    const ALL: [Self; 3] = [Self::Jsonl, Self::Csv, Self::Json];

    /// The value of `format`, and the extension of a file.
    pub(super) const fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
        }
    }

    pub(super) const fn content_type(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Jsonl => "application/x-ndjson",
            Self::Csv => "text/csv; charset=utf-8; header=present",
        }
    }

    const fn media_range(self) -> &'static str {
        match self {
            Self::Json => "application/json",
            Self::Jsonl => "application/x-ndjson",
            Self::Csv => "text/csv",
        }
    }

    /// The format of a request.
    pub(super) fn chosen(parameter: Option<&str>, headers: &HeaderMap) -> Result<Self, Fault> {
        let Some(word) = parameter else { return Ok(Self::accepted(headers)) };
        Self::ALL.into_iter().find(|format| format.as_str() == word).ok_or_else(|| {
            let shown: String = word.chars().take(100).collect();
            let detail = format!("{shown:?} is not a format; json, jsonl and csv are accepted");
            Fault::parameter("format", ErrorCode::InvalidValue, detail)
        })
    }

    /// The format that `Accept` names and prefers, else an array.
    fn accepted(headers: &HeaderMap) -> Self {
        let list = weighted(headers, &header::ACCEPT);
        let mut best = (Self::Json, 0.0);
        for format in Self::ALL {
            let weight = weight_of(&list, &[format.media_range()]).unwrap_or(0.0);
            if weight > best.1 {
                best = (format, weight);
            }
        }
        best.0
    }
}

#[cfg(test)]
mod tests {
    use http::HeaderValue;

    use super::*;

    #[test]
    fn lines_and_tables_are_chosen_only_if_accept_prefers_them() {
        for (accept, format) in [
            ("*/*", Format::Json),
            ("application/json", Format::Json),
            ("application/x-ndjson", Format::Jsonl),
            ("Application/X-NDJSON; charset=utf-8", Format::Jsonl),
            ("application/json;q=0.5, application/x-ndjson", Format::Jsonl),
            ("application/json, application/x-ndjson;q=0.1", Format::Json),
            ("application/x-ndjson;q=0", Format::Json),
            ("text/csv", Format::Csv),
            ("text/csv;header=present, */*;q=0.1", Format::Csv),
            ("text/csv;q=0.5, application/json;q=0.4", Format::Csv),
            ("text/csv;q=0.4, application/json;q=0.5", Format::Json),
            ("text/html", Format::Json),
        ] {
            let mut headers = HeaderMap::new();
            headers.insert(header::ACCEPT, HeaderValue::from_static(accept));
            assert_eq!(Format::chosen(None, &headers).ok(), Some(format), "{accept}");
            assert_eq!(Format::chosen(Some("jsonl"), &headers).ok(), Some(Format::Jsonl));
            assert!(Format::chosen(Some("CSV"), &headers).is_err());
        }
    }
}
