//! Query strings as pairs, and the rules for the parameters of every endpoint: an unknown parameter
//! is refused with a known name that is near, hyphens equal underscores, and no parameter has two
//! values. This module does not know what a parameter means.

use axum::extract::FromRequestParts;
use caseload_model::dialects::advice_and_names;
use caseload_model::error_code::ErrorCode;
use caseload_model::issue_query::ParameterFault;
use caseload_model::spelling::{same_name, unbracketed};
use http::request::Parts;
use percent_encoding::percent_decode_str;

use crate::http::problem::{Fault, Problem};

/// The most parameters of a query. A list of more values goes into one of them, with commas or as
/// JSON.
pub(crate) const PARAMETERS_MAX: usize = 100;

/// The parameters with e-mail addresses and phone numbers, in which a plus is a plus.
const ADDRESSES: [&str; 3] = ["identity", "author-emails", "assignee-emails"];

/// The query parameters in their order, decoded.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct QueryPairs(pub Vec<(String, String)>);

impl<S: Send + Sync> FromRequestParts<S> for QueryPairs {
    type Rejection = Problem;

    async fn from_request_parts(parts: &mut Parts, _: &S) -> Result<Self, Problem> {
        Self::parse(parts.uri.query().unwrap_or_default())
    }
}

impl QueryPairs {
    pub(crate) fn parse(query: &str) -> Result<Self, Problem> {
        let sent = query.split('&').filter(|pair| !pair.is_empty());
        let count = sent.clone().count();
        if count > PARAMETERS_MAX {
            let detail = format!(
                "the query has {count} parameters; at most {PARAMETERS_MAX} are allowed. Send a \
                 long list as one parameter, with commas or as a JSON array"
            );
            return Err(Problem::new(ErrorCode::TooMany, detail));
        }
        let mut pairs = Vec::new();
        let mut faults = Vec::new();
        for pair in sent {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            let name = decode(name);
            let value = match &name {
                Some(name) if has_addresses(name) => decode_addresses(value),
                _ => decode(value),
            };
            match (name, value) {
                (Some(name), Some(value)) => pairs.push((name, value)),
                (name, _) => faults.push(Fault::parameter(
                    name.unwrap_or_else(|| name_as_sent(pair)),
                    ErrorCode::InvalidValue,
                    "the parameter is not percent-encoded UTF-8; write % as %25",
                )),
            }
        }
        Problem::check(faults)?;
        Ok(Self(pairs))
    }

    /// The first value of a parameter, in either spelling.
    pub(crate) fn first(&self, name: &str) -> Option<&str> {
        let pair = self.0.iter().find(|(given, _)| same_name(name, given));
        pair.map(|(_, value)| value.as_str())
    }

    /// The faults of the parameters that are not among `known`.
    pub(crate) fn unknown(&self, known: &[&str]) -> Vec<Fault> {
        let unknown_pairs =
            self.0.iter().filter(|(name, _)| !known.iter().any(|k| same_name(k, name)));
        unknown_pairs.map(|(name, _)| unknown(name, known, "query parameter")).collect()
    }

