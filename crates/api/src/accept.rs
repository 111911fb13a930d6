//! The weighted lists of `Accept` and `Accept-Encoding` (RFC 9110, 12.4.2). A weight that cannot be
//! read counts as 1, and a list that cannot be read counts as empty: no request is refused for its
//! preferences. This module does not know which values the server offers.

use http::HeaderMap;
use http::header::HeaderName;

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
    let weight = parts
        .filter_map(|part| part.strip_prefix("q=").or_else(|| part.strip_prefix("Q=")))
        .find_map(|weight| weight.parse::<f32>().ok().filter(|weight| weight.is_finite()))
        .unwrap_or(1.0);
    (name, weight.clamp(0.0, 1.0))
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
}
