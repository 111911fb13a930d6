//! The formats of lists and of records, and how a caller chooses one: by the parameter `format`,
//! else by `Accept`, else JSON. JSON lines have several media types in use, which all mean the
//! same; an answer has the one that the caller accepts. This module does not know the records of a
//! list.

use axum::response::{IntoResponse, Response};
use caseload_model::error_code::ErrorCode;
use http::{HeaderMap, HeaderValue, Uri, header};
use serde::Serialize;

use crate::accept::Accept;
use crate::problem::{Fault, Problem};
use crate::query::QueryPairs;

/// The media types of JSON lines; the first one unless a caller accepts another one.
pub(crate) const LINES: [&str; 3] =
    ["application/x-ndjson", "application/jsonl", "application/ndjson"];
const JSON: &str = "application/json";
const CSV: &str = "text/csv";

/// A format.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Format {
    Json,
    Jsonl,
    Csv,
}

/// A format, and the media type under which the caller accepts it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Chosen {
    pub(crate) format: Format,
    pub(crate) content_type: &'static str,
    /// Whether the parameter `format` chose it.
    pub(crate) explicit: bool,
}

impl Chosen {
    /// A short list: its whole JSON, or one record per line.
    pub(crate) fn answer<T: Serialize>(&self, records: &[T], json: &impl Serialize) -> Response {
        let mut body = Vec::new();
        let written = match self.format {
            Format::Json | Format::Csv => serde_json::to_writer(&mut body, json),
            Format::Jsonl => records.iter().try_for_each(|record| {
                serde_json::to_writer(&mut body, record)?;
                body.push(b'\n');
                Ok(())
            }),
        };
        if let Err(error) = written {
            tracing::error!(%error, "a list cannot be rendered as JSON");
            return Problem::internal().into_response();
        }
        let headers = [
            (header::CONTENT_TYPE, HeaderValue::from_static(self.content_type)),
            (header::VARY, HeaderValue::from_static("Accept")),
        ];
        (headers, body).into_response()
    }
}

/// The words of the parameter `format`.
const WORDS: [(&str, Format); 4] = [
    ("json", Format::Json),
    ("jsonl", Format::Jsonl),
    ("ndjson", Format::Jsonl),
    ("csv", Format::Csv),
];

impl Format {
    /// The formats of records, in the order of preference among equal weights.
    pub(crate) const OF_RECORDS: &[Self] = &[Self::Json, Self::Jsonl, Self::Csv];
    /// The formats of lists.
    pub(crate) const OF_LISTS: &[Self] = &[Self::Json, Self::Jsonl];

    /// The extension of a file.
    pub(crate) const fn as_str(self) -> &'static str {
        match self {
            Self::Json => "json",
            Self::Jsonl => "jsonl",
            Self::Csv => "csv",
        }
    }

    const fn media_types(self) -> &'static [&'static str] {
        match self {
            Self::Json => &[JSON],
            Self::Jsonl => &LINES,
            Self::Csv => &[CSV],
        }
    }

    fn with_type(self, media_type: &'static str, explicit: bool) -> Chosen {
        let content_type = match self {
            Self::Csv => "text/csv; charset=utf-8; header=present",
            Self::Json | Self::Jsonl => media_type,
        };
        Chosen { format: self, content_type, explicit }
    }

    /// The format of a request among those that are `offered`.
    pub(crate) fn chosen(
        parameter: Option<&str>,
        headers: &HeaderMap,
        offered: &[Self],
    ) -> Result<Chosen, Fault> {
        let Some(word) = parameter else {
            let types: Vec<_> = offered.iter().map(|format| format.media_types()).collect();
            let (at, media_type) = Accept::of(headers).preferred(&types);
            return Ok(offered[at].with_type(media_type, false));
        };
        let found = WORDS.iter().find(|(known, format)| *known == word && offered.contains(format));
        match found {
            Some((_, format)) => Ok(format.with_type(format.media_types()[0], true)),
            None => Err(unknown_format(word, offered)),
        }
    }
}