    /// The values of the parameters in `known`, and the faults: every other parameter, and a second
    /// value. For endpoints with few parameters.
    pub(crate) fn only<const N: usize>(
        &self,
        known: [&'static str; N],
    ) -> ([Option<&str>; N], Vec<Fault>) {
        let mut values = [None; N];
        let mut faults = self.unknown(&known);
        for (name, value) in &self.0 {
            let Some(at) = known.iter().position(|known| same_name(known, name)) else { continue };
            match values[at] {
                None => values[at] = Some(value.as_str()),
                Some(first) if first == value => {}
                Some(first) => faults.push(Fault::parameter(
                    name,
                    ErrorCode::ConflictingParameter,
                    format!("{name} is given twice, as {first:?} and as {value:?}; send it once"),
                )),
            }
        }
        (values, faults)
    }
}

impl From<ParameterFault> for Fault {
    fn from(fault: ParameterFault) -> Self {
        Self::parameter(fault.parameter, fault.code, fault.detail)
    }
}

/// The refusal of a query with these faults.
pub(crate) fn refused(faults: Vec<ParameterFault>) -> Problem {
    Problem::faults(faults.into_iter().map(Fault::from).collect())
}

/// The fault of a parameter or form field that the endpoint does not know.
pub(crate) fn unknown(name: &str, known: &[&str], what: &str) -> Fault {
    let advice = if known.is_empty() {
        format!("this call takes no {what}s")
    } else {
        advice_and_names(name, known)
    };
    let shown: String = name.chars().take(100).collect();
    let detail = format!("there is no {what} {shown:?}; {advice}");
    Fault::parameter(shown, ErrorCode::UnknownParameter, detail)
}

fn has_addresses(name: &str) -> bool {
    let (name, _) = unbracketed(name);
    ADDRESSES.iter().any(|known| same_name(known, name))
}

/// Percent-decoding with `+` as itself, for callers who write `ada+desk@example.org` or `+49…` into
/// a URL by hand. Between the texts of JSON it is a blank, as libraries write one.
fn decode_addresses(text: &str) -> Option<String> {
    let decoded = decode(&text.replace('+', "%2B"))?;
    if !decoded.trim_start_matches(['+', ' ']).starts_with(['[', '{']) {
        return Some(decoded);
    }
    let (mut quoted, mut escaped) = (false, false);
    let plain = decoded.chars().map(|c| {
        quoted ^= c == '"' && !escaped;
        escaped = c == '\\' && !escaped;
        if c == '+' && !quoted { ' ' } else { c }
    });
    Some(plain.collect())
}

/// Percent-decoding with `+` as space; `None` for a broken escape or a text that is not UTF-8.
fn decode(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let whole = bytes.iter().enumerate().filter(|(_, byte)| **byte == b'%').all(|(at, _)| {
        bytes.get(at + 1..at + 3).is_some_and(|hex| hex.iter().all(u8::is_ascii_hexdigit))
    });
    if !whole {
        return None;
    }
    let spaced = text.replace('+', " ");
    percent_decode_str(&spaced).decode_utf8().ok().map(std::borrow::Cow::into_owned)
}

/// A name that could not be decoded, as it was sent, shortened.
fn name_as_sent(pair: &str) -> String {
    pair.split('=').next().unwrap_or_default().chars().take(100).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_has_at_most_a_hundred_parameters() {
        let query = |count: usize| vec!["a=1"; count].join("&");
        assert!(QueryPairs::parse(&query(PARAMETERS_MAX)).is_ok());
        assert!(QueryPairs::parse(&query(PARAMETERS_MAX + 1)).is_err());
    }

    #[test]
    fn a_plus_of_an_address_is_a_plus() {
        for (query, value) in [
            ("identity=email:a+b@x", "email:a+b@x"),
            ("identity[]=phone_number:+49%2030", "phone_number:+49 30"),
            ("author_emails=a%2Bb@x", "a+b@x"),
            ("assignee-emails[0]=a+b@x", "a+b@x"),
            (r#"author-emails=+{%22or%22:+["a+b@x",+"c\"+d"]}"#, r#" {"or": ["a+b@x", "c\"+d"]}"#),
            ("title=a+b", "a b"),
        ] {
            let pairs = QueryPairs::parse(query).expect("good").0;
            assert_eq!(pairs[0].1, value, "{query}");
        }
    }

    #[test]
    fn queries_are_decoded_once_and_broken_ones_are_refused() {
        let pairs = QueryPairs::parse("a=1+2&b=%7B%22x%22%7D&c&=d&&e=%25+%2B").expect("good").0;
        let expected = [("a", "1 2"), ("b", "{\"x\"}"), ("c", ""), ("", "d"), ("e", "% +")];
        assert_eq!(pairs, expected.map(|(a, b)| (a.to_owned(), b.to_owned())));
        for bad in ["a=%", "a=%2", "a=%zz", "a=%ff", "%ff=1"] {
            assert!(QueryPairs::parse(bad).is_err(), "{bad}");
        }
    }
}
