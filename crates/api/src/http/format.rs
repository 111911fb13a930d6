//! The formats of lists and of records, and how a caller chooses one: by the parameter `format`,
//! else by `Accept`, else JSON. JSON lines have several media types in use, which all mean the
//! same; an answer has the one that the caller accepts. This module does not know the records of a
//! list. Of a table the caller also chooses its [`Style`].

use axum::body::Bytes;
use axum::response::{IntoResponse, Response};
use caseload_model::error_code::ErrorCode;
use caseload_model::spelling::boolean_word;
use http::{HeaderMap, HeaderValue, Uri, header};
use serde::Serialize;

use crate::http::accept::Accept;
use crate::http::csv::{self, Style};
use crate::http::memory::Memory;
use crate::http::problem::{Fault, Problem};
use crate::http::query::QueryPairs;

/// The media types of JSON lines; the first one unless a caller accepts another one.
pub(crate) const LINES: [&str; 3] =
    ["application/x-ndjson", "application/jsonl", "application/ndjson"];
const JSON: &str = "application/json";
pub(crate) const PROBLEM: &str = "application/problem+json";
pub(crate) const CSV: &str = "text/csv";

/// The media types of JSON, and each with its charset: some clients read a text without one as
/// Latin-1.
const WITH_CHARSET: [(&str, &str); 5] = [
    (JSON, "application/json; charset=utf-8"),
    (PROBLEM, "application/problem+json; charset=utf-8"),
    (LINES[0], "application/x-ndjson; charset=utf-8"),
    (LINES[1], "application/jsonl; charset=utf-8"),
    (LINES[2], "application/ndjson; charset=utf-8"),
];

/// The type of an answer in JSON with its charset; none if it is another type.
pub(crate) fn utf8_type(media_type: &[u8]) -> Option<&'static str> {
    let known = WITH_CHARSET.iter().find(|(bare, _)| bare.as_bytes() == media_type);
    known.map(|(_, with_charset)| *with_charset)
}

/// The memory that is taken for a short list before it is read.
pub(crate) const SHORT_LIST_BYTES: usize = 1 << 20;

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
    /// Of a table.
    pub(crate) style: Style,
}

impl Chosen {
    /// A short list: its whole JSON, one record per line, or a table with these columns. It holds
    /// its memory until it is sent.
    pub(crate) fn answer<T: Serialize>(
        &self,
        memory: Memory,
        records: &[T],
        columns: &[&str],
        json: &impl Serialize,
    ) -> Response {
        let written = match self.format {
            Format::Json => serde_json::to_vec(json),
            Format::Jsonl | Format::Csv => lines(records),
        };
        match written {
            Ok(json) if self.format == Format::Json => self.with_type(memory.hold(json)),
            Ok(lines) => self.answer_lines(memory, lines, columns),
            Err(error) => {
                tracing::error!(%error, "a list cannot be rendered as JSON");
                Problem::internal().into_response()
            }
        }
    }

    /// Records, one per line: as they are, or as a table with these columns.
    pub(crate) fn answer_lines(
        &self,
        memory: Memory,
        lines: Vec<u8>,
        columns: &[&str],
    ) -> Response {
        self.answer_rows(memory, lines, |lines, out| {
            *out = csv::table(columns, lines, self.style)?;
            Ok(())
        })
    }

    /// Records, one per line: as they are, or as the table that `write` makes of them.
    pub(crate) fn answer_rows(
        &self,
        memory: Memory,
        lines: Vec<u8>,
        write: impl FnOnce(&[u8], &mut Vec<u8>) -> Result<(), csv::DamagedRecord>,
    ) -> Response {
        if self.format != Format::Csv {
            return self.with_type(memory.hold(lines));
        }
        let mut table = Vec::new();
        if write(&lines, &mut table).is_ok() {
            return self.with_type(memory.hold(table));
        }
        tracing::error!("a list cannot be written as a table");
        Problem::internal().into_response()
    }

    fn with_type(&self, body: Bytes) -> Response {
        let headers = [
            (header::CONTENT_TYPE, HeaderValue::from_static(self.content_type)),
            (header::VARY, HeaderValue::from_static("Accept")),
        ];
        (headers, body).into_response()
    }
}

/// One record per line.
fn lines<T: Serialize>(records: &[T]) -> serde_json::Result<Vec<u8>> {
    let mut lines = Vec::new();
    for record in records {
        serde_json::to_writer(&mut lines, record)?;
        lines.push(b'\n');
    }
    Ok(lines)
}

/// The words of the parameter `format`.
const WORDS: [(&str, Format); 4] = [
    ("json", Format::Json),
    ("jsonl", Format::Jsonl),
    ("ndjson", Format::Jsonl),
    ("csv", Format::Csv),
];

