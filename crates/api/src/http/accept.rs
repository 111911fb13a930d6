//! The weighted lists of `Accept` and `Accept-Encoding` (RFC 9110, 12.4.2 and 12.5.1). A weight
//! that cannot be read counts as 1, and a list that cannot be read counts as empty: no request is
//! refused for its preferences. This module does not know which values the server offers.

use http::HeaderMap;
use http::header::{self, HeaderName};

/// The names of a list with their weights, in lower case, in order.
pub(crate) fn weighted(headers: &HeaderMap, name: &HeaderName) -> Vec<(String, f32)> {
    let values = headers.get_all(name).iter().filter_map(|value| value.to_str().ok());
    let items = values.flat_map(|value| value.split(','));
    items.map(item).filter(|(name, _)| !name.is_empty()).collect()
}

/// The weight of the first of `names` that the list has.
pub(crate) fn weight_of(list: &[(String, f32)], names: &[&str]) -> Option<f32> {
    list.iter().find(|(name, _)| names.contains(&name.as_str())).map(|(_, weight)| *weight)
}

fn item(text: &str) -> (String, f32) {
    let mut parts = text.split(';').map(str::trim);
    let name = parts.next().unwrap_or_default().to_ascii_lowercase();
    let weight = parts.find_map(weight).unwrap_or(1.0);
    (name, weight)
}

/// The weight that a parameter sets; `None` if it is another parameter or not a number.
fn weight(parameter: &str) -> Option<f32> {
    let weight = parameter.strip_prefix("q=").or_else(|| parameter.strip_prefix("Q="))?;
    let weight = weight.parse::<f32>().ok().filter(|weight| weight.is_finite())?;
    Some(weight.clamp(0.0, 1.0))
}

/// The media ranges of `Accept`.
#[derive(Debug)]
pub(crate) struct Accept(Vec<MediaRange>);

#[derive(Debug)]
struct MediaRange {
    /// In lower case: `type/subtype`, `type/*` or `*/*`.
    range: String,
    parameters: Parameters,
    weight: f32,
}

/// The parameters of a range other than its weight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Parameters {
    None,
    /// Such as `charset=utf-8`, which every answer has.
    Ours,
    /// Some that no answer has.
    Foreign,
}

/// Parameters of media types that answers have or might have.
const OUR_PARAMETERS: [&str; 2] = ["charset", "header"];

/// How specific a range is, least first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Specificity {
    Everything,
    Type,
    /// The media type with a parameter that no answer has. Such a range would match nothing, but
    /// a caller that names the type wants it.
    Nearly,
    MediaType,
    WithParameters,
}

impl Accept {
    pub(crate) fn of(headers: &HeaderMap) -> Self {
        let values = headers.get_all(header::ACCEPT).iter().filter_map(|value| value.to_str().ok());
        let ranges = values.flat_map(|value| unquoted_parts(value, b','));
        Self(ranges.filter_map(MediaRange::parse).collect())
    }

    /// The weight of a media type: that of the most specific range that has it. Without any range,
    /// everything is acceptable.
    fn weight(&self, media_type: &str) -> f32 {
        if self.0.is_empty() {
            return 1.0;
        }
        let matching = self.0.iter().filter_map(|range| Some((range.matches(media_type)?, range)));
        let best = matching.max_by(|(a, one), (b, other)| {
            a.cmp(b).then_with(|| one.weight.total_cmp(&other.weight))
        });
        best.map_or(0.0, |(_, range)| range.weight)
    }