impl Format {
    /// The format of a list that ignores every other query parameter, readable or not.
    pub(crate) fn of_short_list(uri: &Uri, headers: &HeaderMap) -> Result<Chosen, Problem> {
        let pairs = uri.query().unwrap_or_default().split('&');
        let mut readable = pairs.filter_map(|pair| QueryPairs::parse(pair).ok());
        let word = readable.find_map(|pair| pair.first("format").map(str::to_owned));
        let chosen = Self::chosen(word.as_deref(), headers, Self::OF_LISTS);
        chosen.map_err(|fault| Problem::faults(vec![fault]))
    }
}

fn unknown_format(word: &str, offered: &[Format]) -> Fault {
    let accepted = WORDS.iter().filter(|(_, format)| offered.contains(format));
    let accepted: Vec<&str> = accepted.map(|(word, _)| *word).collect();
    let shown: String = word.chars().take(100).collect();
    let what = if word == "csv" { "a format of this list" } else { "a format" };
    let detail = format!("{shown:?} is not {what}; accepted: {}", accepted.join(", "));
    Fault::parameter("format", ErrorCode::InvalidValue, detail)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use http::{HeaderValue, header};

    use super::*;

    fn accepting(accept: &'static str) -> HeaderMap {
        HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))])
    }

    #[test]
    fn the_preferred_format_is_chosen_and_json_wins_a_tie() {
        for (accept, content_type) in [
            ("*/*", "application/json"),
            ("application/json", "application/json"),
            ("application/x-ndjson", "application/x-ndjson"),
            ("application/jsonl", "application/jsonl"),
            ("application/ndjson", "application/ndjson"),
            ("application/ndjson;q=0.5, application/jsonl;q=0.6", "application/jsonl"),
            ("Application/X-NDJSON; charset=utf-8", "application/x-ndjson"),
            ("application/json;q=0.5, application/x-ndjson", "application/x-ndjson"),
            ("application/x-ndjson, application/json", "application/json"),
            ("application/json, application/x-ndjson;q=0.1", "application/json"),
            ("application/x-ndjson, */*", "application/json"),
            ("application/x-ndjson, */*;q=0.1", "application/x-ndjson"),
            ("application/x-ndjson;q=0", "application/json"),
            ("application/json;q=0, */*", "application/x-ndjson"),
            ("text/csv", "text/csv; charset=utf-8; header=present"),
            ("text/csv;header=present, */*;q=0.1", "text/csv; charset=utf-8; header=present"),
            ("text/csv, application/x-ndjson", "application/x-ndjson"),
            ("text/csv;q=0.4, application/json;q=0.5", "application/json"),
            ("text/*", "text/csv; charset=utf-8; header=present"),
            ("text/html", "application/json"),
        ] {
            let chosen = Format::chosen(None, &accepting(accept), Format::OF_RECORDS);
            assert_eq!(chosen.unwrap().content_type, content_type, "{accept}");
        }
        // A list without CSV answers a caller that wants CSV with JSON.
        let chosen = Format::chosen(None, &accepting("text/csv"), Format::OF_LISTS);
        assert_eq!(chosen.unwrap().format, Format::Json);
    }

    #[test]
    fn the_parameter_wins_over_accept_and_knows_the_words_of_its_list() {
        let headers = accepting("text/csv");
        for (word, format, content_type) in [
            ("json", Format::Json, "application/json"),
            ("jsonl", Format::Jsonl, "application/x-ndjson"),
            ("ndjson", Format::Jsonl, "application/x-ndjson"),
        ] {
            for offered in [Format::OF_RECORDS, Format::OF_LISTS] {
                let chosen = Format::chosen(Some(word), &headers, offered).unwrap();
                assert_eq!((chosen.format, chosen.content_type), (format, content_type), "{word}");
                assert!(chosen.explicit);
            }
        }
        let refused =
            |word, offered| Format::chosen(Some(word), &headers, offered).unwrap_err().detail;
        let lists = "\"csv\" is not a format of this list; accepted: json, jsonl, ndjson";
        assert_eq!(refused("csv", Format::OF_LISTS), lists);
        for word in ["CSV", "xml", ""] {
            let detail = refused(word, Format::OF_RECORDS);
            assert!(detail.ends_with("accepted: json, jsonl, ndjson, csv"), "{detail}");
        }
    }
}