impl Format {
    /// All formats, in the order of preference among equal weights.
    const ALL: [Self; 3] = [Self::Json, Self::Jsonl, Self::Csv];

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
        Chosen { format: self, content_type, explicit, style: Style::Plain }
    }

    /// The format of a request, or every fault of its choice.
    pub(crate) fn chosen(query: &QueryPairs, headers: &HeaderMap) -> Result<Chosen, Vec<Fault>> {
        let chosen = match query.first("format") {
            None => {
                let types = Self::ALL.map(Self::media_types);
                let (at, media_type) = Accept::of(headers).preferred(&types);
                Ok(Self::ALL[at].with_type(media_type, false))
            }
            Some(word) => match WORDS.iter().find(|(known, _)| *known == word) {
                Some((_, format)) => Ok(format.with_type(format.media_types()[0], true)),
                None => Err(unknown_format(word)),
            },
        };
        let mut faults = Vec::new();
        let mut style = Style::Plain;
        for (name, of_table) in STYLES {
            let Some(value) = query.first(name) else { continue };
            match boolean_word(value) {
                Some(true) => style = of_table,
                Some(false) => {}
                None => faults.push(no_boolean(name, value)),
            }
        }
        match chosen {
            Ok(chosen) if faults.is_empty() => Ok(Chosen { style, ..chosen }),
            chosen => Err(chosen.err().into_iter().chain(faults).collect()),
        }
    }
}

/// The parameters that choose the style of a table; the last one that is set counts. For another
/// format they mean nothing.
const STYLES: [(&str, Style); 2] = [("bom", Style::Bom), ("spreadsheet", Style::Spreadsheet)];

pub(crate) fn no_boolean(name: &str, value: &str) -> Fault {
    let shown: String = value.chars().take(100).collect();
    let detail = format!("{name} is true or false, not {shown:?}");
    Fault::parameter(name, ErrorCode::InvalidValue, detail)
}

impl Format {
    /// The format of a list that ignores every other query parameter, readable or not.
    pub(crate) fn of_short_list(uri: &Uri, headers: &HeaderMap) -> Result<Chosen, Problem> {
        let pairs = uri.query().unwrap_or_default().split('&');
        let readable = pairs.filter_map(|pair| QueryPairs::parse(pair).ok());
        let query = QueryPairs(readable.flat_map(|pair| pair.0).collect());
        Self::chosen(&query, headers).map_err(Problem::faults)
    }
}

fn unknown_format(word: &str) -> Fault {
    let accepted = WORDS.map(|(word, _)| word).join(", ");
    let shown: String = word.chars().take(100).collect();
    let detail = format!("{shown:?} is not a format; accepted: {accepted}");
    Fault::parameter("format", ErrorCode::InvalidValue, detail)
}

#[cfg(test)]
#[expect(clippy::unwrap_used, reason = "a test stops at the first surprise")]
mod tests {
    use http::{HeaderValue, header};

    use super::*;

    fn query(pairs: &[(&str, &str)]) -> QueryPairs {
        QueryPairs(
            pairs.iter().map(|(name, value)| (name.to_string(), value.to_string())).collect(),
        )
    }

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
            let chosen = Format::chosen(&QueryPairs(Vec::new()), &accepting(accept));
            assert_eq!(chosen.unwrap().content_type, content_type, "{accept}");
        }
    }

    #[test]
    fn the_parameter_wins_over_accept() {
        let headers = accepting("text/csv, application/xml");
        for (word, format, content_type) in [
            ("json", Format::Json, "application/json"),
            ("jsonl", Format::Jsonl, "application/x-ndjson"),
            ("ndjson", Format::Jsonl, "application/x-ndjson"),
            ("csv", Format::Csv, "text/csv; charset=utf-8; header=present"),
        ] {
            let chosen = Format::chosen(&query(&[("format", word)]), &headers).unwrap();
            assert_eq!((chosen.format, chosen.content_type), (format, content_type), "{word}");
            assert!(chosen.explicit);
        }
        for word in ["CSV", "xml", ""] {
            let faults = Format::chosen(&query(&[("format", word)]), &headers).unwrap_err();
            let detail = &faults[0].detail;
            assert!(detail.ends_with("accepted: json, jsonl, ndjson, csv"), "{detail}");
        }
    }

    #[test]
    fn a_table_has_the_style_that_is_asked_for() {
        let chosen = |pairs: &[(&str, &str)]| Format::chosen(&query(pairs), &HeaderMap::new());
        let csv = ("format", "csv");
        for (pairs, style) in [
            (&[csv][..], Style::Plain),
            (&[csv, ("bom", "true")], Style::Bom),
            (&[csv, ("spreadsheet", "1"), ("bom", "true")], Style::Spreadsheet),
            (&[csv, ("spreadsheet", "false"), ("bom", "true")], Style::Bom),
            (&[("bom", "false")], Style::Plain),
        ] {
            assert_eq!(chosen(pairs).unwrap().style, style, "{pairs:?}");
        }
        for (pairs, count) in [
            (&[("bom", "perhaps")][..], 1),
            (&[("format", "xml"), ("bom", "perhaps"), ("spreadsheet", "")], 3),
        ] {
            assert_eq!(chosen(pairs).unwrap_err().len(), count, "{pairs:?}");
        }
    }
}