    /// The offer that the caller prefers: its place among `offers`, and the name under which the
    /// caller accepts it. Each offer has one or more names. Among equals the first one is chosen,
    /// also if none is acceptable.
    pub(crate) fn preferred(&self, offers: &[&[&'static str]]) -> (usize, &'static str) {
        let mut best = (0, offers[0][0], 0.0);
        for (at, names) in offers.iter().enumerate() {
            for name in *names {
                let weight = self.weight(name);
                if weight > best.2 {
                    best = (at, name, weight);
                }
            }
        }
        (best.0, best.1)
    }
}

impl MediaRange {
    fn parse(text: &str) -> Option<Self> {
        let mut parts = unquoted_parts(text, b';').map(str::trim);
        let range = parts.next().unwrap_or_default().to_ascii_lowercase();
        if !range.contains('/') {
            return None;
        }
        let (mut parameters, mut found) = (Parameters::None, None);
        for part in parts.filter(|part| !part.is_empty()) {
            if let Some(weight) = weight(part) {
                // Parameters after the weight say nothing about the media type.
                found = Some(weight);
                break;
            }
            let name = part.split('=').next().unwrap_or_default().trim();
            let is_ours = OUR_PARAMETERS.iter().any(|ours| name.eq_ignore_ascii_case(ours));
            parameters = match parameters {
                Parameters::None | Parameters::Ours if is_ours => Parameters::Ours,
                _ => Parameters::Foreign,
            };
        }
        Some(Self { range, parameters, weight: found.unwrap_or(1.0) })
    }

    /// How specific the range is, if it has the media type.
    fn matches(&self, media_type: &str) -> Option<Specificity> {
        if self.range == media_type {
            return Some(match self.parameters {
                Parameters::None => Specificity::MediaType,
                Parameters::Ours => Specificity::WithParameters,
                Parameters::Foreign => Specificity::Nearly,
            });
        }
        let kind = media_type.split('/').next().unwrap_or_default();
        match self.range.strip_suffix("/*")? {
            "*" => Some(Specificity::Everything),
            range => (range == kind).then_some(Specificity::Type),
        }
    }
}

/// The parts of a list, of which a quoted text is never split.
fn unquoted_parts(text: &str, separator: u8) -> impl Iterator<Item = &str> {
    let mut rest = Some(text);
    std::iter::from_fn(move || {
        let text = rest?;
        let (mut quoted, mut escaped) = (false, false);
        let end = text.bytes().position(|byte| {
            let ends = byte == separator && !quoted;
            quoted ^= byte == b'"' && !escaped;
            escaped = byte == b'\\' && quoted && !escaped;
            ends
        });
        rest = end.map(|end| &text[end + 1..]);
        Some(end.map_or(text, |end| &text[..end]))
    })
}

#[cfg(test)]
mod tests {
    use http::{HeaderValue, header};

    use super::*;

    #[test]
    fn lists_are_read_with_their_weights() {
        let mut headers = HeaderMap::new();
        for value in ["gzip;q=0.5, ,ZSTD", "br; x=1; Q=0", "a;q=nan;q=2, b;q=x"] {
            headers.append(header::ACCEPT_ENCODING, HeaderValue::from_static(value));
        }
        let list = weighted(&headers, &header::ACCEPT_ENCODING);
        let expected = [("gzip", 0.5), ("zstd", 1.0), ("br", 0.0), ("a", 1.0), ("b", 1.0)];
        assert_eq!(list, expected.map(|(name, weight)| (name.to_owned(), weight)));
        assert_eq!(weight_of(&list, &["x-gzip", "gzip"]), Some(0.5));
        assert_eq!(weight_of(&list, &["identity"]), None);
    }

    fn preferred(accept: &'static str) -> &'static str {
        let headers = HeaderMap::from_iter([(header::ACCEPT, HeaderValue::from_static(accept))]);
        let offers: &[&[&str]] = &[&["application/json"], &["text/x", "text/y"], &["image/z"]];
        Accept::of(&headers).preferred(offers).1
    }

    #[test]
    fn the_most_specific_range_decides_and_the_highest_weight_wins() {
        for (accept, expected) in [
            ("", "application/json"),
            ("*/*", "application/json"),
            ("text/*", "text/x"),
            ("text/y", "text/y"),
            ("text/y, text/x", "text/x"),
            ("TEXT/Y", "text/y"),
            ("application/json, text/y", "application/json"),
            ("application/json;q=0.5, text/y", "text/y"),
            ("application/json;q=0.5, text/y;q=0.4", "application/json"),
            ("*/*;q=0.1, text/y;q=0.2", "text/y"),
            // The example of the RFC: each type has the weight of its most specific range.
            ("application/json;q=0.1, */*;q=0.9, text/*;q=0.2", "image/z"),
            ("application/*;q=0, */*", "text/x"),
            ("text/x;q=0, text/*;q=0.5, application/json;q=0.3", "text/y"),
            ("text/*, text/x;q=0.1, text/y;q=0.1, */*;q=0.5", "application/json"),
            // A wildcard reaches JSON, too, and on a tie JSON wins.
            ("text/y, */*", "application/json"),
            ("text/y, */*;q=0.9", "text/y"),
            // A range with a parameter that answers have is more specific than one without.
            ("text/y;charset=utf-8", "text/y"),
            ("text/y;charset=utf-8;q=0.2, text/y, application/json;q=0.5", "application/json"),
            ("text/y;level=1;q=0.2, text/y;q=0.9, application/json;q=0.5", "text/y"),
            ("text/y;level=1, application/json;q=0.5", "text/y"),
            ("text/y;a=\"b,c;q=0\"", "text/y"),
            // A weight or a range that cannot be read is not a reason to refuse.
            ("text/y;q=x", "text/y"),
            ("html", "application/json"),
            ("text/html", "application/json"),
            ("application/json;q=0", "application/json"),
            ("image/z;q=0.001, application/json;q=0", "image/z"),
        ] {
            assert_eq!(preferred(accept), expected, "{accept}");
        }
    }
}
