//! The filter `feedback-rating`. If another reader can evaluate its conditions with small numbers,
//! the same ratings match. Any content is a filter or a fault.

use caseload_model::issue_query::parse_list;
use serde_json::{Map, Value};

/// Longest number that a float compares exactly, with room to spare.
const EXACT_BYTES_MAX: usize = 9;

pub(crate) fn holds(data: &[u8]) {
    let Ok(text) = std::str::from_utf8(data) else { return };
    let outcome = parse_list(&[("feedback-rating".to_owned(), text.to_owned())]);
    if let Err(faults) = &outcome {
        assert!(faults.iter().all(|fault| fault.parameter == "feedback-rating"), "{faults:?}");
    }
    let read: Option<Value> = serde_json::from_str(text).ok();
    let filter = match read.clone() {
        // A bare list means `or`.
        Some(Value::Array(any)) => Some(Map::from_iter([("or".to_owned(), Value::Array(any))])),
        Some(Value::Object(filter)) => Some(filter),
        _ => None,
    };
    let (Some(read), Some(filter)) = (read, filter) else {
        // Only a number beyond the other reader's range may make a good filter unreadable to it.
        assert!(outcome.is_err() || text.contains(['e', 'E']), "{text} is not a filter");
        return;
    };
    if text.contains("\\u") || has_repeats(text, &read) {
        return;
    }
    for rating in [None, Some(1), Some(2), Some(3), Some(4), Some(5)] {
        let Ok(expected) = matches(&filter, rating) else { return };
        let set = outcome.as_ref().ok().map(|request| request.query.rating);
        let found = set.map(|set| set.is_none_or(|set| set.contains(rating)));
        assert_eq!(found, expected, "{text} with {rating:?}");
    }
}

/// Whether the other reader may have dropped a key: it writes less than it has read.
fn has_repeats(text: &str, filter: &Value) -> bool {
    let quotes = |text: &str| text.matches('"').count();
    serde_json::to_string(filter).is_ok_and(|again| quotes(&again) != quotes(text))
}

/// Floats and plain rules cannot decide.
struct Unclear;

/// Whether a rating passes; `None` if the filter is not good.
fn matches(filter: &Map<String, Value>, rating: Option<u8>) -> Result<Option<bool>, Unclear> {
    let (mut good, mut passes) = (true, true);
    for (key, value) in filter {
        let found = match (key.as_str(), value) {
            ("exists", Value::Bool(exists)) => Some(rating.is_some() == *exists),
            ("exists", Value::String(word)) => {
                let word = word.to_ascii_lowercase();
                let exists = ["true", "1"].contains(&word.as_str());
                let known = exists || ["false", "0"].contains(&word.as_str());
                known.then_some(rating.is_some() == exists)
            }
            ("exists", Value::Number(digit)) => {
                let digit = digit.to_string();
                ["0", "1"].contains(&digit.as_str()).then_some(rating.is_some() == (digit == "1"))
            }
            ("and" | "or", Value::Array(items)) => {
                let each = items.iter().map(|item| condition(item, rating));
                let each: Vec<Option<bool>> = each.collect::<Result<_, _>>()?;
                let each: Option<Vec<bool>> = each.into_iter().collect();
                each.map(
                    |each| {
                        if key == "and" { !each.contains(&false) } else { each.contains(&true) }
                    },
                )
            }
            _ => None,
        };
        good &= found.is_some();
        passes &= found.unwrap_or(true);
    }
    Ok(good.then_some(passes))
}

fn condition(item: &Value, rating: Option<u8>) -> Result<Option<bool>, Unclear> {
    let Value::Object(operators) = item else { return Ok(None) };
    let (mut good, mut passes) = (!operators.is_empty(), rating.is_some());
    let rating = f64::from(rating.unwrap_or_default());
    for (operator, value) in operators {
        let text = match value {
            Value::Number(number) => number.to_string(),
            Value::String(text) => text.clone(),
            _ => {
                good = false;
                continue;
            }
        };
        let is_plain = text.len() <= EXACT_BYTES_MAX && text.bytes().all(|b| b.is_ascii_digit());
        let is_plain = is_plain && !text.is_empty() && (text == "0" || !text.starts_with('0'));
        if !is_plain && text.bytes().any(|byte| byte.is_ascii_digit()) {
            return Err(Unclear);
        }
        good &= is_plain;
        let Ok(number) = text.parse::<f64>() else { continue };
        passes &= match operator.as_str() {
            "is" => (rating - number).abs() < 0.5,
            "is_not" => (rating - number).abs() > 0.5,
            "is_greater_than" => rating > number,
            "is_smaller_than" => rating < number,
            _ => {
                good = false;
                true
            }
        };
    }
    Ok(good.then_some(passes))
}
